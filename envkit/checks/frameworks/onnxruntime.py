"""ONNX Runtime: one package in its folder, the one with the GPU provider."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.engine.command import NAME, REQUIREMENT
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Outcome, Remedy, Status, ok
from envkit.checks.engine.messages import message_evidence, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.frameworks.installs import distribution_evidence, judged, pip
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix

_PACKAGES = ("onnxruntime", "onnxruntime-gpu", "onnxruntime-directml", "onnxruntime-openvino")
_GPU = "onnxruntime-gpu"


_TWO = Fault(
    "onnxruntime-two-packages",
    "Several ONNX Runtime packages share one directory",
    impact="Whichever was installed last is imported; the CPU build has no CUDAExecutionProvider.",
    remedy="Uninstall all of them, then install the GPU package.",
)


@check(
    _TWO,
    layer=Layer.FRAMEWORK_BUILD,
    rank=14,
    needs=("pythons",),
    fix="Uninstall all of them, then install onnxruntime-gpu alone.",
    references=threads("TaterTotterson/microWakeWord-Trainer-Nvidia-Docker#1", "microsoft/onnxruntime#7748"),
)
def onnxruntime_two_packages(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Only one package provides the onnxruntime/ directory.

    A dependency on onnxruntime installs the CPU build over the GPU build. CUDAExecutionProvider is then gone, although
    pip still lists onnxruntime-gpu.
    """
    messages = seen(environment, "cpu-only-wheel", "onnxruntime", "onnxruntime-provider")
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
                    "Uninstall all of them, then install the GPU package.",
                    (
                        pip(python, "uninstall", "-y", *(NAME(item.name) for item in owners)),
                        pip(python, "install", REQUIREMENT(f"{_GPU}=={release}")),
                    ),
                ),
            )
        elif owners:
            yield ok("one ONNX Runtime package", subject=python.prefix, evidence=evidence)
