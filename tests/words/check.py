#!/usr/bin/env python3
"""Checks the wording of comments, doc comments, names and messages.

Usage: check.py [--count] [PATH ...]    PATH is a file or folder; default: the whole repository
Rule 1: a doc comment starts with a verb in the third person or a noun.
Rule 2: a text names the client, caller, operator, token or task it is about.
Rule 6: a reference to a document names a file under docs/ or a public specification.
Rule 7: four wordy patterns become fewer in comments and manuals: there may be as many as LIMITS says.
Prints `file:line: what: what to say instead` and exits with 1 if a text breaks a rule.
All rules hold for *.rs files, rules 2 and 7 also for *.md files. Rule 7 is for the whole repository.
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

FIRST_WORDS = "what whatever whether how who whom whose whoever which where when why as if".split()

PEOPLE = {
    "nobody": '"no client", "no caller", "no task" or the passive voice',
    "somebody": '"a client", "another caller", "an operator"',
    "someone": '"a client", "another caller", "an operator"',
    "whoever": '"the client that", "the caller that", "code that"',
    "everybody": '"all clients", "every caller", "all users"',
    "everyone": '"all clients", "every caller", "all users"',
    "anybody": '"any client", "every caller", "unauthenticated clients"',
    "anyone": '"any client", "every caller", "unauthenticated clients"',
}

REFERENCES = "section sections document documents ruling rulings details chapter".split()

# A reference is complete if one of these stands close to it.
NAMED = r"RFCs? \d|docs/|https?://|JSON-RPC 2\.0|OpenAPI 3|PostgreSQL's manual"
CLOSE = 80  # characters

# Pattern, the most that there may be, and what to say instead. The numbers only fall.
LIMITS = [
    (r"\b(?:that|those) of\b", 22, "repeat the noun"),
    (r"\b(?:is|are|was|were) none\b", 7, 'say "is not a …" or "there is no …"'),
    (r"\bwhose\b", 15, 'say "with", "which has", or use two sentences'),
    (r"\bwhat (?:is|was|has)\b", 16, "name the thing"),
]

# Texts about other things than this project.
EXEMPT_FILES = ["bin/demo/src/sample/handbook.md"]
ACCOUNT = re.compile(r"""[`"]nobody[`":]""")  # the Unix account
FIXED = re.compile(r"nobody (?:has checked it|could sign in)")  # sentences for people
KEY = re.compile(r"""[`"]everyone[`"]|\{everyone: true\b""")  # the key of a configuration

# Strings may be anything in code that only tests and benches run.
TEST_CODE = re.compile(r"(^|/)(tests|benches|fuzz)/|(^|/)(tests|corpus)\.rs$")

FIRST = re.compile(rf"\W*({'|'.join(FIRST_WORDS)})\b", re.I)
NAMES = "|".join([*PEOPLE, *map(str.upper, PEOPLE)])
IN_CAMEL_CASE = "|".join(map(str.title, PEOPLE))
PERSON = re.compile(rf"((?<![A-Za-z])(?:{NAMES})(?![A-Za-z])|(?:{IN_CAMEL_CASE})(?![a-z]))")
REFERENCE = re.compile(rf"\b({'|'.join(REFERENCES)})\s+\d+(\.\d+)*", re.I)
NAME = re.compile(r"\b(?:fn|struct|enum|trait|mod|type|const|static|macro_rules!)\s+(\w+)")
TEST_MODULE = re.compile(r"#\[cfg\((?:all\()?test\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*(?:pub\s+)?mod\s+\w+\s*\{")
TOKEN = re.compile(
    r"""
      (?P<comment> //[^\n]*(?:\n[ \t]*//[^\n]*)* | /\*.*?\*/ )
    | (?P<string> \b[bc]?r(?P<hashes>\#*)".*?"(?P=hashes) | [bc]?"(?:\\.|[^"\\])*" )
    | b?'(?:\\[^\n]{1,8}|[^\\'\n])'
    """,
    re.X | re.S,
)

Finding = collections.namedtuple("Finding", "line rule what instead")


def people(text, line):
    """Rule 2, for a text that starts on `line`."""
    for exempt in (ACCOUNT, FIXED, KEY):
        text = exempt.sub(lambda match: " " * len(match[0]), text)
    for match in PERSON.finditer(text):
        at = line + text.count("\n", 0, match.start())
        yield Finding(at, 2, f'"{match[1]}"', f"say {PEOPLE[match[1].lower()]}")


