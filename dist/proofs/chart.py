"""The chart for Kubernetes, and the plain files that it renders to."""
import pathlib
import shutil

from packs.project import ROOT, TOOLS
from proofs.support import NotRun, proof, run

CHART = ROOT / "deploy/chart"
PLAIN = ROOT / "deploy/kubernetes/ziggurat-tools.yaml"


def helm() -> pathlib.Path:
    """Returns the path of helm."""
    found = TOOLS / "bin/helm"
    if not found.is_file() and not shutil.which("helm"):
        raise NotRun("helm is not installed")
    return found if found.is_file() else pathlib.Path(str(shutil.which("helm")))


def rendered(*words: str) -> str:
    """Returns what the chart renders to."""
    return run(helm(), "template", "ziggurat-tools", CHART, *words)


@proof
def the_chart_renders_to_the_plain_files() -> None:
    """Lints the chart, and compares what it renders to with the committed file."""
    run(helm(), "lint", "--strict", CHART)
    assert rendered() == PLAIN.read_text(), "helm template ziggurat-tools deploy/chart >" + str(PLAIN)


@proof
def wrong_values_are_refused_by_the_chart() -> None:
    """Renders with values that the schema does not admit."""
    for value in ("replicas=0", "network.https=perhaps", "nothing.of.the.kind=1", "configuration.databases=null"):
        try:
            rendered("--set", value)
        except AssertionError:
            continue
        raise AssertionError(f"{value} is accepted")
    assert "port: 443" in rendered("--set", "network.https=true")


@proof
def the_plain_files_fit_the_schemas_of_kubernetes() -> None:
    """Validates each object."""
    validate = TOOLS / "bin/kubernetes-validate"
    if not validate.is_file():
        raise NotRun("kubernetes-validate is not installed")
    run(validate, "--strict", PLAIN)
