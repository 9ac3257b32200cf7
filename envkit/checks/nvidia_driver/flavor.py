"""Does the installed driver, in its branch and flavor, support the GPU?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.engine.evidence import driver_lives_elsewhere, is_virtual, known, not_looked
from envkit.checks.engine.findings import Evidence, Outcome, fail, ok, skip, unknown
from envkit.checks.engine.messages import told
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import remedy
from envkit.checks.gpu.gpus import SeenGpu, seen_gpus
from envkit.checks.nvidia_driver.driver_state import installed
from envkit.model import Environment
from envkit.tables.codes import ModuleFlavour, module_flavours

if TYPE_CHECKING:
    from envkit.tables import Matrix

_NO_GPU = ("no-gpu-on-pci", "gpu-bound-to-vfio", "driver-not-installed")


@check(
    "driver-dropped-gpu",
    title="The driver branch does not support this GPU",
    layer=Layer.KERNEL_MODULE,
    rank=35,
    any_of=("pci_gpus", "gpus", "messages"),
    explained_by=_NO_GPU,
    fix="Install and hold a branch that supports the GPU; check that the frameworks still work on it.",
    references=threads("NixOS/nixos-hardware#1880", "NixOS/nixos-hardware#1828", "pop-os/pop#2228"),
)
def driver_dropped_gpu(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The installed driver branch supports every GPU of the machine.

    New branches drop old GPUs, and old branches do not know new ones. The driver then ignores the GPU and nvidia-smi
    says "No devices were found".
    """
    version = installed(environment)
    gpus = seen_gpus(environment, matrix)
    if version is None or not gpus:
        outcomes = told(
            environment,
            "driver-dropped-gpu",
            "The installed driver has dropped this GPU",
            impact="The driver ignores the GPU.",
            remedy=remedy(environment, "Install the legacy branch that the message names, and hold it there."),
        )
        yield from outcomes or (not_looked(environment, "the driver's version or the GPU is not known"),)
        return
    for gpu in gpus:
        yield _supported(environment, matrix, gpu, version.major)


def _supported(environment: Environment, matrix: Matrix, gpu: SeenGpu, branch: int) -> Outcome:
    evidence = [
        _gpu_evidence(environment, gpu),
        Evidence("driver", str(installed(environment)), _driver_source(environment)),
    ]
    if gpu.works:
        return ok(f"the driver drives {gpu.title}", subject=gpu.subject, evidence=evidence)
    if not gpu.models:
        return unknown(f"{gpu.title} is not in the table of GPUs", subject=gpu.subject, evidence=evidence)
    last = [model.last_driver_branch for model in gpu.models]
    if all(limit is not None and limit < branch for limit in last):
        newest = max(limit for limit in last if limit is not None)
        return _unsupported(environment, gpu, f"ended with branch {newest}", newest, branch, evidence)
    row = matrix.driver_branch(branch)
    if row is None or not row.families:
        return unknown(f"what branch {branch} supports is not known", subject=gpu.subject, evidence=evidence)
    families = {model.family for model in gpu.models}
    if families & set(row.families):
        return ok(f"branch {branch} supports {gpu.title}", subject=gpu.subject, evidence=evidence)
    first = next(
        (b.branch for b in matrix.driver_branches if b.branch > branch and families & set(b.families or ())), None
    )
    if first is None:
        return unknown(f"no branch is recorded for {gpu.title}", subject=gpu.subject, evidence=evidence)
    return _unsupported(environment, gpu, f"began with branch {first}", first, branch, evidence)


def _unsupported(
    environment: Environment, gpu: SeenGpu, why: str, branch: int, has: int, evidence: list[Evidence]
) -> Outcome:
    return fail(
        f"Driver branch {has} does not support {gpu.title}: support {why}",
        subject=gpu.subject,
        evidence=evidence,
        impact="The driver ignores this GPU; nvidia-smi may say 'No devices were found'.",
        remedy=remedy(
            environment, f"Install driver branch {branch} and hold it there.", "driver-branch", branch=branch
        ),
    )


def _driver_source(environment: Environment) -> str:
    driver = environment.driver
    return driver.kernel_module.source if driver.kernel_module.known else driver.user_space.source


def _gpu_evidence(environment: Environment, gpu: SeenGpu) -> Evidence:
    if gpu.pci is not None:
        return Evidence("pci_gpus", f"10de:{gpu.pci.device_id} {gpu.name}".strip(), environment.pci_gpus.source)
    return Evidence("gpus", gpu.name, environment.gpus.source)


