"""Checks the links, quotes and names of the documentation. `python3 tests/book/links.py`

- A relative link leads to a file or folder of the repository, and its anchor to a heading there.
- Every chapter is in the table of contents.
- Code that a chapter quotes without running it (`rust,ignore`) stands in an example of the layers.
- Every test that SECURITY.md names exists.
- Every file and name in the guides for contributors exists (`guides.py`).
"""

import re
import subprocess
import sys
from pathlib import Path

import guides

ROOT = Path(__file__).resolve().parents[2]

DOCUMENTS = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "bin/*/README.md",
    "layers/README.md",
    "layers/CHANGELOG.md",
    "docs/src/**/*.md",
]

GUIDES = ("CONTRIBUTING.md", "architecture.md")

LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")
REFERENCE = re.compile(r"^\[[^\]]+\]:\s+(\S+)", re.M)
INCLUDE = re.compile(r"\{\{#include ([^}:]+)")
FENCE = re.compile(r"^ *```([^\n]*)\n(.*?)^ *```[^\n]*$", re.S | re.M)
TEST = re.compile(r"`([a-z0-9]+(?:_[a-z0-9]+){3,})`")


def prose(text):
    """A document without its code."""
    text = FENCE.sub("", text)
    return re.sub(r"`[^`\n]*`", "`code`", text)


def anchors(text):
    """The anchors of the headings, as GitHub and mdBook make them."""
    found = set()
    for heading in re.findall(r"^#+ +(.+?) *#*$", FENCE.sub("", text), re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = "".join(c for c in heading if c.isalnum() or c in " -_").replace(" ", "-")
        number = 0
        while (unique := f"{name}-{number}" if number else name) in found:
            number += 1
        found.add(unique)
    return found


def links(document, tracked):
    """What is wrong with the links of a document."""
    text = document.read_text()
    targets = LINK.findall(prose(text)) + REFERENCE.findall(prose(text)) + INCLUDE.findall(text)
    for target in targets:
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (document.parent / path).resolve() if path else document
        if not file.is_relative_to(ROOT) or str(file.relative_to(ROOT)) not in tracked:
            yield f"there is no {target}"
        elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text()):
            yield f"there is no heading for {target}"


def quotes(document, examples):
    """The quotes of a document that are in no example."""
    for language, code in FENCE.findall(document.read_text()):
        if language.strip() == "rust,ignore" and "".join(code.split()) not in examples:
            yield f"no example has this code:\n{code}"


def without_tests(document, tests):
    """The tests a document names that do not exist."""
    for name in TEST.findall(FENCE.sub("", document.read_text())):
        if name not in tests:
            yield f"there is no test {name}"


def not_listed(summary):
    """The chapters that are not in the table of contents."""
    listed = set(LINK.findall(summary.read_text()))
    for chapter in sorted(summary.parent.rglob("*.md")):
        name = str(chapter.relative_to(summary.parent))
        if chapter != summary and name not in listed:
            yield f"{name} is not listed"


def main():
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    files = [name for name in listed.stdout.splitlines() if (ROOT / name).exists()]
    tracked = {"."} | set(files)
    tracked |= {str(parent) for name in files for parent in Path(name).parents}
    rust = [ROOT / name for name in files if name.endswith((".rs", ".py"))]
    defined = r"^\s*(?:pub\s+)?(?:async\s+)?(?:fn|def) (\w+)"
    tests = {name for file in rust for name in re.findall(defined, file.read_text(), re.M)}
    examples = (ROOT / "layers/examples").glob("*.rs")
    examples = "\n".join("".join(file.read_text().split()) for file in examples)

    repository = guides.Repository(ROOT, files)
    problems = []
    documents = [file for pattern in DOCUMENTS for file in sorted(ROOT.glob(pattern))]
    for document in documents:
        found = [*links(document, tracked), *quotes(document, examples)]
        if document.name == "SECURITY.md":
            found += without_tests(document, tests)
        if document.name in GUIDES:
            found += guides.problems(document.read_text(), repository)
        if document.name == "SUMMARY.md":
            found += not_listed(document)
        problems += [f"{document.relative_to(ROOT)}: {problem}" for problem in found]
    if problems:
        sys.exit("\n".join(problems))
    print(f"the links, quotes and names of {len(documents)} documents are good")


if __name__ == "__main__":
    main()
