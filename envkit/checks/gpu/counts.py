"""How many GPUs each layer shows, from boards and PCI up to CUDA. The first step down names the layer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.records import record
from envkit.base.pci import pci_address
from envkit.checks.engine.evidence import (
    driver_lives_elsewhere,
    kind,
    many,
    no_pci_expected,
    not_looked,
    only_told,
)
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, ok, skip
from envkit.checks.engine.managers import managers
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import remedy
from envkit.checks.gpu.gpus import reserved_for_vms, seen_gpus
from envkit.checks.nvidia_driver.bound import left_to_another_driver
from envkit.checks.nvidia_driver.device_nodes import given_to_others, gpu_nodes
from envkit.checks.nvidia_driver.driver_state import loaded, nvml_asked
from envkit.model import CallResult, Environment, MachineKind
from envkit.tables.codes import error_codes

if TYPE_CHECKING:
    from envkit.tables import Matrix

_BELOW = (
    "no-gpu-on-pci",
    "gpu-fallen-off-bus",
    "external-power-missing",
    "bar-not-assigned",
    "gpu-bound-to-vfio",
    "nouveau-loaded",
    "nova-core-bound",
    "driver-not-installed",
    "driver-dropped-gpu",
    "open-module-on-pre-turing",
    "proprietary-module-on-blackwell",
    "vm-gpu-unsupported-by-release",
    "rm-init-adapter-failed",
    "driver-module-not-loaded",
    "device-nodes-missing",
    "device-node-permission",
    "uvm-module-not-loaded",
    "driver-library-mismatch",
    "nvml-library-missing",
    "nvidia-smi-hangs",
    "fabric-manager-not-running",
    "error-802-other-causes",
    "mig-enabled-no-instance",
    "cuda-broken-after-suspend",
    "compute-mode-exclusive",
    "vgpu-unlicensed",
    "gsp-timeout",
    "ecc-uncorrectable",
    "driver-lib-mismatch-803",
    "wsl-libcuda-missing",
    "wsl-driver-inside",
    "driver-baked-into-image",
    "driver-capabilities-missing",
    "libcuda-stub-loaded",
    "rootless-cgroups",
    "selinux-blocks-device",
    "container-loses-gpu",
    "container-no-gpu-injected",
)


_EXPLAINED = {  # codes whose own check always fails on them
    "nvml": ("NO_PERMISSION", "NOT_FOUND", "INSUFFICIENT_POWER", "TIMEOUT", "GPU_IS_LOST", "RESET_REQUIRED")
    + ("CORRUPTED_INFOROM", "LIB_RM_VERSION_MISMATCH"),
    "cuda": ("STUB_LIBRARY", "ECC_UNCORRECTABLE", "SYSTEM_NOT_READY", "SYSTEM_DRIVER_MISMATCH")
    + ("COMPAT_NOT_SUPPORTED_ON_DEVICE",),
}


def _compare(environment: Environment, matrix: Matrix) -> Remedy:
    return _by_layer(environment, "")


_MISSING = Fault(
    "gpu-count-mismatch",
    "A GPU is missing from one of the software layers",
    impact="Programs cannot use the missing GPU.",
    remedy=_compare,
)


_QUERY = "(nvidia-smi --query-gpu)"  # the end of the source of what a pasted query tells


@record
class Count:
    """How many GPUs one layer shows, and where that was counted."""

    layer: str
    fact: str
    number: int
    source: str
    addresses: frozenset[str] = frozenset()
    error: str = ""  # what the layer answered instead of a number


@check(
    _MISSING,
    layer=Layer.CUDA_DEVICES,
    rank=10,
    tier="N",
    explained_by=(*_BELOW, "kubernetes-gpu-unhealthy"),
    fix="The fix depends on the layer: the hardware, the driver, permissions, or the environment.",
    references=threads("NVIDIA/NVSentinel#684", "NVIDIA/NVSentinel#195", "leptonai/gpud#604"),
)
def gpu_count_mismatch(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """All layers show the same number of GPUs: boards, PCI, kernel module, device files, NVML, and CUDA.

    On a Jetson, only CUDA counts.
    No layer can show more GPUs than the one below it; the first layer with a lower number is the one that loses a GPU.
    GPUs that are reserved for virtual machines, and old ones that use another driver, do not count.
    """
    jetson = kind(environment) is MachineKind.JETSON  # whose drivers have other names
    if loaded(environment) is False and not driver_lives_elsewhere(environment) and not jetson:
        yield skip("no driver is loaded that could show a GPU")
        return
    counts = gpu_counts(environment, matrix)
    evidence = [Evidence(count.fact, f"{count.layer}: {count.error or count.number}", count.source) for count in counts]
    fall = next((i for i, (a, b) in enumerate(zip(counts, counts[1:], strict=False)) if b.number < a.number), None)
    if fall is not None:
        yield _step_down(environment, counts[: fall + 1], counts[fall + 1], evidence)
        return
    if counts and counts[-1].error and nvml_asked(environment):
        yield _MISSING.found(
            evidence,
            title=f"{counts[-1].layer} answers {counts[-1].error}",
            impact="Programs find no GPU.",
            remedy=_by_layer(environment, counts[-1].layer),
        )
    elif len(counts) > 1:
        words = f"{counts[0].number} at every layer" if counts[0].number else "no GPU at any layer"
        yield ok(words, evidence=evidence)
    else:
        yield not_looked(environment, "GPU counts from at least two sources (PCI, driver, CUDA) are needed")


def gpu_counts(environment: Environment, matrix: Matrix) -> tuple[Count, ...]:
    """The layers that could be counted, from PCI up. In a container or a scheduler's job only what was given to it
    counts: PCI bus and kernel module show all GPUs of the host.
    """
    driver = environment.driver
    reserved = {gpu.pci_address for gpu in reserved_for_vms(environment)}
    reserved |= {gpu.address for gpu in left_to_another_driver(environment, matrix)}
    others = given_to_others(environment)
    told_job = only_told(environment) and "slurm" in managers(environment)  # which device files it may open is not told
    shared_out = bool(others) or told_job
    if kind(environment) is MachineKind.JETSON:  # its GPU is part of the chip, and needs none of the device files
        chip = Count("this Jetson", "system.machine_kind", 1, environment.system.machine_kind.source)
        return (chip, *_nvml(environment), *_cuda(environment))
    counts: list[Count] = []
    if environment.pci_gpus.known and not no_pci_expected(environment) and not shared_out:
        counts.extend(_boards(environment, matrix))
        own = [gpu.pci_address for gpu in environment.pci_gpus.get() if gpu.pci_address not in reserved]
        counts.append(Count("PCI", "pci_gpus", len(own), environment.pci_gpus.source, frozenset(own)))
    if driver.procfs_gpus.known and not driver_lives_elsewhere(environment) and not shared_out:
        owned = frozenset(pci_address(address) for address in driver.procfs_gpus.get())
        counts.append(Count("the kernel module", "driver.procfs_gpus", len(owned), driver.procfs_gpus.source, owned))
    nodes = gpu_nodes(environment)
    if nodes is not None and not told_job and (driver.kernel_module.known or driver_lives_elsewhere(environment)):
        counts.append(Count("/dev", "driver.device_nodes", len(nodes) - len(others), driver.device_nodes.source))
    counts.extend(_numbers(environment))
    counts.extend(_nvml(environment))
    counts.extend(_cuda(environment))
    return tuple(counts)


def _numbers(environment: Environment) -> Iterator[Count]:
    """How many GPUs the driver numbered, where a pasted query of all of them leaves numbers out."""
    first, listed = environment.driver.nvml, environment.gpus
    if not (listed.known and first.known and first.source.endswith(_QUERY) and listed.source.endswith(_QUERY)):
        return
    numbered = max((gpu.index for gpu in listed.get()), default=-1) + 1
    if numbered > len(listed.get()):
        yield Count("the driver's numbers", "gpus", numbered, listed.source)


def _boards(environment: Environment, matrix: Matrix) -> Iterator[Count]:
    """How many GPUs boards that carry several, such as a Tesla K80, have together, where one of them is not shown.

    A virtual machine may be given a part of a board.
    """
    shown = seen_gpus(environment, matrix)
    several = {(row.name, row.variant): row.gpus_per_board for row in matrix.gpu_boards if row.gpus_per_board}
    sizes = [several.get((gpu.models[0].name, gpu.models[0].variant), 1) if gpu.models else 1 for gpu in shown]
    whole = sum(-(-sizes.count(size) // size) * size for size in dict.fromkeys(sizes))
    if whole > len(shown) and kind(environment) is MachineKind.METAL and not reserved_for_vms(environment):
        yield Count("the boards", "pci_gpus", whole, environment.pci_gpus.source)


def _nvml(environment: Environment) -> Iterator[Count]:
    first, listed = environment.driver.nvml, environment.gpus
    if listed.known and first.known:
        working = [gpu for gpu in listed.get() if not gpu.error]
        addresses = frozenset(pci_address(gpu.pci_address) for gpu in working if gpu.pci_address)
        yield Count("NVML", "gpus", len(working), listed.source, addresses)
    elif kind(environment) is MachineKind.JETSON:
        return  # not every release for Jetson has NVML
    elif first.known and (error := _error("nvml", first.get())):
        yield Count("NVML", "driver.nvml", 0, first.source, error=error)


def _cuda(environment: Environment) -> Iterator[Count]:
    count, first = environment.driver.cuda_device_count, environment.driver.cuda_init
    if _partitioned(environment):
        return
    if first.known and (error := _error("cuda", first.get())):
        yield Count("CUDA", "driver.cuda_init", 0, first.source, error=error)
    elif count.known:
        yield Count("CUDA", "driver.cuda_device_count", count.get(), count.source)


def _error(api: str, result: CallResult) -> str:
    """What a library answered, in words; '' for success and for codes that a check of their own explains."""
    row = error_codes().get((api, result.code))
    if result.code == 0 or (row is not None and row.name in _EXPLAINED[api]):
        return ""
    return f"error {result.code} ({row.name if row is not None else result.name or 'unknown'})"


def _partitioned(environment: Environment) -> bool:
    """True with MIG: CUDA then counts instances, one per process, and not GPUs."""
    return environment.gpus.known and any(gpu.mig_mode for gpu in environment.gpus.get())


def _step_down(environment: Environment, full: tuple[Count, ...], below: Count, evidence: list[Evidence]) -> Outcome:
    above = full[-1]
    named = next((count.addresses for count in reversed(full) if count.addresses), frozenset[str]())
    lost = sorted(named - below.addresses) if below.addresses or not below.number else []
    excluded = environment.driver.excluded_gpus
    on_purpose = sorted(set(lost) & set(excluded.get())) if excluded.known else []
    which = f": {', '.join(lost)}" if lost else ""
    missing = above.number - below.number
    why = f", which returns {below.error}" if below.error else " (excluded by a driver option)" if on_purpose else which
    title = f"{many(above.number, 'GPU')} {_in(above)}, {below.number} {_in(below)}{why}"
    if why == which and len(lost) == 1:
        title = (
            f"GPU {lost[0]} is missing from {below.layer} ({above.number} {_in(above)}, {below.number} {_in(below)})"
        )
    return _MISSING.found(
        evidence,
        title=title,
        subject=f"GPU {lost[0]}" if len(lost) == 1 else "",
        impact=f"No program can use {'this GPU' if missing == 1 else f'these {missing} GPUs'}.",
        remedy=_by_layer(environment, below.layer),
    )


def _in(count: Count) -> str:
    return f"on {count.layer}" if count.layer in ("PCI", "the boards") else f"in {count.layer}"


_REMEDIES = {
    "PCI": (
        "Each of these boards carries several GPUs, and one of them does not answer. Shut the machine down, reseat "
        "the board and its power connectors, and enable Above 4G Decoding in the firmware setup; if the GPU is also "
        "missing in a different slot, the board is defective.",
        "module-log",
    ),
    "the kernel module": (
        "The driver did not bind to the GPU: check the kernel log for messages about it.",
        "module-log",
    ),
    "/dev": ("Create the missing device files.", "device-nodes"),
    "NVML": ("NVML does not list the GPU: check the kernel log for messages about it.", "module-log"),
    "CUDA": ("CUDA does not list a GPU: check compute mode, MIG, and the kernel log.", "mig-list"),
}


def _by_layer(environment: Environment, layer: str) -> Remedy:
    if layer == "CUDA" and kind(environment) is MachineKind.JETSON:
        return Remedy(
            "Check that the user may open /dev/nvmap and /dev/nvhost-* (they belong to the group video), and, if "
            "this is a container, that it runs with the NVIDIA runtime."
        )
    summary, action = _REMEDIES.get(
        layer, ("Compare lspci with nvidia-smi -L, then check the kernel log.", "module-log")
    )
    return remedy(environment, summary, action)
