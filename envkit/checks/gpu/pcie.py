"""PCIe links: width and generation of every hop against what both of its ends can do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.base.sentences import series
from envkit.checks.engine.evidence import is_virtual, known, managed_elsewhere, no_pci_expected, not_looked, unseen
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, Status, ok, skip, unknown
from envkit.checks.engine.messages import message_evidence, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import remedy
from envkit.checks.gpu.bandwidth import measured_copies
from envkit.checks.gpu.gpus import SeenGpu, on_nvswitch_board, seen_gpus
from envkit.checks.gpu.links import Link, card_lanes, links_above, narrow, sharers
from envkit.checks.gpu.seat import BARE, seat_words
from envkit.model import Environment, Gpu
from envkit.tables.codes import generation_of, gigabytes_per_second

if TYPE_CHECKING:
    from envkit.tables import Matrix

_REFERENCES = threads("scitix/sichek#122", "local-inference-lab/rtx6kpro#88", "NVIDIA/NVSentinel#890")


_BY_CABLE = "the maximum for an external enclosure's cable"
_SLOWER = "Copies between host and GPU are slower than they should be."


def _seat(environment: Environment, matrix: Matrix) -> Remedy:
    seat = seat_words(
        environment, "reseat the card, remove the riser, or try another slot.", f"contact the vendor: {BARE}."
    )
    if seen(environment, "pcie-width-degraded", "detail-other-board"):
        return Remedy(
            "The card has all its lanes on another board, so it is not at fault, and no driver changes this: here, the "
            "slot gets fewer. Look in the board's manual which M.2 and PCIe slots (NVMe, Wi-Fi) and which processors "
            "(APUs have fewer lanes) share lanes with it: take those cards out, set the slot's bifurcation to x16 in "
            "the firmware, and clean the contacts of slot and processor. If it stays, use another board or processor. "
            "A lower generation can be the limit of the card itself (pcie.link.gen.max)."
        )
    return remedy(environment, f"Check again under load. If it persists, {seat}", "link-under-load")


_NARROW = Fault(
    "pcie-width-degraded",
    "A PCIe link has fewer lanes than the card and slot support",
    impact=_SLOWER,
    remedy=_seat,
)
_SLOW = Fault(
    "pcie-gen-degraded",
    "A PCIe link is slower than the card and slot support",
    impact=_SLOWER,
    remedy="Check the link under load. If it persists, set the slot's PCIe generation to Auto in the firmware, remove "
    "the riser, or try another slot.",
    actions=("link-under-load",),
    status=Status.WARN,
)


@check(
    _NARROW,
    layer=Layer.HEALTH,
    rank=40,
    any_of=("pci_gpus", "gpus", "messages"),
    explained_by=("gpu-fallen-off-bus",),
    fix="Reseat the card, try another slot or riser, and check the bifurcation setting in the firmware.",
    references=_REFERENCES,
)
def pcie_width_degraded(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Every PCIe link from a GPU up to the root has as many lanes as both of its ends support.

    Dirty contacts, a riser, or a wrong bifurcation setting costs half of the bandwidth or more, without any error. A
    board with only eight lanes, a slot with fewer lanes than the card, and slots that share lanes all work as designed.
    Links seen from inside a virtual machine are not checked.
    """
    gpus = seen_gpus(environment, matrix)
    if no_pci_expected(environment) and not any(gpu.nvml and gpu.nvml.link_width_max for gpu in gpus):
        yield managed_elsewhere(environment)
        return
    outcomes = [outcome for gpu in gpus for outcome in _widths(environment, gpu, gpus)]
    yield from outcomes or [_line_alone(environment, gpus)]


def _line_alone(environment: Environment, gpus: tuple[SeenGpu, ...]) -> Outcome:
    """What a link's line says of which the text shows neither the card nor the slot: in many places it is normal."""
    told = message_evidence(environment, seen(environment, _NARROW.id))
    outside = _outside(environment)
    if told and outside:
        return ok(f"the link is narrow: {_BY_CABLE}", evidence=[*told, *outside])
    if told and any(gpu.laptop for gpu in gpus):
        return ok("laptops are built with fewer lanes", evidence=told)
    return not_looked(environment, unseen(environment, "the PCIe link status of the GPUs"))


