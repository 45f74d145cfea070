#!/usr/bin/env python3
"""Counts what makes the code heavy to build and to read.

Usage: counts.py [FOLDER]    FOLDER is a checkout; default: this one

Prints a table with one count a line. Two checkouts are compared with two runs. Only files that Git
tracks are read; tests, examples, benches and generated files are no production code.
"""
import collections
import json
import pathlib
import re
import subprocess
import sys

PROGRAMS = "ziggurat-tools ziggurat-rag ziggurat-platform ziggurat-cli ziggurat-demo".split()

# Names of the types that describe one call.
CALL_TYPES = (
    "Start RunningCall MeasuredCall CallObserver RequestObserver BegunRequest RunningRequest"
    " ObservedBody RequestLimits RequestAccess CallFacts Facts CallLimits ObservedQuery"
    " ObservedQuestion Running CallerLimits Caller Target Call"
).split()
CALL_CRATES = re.compile(r"^(bin/(tools|rag|platform)|services/(answers|query-api|rag|calls|account-service))/src/")

# Not the extensions of files, formats and spans of logs.
LOOKUP = re.compile(
    r"(?<!span\.)extensions\(\)\s*\.(?:get|remove)\b|extensions_mut\(\)\s*\.(?:get\w*|insert|remove)\b"
    r"|(?<!path)(?<!name)(?<!format)(?<!ranking)\.extension(?:::<[^>]*>)?\(|\.set_extension\(|\bExtension\("
)
PATTERNS = {
    "that of, those of": r"\b(?:that|those) of\b",
    "is none, are none": r"\b(?:is|are|was|were) none\b",
    "whose": r"\bwhose\b",
    "what is, was, has": r"\bwhat (?:is|was|has)\b",
}
TEST_FILE = re.compile(r"(^|/)(tests?|benches|examples|fuzz|corpus)/|(^|/)(tests|fixture|test_\w+|corpus)\.rs$")
PRODUCTION = re.compile(r"^(layers|services/[^/]+|bin/[^/]+)/src/.*\.(rs|sql)$|^services/console/web/src/.*\.(ts|tsx|css)$")
TEST_MODULE = re.compile(r"^#\[cfg\((?:all\()?test\b[^\n]*\n(?:#\[[^\n]*\n)*(?:pub(?:\([^)]*\))? )?mod \w+ \{", re.M)
DECLARED = re.compile(r"^\s*(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait|union) (\w+)", re.M)
IMPORT = re.compile(r"\b((?:crate|super|self)(?:::\w+)+(?:::\{)?)")


def tracked(root):
    names = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True, text=True)
    return [name for name in names.stdout.split("\0") if name and (root / name).is_file()]


def production(root, names):
    """Texts of production code by file, without modules of tests."""
    texts = {}
    for name in names:
        if PRODUCTION.search(name) and not TEST_FILE.search(name) and not re.search(r"\.test\.tsx?$", name):
            text = (root / name).read_text(encoding="utf-8")
            module = TEST_MODULE.search(text)
            texts[name] = text[: module.start()] if module else text
    return texts


def module_of(name):
    """Folder of the crate, and the path of the module in it."""
    crate, inside = name.split("/src/", 1)
    parts = inside.removesuffix(".rs").split("/")
    return crate, () if parts in (["lib"], ["main"]) else tuple(part for part in parts if part != "mod")


def paths(code):
    """Paths that code names, those in the trees of `use` included."""
    for start in re.finditer(r"\b(?:crate|super|self)::", code):
        yield from tree(code, start.start(), ())[0]


def tree(code, at, prefix):
    found = []
    path = list(prefix)
    while True:
        name = re.compile(r"\s*(\w+|\*)").match(code, at)
        if name:
            path.append(name[1])
            at = name.end()
        if code.startswith("::{", at) or code.startswith("{", at) and not name:
            at = code.index("{", at) + 1
            while at < len(code):
                at = re.compile(r"[\s,]*").match(code, at).end()
                if at >= len(code) or code[at] == "}":
                    return found, at + 1
                inner, after = tree(code, at, path)
                found += inner
                at = max(after, at + 1)
                at = re.compile(r"\s*(?:as \w+)?").match(code, at).end()
            return found, at
        if code.startswith("::", at):
            at += 2
            continue
        found.append(tuple(path))
        return found, at


def resolve(module, path):
    base, rest = list(module), list(path)
    if rest and rest[0] == "crate":
        base = []
        rest = rest[1:]
    elif rest and rest[0] == "self":
        rest = rest[1:]
    while rest and rest[0] == "super":
        if base:
            base.pop()
        rest = rest[1:]
    return tuple(base + rest)


