"""What GPUs need to exchange data: NVLink, peer access past ACS and IOMMU, GeForce limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.checks.engine.evidence import driver_lives_elsewhere, is_virtual, kind, known, many
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Status, ok, skip, unknown
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.gpu.fabric import switches
from envkit.checks.gpu.gpus import SeenGpu, in_a_rack, lends_vgpus, reserved_for_vms, seen_gpus
from envkit.checks.gpu.health import field_evidence, gpus_of, name_of
from envkit.model import Environment, Gpu, MachineKind

if TYPE_CHECKING:
    from envkit.tables import Matrix

_NO_PEER_GEFORCE = regex(r"GeForce RTX [45]0\d\d")
_SWITCH = "NCCL_P2P_DISABLE"


_LINK_DOWN = Fault(
    "nvlink-inactive",
    "NVLink connections of a GPU are down",
    impact="Exchange with this GPU goes over PCIe and slows all others down.",
    remedy="Look at the links; reseat the bridge or reset the GPU.",
    actions=("nvlink",),
    status=Status.WARN,
)
_ACS = Fault(
    "acs-blocks-p2p",
    "PCIe ACS sends traffic between GPUs through the processor",
    impact="Exchange between GPUs goes through the processor: slower, and NCCL can hang.",
    remedy="On bare metal without virtual machines: switch ACS off in the firmware setup.",
    actions=("lspci",),
)
_IOMMU = Fault(
    "iommu-translation-hang",
    "The IOMMU translates traffic between GPUs",
    impact="GPU-to-GPU transfers may hang or corrupt data; programs on one GPU are not affected.",
    remedy="Set the kernel option iommu=pt and reboot.",
    actions=("iommu",),
)
_NO_PEERS = Fault(
    "geforce-p2p-hang",
    "GeForce cards without peer access may hang in NCCL",
    impact="Programs on several of these cards hang or stop; newer drivers and NCCL releases do not.",
    remedy="If programs on several cards hang: switch peer access off.",
    actions=("no-p2p",),
)


def _several(environment: Environment, matrix: Matrix) -> tuple[SeenGpu, ...]:
    gpus = seen_gpus(environment, matrix)
    return gpus if len(gpus) > 1 else ()


@check(
    _LINK_DOWN,
    layer=Layer.HEALTH,
    rank=36,
    tier="N",
    any_of=("gpus", "messages"),
    explained_by=("fabric-manager-not-running", "fabric-manager-version-mismatch", "gpu-fallen-off-bus"),
    references=threads("NVIDIA/NVSentinel#1481", "Azure/azurehpc-health-checks#162"),
)
def nvlink_inactive(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Every GPU has as many active NVLink connections as the other GPUs of its model in the machine.

    Otherwise exchanging data falls back to PCIe. Cards without a bridge have none active, which is no fault.
    """
    counted = [gpu for gpu in gpus_of(environment) if gpu.nvlinks_active is not None]
    most: dict[tuple[str, bool], int] = {}
    for gpu in counted:
        most[_equals(gpu)] = max(most.get(_equals(gpu), 0), gpu.nvlinks_active or 0)
    down = [gpu for gpu in counted if (gpu.nvlinks_active or 0) < most[_equals(gpu)]]
    every = switches(environment, matrix)
    for gpu in down:
        # without switches not every card need have a bridge
        status = Status.FAIL if every or gpu.nvlinks_active else Status.WARN
        yield _LINK_DOWN.found(
            [field_evidence(environment, gpu, "nvlinks_active", f"{gpu.nvlinks_active} of {gpu.nvlinks_total}")],
            title=f"{gpu.name} has {gpu.nvlinks_active} active NVLinks, its peers have {most[_equals(gpu)]}",
            subject=name_of(gpu),
            status=status,
        )
    if down:
        return
    if reported := _LINK_DOWN.reported(environment):
        yield reported
    elif any(most.values()):
        yield ok(
            "identical GPUs have the same number of active NVLinks",
            evidence=[field_evidence(environment, g, "nvlinks_active") for g in counted[:4]],
        )
    elif counted:
        yield ok(
            "no NVLink is in use: no bridge, no fault",
            evidence=[field_evidence(environment, counted[0], "nvlinks_active")],
        )
    else:
        yield skip("these GPUs have no NVLink") if environment.gpus.known else unknown("NVLink was not queried")


def _equals(gpu: Gpu) -> tuple[str, bool]:
    """What two GPUs share that ought to have the same links: in MIG mode a GPU uses none."""
    return gpu.name, bool(gpu.mig_mode)