def _widths(environment: Environment, gpu: SeenGpu, gpus: tuple[SeenGpu, ...]) -> list[Outcome]:
    if gpu.slotless:
        return [skip(f"{gpu.title} is integrated with its CPU and has no PCIe slot", subject=gpu.subject)]
    if is_virtual(environment):
        return [
            unknown(
                "the PCIe ports in a virtual machine are emulated and show nothing about the card's link",
                subject=gpu.subject,
            )
        ]
    links = [link for link in links_above(gpu) if link.width is not None]
    hurt = [link for link in links if narrow(link)]
    if hurt and not gpu.laptop:
        judged = [_narrowed(environment, gpu, link, gpus) for link in hurt]
        return [outcome for outcome in judged if outcome.status is not Status.OK] or judged[:1]
    if links:
        return [_as_built(environment, gpu, links)]
    if gpu.nvml is not None and gpu.nvml.link_width_current is not None:
        return [_width_by_nvml(environment, gpu, gpu.nvml, gpus)]
    return []


def _narrowed(environment: Environment, gpu: SeenGpu, link: Link, gpus: tuple[SeenGpu, ...]) -> Outcome:
    shared = sharers(gpu, link, gpus)
    title = f"{gpu.title} has {link.width} of {link.width_expected} PCIe lanes {link.place}"
    evidence = _link_evidence(environment, link)
    halved = (link.width or 0) * 2 >= (link.width_expected or 0)
    outside = _outside(environment) if link.upper is None else ()
    if outside:
        return ok(f"{gpu.title}: x{link.width}, {_BY_CABLE}", subject=gpu.subject, evidence=[*evidence, *outside])
    if shared:
        title = f"{title}: shared with {series(other.subject for other in shared)}"
    elif link.upper is None:
        title = f"{title}; the number of lanes of its slot is unknown"
    if shared or (link.upper is None and halved):
        return ok(title, subject=gpu.subject, evidence=evidence)
    return _NARROW.found(
        evidence,
        title=title,
        subject=gpu.subject,
        status=Status.WARN if link.upper is None or halved else Status.FAIL,  # boards halve a slot for an SSD, no more
        impact=_cost(link),
        remedy=remedy(
            environment,
            "Reseat the card and clean its contacts; remove the riser; turn off bifurcation for the slot in the "
            "firmware; check the board's manual for slots (including SSD slots) that share lanes; try another slot.",
            "lspci",
            address=gpu.address,
        ),
    )


def _as_built(environment: Environment, gpu: SeenGpu, links: list[Link]) -> Outcome:
    narrowest = min(links, key=lambda link: link.width or 0)
    card, lanes = card_lanes(gpu), narrowest.width or 0
    words = f"x{lanes}, the maximum for this card and slot"
    if card is not None and lanes < card:
        words = f"the card could use {card} PCIe lanes, but {narrowest.where} has only {lanes}, by design"
    evidence = _link_evidence(environment, narrowest)
    return ok(f"{gpu.title}: {words}", subject=gpu.subject, evidence=evidence)


def _outside(environment: Environment) -> tuple[Evidence, ...]:
    """What shows that a GPU is in an enclosure of its own: Thunderbolt, USB4, and OCuLink carry four lanes."""
    enclosure = environment.system.gpu_enclosure
    return (known(environment, "system.gpu_enclosure"),) if enclosure.known else ()