@check(
    "open-module-on-pre-turing",
    title="The open kernel module does not support this GPU",
    layer=Layer.KERNEL_MODULE,
    rank=36,
    any_of=("driver.open_kernel_module", "kernel.module_files", "messages"),
    explained_by=("driver-dropped-gpu", *_NO_GPU),
    fix="Install the proprietary flavor of a branch that still supports the GPU.",
    references=threads("NVIDIA/open-gpu-kernel-modules#322", "NVIDIA/open-gpu-kernel-modules#19"),
)
def open_module_on_pre_turing(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The open kernel module is used only where every GPU has a GPU System Processor (Turing and later)."""
    yield from _flavour(
        environment,
        matrix,
        wrong_is_open=True,
        otherwise="open-module-on-pre-turing",
        fix="driver-branch",
        say="Install the proprietary flavor of a branch that supports this GPU.",
    )


@check(
    "proprietary-module-on-blackwell",
    title="The proprietary kernel module does not support this GPU",
    layer=Layer.KERNEL_MODULE,
    rank=37,
    any_of=("driver.open_kernel_module", "kernel.module_files", "messages"),
    explained_by=("driver-dropped-gpu", *_NO_GPU),
    fix="Install the open flavor of the driver.",
    references=threads("NVIDIA/cloud-native-docs#6", "NVIDIA/open-gpu-kernel-modules#789"),
)
def proprietary_module_on_blackwell(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """GPUs that need the open kernel module (Blackwell, Grace Hopper) have it."""
    yield from _flavour(
        environment,
        matrix,
        wrong_is_open=False,
        otherwise="proprietary-module-on-blackwell",
        fix="driver-open",
        say="Install the open flavor of the driver (nvidia-open).",
    )


def _flavour(
    environment: Environment, matrix: Matrix, *, wrong_is_open: bool, otherwise: str, fix: str, say: str
) -> Iterator[Outcome]:
    if driver_lives_elsewhere(environment):
        yield skip("the kernel module belongs to the host of this place")
        return
    is_open, evidence = _loaded_flavour(environment)
    gpus = seen_gpus(environment, matrix)
    branch = version.major if (version := installed(environment)) else None
    word = "open" if wrong_is_open else "proprietary"
    if is_open is None or not gpus:
        outcomes = told(
            environment,
            otherwise,
            f"The {word} kernel module does not support this GPU",
            impact="The driver cannot start the GPU.",
            remedy=remedy(environment, say, fix, branch=branch),
        )
        yield from outcomes or (not_looked(environment, "the flavor of the kernel module or the GPU is not known"),)
    elif is_open is not wrong_is_open:
        yield ok(f"the kernel module is {'open' if is_open else 'proprietary'}", evidence=evidence)
    else:
        for gpu in gpus:
            yield _fits(environment, gpu, word, evidence, say, fix, _branch_for(gpu, branch))


def _branch_for(gpu: SeenGpu, branch: int | None) -> int | None:
    """The installed branch, or the last that supports the GPU where that is an older one."""
    limits = [model.last_driver_branch for model in gpu.models if model.last_driver_branch is not None]
    return min([*limits, *([branch] if branch else [])], default=None)


def _fits(
    environment: Environment, gpu: SeenGpu, word: str, evidence: list[Evidence], say: str, fix: str, branch: int | None
) -> Outcome:
    if gpu.works:
        return ok(f"the {word} module drives {gpu.title}", subject=gpu.subject, evidence=evidence)
    rows = [_row(model.family, model.chip) for model in gpu.models]
    supported = [row.open if word == "open" else row.proprietary for row in rows if row is not None]
    if not supported:
        return unknown(f"which module {gpu.title} needs is not known", subject=gpu.subject, evidence=evidence)
    if any(supported):
        return ok(f"the {word} module supports {gpu.title}", subject=gpu.subject, evidence=evidence)
    return fail(
        f"{gpu.title} does not work with the {word} kernel module",
        subject=gpu.subject,
        evidence=[*evidence, _gpu_evidence(environment, gpu)],
        impact="The driver cannot start this GPU; nvidia-smi shows no device.",
        remedy=remedy(environment, say, fix, branch=branch),
    )


def _row(family: str, chip: str) -> ModuleFlavour | None:
    rows = [row for row in module_flavours() if row.family == family and row.chip in ("", chip)]
    return max(rows, key=lambda row: len(row.chip), default=None)


def _loaded_flavour(environment: Environment) -> tuple[bool | None, list[Evidence]]:
    observed = environment.driver.open_kernel_module
    if observed.known:
        return observed.get(), [known(environment, "driver.open_kernel_module")]
    files = environment.kernel.module_files
    for file in files.get() if files.known else ():
        if file.kernel == environment.system.kernel.value and file.open_kernel_module is not None:
            word = "open" if file.open_kernel_module else "proprietary"
            return file.open_kernel_module, [known(environment, "kernel.module_files", f"{file.path}: {word}")]
    return None, []


@check(
    "vm-gpu-unsupported-by-release",
    title="The virtual machine's GPU needs another driver",
    layer=Layer.KERNEL_MODULE,
    rank=38,
    tier="L",
    any_of=("kernel.log", "messages"),
    explained_by=("driver-dropped-gpu", *_NO_GPU),
    fix="Use the guest (vGPU) driver or a branch that supports confidential computing.",
    references=threads("NVIDIA/nvtrust#55"),
)
def vm_gpu_unsupported_by_release(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The driver inside a virtual machine accepts the GPU that it was given.

    A virtual or confidential-computing GPU needs the guest flavor or a newer branch: the ordinary driver says that
    the GPU "is not supported by the release", although the same card works on bare metal.
    """
    outcomes = told(
        environment,
        "vm-gpu-unsupported-by-release",
        "The driver refuses the GPU of this virtual machine"
        if is_virtual(environment)
        else "The driver says that its release does not support this GPU",
        impact="No program can use this GPU.",
        remedy=remedy(
            environment,
            "Virtual machine: install the guest (vGPU) driver of the host's release, or a branch that supports "
            "confidential computing. Metal: install a newer branch.",
        ),
    )
    if outcomes:
        yield from outcomes
    elif not environment.kernel.log.known:
        yield unknown("the kernel log was not looked at", evidence=[known(environment, "kernel.log")])
    else:
        yield ok("the kernel log holds no such refusal", evidence=[known(environment, "system.machine_kind")])
