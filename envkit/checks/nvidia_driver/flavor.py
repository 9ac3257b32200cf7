"""Does the installed driver, in its branch and flavor, support the GPU?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.engine.command import fixed
from envkit.checks.engine.evidence import NO_OWN_DRIVER, is_virtual, known, not_looked, unseen
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, ok, unknown
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import message_evidence, number_named, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import families, remedy
from envkit.checks.gpu.gpus import SeenGpu, seen_gpus
from envkit.checks.gpu.module_flavors import needs_open
from envkit.checks.nvidia_driver.bound import left_to_another_driver
from envkit.checks.nvidia_driver.driver_state import driver_platform, installed
from envkit.checks.nvidia_driver.of_release import of_release, on_nixos
from envkit.checks.nvidia_driver.outgrown import is_legacy
from envkit.checks.nvidia_driver.proprietary import proprietary_flavor
from envkit.checks.nvidia_driver.vgpu_guest import OF_GUEST, of_vgpu_guest
from envkit.compat.module_flavors import flavors_of
from envkit.model import Environment
from envkit.tables.drivers import DriverPackage
from envkit.tables.loader import read

if TYPE_CHECKING:
    from envkit.tables import Matrix

_NO_GPU = ("no-gpu-on-pci", "gpu-bound-to-vfio")  # a driver that refuses a GPU is there


_LEGACY = "legacy"
_FOR_CUDA = (
    " No current framework runs on a card of that age, with any driver: use a newer card instead (envkit recommend "
    "lists some), or run on the CPU."
)
_ASSUMED = "ubuntu"  # whose commands are given where the text does not tell the distribution


def _legacy(environment: Environment, matrix: Matrix) -> Remedy:
    """The branch that the driver's own message names."""
    branch = number_named(seen(environment, "driver-dropped-gpu"), "branch")
    if branch is None:
        return Remedy("Install the last branch that supports this GPU (envkit matrix gpus shows it), and hold it.")
    return _branch(environment, matrix, branch)


def _branch(environment: Environment, matrix: Matrix, branch: int) -> Remedy:
    renamed = number_named(seen(environment, "driver-dropped-gpu", "detail-transitional"), "branch")
    if renamed == branch:
        advice = (
            f"nvidia-driver-{branch} of this distribution is only a transitional package, which installs a newer "
            f"branch; the packages of branch {branch} itself are those whose names end in -server. Installing them "
            "removes the newer ones; autoremove also removes any other package that nothing needs anymore."
        )
        return remedy(environment, advice, "driver-server", branch=branch)
    if needs_open(environment, matrix):
        advice = f"Install driver branch {branch} or newer with the open kernel module."
        return remedy(environment, advice, "driver-open", branch=branch)
    if words := of_release(managers(environment), branch):
        return Remedy(words)
    if "nixos" in managers(environment):
        return on_nixos(branch)
    words = f"Install driver branch {branch} and hold it."
    rows = {row.family: row for row in read(DriverPackage) if row.branch == branch}
    own = rows.get(next(iter(families(environment)), _ASSUMED))
    if (own or rows.get(_ASSUMED)) is None:
        return remedy(environment, words, "driver-branch", branch=branch)
    if (own or rows[_ASSUMED]).kind == _LEGACY:
        words = (
            f"Install driver branch {branch}. Only distribution releases of about its age have packages of it "
            "(apt-cache policy shows whether yours does): on a newer one, keep nouveau, the open driver, for the "
            "display, or use a newer card."
            f"{_FOR_CUDA if is_legacy(branch, matrix) else ''}"
        )
    return remedy(environment, words, "driver-package", name=own.package if own is not None else None)


