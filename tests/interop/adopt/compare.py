"""Servers that `-adopt` replaces, and the program with the converted configuration, asked the same.

Each has a database of its own. The values of the answers are equal but for their form, which is named
here.
"""

import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import cases
from interop.stdio import served
from processes import PATIENCE, database

EXAMPLES = Path(__file__).resolve().parents[2] / "adopt"
PROGRAM = os.environ["INTEROP_PROGRAM"]
# Rows of a tool without a limit of its own, as the report says.
ROWS = 100

# The form of values, by their columns.
FORMS = {
    # Here a text, since a number in JSON can lose digits; Toolbox writes a number.
    "total": lambda value: Decimal(str(value)),
    # Here with seconds only; DBHub writes milliseconds, too.
    "placed_at": datetime.fromisoformat,
    # Toolbox writes midnight in UTC.
    "shipped_on": lambda value: value[:10],
    # Here the text of PostgreSQL, as for all types without an equal in JSON.
    "tags": lambda value: value if isinstance(value, list) else array(value),
    "attributes": lambda value: json.loads(value) if isinstance(value, str) else value,
}


def array(text):
    """The elements of a list in PostgreSQL, which are plain or in quotes without escapes."""
    return [element.strip('"') for element in text[1:-1].split(",")]


def values(rows):
    """The rows in a form that both have, up to the limit here."""
    return [
        {
            name: FORMS[name](value) if name in FORMS and value is not None else value
            for name, value in row.items()
        }
        for row in rows[:ROWS]
    ]


def toolbox(result):
    """One text for each row."""
    return [json.loads(part["text"], parse_float=Decimal) for part in result["content"]]


def dbhub(result):
    """All statements with their rows."""
    [part] = result["content"]
    answer = json.loads(part["text"], parse_float=Decimal)
    assert answer["success"], answer
    [statement] = answer["data"]["statements"]
    return statement["rows"]


def converted(result):
    [part] = result["content"]
    # The text for a result without rows, which `empty` of a tool replaces.
    if part["text"] == "No rows.":
        return []
    answer = json.loads(part["text"], parse_float=Decimal)
    return [dict(zip(answer["columns"], row, strict=True)) for row in answer["rows"]]


def here(tool):
    return tool.replace("-", "_")


def arguments(server):
    """The arguments of all tools, and which of them are required."""
    listed = server.ask("tools/list")["result"]["tools"]
    schemas = {here(tool["name"]): tool["inputSchema"] for tool in listed}
    return {
        name: (set(schema["properties"]), set(schema.get("required", [])))
        for name, schema in schemas.items()
    }


def prompts(there, ours):
    """The prompts are the same; here are others beside them."""
    own = ours.ask("prompts/list")["result"]["prompts"]
    listed = there.ask("prompts/list").get("result", {"prompts": []})["prompts"]
    for prompt in listed:
        assert prompt in own, (prompt, own)
        given = {argument["name"]: "open" for argument in prompt["arguments"]}
        given = {"name": prompt["name"], "arguments": given}
        answers = [server.ask("prompts/get", given)["result"] for server in [there, ours]]
        assert answers[0] == answers[1], answers


def refuses(answer):
    return "error" in answer or answer["result"].get("isError", False)


def equal(there, ours, calls, rows):
    """Makes calls on both. Returns the answers that differ."""
    different = []
    for tool, given in calls:
        answers = expected, found = there.call(tool, given), ours.call(here(tool), given)
        if any(map(refuses, answers)) or values(rows(expected["result"])) != values(
            converted(found["result"])
        ):
            different.append((tool, given, *answers))
    return different


def both(there, ours, calls, are_refused):
    """Makes calls that both refuse, or that neither does. Returns the answers that differ."""
    different = []
    for tool, given in calls:
        answers = there.call(tool, given), ours.call(here(tool), given)
        if [refuses(answer) for answer in answers] != [are_refused] * 2:
            different.append((tool, given, *answers))
    return different


def adopt(folder, example, environment):
    """Converts an example, and lets its tools write as the report says."""
    command = [PROGRAM, "-adopt", example, "-adopt-dir", folder]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=PATIENCE
    )
    # Something has no equal here: a table that a caller names.
    expected = 3 if example.name == "toolbox-maps.yaml" else 0
    assert done.returncode == expected and not done.stderr, (done.stdout, done.stderr)
    assert "the types are as declared" not in done.stdout, done.stdout
    configuration, definitions = (folder / name for name in ["ziggurat-tools.yaml", "definitions.yaml"])
    if (folder / "writes.yaml").exists():
        text = configuration.read_text()
        entry = "databases:\n- name: shop\n"
        assert entry in text, text
        configuration.write_text(text.replace(entry, f"{entry}  allow_writes: true\n"))
        with definitions.open("a") as file:
            file.write("include: [writes.yaml]\n")
    return [PROGRAM, "-config", configuration]


def shop(stack, folder):
    """A database, as the variables that the examples name."""
    sample = folder / "sample.sql"
    sample.write_text((EXAMPLES / "shop.sql").read_text() + cases.MORE)
    parts = stack.enter_context(database(os.environ["INTEROP_DATABASE"], sample=sample))
    variables = {name.replace("PG", "SHOP_"): value for name, value in parts.items()}
    # Toolbox demands a password, also for a server that asks for none.
    variables["SHOP_PASSWORD"] = variables["SHOP_PASSWORD"] or "unused"
    home = folder / "home"
    home.mkdir(exist_ok=True)
    return variables | {"PATH": os.environ["PATH"], "HOME": str(home), "TZ": "UTC"}


def compare(example, command, rows, calls, wrong, writes):
    """Compares a server with what its configuration becomes. Returns the answers that differ."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        theirs, own = shop(stack, folder), shop(stack, folder)
        own_command = adopt(folder, EXAMPLES / example, own)
        there = stack.enter_context(served([*command, "--config", EXAMPLES / example], theirs))
        ours = stack.enter_context(served(own_command, own))
        listed = [arguments(server) for server in [there, ours]]
        for tool in {here(tool) for tool, _ in calls + writes}:
            assert listed[0][tool] == listed[1][tool], (tool, [names[tool] for names in listed])
        prompts(there, ours)
        different = equal(there, ours, calls, rows)
        different += both(there, ours, wrong, True) + both(there, ours, writes, False)
        # The data are the same after the changes.
        return different + equal(there, ours, calls, rows)


def main():
    old_toolbox = [os.environ["INTEROP_TOOLBOX"], "--stdio", "--disable-version-check"]
    old_dbhub = ["node", os.environ["INTEROP_DBHUB"], "--transport", "stdio"]
    count, different = 0, []
    for example, command, rows, (calls, wrong, writes) in [
        ("toolbox-maps.yaml", old_toolbox, toolbox, cases.TOOLBOX),
        ("toolbox-documents.yaml", old_toolbox, toolbox, cases.DOCUMENTS),
        ("dbhub.toml", old_dbhub, dbhub, cases.DBHUB),
    ]:
        different += compare(example, command, rows, calls, wrong, writes)
        count += len(calls)
        print(f"{example}: {len(calls)} calls, {len(wrong)} refusals, {len(writes)} changes")
    for tool, given, expected, found in different:
        print(f"{tool} {json.dumps(given)}\n  there: {json.dumps(expected)[:1000]}")
        print(f"  here:  {json.dumps(found)[:1000]}")
    if different:
        sys.exit(f"{len(different)} answers differ")
    print(f"adopt: {count} calls are equal")


main()