def references(text, line):
    """Rule 6, for a block of comments that starts on `line`."""
    # Same length, so that positions stay: a reference may continue on the next line.
    flat = re.sub(r"\n[ \t]*//[/!]?", lambda m: " " * len(m[0]), text)
    for match in REFERENCE.finditer(flat):
        around = flat[max(0, match.start() - CLOSE) : match.end() + CLOSE]
        if not re.search(NAMED, re.sub(r"\s+", " ", around)):
            at = line + text.count("\n", 0, match.start())
            what = re.sub(r"\s+", " ", match[0])
            yield Finding(at, 6, f'"{what}"', "name a file under docs/ or an RFC")


def first_words(text, line):
    """Rule 1, for a block of comments that starts on `line`."""
    before = None
    for at, comment in enumerate(text.split("\n"), line):
        kind = re.match(r"\s*(///(?!/)|//!|//)", comment)
        kind = kind and kind[1]
        start = FIRST.match(comment.strip()[3:])
        if kind in ("///", "//!") and kind != before and start:
            instead = "start with a verb in the third person or a noun"
            yield Finding(at, 1, f'doc comment starts with "{start[1]}"', instead)
        before = kind


def wordy(path, source):
    """Rule 7: the lines of each pattern, in the comments of a Rust source or in a manual."""
    if path.endswith(".rs"):
        texts = ((token.start(), token[0]) for token in TOKEN.finditer(source) if token["comment"])
    else:
        # Blocks of code are not prose.
        texts = [(0, re.sub(r"^```.*?^```", lambda m: re.sub(r"[^\n]", " ", m[0]), source, flags=re.M | re.S))]
    for start, text in texts:
        # Same length, so that positions stay: a pattern may continue on the next line.
        flat = re.sub(r"\n[ \t]*(?://[/!]?)?", lambda m: " " * len(m[0]), text)
        flat = re.sub(r" +", lambda m: " " + "\0" * (len(m[0]) - 1), flat)
        for number, (pattern, _, _) in enumerate(LIMITS):
            for match in re.finditer(pattern.replace(" ", r" \0*"), flat, re.I):
                yield number, source.count("\n", 0, start + match.start()) + 1


def check_wordy(files):
    """Rule 7 for these files: the texts of each pattern that there are too many of."""
    found = collections.defaultdict(list)
    for path in files:
        for number, line in wordy(path, (ROOT / path).read_text(encoding="utf-8")):
            found[number].append((path, line))
    for number, (pattern, limit, instead) in enumerate(LIMITS):
        places = found[number]
        if len(places) > limit:
            for path, line in places:
                yield f"{path}:{line}: one of {len(places)} of {pattern}, {limit} are allowed: {instead}"


def check_rust(source, is_test):
    """Findings of a Rust source, in order."""
    found = []
    code = TOKEN.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), source)
    module = TEST_MODULE.search(code)
    tests_from = 0 if is_test else module.start() if module else len(source)
    for token in TOKEN.finditer(source):
        line = source.count("\n", 0, token.start()) + 1
        if token["comment"]:
            for rule in (first_words, people, references):
                found += rule(token[0], line)
        elif token["string"] and token.start() < tests_from:
            found += people(token[0], line)
    for name in NAME.finditer(code):
        found += people(name[1], code.count("\n", 0, name.start(1)) + 1)
    return sorted(found)


def check(path):
    """Findings of a file, by the rules for its kind."""
    source = (ROOT / path).read_text(encoding="utf-8")
    if path.endswith(".rs"):
        return check_rust(source, bool(TEST_CODE.search(path)))
    return list(people(source, 1))


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--count", action="store_true", help="print one count per rule")
    arguments.add_argument("paths", nargs="*", help="files or folders")
    options = arguments.parse_args()
    paths = [str(pathlib.Path(path).resolve()) for path in options.paths]
    files = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *paths],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.split("\0")
    files = {f for f in files if f.endswith((".rs", ".md")) and (ROOT / f).is_file()}
    files = sorted(files.difference(EXEMPT_FILES))
    found = [(path, finding) for path in files for finding in check(path)]
    too_wordy = [] if options.paths else list(check_wordy(files))
    if options.count:
        counts = collections.Counter(finding.rule for _, finding in found)
        for rule in (1, 2, 6):
            print(f"rule {rule}: {counts[rule]}")
    else:
        for path, finding in found:
            print(f"{path}:{finding.line}: {finding.what}: {finding.instead}")
        print(*too_wordy, sep="\n", end="\n" if too_wordy else "")
    return 1 if found or too_wordy else 0


if __name__ == "__main__":
    sys.exit(main())
