"""The answers of `recommend` for people, in lines of the terminal's width, as Markdown, and as a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from envkit.advice.build import Judgement, Machine
from envkit.advice.cards import FORMS
from envkit.advice.memory import GIB, Need
from envkit.advice.rank import LeftOut, Offer, Ranking, better_buy_below, relative_speed
from envkit.advice.support import Support
from envkit.advice.workload import Workload
from envkit.base.durations import duration
from envkit.base.wrap import hang
from envkit.documents.citations import titles
from envkit.render.plots import Bar, Row, page
from envkit.render.rows import markdown_table
from envkit.tables.advice import CloudInstance

if TYPE_CHECKING:
    from envkit.advice.changes import Change

_HEADERS = ("", "card", "GPUs", "GiB", "GB/s", "W", "speed at best", "bound", "price", "notes")
_LABELS = {"fail": "FAIL", "warn": "WARN", "ok": "ok", "unknown": "?", "info": "-"}
_SHOWN_OUT = 3
_PLURALS = {"train": "training", "finetune": "fine-tuning", "lora": "LoRA", "infer": "inference"}


def ranking_text(
    ranking: Ranking,
    top: int,
    changes: Sequence[Change],
    instances: dict[str, list[CloudInstance]],
    width: int,
    *,
    named: bool = False,
    verbose: bool = False,
) -> str:
    """The ranking, without a final newline."""
    lines = [*_need(ranking.workload, ranking.need, width), ""]
    first = next(iter((*ranking.offers, *ranking.unpriced)), None)
    if not ranking.fits:
        lines += [
            _none_told(ranking, changes),
            *(line for change in changes for line in hang("  ", _change(change), width)),
        ]
    for place, offer in ranking.shown(top):
        if place <= len(ranking.offers):
            lines += _offer(f"{place:<3}", offer, first or offer, instances, width)
    if ranking.unpriced:
        budget = ranking.limits.budget is not None
        lines += ["", "Without a price" + (", so not compared with the budget" if budget else "")]
        for offer in ranking.unpriced[: top if not ranking.offers else max(1, top // 2)]:
            lines += _offer("-  ", offer, first or offer, instances, width)
    lines += _left_out(ranking, width, whole=named or verbose)
    if verbose:
        lines += ["", *hang("Sources: ", "; ".join(_sources(ranking, top)), width)]
    return "\n".join(lines)


def ranking_markdown(ranking: Ranking, top: int, changes: Sequence[Change]) -> str:
    """The ranking as a Markdown table below the need."""
    rows = _rows(ranking, top)
    body = markdown_table(_HEADERS, rows) if rows else _none_told(ranking, changes)
    return "\n\n".join([_need_told(ranking), body, *(f"- {_change(change)}" for change in changes)])


def ranking_html(ranking: Ranking, top: int, changes: Sequence[Change]) -> str:
    """The ranking as a page: the need, the table, and how long a step takes at best on each card."""
    rows = _rows(ranking, top)
    subtitle = _need_told(ranking) + (
        "" if rows else f" {_none_told(ranking, changes)} " + ". ".join(_change(change) for change in changes)
    )
    bars = step_bars([offer for _, offer in ranking.shown(top)])
    plots = [("Milliseconds of a step at best", bars)] if bars else []
    return page("Cards for this workload", subtitle, _HEADERS, [Row(row) for row in rows], plots)


def step_bars(offers: Sequence[Offer]) -> list[Bar]:
    """A bar for each card whose steps can be told: the least time of one, in milliseconds."""
    return [Bar(_counted(offer), offer.step.seconds * 1000, "possible") for offer in offers if offer.step is not None]


def _rows(ranking: Ranking, top: int) -> list[tuple[str, ...]]:
    offers = (*ranking.offers, *ranking.unpriced)
    return [
        (
            str(place), offer.card.name, str(offer.gpus), f"{offer.card.model.memory_gb:g}",
            _known(offer.card.model.memory_bandwidth_gbs), _known(offer.card.watts(offer.gpus)),
            _speed(offer, offers[0]), offer.step.bound if offer.step else "", _price(offer),
            "; ".join((*offer.notes, *_support(offer.support))),
        )
        for place, offer in ranking.shown(top)
    ]  # fmt: skip


def _need_told(ranking: Ranking) -> str:
    return ". ".join(" ".join(line.split()) for line in _need(ranking.workload, ranking.need, 10_000))


def _counted(offer: Offer) -> str:
    return f"{offer.gpus} × {offer.card.name}" if offer.gpus > 1 else offer.card.name


def machine_text(machine: Machine, judgements: Iterable[Judgement], width: int, *, verbose: bool = False) -> str:
    """The judgment of a machine, worst first."""
    there = len(machine.every) - len(machine.cards)
    named = [f"{gpus} × {card.name}" for card, gpus in machine.every]
    cards_named = [f"{name} (there)" for name in named[:there]] + named[there:]
    lines = list(hang("Machine  ", ", ".join(cards_named), width))
    rows = sorted(judgements, key=lambda row: list(_LABELS).index(row.status))
    for row in rows:
        lines += hang(f"{_LABELS[row.status]:<5}{row.rule:<9} ", row.text, width)
    if verbose:
        lines += ["", *hang("Sources: ", "; ".join(titles(key for row in rows for key in row.sources)), width)]
    return "\n".join(lines)


def _none_told(ranking: Ranking, changes: Sequence[Change]) -> str:
    if ranking.unpriced:
        return f"No card with a known price fits the budget of {ranking.limits.budget:,.0f}."
    if ranking.unknown and not ranking.out:
        return "Too little is known to recommend a card."
    return "No card fits." if changes else "No card fits, and changing a single option is not enough."


def _need(workload: Workload, need: Need, width: int) -> Iterator[str]:
    if not need.parts:
        yield from hang("Need  ", f"{workload.title}: at least {need.whole / GIB:g} GiB", width)
        return
    wanted = [workload.title, _PLURALS[workload.task], f"batch {workload.batch}", workload.precision.name]
    if workload.optimizer is not None:
        wanted.append(workload.optimizer.name)
    parts = ", ".join(f"{part.name} {part.size / GIB:.2f}" for part in need.parts)
    asked = f"a card with at least {need.least_gb:g} GiB is required" if need.least_gb else ""
    if need.least_gb and need.least_gb * GIB > need.counted:
        asked += " (the minimum of the profile or of --memory; the estimate alone is smaller)"
    size = f"{need.counted / GIB:.1f} GiB ({parts}, and 10% headroom), estimated"
    yield from hang("Need  ", f"{', '.join(wanted)}: {size}" + (f"; {asked}" if asked else ""), width)
    if workload.assumed:
        yield from hang("      ", f"Assumed: {'; '.join(workload.assumed)}.", width)


def _offer(
    head: str, offer: Offer, first: Offer, instances: dict[str, list[CloudInstance]], width: int
) -> Iterator[str]:
    model = offer.card.model
    facts = [
        f"{offer.gpus} × {model.memory_gb:g} GiB" if offer.gpus > 1 else f"{model.memory_gb:g} GiB",
        f"{_known(model.memory_bandwidth_gbs)} GB/s{' each' if offer.gpus > 1 else ''}",
        f"{_known(offer.card.watts(offer.gpus))} W{' in all' if offer.gpus > 1 else ''}",
    ]
    if model.launch_year:
        facts.append(str(model.launch_year))
    yield from hang(head, f"{_counted(offer)}: {' · '.join([*facts, *filter(None, [_price(offer)])])}", width)
    speed = _speed(offer, first)
    if speed:
        yield from hang("   ", speed, width)
    carried = list(_support(offer.support))
    if carried:
        yield from hang("   ", f"newest support: {', '.join(carried)}", width)
    for note in offer.notes:
        yield from hang("   ", note, width)
    rented = instances.get(model.name)
    if rented:
        yield from hang(
            "   ", f"to rent: {', '.join(f'{row.provider} {row.instance} ({row.gpus})' for row in rented)}", width
        )


def _speed(offer: Offer, first: Offer, what: str = "step") -> str:
    if offer.step is None:
        return ""
    took = f"{duration(offer.step.seconds)} per {what} at best, {offer.step.bound} bound"
    speed = relative_speed(offer, first)
    if offer is first or speed is None:
        return took
    limit = better_buy_below(offer, first)
    even = round(speed, 2) == 1
    share = f"{speed:.0%}"
    price_limit = f"{limit:,.0f}" if limit else ("no. 1" if even else f"{share} of the price of no. 1")
    beside = "as fast as no. 1" if even else f"{share} of the speed of no. 1"
    return f"{took}; {beside}, better value if it costs less than {price_limit}"


def _price(offer: Offer) -> str:
    if offer.price is None or offer.cost is None:
        return ""
    return f"{offer.cost:,.0f} {offer.price.currency}".strip() + (" used" if offer.price.used else "")


def _support(support: Support) -> Iterator[str]:
    for reach in support.reaches:
        if reach.last is None:
            yield f"{reach.software} ?" if not reach.ended else f"no {reach.software}"
        else:
            yield f"{reach.software} {reach.last}" + (" (its last)" if reach.ended else "")


def _left_out(ranking: Ranking, width: int, *, whole: bool) -> Iterator[str]:
    """The cards that are out; those that a reader would think of first, unless all are asked for."""
    if not ranking.out and not ranking.unknown:
        return
    yield ""
    rows = ranking.out
    shown = list(rows) if whole else _nearest(rows, ranking.limits.form)
    for row in shown:
        yield from hang("Left out  ", f"{row.card.name}: {row.why}", width)
    for row in ranking.unknown if whole else ():
        yield from hang("Unknown   ", f"{row.card.name}: {row.why.removeprefix('unknown: ')}", width)
    more = len(ranking.out) + len(ranking.unknown) - len(shown)
    if more and not whole:
        counted = [f"{more} more (-v lists them)"]
        if ranking.older:
            counted.append(f"{ranking.older} are older or undated (pass one to compare it)")
        yield from hang("          ", "; ".join(counted), width)


def _nearest(rows: Sequence[LeftOut], form: str) -> list[LeftOut]:
    """The fastest of those that are out by their memory or by what was asked, not by their form."""
    real = [row for row in rows if row.card.form in FORMS[form]]
    return sorted(real, key=lambda row: -(row.card.model.fp32_tflops or 0))[:_SHOWN_OUT]


def _change(change: Change) -> str:
    return f"{change.option}: {change.gain}"


def _known(value: float | None) -> str:
    return "?" if value is None else f"{value:g}"


def _sources(ranking: Ranking, top: int) -> list[str]:
    offers = [offer for _, offer in ranking.shown(top)]
    keys = [key for part in ranking.need.parts for key in part.sources]
    keys += [key for offer in offers for key in offer.card.sources]
    keys += [key for offer in offers for reach in offer.support.reaches for key in reach.sources]
    return titles(keys)
