"""PCIe links: width and generation of every hop against what both of its ends can do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.engine.evidence import is_virtual, managed_elsewhere, no_pci_expected, not_looked
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, Status, ok, skip, unknown
from envkit.checks.engine.messages import seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import remedy
from envkit.checks.gpu.bandwidth import measured_copies
from envkit.checks.gpu.gpus import SeenGpu, seen_gpus
from envkit.checks.gpu.links import Link, card_lanes, links_above, narrow, neighbors, sharers
from envkit.model import Environment, Gpu
from envkit.tables.codes import generation_of, gigabytes_per_second

if TYPE_CHECKING:
    from envkit.tables import Matrix

_FEW_LANES = 4  # at or below a quarter of 16 a copy takes so long that another slot is worth the work
_REFERENCES = threads("scitix/sichek#122", "local-inference-lab/rtx6kpro#88", "NVIDIA/NVSentinel#890")


_SLOWER = "Copies between host and GPU are slower than they could be."
_NARROW = Fault(
    "pcie-width-degraded",
    "A PCIe link has fewer lanes than card and slot allow",
    impact=_SLOWER,
    remedy="Look again while the GPU works. If it stays: reseat the card, leave out the riser, try another slot.",
    actions=("link-under-load",),
)
_SLOW = Fault(
    "pcie-gen-degraded",
    "A PCIe link is slower than card and slot allow",
    impact=_SLOWER,
    remedy="Watch the link while the GPU works. If it stays: set the slot's generation to Auto in the firmware, leave "
    "out the riser, try another slot.",
    actions=("link-under-load",),
    status=Status.WARN,
)


@check(
    _NARROW,
    layer=Layer.HEALTH,
    rank=40,
    any_of=("pci_gpus", "gpus"),
    explained_by=("gpu-fallen-off-bus",),
    fix="Another slot, reseat the card, the bifurcation setting of the firmware, another riser.",
    references=_REFERENCES,
)
def pcie_width_degraded(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Every link from a GPU up to the root has as many lanes as both of its ends allow.

    A slot that shares lanes, dirty contacts, a riser or a wrong bifurcation setting costs half of the bandwidth or
    more, without any error. Width does not change with power saving, so idle GPUs show it too. A board that has
    only eight lanes, or a slot that has fewer than the card, works as built.
    """
    gpus = seen_gpus(environment, matrix)
    if no_pci_expected(environment) and not any(gpu.nvml and gpu.nvml.link_width_max for gpu in gpus):
        yield managed_elsewhere(environment)
        return
    outcomes = [outcome for gpu in gpus for outcome in [_width(environment, gpu, gpus)] if outcome is not None]
    yield from outcomes or [not_looked(environment, "no PCIe link of a GPU was looked at")]


def _width(environment: Environment, gpu: SeenGpu, gpus: tuple[SeenGpu, ...]) -> Outcome | None:
    if gpu.slotless:
        return skip(f"{gpu.title} is built onto its processor and has no PCIe slot", subject=gpu.subject)
    if is_virtual(environment):
        return unknown("the PCIe ports of a virtual machine are not real ones", subject=gpu.subject)
    links = links_above(gpu)
    hurt = [link for link in links if link.width is not None and link.width_expected is not None and narrow(link)]
    if hurt and gpu.laptop:  # its maker wires fewer lanes than GPU and port have
        return ok(
            f"{gpu.title}: wired as its maker chose", subject=gpu.subject, evidence=_link_evidence(environment, hurt[0])
        )
    if hurt:
        return _narrowed(environment, gpu, min(hurt, key=lambda link: link.width or 0), gpus)
    if links and links[0].width is not None:
        return _as_built(environment, gpu, links, gpus)
    if gpu.nvml is not None and gpu.nvml.link_width_current is not None:
        return _width_by_nvml(environment, gpu, gpu.nvml)
    return None


