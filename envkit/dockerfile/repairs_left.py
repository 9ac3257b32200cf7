"""Why a fault of a Dockerfile has no certain repair: one line, which `--fix` prints beside what it leaves."""

from __future__ import annotations

from collections.abc import Mapping

from envkit._startup.regex import regex
from envkit.checks.containers import image_faults as faults
from envkit.checks.containers import image_stops as stops
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.repairs_names import is_module

_UNKNOWN = "no change is known that is certain to help."
_ONLY_THE_AUTHOR = "which one was meant, only its author can say."
_SEVERAL = "several releases may do, and which one the code needs is not in the file."

_INSTEAD = regex(r"Install (python3-[a-z0-9.+-]{1,60})\.")
_MODULE = "modules from apt are for the distribution's Python, which may not be the one that this image uses."
_BASE_FLAVOR = regex(r"nvidia/cuda:[\d.]{1,12}-base(?:-[\w.]{1,40})?\s")
_OTHER_MAJOR = (
    "no tag of the same major CUDA is left for this system, and what the file brings may be built for that CUDA."
)
_MINICONDA = "Miniconda"
_NO_CONDA = "no older Miniconda is known with a conda for each Python that the file installs beside it."

_WHY: Mapping[str, str] = {
    faults.BASE_GONE.id: "nothing else is certain to hold what this image held and the file uses.",
    faults.BASE_UNKNOWN.id: "the image is named by an argument that the file does not set.",
    faults.BASE_END_OF_LIFE.id: "a newer image may lack what the file uses.",
    faults.CPU_BUILD.id: "the CPU build may be meant.",
    faults.CUDA_MISSING.id: "no tag of the same image holds this CUDA.",
    faults.CUDNN_DIFFERS.id: "no tag of the same CUDA and system holds this cuDNN.",
    faults.CUDNN_MISSING.id: "no tag of the same CUDA and system holds this cuDNN.",
    faults.FRAMEWORK_FOR_OTHER_CUDA.id: "whether the framework or the base has to change is not in the file.",
    faults.FRAMEWORK_VERSION.id: f"the release was never there, and {_ONLY_THE_AUTHOR}",
    faults.PYTHON_WITHOUT_PACKAGE.id: "whether the Python or the release has to change is not in the file.",
    faults.REQUIREMENTS_CLASH.id: _SEVERAL,
    faults.NUMPY_UNBOUNDED.id: _SEVERAL,
    stops.APT_WITHOUT_PACKAGE.id: "no successor of the package is known that is certain to serve as well.",
    stops.ARGUMENT_MISSING.id: "the value comes from whoever builds the image: pass it with --build-arg.",
    stops.COMMANDS_JOINED.id: "where one command ends and the next begins is not certain.",
    stops.CONDA_TERMS.id: "the newest conda has no build for a Python that the file installs beside it.",
    stops.GPU_AT_BUILD.id: "the command needs a GPU, which docker build does not have: run it in a container.",
    stops.INSTALLER_GONE.id: "where the file can be had now is not certain.",
    stops.LIST_MISSING.id: "the file is not in what was checked.",
    stops.OTHER_PYTHON.id: "which of the two Pythons is meant is not in the file.",
    stops.PACKAGE_REFUSES.id: "what to install in its place depends on the code.",
    stops.PIP_MISSING.id: "which pip is meant is not in the file.",
    stops.PIP_REFUSES_METADATA.id: "whether pip or the package has to change is not in the file.",
    stops.PROGRAM_MISSING.id: "the program comes with no package that is known.",
    stops.SERVICE_AT_BUILD.id: "the command needs a service that runs, and none does in a build.",
    stops.TOOL_OPTION.id: "what the option did has no equal.",
    stops.TORCH_HIDDEN.id: "which torch to install first is not in the file.",
    stops.WORD_UNKNOWN.id: f"the word says nothing that can be read; {_ONLY_THE_AUTHOR}",
}


def why_left(finding: Finding) -> str:
    """Why `--fix` leaves this one, and what the remedy says, for a person to decide."""
    if finding.id == faults.BASE_GONE.id:  # what its remedy names does not suit the rest of the file
        return _OTHER_MAJOR if _BASE_FLAVOR.match(finding.title) else _WHY[finding.id]
    remedy, why = finding.remedy, _WHY.get(finding.id, _UNKNOWN)
    if finding.id == faults.GLIBC_TOO_OLD.id and _MINICONDA in finding.title:
        why = _NO_CONDA
    if remedy is None:
        return why
    word, package = finding.subject.partition(": ")[2], _INSTEAD.fullmatch(remedy.advice)
    if finding.id == stops.APT_WITHOUT_PACKAGE.id and package is not None and is_module(package[1], word):
        return _MODULE
    commands = [f"`{command}`" for command in remedy.commands if remedy.summary.endswith(":")]
    return " ".join((why, remedy.summary, *commands)).rstrip()
