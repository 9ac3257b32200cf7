"""What GPUs need to exchange data: NVLink, peer access past ACS and IOMMU, GeForce limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.records import replace
from envkit._startup.regex import regex
from envkit.checks.engine.command import fixed
from envkit.checks.engine.evidence import driver_lives_elsewhere, is_virtual, kind, known, many, unseen
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, Status, ok, skip, unknown
from envkit.checks.engine.messages import named, only_shown, seen, variants_of
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import remedy
from envkit.checks.gpu.fabric import switches
from envkit.checks.gpu.gpus import (
    SeenGpu,
    all_work,
    gpus_of,
    has_nvswitch_board,
    in_a_rack,
    lends_vgpus,
    on_nvswitch_board,
    reserved_for_vms,
    seen_gpus,
)
from envkit.checks.gpu.health import field_evidence, name_of, title_of
from envkit.checks.gpu.module_flavors import needs_open
from envkit.model import Environment, Gpu, MachineKind

if TYPE_CHECKING:
    from envkit.tables import Matrix

_NO_PEER_GEFORCE = regex(r"GeForce RTX [45]0\d\d")
_SWITCH = "NCCL_P2P_DISABLE"
_OF_ANY_CARD = {"peer-unsupported"}  # messages that do not say of which cards they are


def _links_up(environment: Environment, matrix: Matrix) -> Remedy:
    if has_nvswitch_board(environment) or seen(environment, "nvlink-inactive", "detail-many"):
        advice = (
            "Check the links and Fabric Manager's log. Then drain the node, stop Fabric Manager, reset all "
            "GPUs (sudo nvidia-smi --gpu-reset), and start it again. If that does not help, power-cycle the machine; "
            "then contact the vendor. These GPUs have no bridge to reseat."
        )
        return remedy(environment, advice, "nvlink", "fabric-state")
    return remedy(environment, "Check the links; with the machine turned off, reseat the bridge.", "nvlink")


_LINK_DOWN = Fault(
    "nvlink-inactive",
    "A GPU has NVLinks that are down",
    impact="Traffic to and from this GPU goes over PCIe, which slows down all the others.",
    remedy=_links_up,
    status=Status.WARN,
)


def _straight(environment: Environment, matrix: Matrix) -> Remedy:
    branch = named(seen(environment, "acs-blocks-p2p", "detail-other-driver"), "driver")
    if branch:
        return remedy(
            environment,
            f"The same machine runs with driver branch {branch}, so look at the driver before the firmware: install "
            "that branch. Until then, NCCL_P2P_DISABLE=1 keeps NCCL from hanging, at the cost of speed. If it still "
            "hangs, turn off ACS in the firmware setup, and also the IOMMU if nothing needs it.",
            "driver-open" if needs_open(environment, matrix) else "driver-newer",
            branch=branch,
        )
    return remedy(
        environment,
        "On bare metal without virtual machines, turn off ACS in the firmware setup, and the IOMMU, too, if nothing "
        "needs it. The first command turns ACS off on every bridge until the next boot, as NCCL's guide does; try "
        "again then. If that does not help, turning peer-to-peer off (last command) keeps NCCL from hanging, at the "
        "cost of speed.",
        "acs-off",
        "no-p2p",
    )


_ACS = Fault(
    "acs-blocks-p2p",
    "PCIe ACS routes GPU-to-GPU traffic through the CPU",
    impact="GPU-to-GPU traffic goes through the CPU: it is slower, and NCCL can hang.",
    remedy=_straight,
)


def _passed_through(environment: Environment, matrix: Matrix) -> Remedy:
    """The parameter, in the file that the system reads it from."""
    if seen(environment, "iommu-translation-hang", "detail-coreos"):
        return remedy(
            environment,
            "Add the kernel parameter iommu=pt and reboot. On Container Linux, the line is in the OEM partition's "
            "grub.cfg, where intel_iommu=on probably is, too: if nothing needs the IOMMU, remove that parameter "
            "instead. After the restart, cat /proc/cmdline shows the parameter.",
            "iommu-coreos",
        )
    return remedy(environment, "Add the kernel parameter iommu=pt and reboot.", "iommu")


_IOMMU = Fault(
    "iommu-translation-hang",
    "The IOMMU is translating GPU-to-GPU traffic",
    impact="GPU-to-GPU transfers may hang or corrupt data; programs that use only one GPU are not affected.",
    remedy=_passed_through,
)


def _without_peers(environment: Environment, matrix: Matrix) -> Remedy:
    """Accelerate stops and asks for two variables; other programs hang."""
    if seen(environment, "geforce-p2p-hang", "accelerate"):
        return Remedy(
            "Set the two variables that the message mentions, or start the program with accelerate launch, which "
            "sets both.",
            (fixed("export NCCL_P2P_DISABLE=1 NCCL_IB_DISABLE=1"),),
        )
    if not seen(environment, "geforce-p2p-hang"):
        return remedy(environment, "If multi-GPU programs hang, turn peer access off.", "no-p2p")
    return remedy(
        environment,
        "Turn peer access off where the program is started (in a container: docker run -e NCCL_P2P_DISABLE=1), and "
        "start it again; NCCL then goes through host memory. A newer driver and a newer NCCL no longer try peer access "
        "on cards that lack it.",
        "no-p2p",
    )


_FEWER_LINKS = "Traffic to and from this GPU has less bandwidth, and all the others wait for it."
_PEERLESS = "NCCL cannot use peer access between these GPUs"
_NO_PEERS = Fault(
    "geforce-p2p-hang",
    "NCCL may hang on GeForce cards without peer access",
    impact="Multi-GPU programs hang or fail on these cards; newer drivers and NCCL releases fix this.",
    remedy=_without_peers,
)


def _of_other_cards(environment: Environment, matrix: Matrix) -> bool:
    """Whether nothing tells of a GeForce card: the GPUs have other names, or messages alone are known, of any card."""
    names = [gpu.name for gpu in seen_gpus(environment, matrix)]
    told = variants_of(seen(environment, "geforce-p2p-hang"))
    return all(name and "GeForce" not in name for name in names) if names else told <= _OF_ANY_CARD


def _exchanging(environment: Environment, matrix: Matrix) -> tuple[SeenGpu, ...]:
    """The GPUs that may exchange data with each other over PCIe."""
    gpus = tuple(gpu for gpu in seen_gpus(environment, matrix) if gpu.exchanges)
    return gpus if len(gpus) > 1 else ()


def _below_switches(gpus: tuple[SeenGpu, ...]) -> bool:
    """False where each GPU has a port of the processor for itself: ACS redirects nothing there that went straight."""
    hops = [hop.pci_address for gpu in gpus if gpu.pci for hop in gpu.pci.hops]
    ports = all(gpu.pci is not None and len(gpu.pci.hops) == 1 for gpu in gpus)
    return not ports or len(set(hops)) < len(hops)


@check(
    _LINK_DOWN,
    layer=Layer.HEALTH,
    rank=36,
    tier="N",
    any_of=("gpus", "messages"),
    explained_by=("fabric-manager-not-running", "fabric-manager-version-mismatch", "gpu-fallen-off-bus"),
    between_gpus=True,
    fix="Check the links; reseat the bridge or, on NVSwitch boards, drain the node and reset all GPUs.",
    references=threads("NVIDIA/NVSentinel#1481", "Azure/azurehpc-health-checks#162"),
)
def nvlink_inactive(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Every GPU with active NVLinks has as many of them as the other GPUs of its model in the machine.

    Otherwise, data exchange falls back to PCIe. Cards without a bridge have no active links, which is normal; on boards
    that link all of their GPUs, it is a fault.
    """
    counted = [gpu for gpu in gpus_of(environment) if gpu.nvlinks_active is not None]
    most: dict[tuple[str, bool], int] = {}
    for gpu in counted:
        most[_equals(gpu)] = max(most.get(_equals(gpu), 0), gpu.nvlinks_active or 0)
    boards = switches(environment, matrix)  # of cards not every one need have a bridge
    linked = [gpu for gpu in counted if gpu.nvlinks_active or boards or on_nvswitch_board(gpu.name)]
    down = [gpu for gpu in linked if (gpu.nvlinks_active or 0) < most[_equals(gpu)]]
    for gpu in down:
        yield _LINK_DOWN.found(
            [field_evidence(environment, gpu, "nvlinks_active", f"{gpu.nvlinks_active} of {gpu.nvlinks_total}")],
            title=f"{title_of(gpu)} has {gpu.nvlinks_active} active NVLinks; its peers have {most[_equals(gpu)]}",
            subject=name_of(gpu),
            impact=_FEWER_LINKS if gpu.nvlinks_active else "",
            status=Status.FAIL,
        )
    if down:
        return
    heard = seen(environment, _LINK_DOWN.id, without="status" if counted else "")  # counted links are its meaning
    if heard and (reported := _LINK_DOWN.reported(environment)):
        yield reported
    elif any(most.values()):
        yield ok(
            "identical GPUs have the same number of active NVLinks",
            evidence=[field_evidence(environment, g, "nvlinks_active") for g in counted[:4]],
        )
    elif counted:
        yield ok(
            "no NVLink is in use, which is normal without a bridge",
            evidence=[field_evidence(environment, counted[0], "nvlinks_active")],
        )
    else:
        links = [field_evidence(environment, gpu, "nvlinks_active") for gpu in gpus_of(environment)[:1]]
        yield (
            skip("these GPUs have no NVLink", evidence=links)
            if links
            else unknown(unseen(environment, "the NVLink status"))
        )


