"""Does the installed build of a framework hold code that these GPUs run?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from envkit.base.versions import ComputeCapability, Version
from envkit.checks.engine.ask import capability_of, framework_of, tells_framework
from envkit.checks.engine.command import fixed
from envkit.checks.engine.evidence import kind, known
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, Status, ok, unknown
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import message_evidence, named, only_shown, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.frameworks import own_torch
from envkit.checks.frameworks.builds import bring, fresh, installed_fits, replacement
from envkit.checks.frameworks.by_design import refusal_of
from envkit.checks.frameworks.changed_with import BUILD, with_the_rest
from envkit.checks.frameworks.compiled import (
    OF_CONDA,
    alone_by_conda,
    compiled_extension,
    compiled_program,
    no_vllm,
    of_newer_nvrtc,
    other_build_ran,
)
from envkit.checks.frameworks.held_targets import Codes, of_another_build, targets_of
from envkit.checks.frameworks.installs import Installed, capable_gpus, installs, nothing_to_judge, variants
from envkit.checks.frameworks.left_out import compiled_for_later, current, left_out, or_on_cpu, possible, unserved
from envkit.checks.frameworks.new_environment import in_new_environment
from envkit.checks.frameworks.old_for_ollama import of_old_gpu
from envkit.checks.frameworks.on_torch import newer_vllm
from envkit.checks.frameworks.own_pythons import with_own_python
from envkit.checks.gpu.gpus import SeenGpu
from envkit.checks.nvidia_driver.driver_state import installed
from envkit.model import Environment, MachineKind, Message
from envkit.model.observed import is_told

if TYPE_CHECKING:
    from envkit.compat.gpu import CodeMatch
    from envkit.tables import Matrix

_NEWER, _DROPPED = "arch-newer-than-build", "arch-dropped-by-framework"


_NO_KERNELS = (
    "The build has no kernels for this GPU, so every kernel launch fails with "
    '"no kernel image is available for execution on the device".'
)
_UNKNOWN_TO_IT = "This CUDA's cuBLAS and cuDNN have no kernels for the GPU: their calls fail, often the first one."
_BINARY = "Install a build with binary code for this GPU."
_COMPILED_FIRST = (
    "The driver compiles the build's PTX code for this GPU when the program starts, which can take minutes."
)
_SLOW = f"{_NEWER}/told-slow-first"
_NAME_GPU = fixed("nvidia-smi -L")


def _newer_build(environment: Environment, matrix: Matrix) -> Remedy:
    return with_the_rest(environment, matrix, with_own_python(environment, _build(environment, matrix, _NEWER)))


def _older_build(environment: Environment, matrix: Matrix) -> Remedy:
    if own := own_torch.of_old_gpu(environment, matrix) or no_vllm(environment, matrix):
        return own
    return or_on_cpu(environment, matrix, with_own_python(environment, _build(environment, matrix, _DROPPED)))


def _build(environment: Environment, matrix: Matrix, check_id: str) -> Remedy:
    messages = _messages(environment, matrix, check_id)
    name = framework_of(environment, matrix, messages)
    if _only_slow(messages):
        return bring(environment, matrix, name, _BINARY, messages=messages, native=True)
    owns = [own for _, own in capable_gpus(environment, matrix)]
    target = capability_of(messages) or next(map(str, owns), "")
    if _of_vllm(environment) and check_id == _NEWER and (newer := newer_vllm(environment, matrix, target)):
        return newer
    found = next(installs(environment, name), None)
    fits = found is not None and installed_fits(environment, matrix, found)
    serves = found is not None and {_fault(environment, matrix, found, own) for own in owns} == {None}
    cuda = found.framework.cuda if found is not None else None
    by_nvrtc = found is not None and cuda is not None and seen(environment, _NEWER, "detail-nvrtc")
    if found is not None and by_nvrtc and (newer := of_newer_nvrtc(environment, matrix, found, owns)):
        return newer
    if found is not None and cuda is not None and (fits or serves) and _known_to(cuda, owns, matrix):
        by_conda = replacement(environment, matrix, found, OF_CONDA) if alone_by_conda(found) else None
        return by_conda or compiled_extension(environment, found, target)
    every = target
    if not capability_of(messages):
        every = ";".join(dict.fromkeys(map(str, sorted(unserved(environment, matrix, owns)))))
    of_torch = seen(environment, _NEWER, "detail-torch") or seen(environment, _DROPPED, "told-cu-tag")
    told = tells_framework(environment, matrix, messages) or bool(of_torch)
    if own := of_old_gpu(environment, matrix, every) or compiled_program(
        environment, every, told=told, newer=check_id == _NEWER
    ):
        return own
    # without the GPU, the resolver may take the very build that fails
    if not target and (fits or installed(environment) is not None):
        return Remedy(f"{BUILD} Which build is right depends on the GPU: include its name in the input.", (_NAME_GPU,))
    wanted = Version.find(named(seen(environment, _NEWER, "detail-wanted"), "version") or "")
    if wanted is not None and name == "pytorch":
        why = (
            f"{BUILD} The requirements ask for {wanted}: that line would reinstall the build for a different CUDA "
            "version, so replace it with the requirement below."
        )
        return fresh(environment, matrix, name, why, messages, version=wanted, native=True)
    given = bring(environment, matrix, name, BUILD, messages=messages, native=check_id == _NEWER)
    return in_new_environment(environment, matrix, name, given, messages) if check_id == _NEWER else given


def _of_vllm(environment: Environment) -> bool:
    return "vllm" in managers(environment)


_TOO_OLD = Fault(_NEWER, "The framework's build has no kernels for this GPU", impact=_NO_KERNELS, remedy=_newer_build)
_NO_LONGER = Fault(
    _DROPPED, "The framework's build does not support a GPU this old", impact=_NO_KERNELS, remedy=_older_build
)


@check(
    _TOO_OLD,
    weighs_messages=True,
    layer=Layer.FRAMEWORK_BUILD,
    tier="X",
    rank=10,
    any_of=("pythons", "messages"),
    explained_by=("cuda-architecture-not-chosen",),
    fix="Install a build that supports the GPU; failing that, build from source for its capability.",
    references=threads("pytorch/pytorch#150733", "lllyasviel/FramePack#550", "replicate/cog#3104"),
)
def arch_newer_than_build(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Every framework build has code for every GPU: a binary for its major compute capability, or PTX to compile.

    Binary code runs on GPUs with the same major compute capability and an equal or higher minor one: sm_80 also covers
    8.6 and 8.9. The GPU's exact number therefore need not be in the list. Targets such as sm_90a do not carry over.
    """
    outcomes = list(_architectures(environment, matrix, _TOO_OLD))
    if all(outcome.status is not Status.FAIL for outcome in outcomes):
        outcomes = _libraries_before_gpu(environment, matrix) or outcomes
    yield from outcomes