def _narrowed(environment: Environment, gpu: SeenGpu, link: Link, gpus: tuple[SeenGpu, ...]) -> Outcome:
    shared = sharers(gpu, link, gpus)
    title = f"{gpu.title} has {link.width} of {link.width_expected} PCIe lanes {link.place}"
    evidence = _link_evidence(environment, link)
    if shared:
        names = " and ".join(other.subject for other in shared)
        return _NARROW.found(
            [*evidence, *(_card_evidence(environment, other) for other in shared)],
            title=f"{title}: it shares them with {names}",
            subject=gpu.subject,
            status=Status.WARN,
            impact=_cost(link, link.width_expected or 0),
            remedy=_other_slot(
                environment, gpu, "Move one card to a slot with lanes of its own, if the board has one."
            ),
        )
    broken = link.upper is not None and _no_design(gpu, link.width or 0, link.width_expected or 0)
    return _NARROW.found(
        evidence,
        title=title if link.upper is not None else f"{title}; how many its slot has is not known",
        subject=gpu.subject,
        status=Status.FAIL if broken else Status.WARN,
        impact=_cost(link, link.width_expected or 0),
        remedy=_other_slot(
            environment,
            gpu,
            "Reseat the card and look at its contacts; leave out the riser; set the slot to all lanes in the firmware "
            "(bifurcation); see in the board's manual which slots (also those of SSDs) share lanes; try another slot.",
        ),
    )


def _no_design(gpu: SeenGpu, lanes: int, expected: int) -> bool:
    """True when no board is built like that: desktops may halve a slot for a second card or an SSD, servers do not."""
    return gpu.data_center or lanes * 2 < expected


def _as_built(environment: Environment, gpu: SeenGpu, links: tuple[Link, ...], gpus: tuple[SeenGpu, ...]) -> Outcome:
    narrowest = min(links, key=lambda link: link.width or link.width_expected or 99)
    card, lanes = card_lanes(gpu), narrowest.width or 0
    evidence = _link_evidence(environment, narrowest)
    if card is None or lanes >= card or gpu.laptop:
        return ok(f"{gpu.title}: x{lanes}, the maximum for this card and slot", subject=gpu.subject, evidence=evidence)
    title = f"{gpu.title} could use {card} PCIe lanes, {narrowest.where} has {lanes}"
    if len(gpus) == 1 and lanes > _FEW_LANES:
        return ok(f"{title}: as built", subject=gpu.subject, evidence=evidence)
    others = " and ".join(other.subject for other in neighbors(gpu, narrowest, gpus))
    return _NARROW.found(
        [*evidence, _card_evidence(environment, gpu)],
        title=f"{title}" + (f" (the board divides its lanes with {others})" if others else ""),
        subject=gpu.subject,
        status=Status.WARN,
        impact=_cost(narrowest, card),
        remedy=_other_slot(
            environment, gpu, "By design of the board. Where copies matter, give the card a wider slot."
        ),
    )


def _width_by_nvml(environment: Environment, gpu: SeenGpu, nvml: Gpu) -> Outcome:
    now, most = nvml.link_width_current or 0, nvml.link_width_max
    evidence = [Evidence(f"gpus[{nvml.index}].link_width_current", f"x{now} of x{most}", environment.gpus.source)]
    if most is None:
        return unknown("how many lanes are possible is not known", subject=gpu.subject, evidence=evidence)
    expected = min(most, card_lanes(gpu) or most)
    if now >= expected or gpu.laptop:
        return ok(f"{gpu.title}: x{now}, the maximum for this card and slot", subject=gpu.subject, evidence=evidence)
    cost = _lost(nvml.link_generation_max, now, expected) if nvml.link_generation_max else ""
    return _NARROW.found(
        evidence,
        title=f"{gpu.title} has {now} of {expected} PCIe lanes",
        subject=gpu.subject,
        impact=cost,
        status=Status.FAIL if gpu.busy else Status.WARN,  # NVML may tell of an idle link; ports were not seen
    )


def _cost(link: Link, expected: int) -> str:
    generation = generation_of(link.speed_expected) if link.speed_expected else None
    if generation is None or link.width is None:
        return _SLOWER
    return _lost(generation.generation, link.width, expected)


def _lost(generation: int, lanes: int, expected: int) -> str:
    has, could = gigabytes_per_second(generation, lanes), gigabytes_per_second(generation, expected)
    if has is None or could is None:
        return ""
    return f"At most {has:.1f} instead of {could:.1f} GB/s each way: {could - has:.1f} GB/s are lost."


def _other_slot(environment: Environment, gpu: SeenGpu, summary: str) -> Remedy:
    return remedy(environment, summary, "lspci", address=gpu.address)


def _link_evidence(environment: Environment, link: Link) -> list[Evidence]:
    source = environment.pci_gpus.source
    return [Evidence(f"pci_gpus link {end.pci_address}", words, source) for end, words in link.described]


def _card_evidence(environment: Environment, gpu: SeenGpu) -> Evidence:
    return Evidence("pci_gpus", f"{gpu.subject} {gpu.name}", environment.pci_gpus.source)


