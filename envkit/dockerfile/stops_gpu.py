"""Where a build stops because a command needs a GPU: no build has one unless its builder is told to hand one over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envkit._startup.regex import regex
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.dockerfile.check_parts import command_subject, finding, stop
from envkit.dockerfile.gpu_scripts import needs_gpu
from envkit.dockerfile.ground import Ground

_PYTHON = regex(r"(?:.*/)?python[\d.]*")
_SMI = "nvidia-smi"
_NEEDS_NONE = frozenset({"-h", "--help", "--version"})
_NATIVE = regex(r"-DCMAKE_CUDA_ARCHITECTURES(?::STRING)?=native|(?:-arch|--gpu-architecture)=native")


def gpu_needed(ground: Ground) -> Iterator[Finding]:
    """The first command that certainly fails without a GPU."""
    # BuildKit hands a GPU to that RUN; images for Jetson are built with nvidia as the default runtime.
    if "--device" in ground.tells or ground.base.jetson:
        return
    # Something in the file may provide a stand-in for it, or makes sure that it is there.
    stand_in = "smi" in ground.tells or any(_SMI in word for one in ground.commands for word in one.words[1:])
    for step in ground.steps:
        words = step.command.words
        asks = words[0] == _SMI and not stand_in and _NEEDS_NONE.isdisjoint(words)
        needs = step.command.decisive and (asks or _runs_on_gpu(words))
        if needs:
            yield stop(
                faults.GPU_AT_BUILD,
                "this command needs a GPU, but docker build has none",
                command_subject(step.command),
                impact="The build fails here even on a machine with a GPU: only Docker's legacy builder, with nvidia "
                "as the default runtime, exposes one.",
            )
            return


def native_code(ground: Ground) -> Iterator[Finding]:
    """The first build for the GPU of the machine that builds, where there is none."""
    if "--device" in ground.tells or ground.base.jetson:
        return
    for step in ground.steps:
        word = next((one for one in step.command.words if _NATIVE.fullmatch(one)), None)
        if word is not None:
            yield finding(
                faults.GPU_AT_BUILD,
                Status.WARN,
                f"{word} selects the GPU of the build machine, but docker build has none",
                command_subject(step.command),
                impact="nvcc compiles for its oldest architecture, or stops.",
                remedy=Remedy("List the architectures of your GPUs instead."),
            )
            return


def _runs_on_gpu(words: Sequence[str]) -> bool:
    """True for `python -c` of a script that certainly needs a GPU."""
    if not _PYTHON.fullmatch(words[0]) or "-c" not in words[1:-1] or "-O" in words:
        return False
    return needs_gpu(words[words.index("-c") + 1])