def _width_by_nvml(environment: Environment, gpu: SeenGpu, nvml: Gpu, gpus: tuple[SeenGpu, ...]) -> Outcome:
    """By NVML alone: it tells the lanes of the card, and not those of its slot, which may have half of them."""
    now, most = nvml.link_width_current or 0, nvml.link_width_max
    evidence = [Evidence(f"gpus[{nvml.index}].link_width_current", f"x{now} of x{most}", environment.gpus.source)]
    if most is None:
        return unknown("the possible number of lanes is unknown", subject=gpu.subject, evidence=evidence)
    expected = min(most, card_lanes(gpu) or most)
    if now >= expected or gpu.laptop:
        return ok(f"{gpu.title}: x{now}, the maximum for this card and slot", subject=gpu.subject, evidence=evidence)
    title = f"{gpu.title} has {now} of {expected} PCIe lanes"
    if outside := _outside(environment):
        return ok(f"{gpu.title}: x{now}, {_BY_CABLE}", subject=gpu.subject, evidence=[*evidence, *outside])
    on_board = on_nvswitch_board(gpu.name)  # which has no slots
    complained_of = seen(environment, _NARROW.id, "complaint-lspci")  # slow, and lspci calls a link degraded
    if not gpu.data_center and not complained_of and any(_wider(other, now) for other in gpus):
        words = "another slot has more, as on most desktop boards"
        return ok(f"{title}; {words}", subject=gpu.subject, evidence=evidence)
    if not gpu.busy:
        return unknown(f"{title}; an idle GPU may use fewer", subject=gpu.subject, evidence=evidence)
    if not (on_board or now * 2 < expected):
        return ok(f"{title}; the slot may have no more", subject=gpu.subject, evidence=evidence)
    return _NARROW.found(
        evidence,
        title=title,
        subject=gpu.subject,
        impact=_lost(nvml.link_generation_max, now, expected) if nvml.link_generation_max else "",
        status=Status.FAIL if on_board else Status.WARN,
    )


def _wider(gpu: SeenGpu, lanes: int) -> bool:
    """Whether this card has more lanes in use, as NVML tells."""
    return gpu.nvml is not None and (gpu.nvml.link_width_current or 0) > lanes


def _cost(link: Link) -> str:
    generation = generation_of(link.speed_expected) if link.speed_expected else None
    if generation is None or link.width is None or link.width_expected is None:
        return _SLOWER
    return _lost(generation.generation, link.width, link.width_expected)


def _lost(generation: int, lanes: int, expected: int) -> str:
    has, could = gigabytes_per_second(generation, lanes), gigabytes_per_second(generation, expected)
    if has is None or could is None:
        return ""
    return f"The link carries at most {has:.1f} GB/s each way instead of {could:.1f}."


def _link_evidence(environment: Environment, link: Link) -> list[Evidence]:
    source = environment.pci_gpus.source
    return [Evidence(f"pci_gpus link {end.pci_address}", words, source) for end, words in link.described]


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
    """When a GPU is busy, its PCIe link runs at the highest speed that both ends support.

    GPUs slow the link down at idle (Gen1 is normal then), so only the speed under load counts. Poor signal quality, a
    riser, or an old firmware setting can limit it to half or a quarter.
    """
    gpus = seen_gpus(environment, matrix)
    if gpus and is_virtual(environment) and not seen(environment, "pcie-gen-degraded"):
        yield from _measured(environment, gpus) or [
            unknown("the PCIe ports in a virtual machine are emulated and show nothing about the card's link")
        ]
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
        more = f"; the card itself supports Gen{alone}, but its slot or processor does not" if alone > possible else ""
        title = f"{gpu.title}: PCIe Gen{now}, the maximum for this card and slot{more}"
        return ok(title, subject=gpu.subject, evidence=evidence)
    if outside := _outside(environment):
        title = f"{gpu.title}: PCIe Gen{now}, {_BY_CABLE}"
        return ok(title, subject=gpu.subject, evidence=[*evidence, *outside])
    if not gpu.busy or _on_one_lane(gpu):
        words = "on one lane" if gpu.busy else "while idle" if gpu.busy is False else "under an unknown load"
        title = f"{gpu.title}: PCIe Gen{now} of Gen{possible} {words}; idle links slow down to save power"
        return ok(title, subject=gpu.subject, evidence=evidence)
    return _SLOW.found(
        evidence,
        title=f"{gpu.title} runs at PCIe Gen{now}, although Gen{possible} is supported",
        subject=gpu.subject,
        impact=_lost_by_rate(gpu, now, possible),
    )


def _on_one_lane(gpu: SeenGpu) -> bool:
    """Whether it hangs on a riser of one lane: what is put there does not need PCIe, and many boards slow it down."""
    return gpu.nvml is not None and gpu.nvml.link_width_current == 1


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
    return f"The link carries at most {has:.1f} GB/s each way instead of {could:.1f}."
