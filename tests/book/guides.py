"""Finds the names in a guide that the repository does not have, for `links.py`.

- A path in backticks is a file or folder. A placeholder, such as `<name>`, stands for any name.
- A name in backticks is declared in a source. With a file behind it, as in "`Id` of `table.rs`", it
  is declared in that file.
- A name with its type, such as `Error::Reported`, is declared in a source that names the type in
  the head of an item. A name with its module, such as `client::chosen`, is written in a source.
- A command in backticks or in a console block runs a script, a package and a test that exist.
- A route, such as `GET /api/activity`, is in an OpenAPI document, and a flag in a list of flags.
"""

import re
from pathlib import Path

SOURCES = (".css", ".mjs", ".py", ".rs", ".toml", ".ts", ".tsx", ".yaml")

FLAGS = re.compile(r"bin/(cli/REFERENCE.md|.*/FLAGS.txt)|.ci/run")
ROUTES = re.compile(r"openapi/.*\.json")

# Names of other projects.
FOREIGN = {"CancelRequest", "ToSchema", "clippy", "rustfmt", "unwrap"}

FENCE = re.compile(r"^ *```([^\n]*)\n(.*?)^ *```$", re.S | re.M)
# Code, and the file that it is in, if the text says so.
PLACE = r"\s+(?:in|of|to)\s+(?:\[`[^`]+`\]\(([^)\s]+)\)|`([\w./-]+\.\w+)`)"
CODE = re.compile(rf"`([^`]+)`(?=(?:{PLACE})?)")
NAME = re.compile(r"\.?(?:impl )?(\w+)((?:::\w+)*)(?:[(<]\S*)?")
PATH = re.compile(r"[\w.<>-]+(?:/[\w.<>-]*)*")


def pattern(path):
    """A pattern for the files that a path with placeholders stands for, complete or not."""
    parts = re.split(r"<\w+>", path.rstrip("/"))
    return re.compile(r"(?:.*/)?" + r"[\w-]+".join(map(re.escape, parts)) + r"(?:/.*)?")


def declares(text, name):
    """Whether a source declares a name: an item, a variable, a variant, a field or a key."""
    kinds = "class|const|def|enum|fn|function|interface|let|mod|static|struct|trait|type"
    item = rf"\b(?:{kinds}) (?:mut )?"
    member = r"^ *(?:pub(?:\([^)]*\))? )?"
    declared = rf"{item}{name}\b|{member}{name}(?: ?[:,({{=?]|$)|['\"]{name}['\"]"
    return name in text and re.search(declared, text, re.M) is not None


class Repository:
    """The files of the repository, and the texts of its sources."""

    def __init__(self, root, files):
        def read(names):
            return {name: (root / name).read_text() for name in names}

        self.files = files
        self.endings = {Path(name).suffix for name in files} - {""}
        self.folders = {name.split("/")[0] for name in files if "/" in name}
        self.texts = read(name for name in files if name.endswith(SOURCES))
        self.flags = "\n".join(read(filter(FLAGS.fullmatch, files)).values())
        self.routes = "\n".join(read(filter(ROUTES.fullmatch, files)).values())
        manifests = [text for name, text in self.texts.items() if name.endswith("Cargo.toml")]
        named = re.compile(r'^name = "([^"]+)"', re.M)
        self.targets = {name for text in manifests for name in named.findall(text)}
        self.scripts = (root / "services/console/web/package.json").read_text()

    def is_path(self, code):
        folder, slash, _ = code.partition("/")
        is_known = Path(code).suffix in self.endings or (slash and folder in self.folders)
        return is_known and PATH.fullmatch(code) is not None

    def has(self, path):
        wanted = pattern(path)
        return any(wanted.fullmatch(name) for name in self.files)

    def named(self, path):
        """The sources that a path stands for."""
        wanted = pattern(path)
        return [name for name in self.texts if wanted.fullmatch(name)]

    def of(self, owner):
        """The sources that name a type in the head of an item."""
        head = re.compile(rf"\b(?:enum|impl|struct|trait|type)\b[^\n]*\b{owner}\b")
        return [name for name, text in self.texts.items() if owner in text and head.search(text)]

    def command(self, words):
        """What is wrong with a command."""
        words = [word for word in words if not re.match(r"[A-Z_]+=", word)]
        program, arguments = words[0], words[1:]
        if program in ("bash", "python3") and arguments[0] not in self.files:
            yield f"there is no script {arguments[0]}"
        if program == "npm" and arguments[0] in ("run", "test"):
            script = arguments[-1]
            if f'"{script}":' not in self.scripts:
                yield f"there is no script {script} of npm"
        if program == "cargo":
            # The folder of a test gives it its name, if no manifest does.
            for flag, value in zip(arguments, arguments[1:]):
                is_folder = flag == "--test" and self.has(f"tests/{value}")
                if flag in ("-p", "--test") and value not in self.targets and not is_folder:
                    yield f"there is no {value} for {flag}"

    def problem(self, code, place):
        """What is wrong with code in backticks, if something is."""
        words = code.split()
        if words[0] == "GET":
            return None if f'"{words[1]}"' in self.routes else f"there is no route {code}"
        if code.startswith("--"):
            return None if code in self.flags else f"there is no flag {code}"
        if self.is_path(code):
            return None if self.has(code) else f"there is no file {code}"
        name = NAME.fullmatch(code)
        if name is None or name[1] in FOREIGN or not name[1]:
            return None
        owner, _, last = (name[1] + name[2]).rpartition("::")
        if owner.islower():
            found = any(f"{owner}::{last}" in text for text in self.texts.values())
        else:
            sources = self.of(owner) if owner else self.named(place) if place else self.texts
            found = any(declares(self.texts[source], last) for source in sources)
        place = owner or place
        return None if found else f"there is no {last}" + (f" in {place}" if place else "")


def problems(text, repository):
    """What a guide names that does not exist."""
    consoles = [console for kind, console in FENCE.findall(text) if kind == "console"]
    lines = "".join(consoles).splitlines()
    commands = [line.split("  #")[0].removeprefix("$ ") for line in lines if line]
    for code, link, path in CODE.findall(FENCE.sub("", text)):
        code = " ".join(code.split())
        if re.match(r"(?:[A-Z_]+=\S+ )*(?:bash|cargo|npm|python3) ", code):
            commands.append(code)
        elif found := repository.problem(code, link or path):
            yield found
    for line in commands:
        for command in line.split("&&"):
            yield from repository.command(command.split())

