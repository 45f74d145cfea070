"""Files that packages have besides the programs."""
import functools
import pathlib
import subprocess
import tempfile

from packs import builds
from packs.project import CLI, ROOT, Program, host
from packs.third_party import notices
from packs.tree import Entry, text

SHELLS = ("bash", "zsh", "fish")
LICENCES = ("LICENSE-APACHE", "LICENSE-MIT")


def file_of_completion(shell: str, program: Program) -> str:
    """Returns the name under which a shell looks for the completions of a program."""
    return {"bash": program.name, "zsh": f"_{program.name}", "fish": f"{program.name}.fish"}[shell]


@functools.cache
def manuals(program: Program) -> tuple[Entry, ...]:
    """Returns the manual pages of a program, as it prints them."""
    if program is not CLI:
        return (text(f"man8/{program.name}.8", _printed(program, "-man")),)
    with tempfile.TemporaryDirectory() as folder:
        _printed(program, "man", "--dir", folder)
        return tuple(text(f"man1/{path.name}", path.read_text()) for path in sorted(pathlib.Path(folder).iterdir()))


@functools.cache
def completion(program: Program, shell: str) -> str:
    """Returns the completions of a program for a shell."""
    words = ("completion", shell) if program is CLI else ("-completion", shell)
    return _printed(program, *words)


@functools.cache
def licences() -> tuple[Entry, ...]:
    """Returns the licences of the programs and of all that they contain."""
    ours = [text(name, (ROOT / name).read_text()) for name in LICENCES]
    return (*ours, text("THIRD-PARTY", notices()))


def examples(program: Program) -> list[Entry]:
    """Returns the configurations that users copy."""
    return [text(path.name, path.read_text()) for path in program.examples]


@functools.cache
def _printed(program: Program, *words: str) -> str:
    """Returns what a program prints, with the build for this machine."""
    path = builds.static(host()).folder / program.name
    environment = {"LC_ALL": "C", "HOME": "/nonexistent"}
    done = subprocess.run([path, *words], env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout
