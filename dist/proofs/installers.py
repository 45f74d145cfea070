"""Packages for npm and PyPI, and the bundle: installed from files without a network, and driven by clients."""
import contextlib
import functools
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

from packs import npm
from packs.project import OUT, PROGRAMS, ROOT, TOOLS, TOOLS_SERVER, host, names, version
from proofs.static import unpacked
from proofs.support import NotRun, need, package, proof, run


@proof
def npm_installs_each_program_from_files() -> None:
    """Installs launchers and programs for this machine, and compares what both say."""
    for each in PROGRAMS:
        with npm_program(each) as (launcher, _):
            word = "-version" if each.is_server else "version"
            assert run(launcher, word) == run(unpacked(host().triple) / each.name, word)


@proof
def the_launcher_passes_signals_and_exit_codes() -> None:
    """Ends the program and the launcher in the same ways, and compares how they ended."""
    program = unpacked(host().triple) / TOOLS_SERVER.name
    with npm_program(TOOLS_SERVER) as (launcher, _):
        for words in (["-no-such-flag"], ["-check-config", "-config", "/nowhere"]):
            codes = [subprocess.run([each, *words], capture_output=True).returncode for each in (program, launcher)]
            assert codes[0] == codes[1] != 0, (words, codes)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            ended = [ended_by(each, number) for each in (program, launcher)]
            assert ended[0] == ended[1], (number, ended)


@proof
def another_machine_is_named_by_the_launcher() -> None:
    """Starts a launcher without its program."""
    need("node")
    with npm_program(TOOLS_SERVER) as (launcher, modules):
        shutil.rmtree(modules / names()["project"]["npm_scope"])
        done = subprocess.run([launcher], capture_output=True, text=True)
        assert done.returncode == 1 and "ziggurat-tools is not available for" in done.stderr, done


@proof
def pip_and_uv_install_wheels_from_files() -> None:
    """Installs the wheels of this machine into an environment, and runs one without installing it."""
    for each in PROGRAMS:
        with wheel_program(each) as program:
            assert version() in run(program, "-version" if each.is_server else "version")
    uvx = TOOLS / "bin/uvx"
    if not uvx.is_file():
        raise NotRun("uvx is not installed")
    run(uvx, "--offline", "--no-index", "--from", wheel(TOOLS_SERVER), TOOLS_SERVER.name, "-version")


@proof
def clients_of_others_drive_the_installed_programs() -> None:
    """Runs the clients of tests/interop with the launcher of npm and the script of the wheel."""
    with npm_program(TOOLS_SERVER) as (launcher, _), wheel_program(TOOLS_SERVER) as script:
        for program in (launcher, script):
            environment = {**os.environ, "INTEROP_PROGRAM": str(program)}
            command = ["bash", "tests/interop/run", "python_1", "python_2", "typescript_1", "typescript_2"]
            subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL, timeout=1800)


@proof
def the_bundle_is_valid_and_runs() -> None:
    """Validates the manifest with the tool of the format, unpacks the bundle, and runs its program."""
    need("npx")
    with tempfile.TemporaryDirectory() as folder:
        bundle = package(f"{names()['programs'][TOOLS_SERVER.name]['bundle']}-{host().triple}.mcpb")
        mcpb = TOOLS / "node/node_modules/.bin/mcpb"
        if not mcpb.is_file():
            raise NotRun("mcpb is not installed")
        run(mcpb, "unpack", bundle, folder)
        run(mcpb, "validate", f"{folder}/manifest.json")
        manifest = json.loads(pathlib.Path(folder, "manifest.json").read_text())
        assert manifest["user_config"]["database_url"]["sensitive"]
        program = pathlib.Path(folder, manifest["server"]["entry_point"])
        assert version() in run(program, "-version")


@proof
def the_entry_of_the_registry_fits_its_schema_and_files() -> None:
    """Validates server.json, and compares its digests with the bundles and its names with the packages."""
    skillsaw = TOOLS / "bin/skillsaw"
    if not skillsaw.is_file():
        raise NotRun("skillsaw is not installed")
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(OUT / "server.json", folder)
        run(skillsaw, "lint", "--rule", "mcp-registry-server-json-valid", folder)
    entry = json.loads((OUT / "server.json").read_text())
    for described in entry["packages"]:
        if described["registryType"] == "mcpb":
            bundle = OUT / described["identifier"].rpartition("/")[2]
            assert described["fileSha256"] == hashlib.sha256(bundle.read_bytes()).hexdigest(), bundle
    with npm_program(TOOLS_SERVER) as (_, modules):
        manifest = json.loads((modules / names()["programs"][TOOLS_SERVER.name]["npm"] / "package.json").read_text())
        assert manifest["mcpName"] == entry["name"]


@contextlib.contextmanager
def npm_program(each):
    """Yields the launcher of a program, installed from files, and the folder of its packages."""
    need("npm", "node")
    stem = names()["programs"][each.name]["npm"]
    carrier = npm.carrier_name(each, host()).removeprefix("@").replace("/", "-")
    files = [package(f"{name}-{version()}.tgz") for name in (carrier, stem)]
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "package.json").write_text('{"private": true}')
        words = ("--offline", "--ignore-scripts", "--no-audit", "--no-fund", "--cache", f"{folder}/cache")
        run("npm", "install", *words, *files, cwd=folder)
        modules = pathlib.Path(folder, "node_modules")
        yield modules / ".bin" / each.name, modules


@contextlib.contextmanager
def wheel_program(each):
    """Yields the script of a program, installed from a wheel."""
    with tempfile.TemporaryDirectory() as folder:
        run(sys.executable, "-m", "venv", folder)
        run(f"{folder}/bin/pip", "install", "--quiet", "--no-index", "--no-deps", wheel(each))
        yield pathlib.Path(folder, "bin", each.name)


def wheel(each) -> pathlib.Path:
    """Returns the wheel of a program for this machine."""
    processor = host().triple.partition("-")[0]
    return package(f"{names()['programs'][each.name]['pypi'].replace('-', '_')}-{version()}-py3-none-*{processor}.whl")


def ended_by(program: pathlib.Path, number: int) -> int:
    """Starts a server on standard input and output, ends it by a signal, and returns its exit code."""
    words = ["postgres://reader@localhost:1/shop"]
    # A check that runs without a terminal may ignore the end of one, and programs inherit that.
    default = functools.partial(signal.signal, number, signal.SIG_DFL)
    running = subprocess.Popen(
        [program, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=default
    )
    try:
        assert running.stdin and running.stdout
        running.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        running.stdin.flush()
        # Once there is an answer, the program handles signals.
        assert running.stdout.readline()
        running.send_signal(number)
        return running.wait(30)
    finally:
        running.kill()
        running.wait()
