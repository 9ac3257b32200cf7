"""A newer cuDNN in place of the one that is loaded: whose it is decides how."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.checks.cuda.cudnn_wheels import cudnn_for_build, installed_wheels, newer_wheel, outdated_wheel
from envkit.checks.cuda.dll_folders import first_on_path
from envkit.checks.cuda.libraries import uses
from envkit.checks.engine.command import CONDA_SPEC, NAME, fixed, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.loader_path import folder_of, without_folders
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import on_windows, remedy
from envkit.checks.frameworks.installs import judged, pip
from envkit.model import Distribution, Environment, PythonEnvironment

if TYPE_CHECKING:
    from envkit.tables import Matrix


_MINOR = regex(r"m[1-9]")  # how the groups of Paddle's warning are called
_NUMBER = regex(r"(?P<major>\d{1,2})(?P<minor>\d)(?P<patch>\d\d)")


def cudnn_version(told: str | None) -> Version | None:
    """The version that a message names, 5.1.10 for cuDNN's own number 5110."""
    number = _NUMBER.fullmatch(told or "")
    if number is None:
        return Version.find(told or "")
    return Version.of(int(number["major"]), int(number["minor"]), int(number["patch"]))


def newer_cudnn(environment: Environment, matrix: Matrix) -> Remedy:
    """The wheel's own where the environment has one, hidden by LD_LIBRARY_PATH; otherwise a newer one next to it."""
    python = next(iter(judged(environment)), None)
    built = cudnn_version(named(seen(environment, "cudnn-older-than-build"), "built")) or _of_paddle(environment)
    if on_windows(environment):
        return first_on_path(built)
    if python is not None and built is not None and (wheel := outdated_wheel(python, built)):
        return newer_wheel(python, wheel, built)
    if python is not None and installed_wheels(python):
        advice = "Remove the old cuDNN's directory from LD_LIBRARY_PATH so that the wheel's own cuDNN is loaded."
        guilty = [folder_of(use.path) for _, use in uses(environment) if use.path and "cudnn" in use.soname]
        return without_folders(environment, advice, guilty, "cuda")
    if caffe := _without_cudnn(environment):
        return caffe
    if seen(environment, "cudnn-older-than-build", "detail-cupy", "detail-cupy-import"):
        return _without_cupy(environment)
    if built is not None and "colab" in managers(environment):
        return remedy(
            environment,
            f"In a notebook, variables take effect too late: upgrade the runtime's own cuDNN to the {built.major}.x "
            "that TensorFlow was built with, in the first cell, and restart the runtime (Runtime > Restart). A new "
            "runtime needs the same again. Or keep the TensorFlow that comes with Colab, and install only releases "
            "of other packages that are compatible with it.",
            "colab-cudnn",
            major=built.major,
            version=built.release(2),
        )
    if python is not None and (conda := _of_conda(python, built)):
        root = _root_of(environment, python)
        return remedy(
            environment,
            f"The environment has cuDNN {conda} itself, but LD_LIBRARY_PATH lists directories with an older one, "
            "which is found first: put the environment's own directory before them for this shell, and remove the "
            "old cuDNN from the line that sets the variable (grep -n LD_LIBRARY_PATH ~/.bashrc ~/.profile).",
            "own-lib-first" if root else "conda-lib-first",
            root=root,
        )
    if python is not None and built is not None and any(_is_of_conda(item) for item in python.distributions):
        return Remedy(
            f"conda brought an older cuDNN into the environment than {built}, which the framework was built with, and "
            "its own package of that release does not ask for it: install it by name, in the active environment. conda "
            "keeps the CUDA of the environment; if it finds no such build for it, take it from conda-forge (-c "
            "conda-forge). Start the program anew.",
            (run("conda", "install", CONDA_SPEC(f"cudnn={built.release(2)}")), fixed("conda list cudnn")),
        )
    return cudnn_for_build(environment, matrix, python, built)


def _of_paddle(environment: Environment) -> Version | None:
    """The release that Paddle's warning names: the group of the major release has the minor one in its name."""
    for message in seen(environment, "cudnn-older-than-build", "paddle-header"):
        return next((Version.find(name.removeprefix("below")) for name in message.values if "below" in name), None)
    values = [message.values for message in seen(environment, "cudnn-older-than-build", "paddle")]
    pairs = [(major, name[1:]) for one in values for name, major in one.items() if _MINOR.fullmatch(name)]
    return Version.find(f"{pairs[0][0]}.{pairs[0][1]}") if pairs else None


def _is_of_conda(item: Distribution) -> bool:
    return item.name == "cudnn" and item.installer == "conda"


def _without_cupy(environment: Environment) -> Remedy:
    """One process has one cuDNN, that of whatever loads it first: CuPy, which spaCy's GPU extra installs, has its
    own."""
    python = next(iter(judged(environment)), None) or PythonEnvironment("", None)
    return Remedy(
        "The older cuDNN comes with CuPy, which spacy[cuda…] installs: a process keeps the cuDNN that is loaded "
        "first, so importing spaCy or CuPy before TensorFlow gives TensorFlow the older one. Without any installation: "
        "import TensorFlow and run one convolution (or fit) before the first import of spaCy or CuPy, in a fresh "
        "process (a notebook: Runtime > Restart). Or do without CuPy: spaCy then runs on the CPU, and TensorFlow keeps "
        "the GPU (in a notebook, restart the runtime afterward).",
        (fixed("python -m pip list"), pip(python, "uninstall", "-y", *map(NAME, _cupy(environment)))),
    )


def _cupy(environment: Environment) -> list[str]:
    """CuPy's wheel by the CUDA that spaCy's extra names, otherwise the plain package."""
    cuda = named(seen(environment, "cudnn-older-than-build", "detail-cupy"), "cuda")
    return [f"cupy-cuda{cuda}"] if cuda else ["cupy"]


def _of_conda(python: PythonEnvironment, built: Version | None) -> str:
    """The cuDNN that conda brought into the environment, where it is new enough; otherwise ''."""
    item = next((item for item in python.distributions if _is_of_conda(item)), None)
    own = Version.find(item.version) if item is not None else None
    return str(own) if own is not None and built is not None and own.release(2) >= built.release(2) else ""


def _root_of(environment: Environment, python: PythonEnvironment) -> str:
    told = environment.traceback_python.value or ""
    return python.prefix or (told.removesuffix("/bin/python") if told.endswith("/bin/python") else "")


def _without_cudnn(environment: Environment) -> Remedy | None:
    """Caffe's sources are newer than the cuDNN whose header was found: it compiles without, or with a newer one."""
    lines = seen(environment, "cudnn-older-than-build", "header")
    if not any("caffe" in message.text.lower() or message.text.lstrip().startswith("./include") for message in lines):
        return None
    name = named(lines, "name") or "that name"
    return Remedy(
        f"This Caffe source uses {name}, which the installed cudnn.h does not have: it was introduced in cuDNN 4. "
        "Either replace the cuDNN in /usr/local/cuda with version 4 or 5 (headers and libraries, from NVIDIA's cuDNN "
        "archive for this CUDA), or compile without cuDNN, as below: that works right away, but runs somewhat slower.",
        (
            fixed("sed -i.bak 's/^USE_CUDNN := 1/# USE_CUDNN := 1/' Makefile.config"),
            fixed("make clean"),
            fixed("make all"),
        ),
    )
