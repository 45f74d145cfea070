"""Templates of packages. `@name@` in them stands for a value."""
import re

from packs.project import DIST, Program, manifests, names, version

TEMPLATES = DIST / "templates"


def filled(template: str, program: Program, **more: str) -> str:
    """Returns a template with the names of a program in it."""
    values = {**names()["project"], "program": program.name, "summary": summary(program), "version": version(), **more}
    return re.sub(r"@(\w+)@", lambda found: values[found[1]], (TEMPLATES / template).read_text())


def summary(program: Program) -> str:
    """Returns a program in one line."""
    return manifests()[program.package]["description"]


def short(program: Program) -> str:
    """Returns a program in one line without an article, as lists of packages have it."""
    return summary(program).removeprefix("An ").removeprefix("A ").removeprefix("The ")


def readme(program: Program, run: str) -> str:
    """Returns the text that registries show, with the name by which the registry of MCP knows it."""
    registry = names()["programs"][program.name].get("registry")
    return filled("package.md", program, run=run) + (f"\nmcp-name: {registry}\n" if registry else "")
