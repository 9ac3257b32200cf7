"""What keeps a framework or a library from being installed or imported, whatever the GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.checks.engine.ask import framework_by_package
from envkit.checks.engine.command import WHEEL, fixed, run
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Remedy, Status
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.remedies import on_windows
from envkit.checks.frameworks.builds import fresh
from envkit.checks.frameworks.installs import first_python, pip
from envkit.checks.programs.told import told_by_program
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix

_ABSENT = "framework-not-installed"


def _install(environment: Environment, matrix: Matrix) -> Remedy:
    """The build that fits, where the machine is reported; otherwise the question to put to envkit there."""
    messages = seen(environment, _ABSENT)
    if named(messages, "module") == "triton":
        return Remedy(
            "Triton is missing. Each release of PyTorch requires one release of it: install exactly the one that pip "
            "names here, with the Python that runs the program.",
            (fixed("python -m pip check"),),
        )
    framework = framework_by_package(matrix, named(messages, "module") or "torch")
    why = (
        "Install it into the Python that runs the program. An environment that is not activated, a notebook kernel, "
        "and sudo can each use a different Python."
    )
    return fresh(environment, matrix, framework.name if framework else "pytorch", why, messages)


told_by_program(
    Fault(
        _ABSENT,
        "The framework is not installed in the Python that runs the program",
        impact="The program stops at the import.",
        remedy=_install,
    ),
    doc="""The framework that a program imports is installed in the Python that runs it.

    pip often belongs to a different Python from the one that runs the program.
    """,
    rank=21,
    fix="Install the missing package with the Python that runs the program (python -m pip).",
    references=threads("pytorch/pytorch#15999", "pytorch/pytorch#172808"),
)
told_by_program(
    Fault(
        "python-externally-managed",
        "The system's Python is externally managed, so pip refuses to install into it",
        impact="pip installs nothing; the GPU is not involved.",
        remedy="Create a virtual environment and install there.",
        actions=("venv-at-home",),
    ),
    doc="""Packages from pip go into a virtual environment.

    Recent distributions mark their Python as externally managed (PEP 668), and pip refuses to install into it.
    """,
    rank=20,
    references=("https://peps.python.org/pep-0668/",),
)
told_by_program(
    Fault(
        "mkl-too-new-for-torch",
        "The installed MKL is newer than this PyTorch can load",
        impact="import torch fails.",
        remedy="Downgrade MKL to a release that still has the symbol, in the conda environment.",
        actions=("older-mkl",),
    ),
    doc="""The MKL that conda installed still exports the symbols that PyTorch needs.

    Newer MKL releases dropped iJIT_NotifyEvent, which older conda packages of PyTorch use.
    """,
    rank=22,
    references=threads("pytorch/pytorch#123097"),
)


def _one_openmp(environment: Environment, matrix: Matrix) -> Remedy:
    """On Windows, the defaults channel has no packages without MKL."""
    hidden = "KMP_DUPLICATE_LIB_OK=TRUE only hides the error and can lead to wrong results."
    if on_windows(environment):
        return Remedy(
            "Install all packages from one source, so that there is one copy: in a new environment, install PyTorch, "
            f"NumPy, and everything else with pip only, or with conda from conda-forge only. {hidden}",
            (fixed("python -m venv torch-env"), run(r"torch-env\Scripts\activate")),
        )
    return Remedy(
        "Install all packages from one source, so that there is one copy; with conda, the command below switches to "
        f"packages without MKL. {hidden}",
        (fixed("conda install nomkl"),),
    )


told_by_program(
    Fault(
        "openmp-loaded-twice",
        "Two copies of the OpenMP library were loaded into one process",
        impact="The second copy ends the program; the GPU is not involved.",
        remedy=_one_openmp,
        status=Status.WARN,
    ),
    doc="""Only one OpenMP runtime is loaded.

    Packages from pip and conda each include libiomp5 or libomp; the second copy to start ends the process.
    """,
    rank=23,
    fix="Install all packages from one source, so that there is one copy.",
    references=threads("hiyouga/LlamaFactory#1725"),
)
told_by_program(
    Fault(
        "opencv-without-libgl",
        "OpenCV needs a desktop library that is missing",
        impact="import cv2 fails; the GPU is not involved.",
        remedy="Install the OpenCV build that needs no desktop.",
        steps=(
            fixed("python -m pip uninstall -y opencv-python"),
            fixed("python -m pip install opencv-python-headless"),
        ),
    ),
    doc="""The libraries that OpenCV was linked with are installed.

    Server and container images have no libGL.so.1 or libgthread-2.0.so.0.
    """,
    rank=24,
    references=threads("pytorch/ignite#1615", "opencv/opencv-python#370"),
)


def _by_pip(environment: Environment, wheel: str) -> Remedy:
    """The wheel that a setup.py wants to download by itself, which pip's options and proxy do not reach."""
    return Remedy(
        "The package's setup.py downloads this wheel by itself, without pip's retries, proxy, or mirror: let pip "
        "install it (or download it with a browser, and give pip the file; if GitHub cannot be reached, through a "
        "mirror). In an image, write this line instead of the one that fails. Or have it compiled here, which needs "
        "nvcc and much time: set FLASH_ATTENTION_FORCE_BUILD=TRUE before the installation.",
        (pip(first_python(environment), "install", "--no-deps", WHEEL(wheel)),),
    )


def _once_more(environment: Environment, matrix: Matrix) -> Remedy:
    """Only a file that came in part is thrown away: the others are gigabytes that would be loaded again."""
    if seen(environment, "download-failed", "apt-release"):
        return Remedy(
            "apt-get update stops at a repository that no longer exists, so what comes after it is not installed. "
            "Find the file that lists the repository, which the error names, delete or disable it (a newer address may "
            "be in its project's guide), run apt-get update again, and start the installation again.",
            (fixed("grep -r ^deb /etc/apt/sources.list /etc/apt/sources.list.d"),),
        )
    wheel = WHEEL(named(seen(environment, "download-failed", "detail-wheel"), "url"))
    if isinstance(wheel, str):
        return _by_pip(environment, wheel)
    if seen(environment, "download-failed", "hash"):
        return Remedy(
            "The downloaded file does not match the published one: the cache contains only part of it, or a proxy "
            "changed it. Clear pip's cache, and try again.",
            (fixed("python -m pip cache purge"),),
        )
    return Remedy(
        "Give pip a longer timeout and more retries for slow or unstable connections, and rerun the installation: "
        "files that were downloaded completely are not downloaded again. Behind a proxy that inspects TLS, pass its "
        "certificate to pip (--cert or PIP_CERT).",
        (fixed("python -m pip config set global.timeout 120"), fixed("python -m pip config set global.retries 10")),
    )


told_by_program(
    Fault(
        "download-failed",
        "A package download failed",
        impact="The installation did not complete; the GPU is not involved.",
        remedy=_once_more,
    ),
    doc="""The package index can be reached, and downloads complete.

    GPU framework wheels are gigabytes in size, so an unstable connection or a proxy causes trouble here first.
    """,
    rank=25,
    fix="Try again with a longer timeout and more retries; clear pip's cache only if hashes do not match.",
    references=threads("pytorch/pytorch#124566", "AUTOMATIC1111/stable-diffusion-webui#11784"),
)
