"""ONNX Runtime: one package in its folder, the one with the GPU provider."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.engine.command import NAME, REQUIREMENT, fixed
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Outcome, Remedy, Status, ok
from envkit.checks.engine.messages import message_evidence, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.frameworks.builds import fresh
from envkit.checks.frameworks.installs import distribution_evidence, judged, pip
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix

_PACKAGES = ("onnxruntime", "onnxruntime-gpu", "onnxruntime-directml", "onnxruntime-openvino")
_GPU = "onnxruntime-gpu"
_WORDS = "Uninstall all of them, then install the GPU package."


def _one_alone(environment: Environment, matrix: Matrix) -> Remedy:
    """All of them out, then the release that fits this machine; where too little is known of it, the question."""
    given = fresh(environment, matrix, "onnxruntime", _WORDS, seen(environment, "onnxruntime-two-packages"))
    return Remedy(given.advice, (fixed("python -m pip uninstall -y onnxruntime onnxruntime-gpu"), *given.steps))


_TWO = Fault(
    "onnxruntime-two-packages",
    "Several ONNX Runtime packages share one directory",
    impact="Whichever was installed last is imported; the CPU build has no CUDAExecutionProvider.",
    remedy=_one_alone,
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
        release = next((item.version for item in owners if item.name == _GPU), "")
        if len(owners) > 1 and release:
            yield _TWO.found(
                [*evidence, *message_evidence(environment, messages)],
                title=f"{' and '.join(item.name for item in owners)} are both installed",
                subject=python.prefix,
                status=Status.FAIL if messages else Status.WARN,
                remedy=Remedy(
                    _WORDS,
                    (
                        pip(python, "uninstall", "-y", *(NAME(item.name) for item in owners)),
                        pip(python, "install", REQUIREMENT(f"{_GPU}=={release}")),
                    ),
                ),
            )
        elif reported := _TWO.reported(environment):
            yield reported
        elif owners:
            yield ok("one ONNX Runtime package", subject=python.prefix, evidence=evidence)
