"""ONNX Runtime: one package in its folder, the one with the GPU provider."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.sentences import series
from envkit.base.versions import Version
from envkit.checks.engine.command import NAME, REQUIREMENT, export, fixed, run
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Outcome, Remedy, Status, ok
from envkit.checks.engine.managers import managed_by
from envkit.checks.engine.messages import message_evidence, named, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import on_windows, steps
from envkit.checks.frameworks.builds import fresh
from envkit.checks.frameworks.installs import distribution_evidence, installs, judged, pip, release
from envkit.model import Distribution, Environment, PythonEnvironment

if TYPE_CHECKING:
    from envkit.tables import Matrix

_PACKAGES = ("onnxruntime", "onnxruntime-gpu", "onnxruntime-directml", "onnxruntime-openvino")
_GPU = "onnxruntime-gpu"
_LINE = 2  # numbers of a release's line; more name one release
_LISTED = (
    "onnxruntime-gpu can do everything that onnxruntime can: list only onnxruntime-gpu in the requirements, or the "
    "next installation installs both again."
)
_RELEASE = regex(r"\bonnxruntime(?:-gpu)?(?:==| {1,40})(?P<version>\d{1,2}\.\d{1,3}\.\d{1,3})\b")  # of a list
_PRELOAD = (
    "The CUDA libraries and cuDNN come as wheels, in which ONNX Runtime does not look by itself: import torch first, "
    "or call onnxruntime.preload_dlls(), before the session is created."
)
_ASK_PROVIDERS = "import onnxruntime; print(onnxruntime.get_available_providers())"
_WORDS = "Uninstall all of them, then install the GPU package."


def built_with_cuda(environment: Environment) -> Remedy:
    """The own build again: without its switch, it leaves CUDA out and says nothing."""
    return Remedy(
        "This wheel was built from source without --use_cuda, and --cuda_home alone does not turn CUDA on: repeat your "
        "build command with --use_cuda added, in a fresh build directory (delete build/ first). The new wheel's name "
        "begins with onnxruntime_gpu: remove the old one, then install the new one from dist. The last command lists "
        "CUDAExecutionProvider then. A release from the package index needs no build, if it has one for this Python.",
        (
            fixed("python -m pip uninstall -y onnxruntime"),
            fixed("python -c 'import onnxruntime; print(onnxruntime.get_available_providers())'"),
        ),
    )


def found_by_loader(environment: Environment, given: Remedy) -> Remedy:
    """ONNX Runtime does not look into the wheels by itself: it lists the provider, and then runs on the CPU."""
    if not any("onnxruntime-gpu[" in line for line in given.commands):
        return given
    if on_windows(environment):
        return Remedy(f"{given.advice} {_PRELOAD}", given.steps)
    executable = next(iter(judged(environment)), PythonEnvironment("", None)).executable or "python"
    return Remedy(
        f"{given.advice} {_PRELOAD} Where you cannot change the program, the last two commands let the loader find "
        "them; they apply to this shell only.",
        (*given.steps, *steps(environment, "wheel-libraries", python=executable)),
    )


def one_alone(environment: Environment, matrix: Matrix) -> Remedy:
    """All of them out, then the release that fits this machine; where too little is known of it, the question."""
    listed = seen(environment, "onnxruntime-two-packages", "detail-listed")
    messages = (*seen(environment, "onnxruntime-two-packages"), *listed)
    removal = fixed("python -m pip uninstall -y onnxruntime onnxruntime-gpu")
    words = f"{_WORDS} {_LISTED}"
    line = next((match for one in messages if (match := _RELEASE.search(one.text))), None)
    told = Version.find(named(messages, "version") or (line["version"] if line else "")) or next(
        (release(item.framework.version) for item in installs(environment, "onnxruntime")), None
    )
    rows = matrix.builds("onnxruntime")
    if told is not None and not any(row.version.starts_with(told) for row in rows):
        again = run("python", "-m", "pip", "install", REQUIREMENT(f"{_GPU}=={told}.*"))
        return Remedy(f"{words} The second command takes the release that you had.", (removal, again))
    told = told or _of_toolkit(environment, matrix)
    if told is not None:
        pin = str(told) if len(told.parts) > _LINE else f"{told}.*"
        return Remedy(words, (removal, run("python", "-m", "pip", "install", REQUIREMENT(f"{_GPU}=={pin}"))))
    given = fresh(environment, matrix, "onnxruntime", words, messages)
    return Remedy(given.advice, (removal, *given.steps))


def _one_again(
    environment: Environment, python: PythonEnvironment, owners: list[Distribution], installed: str
) -> Remedy:
    """The GPU package alone, of the release that is installed; what brought the other one is kept from doing it."""
    by_itself = seen(environment, _TWO.id, "detail-autoupdate")
    others = [item.name for item in owners if item.name != _GPU]
    if managed_by(environment, "uv") and installed:
        return Remedy(
            f"Remove {series(others)} from the project, and install {_GPU} again: both have their files in one "
            "directory, and what is removed there is missing for the other one. If uv says that it is not a dependency "
            "of the project, another package requires it: in place of the first command, put override-dependencies = "
            f"[\"{others[0]}; sys_platform == 'never'\"] under [tool.uv] in pyproject.toml. "
            "The last command must list CUDAExecutionProvider.",
            (
                run("uv", "remove", *map(NAME, others)),
                run("uv", "sync", "--reinstall-package", _GPU),
                run("uv", "run", "python", "-c", _ASK_PROVIDERS),
            ),
        )
    commands = (
        pip(python, "uninstall", "-y", *(NAME(item.name) for item in owners)),
        pip(python, "install", REQUIREMENT(f"{_GPU}=={installed}")),
    )
    if not by_itself:
        return Remedy(_WORDS, commands)
    return Remedy(
        f"{_WORDS} Ultralytics installed the other one by itself (AutoUpdate), and would do it again: set "
        "YOLO_AUTOINSTALL=false where the program starts (in a systemd unit: Environment=YOLO_AUTOINSTALL=false).",
        (*commands, export("YOLO_AUTOINSTALL", "false")),
    )


def _of_toolkit(environment: Environment, matrix: Matrix) -> Version | None:
    """The newest release whose package on the index was built for the CUDA that is installed."""
    toolkits = environment.cuda_toolkits.get() if environment.cuda_toolkits.known else ()
    said = Version.find(named(seen(environment, "onnxruntime-two-packages", "detail-cuda"), "cuda") or "")
    majors = {toolkit.version.major for toolkit in toolkits} or ({said.major} if said is not None else set())
    fitting = [
        row.version
        for row in matrix.builds("onnxruntime")
        if row.on_pypi and row.cuda is not None and len(majors) == 1 and row.cuda.major in majors
    ]
    return max(fitting, default=None)


_TWO = Fault(
    "onnxruntime-two-packages",
    "Several ONNX Runtime packages share one directory",
    impact="Whichever was installed last is imported; the CPU build has no CUDAExecutionProvider.",
    remedy=one_alone,
)


@check(
    _TWO,
    layer=Layer.FRAMEWORK_BUILD,
    rank=14,
    any_of=("pythons", "messages"),
    fix="Uninstall all of them, then install onnxruntime-gpu alone.",
    references=threads("TaterTotterson/microWakeWord-Trainer-Nvidia-Docker#1", "microsoft/onnxruntime#7748"),
)
def onnxruntime_two_packages(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Only one package provides the onnxruntime/ directory.

    A dependency on onnxruntime installs the CPU build over the GPU build. CUDAExecutionProvider is then gone, although
    pip still lists onnxruntime-gpu.
    """
    messages = (
        *seen(environment, "cpu-only-wheel", "onnxruntime", "onnxruntime-provider"),
        *seen(environment, _TWO.id),
        *seen(environment, "framework-sees-no-gpu"),
    )
    for python in judged(environment):
        owners = [item for item in python.distributions if item.name in _PACKAGES and item.installer != "conda"]
        evidence = [distribution_evidence(item) for item in owners]
        installed = next((item.version for item in owners if item.name == _GPU), "")
        if len(owners) > 1 and installed:
            yield _TWO.found(
                [*evidence, *message_evidence(environment, messages)],
                title=f"{series(item.name for item in owners)} are both installed",
                subject=python.prefix,
                status=Status.FAIL if messages else Status.WARN,
                remedy=_one_again(environment, python, owners, installed),
            )
        elif reported := _TWO.reported(environment):
            yield reported
        elif owners:
            yield ok("one ONNX Runtime package", subject=python.prefix, evidence=evidence)
