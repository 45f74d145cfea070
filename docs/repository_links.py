"""A preprocessor of mdBook: links from the book to files of the repository that are not in it.

In the repository such links are relative, so that they work there and can be checked. In the book
they lead to `output.html.git-repository-url`, or become plain text where that is not set.
"""

import json
import os
import re
import sys

LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")


def outside(target, chapter):
    """The path in the repository that a link leads to, if it leaves the book."""
    if re.match(r"[a-z]+:|#|/", target):
        return None
    path, _, _ = target.partition("#")
    path = os.path.normpath(os.path.join("docs/src", os.path.dirname(chapter), path))
    return None if path.startswith("docs/src/") else path


def rewritten(text, chapter, repository):
    """A chapter with its links out of the book changed; code blocks stay as they are."""

    def one(match):
        path = outside(match[3], chapter)
        if path is None or match[1]:
            return match[0]
        if repository is None:
            return match[2]
        _, anchor, name = match[3].partition("#")
        return f"[{match[2]}]({repository}/blob/main/{path}{anchor}{name})"

    parts = re.split(r"(^ *```.*?^ *```[^\n]*$)", text, flags=re.S | re.M)
    parts[::2] = [LINK.sub(one, part) for part in parts[::2]]
    return "".join(parts)


def walk(node, repository):
    """Changes every chapter, wherever it is: mdBook 0.4 and 0.5 name the lists differently."""
    if isinstance(node, dict):
        if isinstance(node.get("content"), str) and node.get("path"):
            node["content"] = rewritten(node["content"], node["path"], repository)
        for child in node.values():
            walk(child, repository)
    elif isinstance(node, list):
        for child in node:
            walk(child, repository)


def main():
    if sys.argv[1:2] == ["supports"]:
        return
    context, book = json.load(sys.stdin)
    html = context["config"].get("output", {}).get("html", {})
    repository = html.get("git-repository-url")
    walk(book, repository.rstrip("/") if repository else None)
    json.dump(book, sys.stdout)


if __name__ == "__main__":
    main()
