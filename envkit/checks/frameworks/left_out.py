"""GPUs that the builds of today leave out: how to tell them, and what is left to do with one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.versions import ComputeCapability
from envkit.checks.cuda.nvcc_ages import capability_of_target
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import seen
from envkit.checks.engine.remedies import on_windows
from envkit.checks.frameworks.compiled import hide_gpus
from envkit.checks.frameworks.installs import capability, capable_gpus
from envkit.checks.gpu.gpus import seen_gpus
from envkit.model import Environment, Message

if TYPE_CHECKING:
    from envkit.base.versions import Version
    from envkit.tables import Matrix

_ON_CPU = (
    "If the program needs a newer release than that, run it on the CPU with the GPU hidden (last command), use a "
    "newer GPU, or compile the framework for this GPU."
)
_COMPILED_FOR = ComputeCapability(3, 0)  # the oldest for which sources of today's frameworks can be compiled
_TOO_OLD = (
    "None can be compiled either: no CUDA release that the framework builds with compiles for this GPU, and no cuDNN "
    "has kernels for it. Run the program on the CPU: with its own switch where it has one (a number of GPUs or of the "
    "GPU of 0 or -1, --cpu, --device cpu), because a program that asks for GPU 0 stops where it is hidden; otherwise, "
    "hide the GPU (command). Or use a newer GPU."
)
_WHICHEVER = (
    "No current build has kernels for this GPU, whichever of the chips with its name it is; a CUDA toolkit or another "
    "installation of the framework changes nothing. Run the program on the CPU with the GPU hidden (the command, or "
    "the program's own setting), or use a newer GPU."
)
_DIRECTML = (
    " Some programs for Windows also have an edition for DirectML, which needs no CUDA and runs on GPUs from Kepler "
    "(GTX 600) on."
)


def or_on_cpu(environment: Environment, matrix: Matrix, given: Remedy) -> Remedy:
    """With the way that is left where no build for this machine has the GPU."""
    owns = possible(environment, matrix)
    if any(line.startswith("cmake ") for line in given.commands) and (last := _last_toolkit(owns, matrix)):
        return Remedy(
            f"CUDA {last} is the last toolkit that compiles for this GPU, and builds for a newer CUDA have no kernels "
            "for it, whatever is reinstalled. If the program offers a build for that CUDA or an older one, take it "
            "if it lists this GPU. Most current programs have none: then leave the CUDA part out and use its "
            "CPU mode, or use a newer GPU. The commands are for a source that this toolkit still compiles.",
            given.steps,
        )
    if not given.steps or any(step.words[:2] != ("envkit", "resolve") for step in given.steps):
        return given
    beside = _DIRECTML if on_windows(environment) else ""
    if not capable_gpus(environment, matrix) and left_out(owns, matrix):
        return Remedy(f"{_WHICHEVER}{beside}", (hide_gpus(environment),))
    if owns and max(own.numbers for own in owns) < _COMPILED_FOR.numbers:
        return Remedy(f"{given.advice} {_TOO_OLD}{beside}", (hide_gpus(environment),))
    return Remedy(f"{given.advice} {_ON_CPU}{beside}", (*given.steps, hide_gpus(environment)))


def _last_toolkit(owns: list[ComputeCapability], matrix: Matrix) -> Version | None:
    """The last CUDA that compiles for the newest of these GPUs, where programs have no builds for it any more."""
    from envkit.compat.gpu import target_span

    lasts = [target_span(own, matrix)[1] for own in owns]
    known = [last for last in lasts if last is not None]
    newest = max(row.release.major for row in matrix.toolkits)
    ended = bool(known) and max(known).major < newest - 1  # programs still have builds for the major before the newest
    return max(known) if ended and len(known) == len(lasts) else None


def possible(environment: Environment, matrix: Matrix) -> list[ComputeCapability]:
    """What the GPUs can have, where one name is that of several chips."""
    named = [(capability(gpu), gpu) for gpu in seen_gpus(environment, matrix)]
    return [own for one, gpu in named for own in ([one] if one else [row.compute_capability for row in gpu.models])]


def compiled_for_later(messages: tuple[Message, ...], owns: list[ComputeCapability]) -> bool:
    """Whether the flags of the build that the text shows are all for later GPUs than each of these."""
    flags = [text for each in messages if (text := each.values.get("built") or each.values.get("only"))]
    built = [own for text in flags if text.isdigit() and (own := capability_of_target(text)) is not None]
    return bool(built and owns) and max(own.numbers for own in owns) < min(own.numbers for own in built)


def current(owns: list[ComputeCapability], matrix: Matrix) -> bool:
    """Whether each of these GPUs is at least as new as the oldest one of every build of the newest PyTorch."""
    builds = [build for build in matrix.builds("pytorch") if build.cuda is not None and build.sass]
    newest = max((build.version for build in builds), default=None)
    oldest = [min(target.numbers for target in build.sass or ()) for build in builds if build.version == newest]
    return bool(owns and oldest) and min(own.numbers for own in owns) >= max(oldest)


def left_out(owns: list[ComputeCapability], matrix: Matrix) -> bool:
    """Whether every GPU is older than all that the newest release of PyTorch holds code for, in any of its builds."""
    own = [value.numbers for value in owns]
    builds = [build for build in matrix.builds("pytorch") if build.cuda is not None and build.sass]
    newest = max((build.version for build in builds), default=None)
    targets = [target for build in builds if build.version == newest for target in build.sass or ()]
    if not own or not targets:
        return False
    return max(own) < min(target.numbers for target in targets)


def unserved(environment: Environment, matrix: Matrix, owns: list[ComputeCapability]) -> list[ComputeCapability]:
    """The GPUs that the build's own flags do not name: of those with one name, what the toolkit compiles for."""
    from envkit.compat.gpu import target_span

    flags = seen(environment, "arch-newer-than-build", "own-flags")
    named_there = {text for each in flags if (text := each.values.get("built") or each.values.get("only"))}
    left = [own for own in owns if own.sm.removeprefix("sm_") not in named_there]
    if left or not named_there or not owns:
        return left
    nvcc = environment.nvcc.value.version if environment.nvcc.value is not None else None
    newest = nvcc.release(2) if nvcc is not None else None
    others = [own for own in possible(environment, matrix) if own.sm.removeprefix("sm_") not in named_there]
    return [
        own for own in others if newest is None or (first := target_span(own, matrix)[0]) is None or first <= newest
    ]