def _over_switches(environment: Environment, matrix: Matrix) -> bool:
    """True where GPUs exchange data over NVSwitches, not over PCIe."""
    names = [gpu.name for gpu in seen_gpus(environment, matrix)]
    return switches(environment, matrix) is True or (bool(names) and all(in_a_rack(name) for name in names))


_OVER_NVLINK = "the GPUs exchange data over NVLink; for RDMA of network cards it would matter"


@check(
    _ACS,
    layer=Layer.HEALTH,
    rank=70,
    tier="R",
    any_of=("kernel.acs_redirect", "messages"),
    references=threads("NVIDIA/nccl#2079", "aikitoria/open-gpu-kernel-modules#6"),
)
def acs_blocks_p2p(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """On bare metal with several GPUs, the bridges above them let them talk to each other directly.

    PCIe ACS redirects such traffic through the root: NCCL gets slow or hangs. Hosts of virtual machines need ACS.
    """
    bridges = environment.kernel.acs_redirect
    facts = [known(environment, "kernel.acs_redirect")]
    if reported := _ACS.reported(environment):
        yield reported
    elif kind(environment) in (MachineKind.VM, MachineKind.CONTAINER) or _hosts_machines(environment):
        yield skip("isolation of virtual machines needs ACS")
    elif _over_switches(environment, matrix):
        yield ok(_OVER_NVLINK, evidence=facts)
    elif not bridges.known:
        yield unknown("not checked: the bridges' settings can be read by root only", evidence=facts)
    elif bridges.get() and _several(environment, matrix):
        yield _ACS.found(
            facts,
            title=f"PCIe ACS redirects traffic between GPUs at {many(len(bridges.get()), 'bridge')}",
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
    fix="The kernel option iommu=pt keeps isolation and lets GPUs talk; switch the IOMMU off only after that.",
    references=threads("NVIDIA/nccl#257", "NVIDIA/nccl#304", "aikitoria/open-gpu-kernel-modules#6"),
)
def iommu_translation_hang(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """On bare metal with several GPUs, the IOMMU passes their traffic through.

    In translating mode the first exchange between GPUs can hang at 100 % load. Hosts of virtual machines want it.
    """
    mode = environment.kernel.iommu
    facts = [known(environment, "kernel.iommu")]
    if reported := _IOMMU.reported(environment):
        yield reported
    elif is_virtual(environment) or driver_lives_elsewhere(environment) or _hosts_machines(environment):
        yield skip("virtual machines need the IOMMU as it is")
    elif not mode.known:
        yield skip("no IOMMU") if mode.absent else unknown("the IOMMU was not probed", evidence=facts)
    elif mode.get() == "translated" and _over_switches(environment, matrix):
        yield ok(_OVER_NVLINK, evidence=facts)
    elif mode.get() == "translated" and _several(environment, matrix):
        yield _IOMMU.found(facts, status=Status.WARN)
    else:
        yield ok(f"the IOMMU is in mode {mode.get()}", evidence=facts)


@check(
    _NO_PEERS,
    weighs_messages=True,
    layer=Layer.HEALTH,
    rank=72,
    tier="N",
    any_of=("gpus", "pci_gpus", "messages"),
    fix="NCCL_P2P_DISABLE=1; a newer driver and NCCL.",
    references=threads("NVIDIA/nccl-tests#117", "NVIDIA/nccl#1637", "huggingface/accelerate#2328"),
)
def geforce_p2p_hang(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Programs on several GeForce RTX 40 or 50 cards do not try peer access, which these cards lack.

    Drivers and NCCL releases that try it all the same hang or stop with "invalid argument".
    """
    cards = [gpu for gpu in _several(environment, matrix) if _NO_PEER_GEFORCE.search(gpu.name)]
    variables = environment.variables.get() if environment.variables.known else None
    reported = _NO_PEERS.reported(environment)
    if reported and (variables or {}).get(_SWITCH) != "1":
        yield reported
    elif len(cards) < 2:
        several = environment.gpus.known or environment.pci_gpus.known
        yield skip("fewer than two affected GPUs") if several else unknown("the GPUs are not known")
    elif variables is None:
        yield unknown(f"whether {_SWITCH} is set is not known")
    elif variables.get(_SWITCH) == "1":
        yield ok(f"{_SWITCH}=1", evidence=[Evidence(f"variables.{_SWITCH}", "1", environment.variables.source)])
    else:
        yield _NO_PEERS.found(
            [Evidence("gpus", ", ".join(gpu.name for gpu in cards), environment.gpus.source)],
            title=f"{len(cards)} GeForce cards without peer access, and {_SWITCH} is not set",
            impact="Older drivers and NCCL releases hang here when several cards work together.",
            status=Status.WARN,
        )
