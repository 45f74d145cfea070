"""Sends the statements of impostors to servers, and looks for rows of others in the answers."""

import json
import os
import re
import threading
from contextlib import ExitStack, contextmanager

from callers import Caller, write_configuration
from impostor_texts import corpus
from processes import listening
from tenants import MARKS, MODES, Tenants, seal_sql, tenants_of_mode, write_key, write_records

# Words that stand in no statement: the rows of the impostor, and the rows of the other tenant.
OWN, ALIEN = "Zq1own", "Xk7alien"
# Two sets of the rows of others. Nothing that an impostor gets may differ between them.
OTHERS = [(f"{ALIEN}-a", 3), (f"{ALIEN}-{'b' * 40}", 700)]
PATIENCE = 0.15
# What differs between two runs: times, tokens, process ids, names of temporary schemas.
VARIABLE = [
    r"[\d.]+ ms|\"\w*ms\":[\d.]+|request id [\w-]+|\d+\|\d+\||\b[0-9a-f]{64}\b|\d{5,}",
    r"pg_(toast_)?temp_\d+|\d{4}-\d\d-\d\d[T ][\d:.+Z]+|\"(confirm|id)\":\"[^\"]+\"",
]
TOOLSET = {"name": "all", "tools": ["search_schema", "*"], "resources": ["*"], "rest": ["query"]}
# Proves that the test sees rows of others: here nothing keeps an impostor from them.
BROKEN = "SELECT do_all('SET LOCAL ROLE {other}'), run('SELECT string_agg(secret, '','') FROM orders')"


def over_rest(caller, path, body):
    """Sends a statement, and confirms it if it may change something."""
    answer = caller.ask("POST", path, body)
    if answer.status == 409 and '"confirm":"' in answer.text:
        confirm = json.loads(answer.text)["confirm"]
        answer = caller.ask("POST", path, body | {"confirm": confirm})
    return answer


def exported(caller, text):
    answer = over_rest(caller, "/api/exports", {"sql": text, "format": "csv"})
    if answer.status != 201:
        return answer
    return caller.ask("GET", json.loads(answer.text)["href"])


# The ways of a statement; each goes the first, and one of the others in turn.
ROUTES = [
    lambda caller, text: caller.query(text, PATIENCE if "pg_sleep" in text else 120),
    lambda caller, text: over_rest(caller, "/api/query", {"sql": text}),
    exported,
    lambda caller, text: caller.call("execute_explain", {"query": text}),
    lambda caller, text: caller.call("count_rows", {"table": "orders", "where": text}),
]


def told(route, caller, text):
    """What a caller learns; nothing from a call that it gives up."""
    try:
        answer = route(caller, text)
    except TimeoutError:
        return None
    said = f"{answer.status} {answer.text}"
    for pattern in VARIABLE:
        said = re.sub(pattern, "#", said)
    return said


class Attack:
    """An impostor and another tenant of one database."""

    def __init__(self, address, made, name, others, faults):
        self.name, self.faults = name, faults
        self.callers = [Caller(address, token) for token in made.tokens]
        self.seen = [OWN, others[0]]
        self.answers = []
        names = {"other": made.roles[1], "login": made.login["PGUSER"], "theirs": "t1"}
        self.texts = corpus(names | {"database": made.login["PGDATABASE"]})

    def run(self, step):
        for at, text in enumerate(self.texts[::step]):
            routes = [ROUTES[0]] if "pg_sleep" in text else [ROUTES[0], ROUTES[1 + at % 4]]
            for route in routes:
                said = told(route, self.callers[0], text)
                self.answers.append((text, said))
                if ALIEN in (said or ""):
                    self.faults.add(f"rows of another, {self.name}", f"{text}: {said}")
            for caller, seen in zip(self.callers, self.seen):
                self.check(text, caller, seen)

    def check(self, text, caller, seen):
        """Whoever calls next sees its own rows."""
        found = caller.query(MARKS).text.splitlines()[-1]
        if found != seen and caller is self.callers[0]:
            # What it has set for its own session makes all of its statements fail.
            caller.query("SET row_security = on")
            found = caller.query(MARKS).text.splitlines()[-1]
        if found != seen:
            self.faults.add(f"a call afterwards, {self.name}", f"{text}: {found}")


class Proof:
    """Attacks on databases of modes, with and without writes. `through` places a pooler in front."""

    def __init__(self, program, variables, folder, faults, modes=tuple(MODES), through=None):
        self.program, self.variables, self.folder = program, variables, folder
        self.faults, self.modes = faults, modes
        self.is_pooled = through is not None
        self.through = through or (lambda made: made.login)
        write_key(folder)
        self.seal_sql = ""
        if "sealed" in modes:
            entry = Tenants(variables, 0).entry("sealed", variables, "sealed", folder)
            arguments = write_configuration(folder, databases=[entry])
            self.seal_sql = seal_sql(program, arguments, "sealed")

    def run(self, step):
        """Attacks twice, with one of so many statements; returns the number that was sent."""
        one, two = (self.attacked(step, others) for others in OTHERS)
        for name, answers in one.items():
            for (text, said), (_, other) in zip(answers, two[name], strict=True):
                if said != other and None not in (said, other) and not self.is_kept(said, other):
                    kind = f"an answer to the rows of others, {name}"
                    self.faults.add(kind, f"{text}: {said} | {other}")
        return sum(len(answers) for answers in [*one.values(), *two.values()])

    def is_kept(self, *answers):
        """True if a pooler gave a session with a function that an earlier text has made."""
        kept = ("already exists", "cannot change return type of existing function")
        return self.is_pooled and any(words in answer for words in kept for answer in answers)

    def attacked(self, step, others):
        """Lets impostors attack a new server; returns what they were told, by database."""
        with ExitStack() as stack:
            made = {name: self.made(stack, name, mode, others) for name, mode in self.names()}
            careless = self.made(stack, "careless", "set_role", others)
            entries = [self.entry(name, made[name], mode) for name, mode in self.names()]
            entries.append(careless.entry("careless", careless.login, "set_role"))
            address = stack.enter_context(self.serving(made | {"careless": careless}, entries))
            proof = Caller(address, careless.tokens[0]).query(BROKEN.format(other=careless.roles[1]))
            if ALIEN not in proof.text:
                self.faults.add("a database that nothing guards", proof.text)
            attacks = [Attack(address, made[name], name, others, self.faults) for name in made]
            threads = [
                threading.Thread(target=self.faults.watch, args=[attack.run, step])
                for attack in attacks
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return {attack.name: attack.answers for attack in attacks}

    def names(self):
        for mode in self.modes:
            yield mode, mode
            yield f"{mode}_writing", mode

    def made(self, stack, name, mode, others):
        rows, is_careless = [(OWN, 2), others], name == "careless"
        made = tenants_of_mode(self.variables, name, mode, rows, self.seal_sql, is_careless)
        return stack.enter_context(made)

    def entry(self, name, made, mode):
        made.write_passwords(self.folder)
        more = {"query_timeout": "5s", "pool_max_conns": 2, "allow_writes": name != mode}
        return made.entry(name, self.through(made), mode, self.folder, **more)

    @contextmanager
    def serving(self, made, entries):
        folder = self.folder
        records = [record for name, its in made.items() for record in its.records(name)]
        write_records(folder / "tokens.yaml", records)
        toolsets = [TOOLSET | {"for": {"everyone": True}}]
        arguments = write_configuration(folder, databases=entries, toolsets=toolsets)
        command = [self.program, "-http", "-addr", "127.0.0.1:0", *arguments]
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        with listening(command, environment, folder / "log") as (address, _):
            yield address
