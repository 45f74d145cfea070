"""Files that packages of distributions install, in the same places everywhere."""
from packs import builds, contents
from packs.project import Program, Target
from packs.templates import TEMPLATES
from packs.tree import Entry, gz, program, text


def files(each: Program, target: Target, completions: dict[str, str]) -> list[Entry]:
    """Returns the program, manuals, completions, and the unit with its account and folders."""
    entries = [program(f"usr/bin/{each.name}", builds.dynamic(target).program(each))]
    for page in contents.manuals(each):
        entries.append(Entry(f"usr/share/man/{page.path}.gz", gz(page.content or b"")))
    for shell, place in completions.items():
        path = f"{place}/{contents.file_of_completion(shell, each)}"
        entries.append(text(path, contents.completion(each, shell)))
    if each.unit:
        entries.append(text(f"usr/lib/systemd/system/{each.unit.name}", unit(each)))
        for kind in ("sysusers", "tmpfiles"):
            entries.append(text(f"usr/lib/{kind}.d/{each.name}.conf", (TEMPLATES / f"{kind}.conf").read_text()))
    return entries


def unit(each: Program) -> str:
    """Returns the unit of a package. It starts the server once there is a configuration."""
    assert each.unit
    condition = f"ConditionPathExists=/etc/ziggurat/{each.name}.yaml"
    found = each.unit.read_text().replace("/usr/local/bin/", "/usr/bin/")
    return found.replace("[Unit]\n", f"[Unit]\n{condition}\n", 1)