@check(
    _NO_LONGER,
    weighs_messages=True,
    layer=Layer.FRAMEWORK_BUILD,
    tier="X",
    rank=11,
    any_of=("pythons", "messages"),
    explained_by=("cuda-architecture-not-chosen",),
    fix="Install an older release, or the build for an older CUDA, that still supports the GPU; pin it.",
    references=threads("pytorch/pytorch#172352", "pytorch/pytorch#190385", "Comfy-Org/ComfyUI#16438"),
)
def arch_dropped_by_framework(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """No GPU is older than the oldest one that the framework's build supports.

    Wheels for newer CUDA releases drop old GPUs; a build of the same release for an older CUDA often still supports
    them.
    """
    yield from _architectures(environment, matrix, _NO_LONGER)


def _libraries_before_gpu(environment: Environment, matrix: Matrix) -> list[Outcome]:
    """The fault where cuBLAS or cuDNN fails, and the CUDA in use came out before every GPU.

    The kernels of an older CUDA may run on such a GPU, but its libraries do not know it.
    """
    from envkit.compat.gpu import target_span

    messages = seen(environment, "gpu-library-call-failed")
    firsts = [first for _, own in capable_gpus(environment, matrix) if (first := target_span(own, matrix)[0])]
    used = [cuda for item in installs(environment) if (cuda := item.framework.cuda) is not None]
    used = used or [toolkit.version for toolkit in environment.cuda_toolkits.value or ()]
    if not messages or not firsts or not used or max(used).release(2) >= min(firsts):
        return []
    title = f"CUDA {max(used).release(2)} is older than this GPU, which needs CUDA {min(firsts)} or newer"
    shown = Evidence("pythons.frameworks.cuda", str(max(used)), "the newest CUDA version mentioned")
    return [_TOO_OLD.found([shown, *message_evidence(environment, messages)], title=title, impact=_UNKNOWN_TO_IT)]


def _architectures(environment: Environment, matrix: Matrix, wanted: Fault) -> Iterator[Outcome]:
    gpus = capable_gpus(environment, matrix)
    found = [item for item in installs(environment) if item.framework.cuda is not None]
    found += _alike(environment, matrix, [own for _, own in gpus])
    jetson = kind(environment) is MachineKind.JETSON
    outcomes = [
        outcome
        for item in found
        for outcome in _beside_others(
            environment,
            [_architecture(environment, matrix, item, gpu, own, wanted) for gpu, own in gpus if not jetson],
        )
    ]
    yield from outcomes
    settled = any(_fault(environment, matrix, item, own) in (_NEWER, _DROPPED) for item in found for _, own in gpus)
    if not settled and (messages := _messages(environment, matrix, wanted.id)):
        yield _by_message(environment, wanted, messages)
    elif wanted.id == _DROPPED and not _ok(outcomes) and current([own for _, own in gpus], matrix):
        shown = [Evidence("gpus.compute_capability", str(own), _place(environment, gpu)) for gpu, own in gpus]
        yield ok("every current build is for GPUs this old", evidence=shown)
    elif not outcomes and not found:
        yield nothing_to_judge(environment, "CUDA-enabled framework")
    elif not outcomes:
        yield unknown("the GPU's compute capability is not known", evidence=[known(environment, "gpus")])


def _ok(outcomes: list[Outcome]) -> bool:
    return any(outcome.status is Status.OK for outcome in outcomes)


def _beside_others(environment: Environment, judged: list[Outcome]) -> list[Outcome]:
    """The outcomes of one build; a card that it left behind, next to one that it runs on, is not a fault of a
    machine."""
    if not only_shown(environment) or all(outcome.status is not Status.OK for outcome in judged):
        return judged
    return [
        ok(f"{outcome.title}; it runs on another GPU here", subject=outcome.subject, evidence=outcome.evidence)
        if outcome.status is Status.FAIL
        else outcome
        for outcome in judged
    ]


def _alike(environment: Environment, matrix: Matrix, gpus: list[ComputeCapability]) -> list[Installed]:
    """PyTorch where only its release is known, and none of its builds runs on these GPUs."""
    found = []
    for item in installs(environment, "pytorch"):
        built = [each for _, each in variants(environment, matrix, item, listed=True)]
        faults = {_fault(environment, matrix, each, own) for each in built for own in gpus}
        if faults in ({_NEWER}, {_DROPPED}):
            found.append(built[-1])
    return found


def _architecture(
    environment: Environment,
    matrix: Matrix,
    item: Installed,
    gpu: SeenGpu,
    own: ComputeCapability,
    wanted: Fault,
) -> Outcome:
    from envkit.compat.gpu import CodeMatch

    held = targets_of(environment, item, matrix)
    fault = _fault(environment, matrix, item, own)
    binary = _words(held.sass)
    end = binary.rfind(" ") + 1 if wanted.id == _NEWER else 0  # the highest target tells that the GPU is newer
    evidence = [
        Evidence("gpus.compute_capability", str(own), _place(environment, gpu)),
        Evidence(f"pythons.frameworks[{item.framework.name}].sm_arch_list", binary, held.file, held.sources, end),
        Evidence(f"pythons.frameworks[{item.framework.name}].ptx_arch_list", _words(held.ptx), held.file, held.sources),
    ]
    subject = f"{item.framework.package} on {gpu.title}"
    if fault is CodeMatch.UNKNOWN:
        return unknown(
            f"which GPUs {item.framework.package} has kernels for is not known", subject=subject, evidence=evidence
        )
    if fault != wanted.id:
        return ok(
            f"{item.framework.package} has kernels for {own}"
            if fault is None
            else f"{gpu.title} is newer than this build; see arch-newer-than-build",
            subject=subject,
            evidence=evidence,
        )
    words = "no longer supports" if fault == _DROPPED else _words_for_newer(own, held.sass, held.ptx)
    by_image = newer_vllm(environment, matrix, str(own)) if fault == _NEWER and _of_vllm(environment) else None
    given = by_image or replacement(environment, matrix, item, BUILD, native=fault == _NEWER)
    if of_another_build(environment, item, own, matrix):
        title = (
            f"The PyTorch in use has no kernels for {gpu.called}, and is not the {item.framework.package} named here"
        )
        return wanted.found(evidence, title=title, subject=gpu.title, remedy=other_build_ran(item, given))
    return wanted.found(
        evidence,
        title=f"{item.framework.package} {words} {gpu.called} (compute capability {own})",
        subject=subject,
        remedy=with_the_rest(environment, matrix, given) if fault == _NEWER else or_on_cpu(environment, matrix, given),
    )


def _place(environment: Environment, gpu: SeenGpu) -> str:
    """The GPU by its name; where somebody only wrote of it, the place of these words."""
    told = gpu.nvml is None and is_told(environment.pci_gpus.source)
    return environment.pci_gpus.source if told else gpu.title


def _known_to(cuda: Version, owns: Iterable[ComputeCapability], matrix: Matrix) -> bool:
    """Whether the libraries of a CUDA have kernels for these GPUs: PTX of the framework alone is no help."""
    from envkit.compat.gpu import gpu_runs_cuda

    return all(gpu_runs_cuda(own, cuda, matrix).status != "fail" for own in owns)


def _fault(environment: Environment, matrix: Matrix, item: Installed, own: ComputeCapability) -> str | CodeMatch | None:
    """Which of the two faults this build has on a GPU of this capability: None for neither, UNKNOWN if nobody knows."""
    from envkit.compat.gpu import CodeMatch, code_match

    held = targets_of(environment, item, matrix)
    match = code_match(own, held.sass, held.ptx, held.minimum)
    if match is CodeMatch.UNKNOWN:
        return match
    if match is not CodeMatch.NONE:
        return None
    return _DROPPED if _older_than_all(own, held.sass, held.ptx, held.minimum) else _NEWER


def _older_than_all(
    own: ComputeCapability, sass: Codes | None, ptx: Codes | None, minimum: ComputeCapability | None
) -> bool:
    every = [*(sass or ()), *(ptx or ())]
    lowest = min((target.numbers for target in every), default=None)
    if minimum is not None and (lowest is None or minimum.numbers < lowest):
        lowest = minimum.numbers
    return lowest is not None and own.numbers < lowest


def _words_for_newer(own: ComputeCapability, sass: Codes | None, ptx: Codes | None) -> str:
    """What to say of a build without code for a GPU that is not older than its targets: it may lie between two."""
    highest = max((target.numbers for target in [*(sass or ()), *(ptx or ())]), default=own.numbers)
    return "is too old for" if own.numbers >= highest else "has no kernels for"


def _messages(environment: Environment, matrix: Matrix, id: str) -> tuple[Message, ...]:  # noqa: A002
    """The messages of one of the two faults.

    "No kernel image" fits both: it yields to one that names the other, and describes a GPU that new builds leave out
    that it was dropped. "Not compatible" fits both, too: it yields to one that says the same GPU is below the range.
    """
    said = seen(environment, _DROPPED)
    above = tuple(message for message in said if message.values.get("most") and _beside_range(message) > 0)
    dropped = tuple(message for message in said if not message.values.get("most") or _beside_range(message) < 0)
    newer = (*seen(environment, _NEWER), *above)
    exact = tuple(message for message in newer if message.values)
    told = [ComputeCapability.parse(text) for each in exact if (text := capability_of([each]))]
    owns = told or possible(environment, matrix)
    if not dropped and newer and compiled_for_later(newer, owns):
        return newer if id == _DROPPED else ()
    if not dropped and newer and (told or not exact) and left_out(owns, matrix):
        return newer if id == _DROPPED else ()
    if id == _DROPPED:
        return dropped
    below = {message.values.get("capability") for message in dropped}
    return tuple(message for message in exact if capability_of([message]) not in below) if dropped else newer


def _beside_range(message: Message) -> int:
    """Below (-1), within (0) or above (1) the capabilities that PyTorch says it has code for.

    A minor release above the highest is within: code for 12.0 runs on 12.1.
    """
    own = Version.parse(message.values["capability"])
    least, most = (Version.parse(message.values[name]) for name in ("least", "most"))
    return -1 if own < least else int(own.major > most.major)


def _by_message(environment: Environment, wanted: Fault, messages: tuple[Message, ...]) -> Outcome:
    own = capability_of(messages)
    target = ", ".join(filter(None, (named(messages, "gpu"), f"sm_{own.replace('.', '')}" if own else "")))
    title = f"{wanted.title} ({target})" if target else ""
    if _only_slow(messages):
        evidence = message_evidence(environment, messages)
        return wanted.found(
            evidence, title="The framework's build has no binary code for this GPU", impact=_COMPILED_FIRST
        )
    evidence = message_evidence(environment, messages)
    if refusal := refusal_of(messages):
        return wanted.found(evidence, title=refusal.title, impact=refusal.impact, remedy=refusal.remedy)
    return wanted.found(evidence, title=title)


def _only_slow(messages: tuple[Message, ...]) -> bool:
    """Whether the messages describe nothing but a slow start: the kernels are compiled from PTX, and then run."""
    return bool(messages) and all(message.signature == _SLOW for message in messages)


def _words(codes: Codes | None) -> str:
    return "not known" if codes is None else " ".join(str(code) for code in codes) or "none"
