"""What GPUs need to exchange data: NVLink, peer access past ACS and IOMMU, GeForce limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.checks.engine.evidence import driver_lives_elsewhere, is_virtual, kind, known, many
from envkit.checks.engine.findings import Evidence, Outcome, fail, ok, skip, unknown, warn
from envkit.checks.engine.messages import told
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import remedy
from envkit.checks.gpu.fabric import switches
from envkit.checks.gpu.gpus import SeenGpu, in_a_rack, lends_vgpus, reserved_for_vms, seen_gpus
from envkit.checks.gpu.health import field_evidence, gpus_of, name_of
from envkit.model import Environment, Gpu, MachineKind

if TYPE_CHECKING:
    from envkit.tables import Matrix

_NO_PEER_GEFORCE = regex(r"GeForce RTX [45]0\d\d")
_SWITCH = "NCCL_P2P_DISABLE"


def _several(environment: Environment, matrix: Matrix) -> tuple[SeenGpu, ...]:
    gpus = seen_gpus(environment, matrix)
    return gpus if len(gpus) > 1 else ()


@check(
    "nvlink-inactive",
    title="NVLink connections of a GPU are down",
    layer=Layer.HEALTH,
    rank=36,
    tier="N",
    any_of=("gpus", "messages"),
    explained_by=("fabric-manager-not-running", "fabric-manager-version-mismatch", "gpu-fallen-off-bus"),
    fix="Reseat the bridge, start the Fabric Manager, reset the GPU.",
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
    fix = remedy(environment, "Look at the links; reseat the bridge or reset the GPU.", "nvlink")
    every = switches(environment, matrix)
    for gpu in down:
        judge = fail if every or gpu.nvlinks_active else warn  # without switches not every card need have a bridge
        yield judge(
            f"{gpu.name} has {gpu.nvlinks_active} active NVLinks, its peers have {most[_equals(gpu)]}",
            subject=name_of(gpu),
            evidence=[
                field_evidence(environment, gpu, "nvlinks_active", f"{gpu.nvlinks_active} of {gpu.nvlinks_total}")
            ],
            impact="Exchange with this GPU goes over PCIe and slows all others down.",
            remedy=fix,
        )
    if down:
        return
    outcomes = told(
        environment,
        "nvlink-inactive",
        "NVLink connections are down",
        remedy=fix,
        judge=warn,
        impact="Exchange with this GPU goes over PCIe and slows all others down.",
    )
    if outcomes:
        yield from outcomes
    elif any(most.values()):
        yield ok(
            "NVLink is the same on equal GPUs",
            evidence=[field_evidence(environment, g, "nvlinks_active") for g in counted[:4]],
        )
    elif counted:
        yield ok(
            "no NVLink is in use: no bridge, no fault",
            evidence=[field_evidence(environment, counted[0], "nvlinks_active")],
        )
    else:
        yield skip("these GPUs have no NVLink") if environment.gpus.known else unknown("NVLink was not asked")


def _equals(gpu: Gpu) -> tuple[str, bool]:
    """What two GPUs share that ought to have the same links: in MIG mode a GPU uses none."""
    return gpu.name, bool(gpu.mig_mode)


def _over_switches(environment: Environment, matrix: Matrix) -> bool:
    """True where GPUs exchange data over NVSwitches, not over PCIe."""
    names = [gpu.name for gpu in seen_gpus(environment, matrix)]
    return switches(environment, matrix) is True or (bool(names) and all(in_a_rack(name) for name in names))


_OVER_NVLINK = "the GPUs exchange data over NVLink; for RDMA of network cards it would matter"


@check(
    "acs-blocks-p2p",
    title="PCIe ACS sends traffic between GPUs through the processor",
    layer=Layer.HEALTH,
    rank=70,
    tier="R",
    any_of=("kernel.acs_redirect", "messages"),
    fix="Switch ACS off in the firmware or at boot, on bare metal only.",
    references=threads("NVIDIA/nccl#2079", "aikitoria/open-gpu-kernel-modules#6"),
)
def acs_blocks_p2p(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """On bare metal with several GPUs, the bridges above them let them talk to each other directly.

    PCIe ACS redirects such traffic through the root: NCCL gets slow or hangs. Hosts of virtual machines need ACS.
    """
    bridges = environment.kernel.acs_redirect
    facts = [known(environment, "kernel.acs_redirect")]
    outcomes = told(
        environment,
        "acs-blocks-p2p",
        "PCIe ACS gets in the way of traffic between GPUs",
        impact="Exchange between GPUs goes through the processor: slower, and NCCL can hang.",
        remedy=remedy(environment, "On bare metal without virtual machines: switch ACS off in the firmware setup."),
    )
    if outcomes:
        yield from outcomes
    elif kind(environment) in (MachineKind.VM, MachineKind.CONTAINER) or _hosts_machines(environment):
        yield skip("isolation of virtual machines needs ACS")
    elif _over_switches(environment, matrix):
        yield ok(_OVER_NVLINK, evidence=facts)
    elif not bridges.known:
        yield unknown("not checked: the bridges' settings can be read by root only", evidence=facts)
    elif bridges.get() and _several(environment, matrix):
        yield warn(
            f"PCIe ACS redirects traffic between GPUs at {many(len(bridges.get()), 'bridge')}",
            evidence=facts,
            impact="Exchange between GPUs goes through the processor: slower, and NCCL can hang.",
            remedy=remedy(
                environment,
                "On bare metal without virtual machines: switch ACS off in the firmware setup.",
                "lspci",
                address=bridges.get()[0],
            ),
        )
    else:
        yield ok("no bridge above the GPUs redirects their traffic", evidence=facts)


def _hosts_machines(environment: Environment) -> bool:
    """True where virtual machines are given GPUs, or parts of them: their isolation needs IOMMU and ACS."""
    return bool(reserved_for_vms(environment)) or lends_vgpus(environment)


@check(
    "iommu-translation-hang",
    title="The IOMMU translates traffic between GPUs",
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
    fix = remedy(environment, "Set the kernel option iommu=pt and restart.", "iommu")
    outcomes = told(
        environment,
        "iommu-translation-hang",
        "The IOMMU gets in the way of traffic between GPUs",
        remedy=fix,
        impact="GPU-to-GPU transfers may hang or corrupt data.",
    )
    if outcomes:
        yield from outcomes
    elif is_virtual(environment) or driver_lives_elsewhere(environment) or _hosts_machines(environment):
        yield skip("virtual machines need the IOMMU as it is")
    elif not mode.known:
        yield skip("no IOMMU") if mode.absent else unknown("the IOMMU was not looked at", evidence=facts)
    elif mode.get() == "translated" and _over_switches(environment, matrix):
        yield ok(_OVER_NVLINK, evidence=facts)
    elif mode.get() == "translated" and _several(environment, matrix):
        yield warn(
            "The IOMMU translates traffic between GPUs",
            evidence=facts,
            impact="Exchange between GPUs can hang or be wrong; programs on one GPU are not affected.",
            remedy=fix,
        )
    else:
        yield ok(f"the IOMMU is in mode {mode.get()}", evidence=facts)


@check(
    "geforce-p2p-hang",
    title="GeForce cards without peer access may hang in NCCL",
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
    fix = remedy(environment, "If programs on several cards hang: switch peer access off.", "no-p2p")
    outcomes = told(
        environment,
        "geforce-p2p-hang",
        "These GeForce cards have no peer access",
        remedy=fix,
        impact="Programs on several of these cards hang or stop.",
    )
    if outcomes and (variables or {}).get(_SWITCH) != "1":
        yield from outcomes
    elif len(cards) < 2:
        several = environment.gpus.known or environment.pci_gpus.known
        yield skip("there are no two cards of that kind") if several else unknown("the GPUs are not known")
    elif variables is None:
        yield unknown(f"whether {_SWITCH} is set is not known")
    elif variables.get(_SWITCH) == "1":
        yield ok(f"{_SWITCH}=1", evidence=[Evidence(f"variables.{_SWITCH}", "1", environment.variables.source)])
    else:
        yield warn(
            f"{len(cards)} GeForce cards without peer access, and {_SWITCH} is not set",
            evidence=[Evidence("gpus", ", ".join(gpu.name for gpu in cards), environment.gpus.source)],
            impact="Older drivers and NCCL releases hang here when several cards work together.",
            remedy=fix,
        )