def _equals(gpu: Gpu) -> tuple[str, bool]:
    """What two GPUs share that ought to have the same links: in MIG mode a GPU uses none."""
    return gpu.name, bool(gpu.mig_mode)


def _over_switches(environment: Environment, matrix: Matrix) -> bool:
    """True where GPUs exchange data over NVSwitches, not over PCIe."""
    names = [gpu.name for gpu in seen_gpus(environment, matrix)]
    return switches(environment, matrix) is True or (bool(names) and all(in_a_rack(name) for name in names))


_OVER_NVLINK = "the GPUs use NVLink, so this would matter only for RDMA with network cards"


@check(
    _ACS,
    layer=Layer.HEALTH,
    rank=70,
    tier="R",
    any_of=("kernel.acs_redirect", "messages"),
    fix="Turn off ACS in the firmware setup. Until then, NCCL_P2P_DISABLE=1 keeps NCCL from hanging.",
    references=threads("NVIDIA/nccl#2079", "aikitoria/open-gpu-kernel-modules#6"),
)
def acs_blocks_p2p(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """On bare metal with several GPUs, the PCIe bridges let the GPUs communicate directly.

    PCIe ACS redirects that traffic through the root complex, which makes NCCL slow or hang. Virtual-machine hosts need
    ACS.
    """
    bridges = environment.kernel.acs_redirect
    facts = [known(environment, "kernel.acs_redirect")]
    if reported := _ACS.reported(environment):
        yield reported
    elif kind(environment) in (MachineKind.VM, MachineKind.CONTAINER) or _hosts_machines(environment):
        yield skip("virtual machines are in use, and isolating them requires ACS")
    elif _over_switches(environment, matrix):
        yield ok(_OVER_NVLINK, evidence=facts)
    elif not bridges.known:
        settings = "the PCIe ACS settings"
        unread = unseen(environment, settings) if environment.pasted else f"reading {settings} requires root"
        yield unknown(unread, evidence=facts)
    elif bridges.get() and _below_switches(_exchanging(environment, matrix)):
        yield _ACS.found(
            facts,
            title=f"PCIe ACS redirects GPU-to-GPU traffic at {many(len(bridges.get()), 'bridge')}",
            status=Status.WARN,
            address=bridges.get()[0],
        )
    else:
        yield ok("no bridge above the GPUs redirects their traffic", evidence=facts)


def _hosts_machines(environment: Environment) -> bool:
    """True where virtual machines are given GPUs, or parts of them: their isolation needs IOMMU and ACS."""
    return bool(reserved_for_vms(environment)) or lends_vgpus(environment)


@check(
    _IOMMU,
    layer=Layer.HEALTH,
    rank=71,
    any_of=("kernel.iommu", "messages"),
    fix="The kernel option iommu=pt keeps isolation and lets GPUs communicate; turn the IOMMU off only if that fails.",
    references=threads("NVIDIA/nccl#257", "NVIDIA/nccl#304", "aikitoria/open-gpu-kernel-modules#6"),
)
def iommu_translation_hang(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """On bare metal with several GPUs, the IOMMU is off or in passthrough mode.

    In translation mode, the first transfer between GPUs can hang at 100% load. Virtual-machine hosts need that mode.
    """
    mode = environment.kernel.iommu
    facts = [known(environment, "kernel.iommu")]
    if reported := _IOMMU.reported(environment):
        yield reported
    elif is_virtual(environment) or driver_lives_elsewhere(environment) or _hosts_machines(environment):
        yield skip("not checked where virtual machines are in use, because they depend on the IOMMU")
    elif not mode.known:
        yield skip("no IOMMU") if mode.absent else unknown(unseen(environment, "the IOMMU settings"), evidence=facts)
    elif mode.get() == "translated" and _over_switches(environment, matrix):
        yield ok(_OVER_NVLINK, evidence=facts)
    elif mode.get() == "translated" and only_shown(environment) and all_work(environment, matrix):
        yield ok("the IOMMU translates, the kernel's default; no hanging program was reported", evidence=facts)
    elif mode.get() == "translated" and _exchanging(environment, matrix):
        yield _IOMMU.found(facts, status=Status.WARN)
    else:
        yield ok(f"the IOMMU mode is {mode.get()}", evidence=facts)


@check(
    _NO_PEERS,
    weighs_messages=True,
    layer=Layer.HEALTH,
    rank=72,
    tier="N",
    any_of=("gpus", "pci_gpus", "messages"),
    explained_by=("iommu-translation-hang", "shm-too-small"),
    fix="Set NCCL_P2P_DISABLE=1, or update the driver and NCCL.",
    references=threads("NVIDIA/nccl-tests#117", "NVIDIA/nccl#1637", "huggingface/accelerate#2328"),
)
def geforce_p2p_hang(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """No multi-GPU program on GeForce RTX 40 or 50 cards hung or failed because it tried peer-to-peer access.

    These cards do not support it. Old drivers and NCCL releases try it anyway; newer ones go through host memory.
    """
    cards = [gpu for gpu in seen_gpus(environment, matrix) if _NO_PEER_GEFORCE.search(gpu.name)]
    reported = _NO_PEERS.reported(environment)
    if reported and (environment.variables.value or {}).get(_SWITCH) != "1":
        yield reported if cards or not _of_other_cards(environment, matrix) else replace(reported, title=_PEERLESS)
    elif len(cards) < 2:
        several = environment.gpus.known or environment.pci_gpus.known
        yield skip("fewer than two affected GPUs") if several else unknown(unseen(environment, "the GPU models"))
    else:
        names = Evidence("gpus", ", ".join(gpu.name for gpu in cards), environment.gpus.source)
        yield ok(f"{len(cards)} GeForce cards without peer access; no program hung", evidence=[names])