@check(
    _SLOW,
    layer=Layer.HEALTH,
    rank=41,
    tier="N",
    any_of=("pci_gpus", "gpus", "messages"),
    explained_by=("gpu-fallen-off-bus",),
    references=threads("local-inference-lab/rtx6kpro#88", "NVIDIA/NVSentinel#890", "Syllo/nvtop#6", "janhq/jan#183"),
)
def pcie_gen_degraded(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """While a GPU works, its link runs at the highest rate that both ends have.

    GPUs slow the link down while they idle (generation 1 at idle is normal and no fault), so only the rate under
    load counts. Signal trouble, a riser or an old setting in the firmware can hold it at half or a quarter.
    """
    gpus = seen_gpus(environment, matrix)
    if gpus and is_virtual(environment) and not seen(environment, "pcie-gen-degraded"):
        yield from _measured(environment, gpus) or [unknown("the PCIe ports of a virtual machine are not real ones")]
        return
    outcomes = [outcome for gpu in gpus for outcome in [_rate(environment, gpu)] if outcome is not None]
    reported = _SLOW.reported(environment)
    if outcomes or reported:
        yield from (*outcomes, *([reported] if reported else []))
    elif no_pci_expected(environment):
        yield managed_elsewhere(environment)


def _measured(environment: Environment, gpus: tuple[SeenGpu, ...]) -> list[Outcome]:
    """What measured copies say where ports say nothing."""
    outcomes = (_copied(environment, gpu, _generations(environment, gpu)[1]) for gpu in gpus if not gpu.slotless)
    return [outcome for outcome in outcomes if outcome is not None]


def _copied(environment: Environment, gpu: SeenGpu, possible: int | None) -> Outcome | None:
    lanes = (gpu.nvml.link_width_current if gpu.nvml else None) or card_lanes(gpu)
    return measured_copies(environment, _SLOW, gpu, possible, lanes) if lanes and possible else None


def _rate(environment: Environment, gpu: SeenGpu) -> Outcome | None:
    now, possible, evidence = _generations(environment, gpu)
    if now is None or possible is None or gpu.slotless:
        return None
    measured = _copied(environment, gpu, possible)
    if measured is not None:
        return measured
    if now >= possible:
        alone = (gpu.nvml.link_generation_device_max if gpu.nvml else None) or possible
        more = f"; the card alone supports Gen{alone}, its slot or processor does not" if alone > possible else ""
        title = f"{gpu.title}: PCIe Gen{now}, the maximum for this card and slot{more}"
        return ok(title, subject=gpu.subject, evidence=evidence)
    if not gpu.busy:
        words = "idle" if gpu.busy is False else "not known to be busy"
        title = f"{gpu.title}: PCIe Gen{now} of Gen{possible} while {words}, which saves power"
        return ok(title, subject=gpu.subject, evidence=evidence)
    return _SLOW.found(
        evidence,
        title=f"{gpu.title} runs at PCIe Gen{now}, although Gen{possible} is possible",
        subject=gpu.subject,
        impact=_lost_by_rate(gpu, now, possible),
    )


def _generations(environment: Environment, gpu: SeenGpu) -> tuple[int | None, int | None, list[Evidence]]:
    """Generation now, generation possible here, and where that was read: NVML first, as it tells the load too."""
    nvml = gpu.nvml
    if nvml is not None and nvml.link_generation_current and nvml.link_generation_max:
        words = f"{nvml.link_generation_current} of {nvml.link_generation_max}, load {nvml.utilization_percent} %"
        fact = Evidence(f"gpus[{nvml.index}].link_generation_current", words, environment.gpus.source)
        return nvml.link_generation_current, nvml.link_generation_max, [fact]
    link = next(iter(links_above(gpu)), None)
    if link is None or link.speed is None or link.speed_expected is None:
        return None, None, []
    now, possible = generation_of(link.speed), generation_of(link.speed_expected)
    if now is None or possible is None:
        return None, None, []
    return now.generation, possible.generation, _link_evidence(environment, link)


def _lost_by_rate(gpu: SeenGpu, now: int, possible: int) -> str:
    lanes = (gpu.nvml.link_width_current if gpu.nvml else None) or card_lanes(gpu)
    has = gigabytes_per_second(now, lanes) if lanes else None
    could = gigabytes_per_second(possible, lanes) if lanes else None
    if has is None or could is None:
        return _SLOWER
    return f"At most {has:.1f} instead of {could:.1f} GB/s each way: {could - has:.1f} GB/s are lost."
