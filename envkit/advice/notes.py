"""What a buyer should know of an offer next to its speed: its form, how long software carries it, how cards share."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from envkit.advice.cards import FORM_TOLD, FORMS, Card
from envkit.advice.memory import Need
from envkit.advice.support import Support
from envkit.advice.workload import Workload
from envkit.base.durations import duration
from envkit.tables.advice import RestrictedSale, rules
from envkit.tables.loader import read

if TYPE_CHECKING:
    from envkit.advice.rank import Limits, Offer


def notes_on(offer: Offer, workload: Workload, need: Need, limits: Limits, *, named: bool) -> Iterable[str]:
    """What to know of an offer; `named`: the user chose the card."""
    yield from _about_card(offer.card, workload, limits, named)
    yield from _about_support(offer.support, limits.year)
    if offer.card.per_board > 1:
        yield f"{offer.card.per_board} GPUs on one board; memory and rates are per GPU"
    if offer.gpus > 1:
        yield from _together(offer, workload, need)
    if offer.price and offer.price.used:
        yield "a used price: not comparable with new prices"


def _about_card(card: Card, workload: Workload, limits: Limits, named: bool) -> Iterable[str]:
    precision = workload.precision
    if named and card.form not in FORMS[limits.form] and card.form:
        yield FORM_TOLD[card.form]
    if card.shares_a_board:
        yield rules()["module-boards"].text
    if card.form == "laptop":
        yield "the laptop's manufacturer sets its power limit, and with it its speed"
    sale = restricted().get(card.model.name)
    if sale is not None:
        yield sale.text
    if card.capability < precision.from_capability:
        yield f"no {precision.name} units: the weights are stored that way, but computations run in fp16"
    if precision.library_from and card.capability < precision.library_from:
        yield f"bitsandbytes, which most programs use for {precision.name}, requires {precision.library_from.sm}"
    if precision.computes_in != "fp32" and card.model.tensor_cores is False:
        yield f"no tensor cores: {precision.computes_in} saves memory, but programs run at the speed of fp32 or slower"


def _about_support(support: Support, year: int) -> Iterable[str]:
    if support.last_driver_branch:
        yield driver_note(support, year)
    elif support.oldest:
        yield "the oldest generation that the newest CUDA supports, so probably the next one to be dropped"


def _together(offer: Offer, workload: Workload, need: Need) -> Iterable[str]:
    """How several cards share the work, and what they send each other for it."""
    step = offer.step
    if step is None:
        if need.whole > (offer.card.memory or 0):
            yield "the work has to be split among the cards"
        return
    idle = offer.gpus - step.way.cards
    yield step.way.told
    if idle:
        yield f"{idle} of the {offer.gpus} cards cannot help"
    heads = workload.shape.heads if workload.shape else 0
    if heads and heads % offer.gpus:
        yield f"tensor parallelism needs a number of cards that divides the {heads} attention heads"
    nvlink = offer.card.board.nvlink_gbs if offer.card.board else None
    if nvlink == 0:
        yield "no NVLink: the cards communicate over PCIe"
    if step.link_seconds:
        took = f"{duration(step.link_seconds)} at best over {step.link}"
        yield f"in each step, each card sends {_size_told(step.sent)}: {took}"


def driver_note(support: Support, year: int) -> str:
    """The last driver of a card, and until when it is maintained."""
    ends = support.driver_ends
    told = f"driver branch {support.last_driver_branch} is its last"
    if ends and int(ends[:4]) < year:
        return f"{told}, and its maintenance ended {ends}"
    return f"{told}, maintained until {ends}" if ends else told


def _size_told(size: float) -> str:
    if size < 1e5:
        return "less than 0.1 MB"
    return f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.1f} MB"


@cache
def restricted() -> dict[str, RestrictedSale]:
    """The cards that not everybody can buy, by name."""
    return {row.gpu: row for row in read(RestrictedSale)}
