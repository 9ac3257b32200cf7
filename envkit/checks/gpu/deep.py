"""What the tests of `--deep` found: steps of copies and frameworks on a GPU that failed, or took far too long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.engine.evidence import known
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Status, ok, skip, unknown
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.model import Environment, Measurement, Problem

if TYPE_CHECKING:
    from envkit.tables import Matrix

_SLOW_S = 30.0  # a first call takes some seconds; minutes are those of compiling code for the GPU, or of a slow disk
_STEPS = {
    "import": "its import",
    "device": "finding the GPU",
    "kernel": "a matrix product",
    "convolution": "a convolution",
    "copy": "a copy",
    "copy-to-device": "copies to the GPU",
    "copy-to-host": "copies from the GPU",
}
_BELOW = (
    "no-gpu-on-pci",
    "gpu-fallen-off-bus",
    "driver-module-not-loaded",
    "driver-library-mismatch",
    "driver-too-old-for-runtime",
    "nvidia-smi-hangs",
    "uvm-module-not-loaded",
    "fabric-manager-not-running",
    "error-802-other-causes",
    "mig-enabled-no-instance",
    "compute-mode-exclusive",
    "cuda-broken-after-suspend",
    "ecc-uncorrectable",
    "gsp-timeout",
    "gpu-count-mismatch",
    "arch-newer-than-build",
    "arch-dropped-by-framework",
    "cpu-only-wheel",
    "cudnn-missing",
    "cudnn-mixed-sublibraries",
    "nvjitlink-symbol",
    "libcudart-missing",
    "numpy2-abi",
    "local-module-shadows",
)


_FAILED = Fault(
    "gpu-test-failed",
    "A test on the GPU fails",
    impact="Programs that do the same on this GPU will also fail.",
    remedy="Read the message. If nothing else in this report explains it, run the same step by hand, and reinstall the "
    "framework in a fresh environment.",
)
_SLOW = Fault(
    _FAILED.id,
    "A test on the GPU is very slow",
    impact="Every program takes that long to start, or at least the first one does.",
    remedy="If a second run is just as slow, look at the disk that the environment is on. If only the first run is "
    "slow, the framework compiles its code for this GPU: use a build that has kernels for it.",
    status=Status.WARN,
)


@check(
    _FAILED,
    layer=Layer.TOOLKIT,
    rank=99,
    tier="N",
    explained_by=_BELOW,
    references=threads("pytorch/pytorch#537", "pytorch/pytorch#12283", "pytorch/pytorch#5302"),
)
def gpu_test_failed(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """When `--deep` ran copies and frameworks on a GPU, every step finished successfully and in time.

    A failed step is a fault even if everything else looks healthy. A step that takes minutes the first time is usually
    compiling the framework's code for a GPU it was not built for.
    """
    measured = environment.measurements
    if not measured.known:
        yield _not_run(environment)
        return
    steps = measured.get()
    failed = [step for step in steps if step.passed is False]
    slow = [step for step in steps if step.passed and step.unit == "s" and (step.value or 0.0) > _SLOW_S]
    for step in failed:
        yield _FAILED.found([_evidence(environment, step)], title=f"{_subject(step)}: {_words(step)} failed")
    for step in slow:
        title = f"{_subject(step)}: {_words(step)} took {step.value:.0f} s"
        yield _SLOW.found([_evidence(environment, step)], title=title)
    if not failed and not slow:
        yield _well(environment, steps)


def _not_run(environment: Environment) -> Outcome:
    if environment.measurements.problem is Problem.NOT_LOOKED:
        return skip("requires --deep, which tests the machine that envkit runs on")
    return unknown("the tests of --deep could not be run", evidence=[known(environment, "measurements")])


def _well(environment: Environment, steps: tuple[Measurement, ...]) -> Outcome:
    passed = [step for step in steps if step.passed]
    if passed:
        return ok(
            f"{len(passed)} steps on the GPU, or needed to reach it, passed",
            evidence=[_evidence(environment, passed[-1])],
        )
    details = "; ".join(dict.fromkeys(step.detail for step in steps if step.detail))
    return unknown(f"no test could run: {details[:80]}" if details else "there was nothing to test")


def _subject(step: Measurement) -> str:
    return f"GPU {step.subject}" if step.name.startswith("copy") else step.subject


def _words(step: Measurement) -> str:
    return _STEPS.get(step.name, "its test")


def _evidence(environment: Environment, step: Measurement) -> Evidence:
    figure = f" {step.value:g} {step.unit}" if step.value is not None else ""
    words = f"{step.name} {step.subject}:{figure} {step.detail}".strip()
    return Evidence("measurements", words, environment.measurements.source or "--deep")