_IN_IMAGE = (
    "If the driver came with a machine image, start the machine from the last image before the update instead, and "
    "name that image rather than its family, which always means the newest."
)
_DROPPED = Fault(
    "driver-dropped-gpu",
    "The installed driver branch does not support this GPU",
    impact="The driver ignores this GPU; nvidia-smi may say 'No devices were found'.",
    remedy=_legacy,
)
_CC_MODE = fixed("sudo python3 nvidia_gpu_tools.py --devices gpus --set-cc-mode=on --reset-after-cc-mode-switch")
_GRID = fixed(
    "az vm extension set --resource-group GROUP --vm-name VM --publisher Microsoft.HpcCompute "
    "--name NvidiaGpuDriverLinux"
)
_NO_START = "The driver cannot start this GPU; nvidia-smi shows no device."
_OPEN = Fault(
    "open-module-on-pre-turing",
    "The open kernel module does not support this GPU",
    impact=_NO_START,
    remedy=proprietary_flavor,
)
_PROPRIETARY = Fault(
    "proprietary-module-on-blackwell",
    "The proprietary kernel module does not support this GPU",
    impact=_NO_START,
    remedy="Install the open flavor of the driver (nvidia-open).",
    actions=("driver-open",),
)
_ACCEPTED = (
    "A card that is passed through needs the regular driver, from a branch that supports it; a vGPU needs the guest "
    "driver of the host's release. On bare metal: install a newer branch."
)
_CONFIDENTIAL = (
    "Keep this driver: confidential computing needs its open module. The GPU is in a state that the driver does not "
    "recognize, often because another virtual machine used it before: shut this one down, restart its host, and set "
    "the GPU's mode again on the host, in the directory of NVIDIA's gpu-admin-tools; then start the virtual machine."
)


def _guest_differs(environment: Environment) -> bool:
    """Whether the vGPU manager or the guest said that their drivers do not fit."""
    return bool(seen(environment, _REFUSED.id, "vgpu-guest", "vgpu-negotiation"))


def _accepted(environment: Environment, matrix: Matrix) -> Remedy:
    if seen(environment, _REFUSED.id, "detail-vgpu", "detail-vgpu-type"):
        return of_vgpu_guest(environment)
    if _guest_differs(environment):
        return Remedy(OF_GUEST, (fixed("nvidia-smi"), fixed("journalctl -b -u nvidia-vgpu-mgr")))
    if "confidential" in managers(environment):
        return Remedy(_CONFIDENTIAL, (_CC_MODE,))
    if "azure" in managers(environment):
        return Remedy(
            "Azure's NV and NVads sizes provide part of a GPU (vGPU) and need the GRID driver that matches Azure's "
            "hosts. First remove the current driver in the virtual machine, but not the NVIDIA Container Toolkit "
            "(packages: sudo apt-get purge 'nvidia-driver-*' 'nvidia-dkms-*' 'nvidia-kernel-*' 'nvidia-utils-*' "
            "'libnvidia-compute-*' 'cuda-drivers*' or sudo dnf remove 'nvidia-driver*' 'kmod-nvidia*' 'cuda-drivers*'; "
            "a .run file: sudo nvidia-uninstall), and restart it. Then have Azure's extension install the GRID driver, "
            "with the names of yours; nvidia-smi shows the card after that.",
            (_GRID,),
        )
    return Remedy(_ACCEPTED)


_REFUSED = Fault(
    "vm-gpu-unsupported-by-release",
    "The driver reports that its release does not support this GPU",
    impact="No program can use this GPU.",
    remedy=_accepted,
)