def components(edges):
    """Strongly connected components of more than one node, the largest first."""
    def reach(start, edges):
        seen, todo = {start}, [start]
        while todo:
            for other in edges.get(todo.pop(), ()):
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        return seen

    back = collections.defaultdict(set)
    for one, others in edges.items():
        for other in others:
            back[other].add(one)
    left, found = set(edges), []
    while left:
        start = next(iter(left))
        component = reach(start, edges) & reach(start, back)
        left -= component
        if len(component) > 1:
            found.append(component)
    return sorted(found, key=len, reverse=True)


def cycles(texts):
    """Cycles of files that import each other, by crate."""
    crates = collections.defaultdict(dict)
    for name, text in texts.items():
        if name.endswith(".rs"):
            crate, module = module_of(name)
            crates[crate][module] = re.sub(r"//[^\n]*", "", text)
    found = []
    for crate, modules in crates.items():
        edges = {}
        for module, code in modules.items():
            # A file names the modules that it declares; only other imports count.
            targets = set()
            for path in paths(re.sub(r"^\s*(?:pub(?:\([^)]*\))? )?use self::[^;]*;", "", code, flags=re.M)):
                target = resolve(module, path)
                while target not in modules and target:
                    target = target[:-1]
                if target != module and target in modules and target:
                    targets.add(target)
            edges[module] = targets
        found += [(crate, component) for component in components(edges)]
    return sorted(found, key=lambda cycle: len(cycle[1]), reverse=True)


def crates_below(root, program):
    command = ["cargo", "tree", "--locked", "--offline", "-p", program, "-e", "normal,build", "--prefix", "none"]
    listed = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    return len({" ".join(line.split()[:2]) for line in listed.splitlines() if line.strip()})


def repeated_names(texts):
    names = collections.Counter()
    for name, text in texts.items():
        if name.endswith(".rs"):
            names.update((module_of(name)[0], declared) for declared in DECLARED.findall(text))
    return sum(count - 1 for count in names.values())


def flat_folders(texts):
    files = collections.Counter(str(pathlib.Path(name).parent) for name in texts if name.endswith(".rs"))
    return {folder: count for folder, count in files.items() if count > 20}


def main():
    root = pathlib.Path(next((one for one in sys.argv[1:] if not one.startswith("-")), None) or pathlib.Path(__file__).parents[2]).resolve()
    names = tracked(root)
    texts = production(root, names)
    rust = {name: text for name, text in texts.items() if name.endswith(".rs")}
    code = {name: re.sub(r"//[^\n]*", "", text) for name, text in rust.items()}
    comments = [line for text in rust.values() for line in re.findall(r"//[^\n]*", text)]
    of_services = [
        line for name, text in rust.items() if name.startswith("services/") for line in re.findall(r"//[^\n]*", text)
    ]
    everything = "\n".join(code.values())
    rows = [
        ("production lines", sum(text.count("\n") for text in texts.values())),
        ("... without blank lines and comments",
         sum(1 for text in texts.values() for line in text.splitlines() if line.strip() and not re.match(r"\s*(//|/?\*|--)", line))),
        ("files of production code", len(texts)),
        ("crates in services", len({name.split("/")[1] for name in rust if name.startswith("services/")})),
    ]
    rows += [(f"crates below {program}", crates_below(root, program)) for program in PROGRAMS]
    found = cycles(rust)
    rows += [
        ("cycles of files", len(found)),
        ("cycles of more than three files", sum(len(cycle) > 3 for _, cycle in found)),
        ("files in the largest cycle", max((len(cycle) for _, cycle in found), default=0)),
        ("folders with more than 20 files", len(flat_folders(texts))),
        ("types of one call", len({
            (name.split("/src/")[0], declared) for name, text in code.items() if CALL_CRATES.search(name)
            for declared in DECLARED.findall(text) if declared in CALL_TYPES})),
        ("look-ups by type", len(LOOKUP.findall("\n".join(
            text for name, text in code.items() if not name.startswith(("layers/", "services/mcp/")))))),
        ("Result<_, String>", len(re.findall(r"Result<[^;{]*?,\s*String>", everything))),
        ("type names used again in one crate", repeated_names(code)),
        ("super:: outside of tests", len(re.findall(r"\buse super::", everything))),
        ("comment lines", len(comments)),
    ]
    for what, pattern in PATTERNS.items():
        in_rust = len(re.findall(pattern, "\n".join(comments), re.I))
        rate = 1000 * len(re.findall(pattern, "\n".join(of_services), re.I)) / len(of_services)
        rows.append((f'"{what}" in comments', f"{in_rust} ({rate:.1f} in 1,000 lines of services)"))
        prose = "\n".join((root / name).read_text(encoding="utf-8") for name in names if name.endswith(".md"))
        rows.append((f'"{what}" in manuals', len(re.findall(pattern, prose, re.I))))
    for what, count in rows:
        print(f"{what:46} {count:>8,}" if isinstance(count, int) else f"{what:46} {count}")
    if "--cycles" in sys.argv:
        for crate, cycle in found:
            print(crate, len(cycle), *sorted("::".join(module) for module in cycle))


if __name__ == "__main__":
    main()