@check(
    _DROPPED,
    layer=Layer.KERNEL_MODULE,
    rank=35,
    any_of=("pci_gpus", "gpus", "messages"),
    explained_by=_NO_GPU,
    fix="Install and hold a branch that supports the GPU; check that the frameworks still work on it.",
    references=threads("NixOS/nixos-hardware#1880", "NixOS/nixos-hardware#1828", "pop-os/pop#2228"),
)
def driver_dropped_gpu(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The installed driver branch supports every GPU of the machine.

    New branches drop old GPUs, and old branches do not support new ones. The driver then ignores the GPU, and
    nvidia-smi says "No devices were found".
    """
    from envkit.compat.driver import branch_number  # loaded for a machine, not for a page of `explain`

    version = installed(environment)
    gpus = seen_gpus(environment, matrix)
    if version is None and (moved := list(_moved_away(environment, matrix))):
        yield from moved
        return
    if version is None or not gpus:
        yield _DROPPED.reported(environment) or not_looked(
            environment, unseen(environment, "the driver version or GPU model")
        )
        return
    branch = branch_number(version, matrix, driver_platform(environment))
    if branch is None:
        yield unknown(f"the branch of driver {version} is not known")
        return
    left = left_to_another_driver(environment, matrix)
    if seen(environment, _DROPPED.id, "legacy", "told-ignores") and (refused := _DROPPED.reported(environment)):
        yield refused  # the driver itself says so, of a card that a listing may not even name
    for gpu in gpus:
        if gpu in left:
            words = f"{gpu.title} is too old for branch {branch} and uses another driver"
            yield ok(words, subject=gpu.subject, evidence=[_gpu_evidence(environment, gpu)])
        else:
            yield _supported(environment, matrix, gpu, branch)


def _moved_away(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The GPUs that a driver update left behind, where only words say to which branch it went."""
    messages = seen(environment, _DROPPED.id, "detail-moved")
    branch = number_named(messages, "driver")
    for gpu in seen_gpus(environment, matrix) if branch is not None else ():
        last = [model.last_driver_branch for model in gpu.models]
        if branch is not None and last and all(limit is not None and limit < branch for limit in last):
            newest = max(limit for limit in last if limit is not None)
            evidence = [_gpu_evidence(environment, gpu), *message_evidence(environment, messages)]
            given = _branch(environment, matrix, newest)
            yield _unsupported(
                gpu,
                f"ended with branch {newest}",
                branch,
                evidence,
                Remedy(f"{given.advice} {_IN_IMAGE}", given.steps),
            )


def _supported(environment: Environment, matrix: Matrix, gpu: SeenGpu, branch: int) -> Outcome:
    evidence = [
        _gpu_evidence(environment, gpu),
        Evidence("driver", str(installed(environment)), _driver_source(environment)),
    ]
    if gpu.works:
        return ok(f"the driver supports {gpu.called}", subject=gpu.subject, evidence=evidence)
    if not gpu.models:
        return unknown(f"{gpu.title} is not in the table of GPUs", subject=gpu.subject, evidence=evidence)
    last = [model.last_driver_branch for model in gpu.models]
    if all(limit is not None and limit < branch for limit in last):
        newest = max(limit for limit in last if limit is not None)
        given = _branch(environment, matrix, newest)
        return _unsupported(gpu, f"ended with branch {newest}", branch, evidence, given)
    row = matrix.driver_branch(branch)
    if row is None or not row.families:
        return unknown(f"cannot tell which GPUs branch {branch} supports", subject=gpu.subject, evidence=evidence)
    families = {model.family for model in gpu.models}
    if families & set(row.families):
        return ok(f"branch {branch} supports {gpu.called}", subject=gpu.subject, evidence=evidence)
    first = next(
        (b.branch for b in matrix.driver_branches if b.branch > branch and families & set(b.families or ())), None
    )
    if first is None:
        return unknown(f"no branch is recorded for {gpu.called}", subject=gpu.subject, evidence=evidence)
    given = _branch(environment, matrix, first)
    return _unsupported(gpu, f"began with branch {first}", branch, evidence, given)


def _unsupported(gpu: SeenGpu, why: str, has: int, evidence: list[Evidence], given: Remedy) -> Outcome:
    return _DROPPED.found(
        evidence,
        title=f"Driver branch {has} does not support {gpu.called}: support {why}",
        subject=gpu.subject,
        remedy=given,
    )


def _driver_source(environment: Environment) -> str:
    driver = environment.driver
    observed = (driver.kernel_module, driver.user_space, environment.kernel.module_files, environment.kernel.dkms)
    return next((each.source for each in observed if each.known), "")


def _gpu_evidence(environment: Environment, gpu: SeenGpu) -> Evidence:
    if gpu.pci is not None:
        device = f"10de:{gpu.pci.device_id}" if gpu.pci.device_id else ""
        return Evidence("pci_gpus", f"{device} {gpu.name}".strip(), environment.pci_gpus.source)
    return Evidence("gpus", gpu.name, environment.gpus.source)


@check(
    _OPEN,
    layer=Layer.KERNEL_MODULE,
    rank=36,
    any_of=("driver.open_kernel_module", "kernel.module_files", "messages"),
    explained_by=("driver-dropped-gpu", *_NO_GPU),
    elsewhere=NO_OWN_DRIVER,
    fix="Install the proprietary flavor of a branch that supports this GPU.",
    references=threads("NVIDIA/open-gpu-kernel-modules#322", "NVIDIA/open-gpu-kernel-modules#19"),
)
def open_module_on_pre_turing(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The open kernel module is used only if every GPU has a GPU System Processor (Turing and later)."""
    yield from _flavor(environment, matrix, _OPEN, wrong_is_open=True)


@check(
    _PROPRIETARY,
    layer=Layer.KERNEL_MODULE,
    rank=37,
    any_of=("driver.open_kernel_module", "kernel.module_files", "messages"),
    explained_by=("driver-dropped-gpu", *_NO_GPU),
    elsewhere=NO_OWN_DRIVER,
    references=threads("NVIDIA/cloud-native-docs#6", "NVIDIA/open-gpu-kernel-modules#789"),
)
def proprietary_module_on_blackwell(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """GPUs that need the open kernel module (Blackwell, Grace Hopper) use it."""
    yield from _flavor(environment, matrix, _PROPRIETARY, wrong_is_open=False)


def _flavor(environment: Environment, matrix: Matrix, fault: Fault, *, wrong_is_open: bool) -> Iterator[Outcome]:
    is_open, evidence = _loaded_flavor(environment)
    gpus = seen_gpus(environment, matrix)
    branch = version.major if (version := installed(environment)) else None
    if is_open is None and _only_told(environment, fault) and gpus and all(_suits(gpu, fault) for gpu in gpus):
        evidence = [_gpu_evidence(environment, gpu) for gpu in gpus]
        yield ok(f"the {_word(fault)} module supports every GPU that is shown", evidence=evidence)
    elif is_open is None or not gpus:
        yield fault.reported(environment, branch=branch) or not_looked(
            environment, unseen(environment, "the kernel module type or GPU model")
        )
    elif is_open is not wrong_is_open:
        yield ok(f"the kernel module is {'open' if is_open else 'proprietary'}", evidence=evidence)
    else:
        for gpu in gpus:
            yield _fits(environment, gpu, fault, evidence, _branch_for(gpu, branch))


def _only_told(environment: Environment, fault: Fault) -> bool:
    """Whether words and names of packages alone suggest the fault, and the driver itself does not report it."""
    messages = seen(environment, fault.id)
    return bool(messages) and all("/told-" in message.signature for message in messages)


def _suits(gpu: SeenGpu, fault: Fault) -> bool:
    """Whether the table says that this flavor of the module supports every model that the GPU may be."""
    rows = [flavors_of(model) for model in gpu.models]
    return bool(rows) and all(row is not None and (row.open if fault is _OPEN else row.proprietary) for row in rows)


def _word(fault: Fault) -> str:
    return "open" if fault is _OPEN else "proprietary"


def _branch_for(gpu: SeenGpu, branch: int | None) -> int | None:
    """The installed branch, or the last that supports the GPU where that is an older one."""
    limits = [model.last_driver_branch for model in gpu.models if model.last_driver_branch is not None]
    return min([*limits, *([branch] if branch else [])], default=None)


def _fits(
    environment: Environment, gpu: SeenGpu, fault: Fault, evidence: list[Evidence], branch: int | None
) -> Outcome:
    word = _word(fault)
    if gpu.works:
        return ok(f"the {word} module drives {gpu.called}", subject=gpu.subject, evidence=evidence)
    rows = [flavors_of(model) for model in gpu.models]
    supported = [row.open if word == "open" else row.proprietary for row in rows if row is not None]
    if not supported:
        return unknown(f"cannot tell which module {gpu.called} needs", subject=gpu.subject, evidence=evidence)
    if any(supported):
        return ok(f"the {word} module supports {gpu.called}", subject=gpu.subject, evidence=evidence)
    return fault.found(
        [*evidence, _gpu_evidence(environment, gpu)],
        title=f"{gpu.title} does not work with the {word} kernel module",
        subject=gpu.subject,
        branch=branch,
    )


def _loaded_flavor(environment: Environment) -> tuple[bool | None, list[Evidence]]:
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
    _REFUSED,
    layer=Layer.KERNEL_MODULE,
    rank=38,
    tier="L",
    any_of=("kernel.log", "messages"),
    explained_by=("driver-dropped-gpu", *_NO_GPU),
    fix=(
        "In a virtual machine, install the regular driver for a card that is passed through, or the host's guest "
        "driver for a vGPU. On bare metal, install a newer branch."
    ),
    references=threads("NVIDIA/nvtrust#55"),
)
def vm_gpu_unsupported_by_release(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The driver inside a virtual machine supports the GPU that was assigned to it.

    A virtual or confidential-computing GPU needs the guest driver or a newer branch: the regular driver says that the
    GPU "is not supported by the release", although the same card works on bare metal.
    """
    in_vm = "The driver refuses to start the GPU of this virtual machine" if is_virtual(environment) else ""
    if _guest_differs(environment):
        in_vm = "The guest's vGPU driver does not match the vGPU manager of its host"
    if reported := _REFUSED.reported(environment, title=in_vm):
        yield reported
    elif environment.kernel.log.known:
        title = 'no "not supported by the release" message in the kernel log'
        yield ok(title, evidence=[known(environment, "kernel.log", "no such message")])
