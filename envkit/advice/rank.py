"""Which cards suit a workload, best first; each one that does not with its reason; and what would help if none does.

A card is left out only for what is known of it. One of which memory, rate or bandwidth is not known is named apart:
it neither wins nor loses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf

from envkit._startup.records import record, replace
from envkit.advice.cards import FORM_TOLD, FORMS, Card
from envkit.advice.memory import GIB, Need, need_of
from envkit.advice.notes import driver_note, notes_on, restricted
from envkit.advice.prices import Price
from envkit.advice.speed import Load, Step, loads_of, step_on, times_as_fast
from envkit.advice.support import Support, SupportTable, Wanted, refusal
from envkit.advice.workload import Workload
from envkit.base.versions import Version
from envkit.tables import Matrix
from envkit.tables.advice import rules


@record
class Limits:
    """What the buyer can do with, and what the software asks for."""

    form: str = "desktop"
    gpus: int = 1
    watts: int | None = None
    budget: float | None = None
    display: bool = False
    wanted: Wanted = Wanted()
    year: int = 0
    years: int | None = None  # for how long the card is to serve
    line: str = ""  # of cards that the buyer looks at
    smallest_first: bool = False  # the order is by the size of the memory, and of each size the fastest is shown

    def group(self, offer: Offer) -> tuple[object, ...]:
        """What stands for the price where that is not known: the size of the memory, or line and number of cards."""
        return (offer.card.memory,) if self.smallest_first else (offer.card.line, offer.gpus)


@record
class Offer:
    """A card that fits: how many of it, how fast at best, what it costs, and what to know of it."""

    card: Card
    gpus: int
    each_gb: float  # what each GPU has to hold
    step: Step | None
    price: Price | None
    support: Support
    notes: tuple[str, ...] = ()

    @property
    def cost(self) -> float | None:
        """The price of all its boards."""
        return None if self.price is None else self.price.amount * self.card.boards(self.gpus)

    @property
    def value(self) -> float:
        """Steps a second for the money, rounded: two cards for twice the price are worth exactly what one is."""
        return float(f"{1 / self.step.seconds / self.cost:.9g}") if self.step and self.cost else 0.0


@record
class LeftOut:
    """A card that does not do, or is not known to, and why."""

    card: Card
    why: str
    sources: tuple[str, ...] = ()


@record
class Ranking:
    """The answer: the cards that fit, best first, those without a price, those that are out, and those not known."""

    workload: Workload
    need: Need
    limits: Limits
    offers: tuple[Offer, ...]
    unpriced: tuple[Offer, ...]
    out: tuple[LeftOut, ...]
    unknown: tuple[LeftOut, ...]
    older: int  # cards that were not looked at because they came out too long ago, or nobody knows when
    named: bool = False

    @property
    def fits(self) -> bool:
        """Whether it names a card to buy: within a budget, only one whose price is known."""
        return bool(self.offers) or (bool(self.unpriced) and self.limits.budget is None)

    def shown(self, top: int) -> tuple[tuple[int, Offer], ...]:
        """So many offers with their places, the priced ones first.

        Without prices the first places would all be of the dearest line. So each line of cards, with each number of
        cards, has its fastest shown before another its second.
        """
        every = list(enumerate((*self.offers, *self.unpriced), start=1))
        if self.named or any(offer.price for offer in self.offers):
            return tuple(every[:top])
        turns: dict[tuple[object, ...], int] = {}
        order = []
        for place, offer in every:
            group = self.limits.group(offer)
            turns[group] = turns.get(group, 0) + 1
            order.append((turns[group], place, offer))
        order.sort(key=lambda row: row[:2])
        return tuple(sorted((place, offer) for _, place, offer in order[:top]))


class Judge:
    """Judges cards for one workload and its limits."""

    def __init__(
        self,
        workload: Workload,
        limits: Limits,
        matrix: Matrix,
        prices: Mapping[str, Price] | None = None,
        supports: SupportTable | None = None,
    ) -> None:
        self.workload = workload
        self.limits = limits
        self.need = need_of(workload, display=limits.display)
        self._loads: dict[int, tuple[Load, ...]] = {}
        self._matrix = matrix
        self.prices = prices or {}
        self._supports = supports or SupportTable(matrix)
        self._counts: Mapping[str, int] = {}

    def last_cuda(self, card: Card) -> Version | None:
        """The last CUDA with code for a card that a later one dropped; None for a card that the newest supports."""
        ended = self._supports.of(card).ended
        return next((reach.last for reach in ended if reach.software == "CUDA"), None)

    def ranking(
        self, cards: Iterable[Card], *, named: bool = False, counts: Mapping[str, int] | None = None
    ) -> Ranking:
        """The answer for these cards; with `named` the user chose them, and neither age nor form leaves one out.

        `counts` says how many of a card there are to be, where that is not left open.
        """
        self._counts = counts or {}
        offers: list[Offer] = []
        out: list[LeftOut] = []
        unknown: list[LeftOut] = []
        older = 0
        for card in cards:
            if not named and self._is_later(card):
                continue
            if not named and self._is_old(card):
                older += 1
                continue
            result = self._judged(card, named=named)
            if isinstance(result, Offer):
                offers.append(result)
            else:
                (unknown if result.why.startswith("unknown") else out).append(result)
        offers.sort(key=self._place)
        ranked = tuple(offer for offer in offers if offer.price or not self.prices)
        rest = tuple(offer for offer in offers if self.prices and not offer.price)
        return Ranking(self.workload, self.need, self.limits, ranked, rest, tuple(out), tuple(unknown), older, named)

    def loads(self, gpus: int) -> tuple[Load, ...]:
        """What each of so many GPUs holds and does, for every way to use them."""
        if gpus not in self._loads:
            self._loads[gpus] = loads_of(self.workload, self.need, gpus)
        return self._loads[gpus]

    def _is_later(self, card: Card) -> bool:
        """Whether a card came out after the year in which it is to be chosen."""
        return (card.model.launch_year or 0) > self.limits.year

    def _is_old(self, card: Card) -> bool:
        """Whether a card came out too long ago to be looked at unasked, or nobody knows when; one with a price is."""
        launched = card.model.launch_year
        old = launched is not None and self.limits.year - launched > rules()["recent-years"].value
        return (old or launched is None) and card.name not in self.prices

    def _judged(self, card: Card, *, named: bool) -> Offer | LeftOut:
        refused = self._refused(card, named=named)
        if refused is not None:
            return refused
        gpus = self._gpus_for(card)
        if isinstance(gpus, LeftOut):
            return gpus
        result = self._with(card, gpus)
        if isinstance(result, LeftOut):
            return result
        if result.price and card.name not in self._counts:
            more = (self._with(card, count) for count in self._counts_of(card) if count > gpus)
            result = max((result, *(one for one in more if isinstance(one, Offer))), key=lambda one: one.value)
        return replace(result, notes=tuple(notes_on(result, self.workload, self.need, self.limits, named=named)))

    def _with(self, card: Card, gpus: int) -> Offer | LeftOut:
        """The offer of so many GPUs of a kind, without notes."""
        power = self._over_power(card, gpus)
        if power is not None:
            return power
        loads = self._held_by(card, gpus)
        step = step_on(card, loads)
        if self.workload.parameters and step is None:
            return LeftOut(card, "unknown: no rate or bandwidth is known for it", card.sources)
        if step and not step.rate_known:
            return LeftOut(card, self._rate_unknown(card, gpus), card.sources)
        support = self._supports.of(card)
        ends = support.driver_ends
        if ends and self.limits.years and int(ends[:4]) < self.limits.year + self.limits.years:
            return LeftOut(card, f"{driver_note(support, self.limits.year)}: {self.limits.years} years are requested")
        price = self.prices.get(card.name)
        held = next((load.held for load in loads if step and load.way == step.way), loads[0].held)
        offer = Offer(card, gpus, held / GIB, step, price, support)
        if price and self.limits.budget is not None and (offer.cost or 0) > self.limits.budget:
            return LeftOut(card, f"{offer.cost:,.0f} is more than the budget of {self.limits.budget:,.0f}")
        return offer

    def _refused(self, card: Card, *, named: bool) -> LeftOut | None:
        if not named and card.form not in FORMS[self.limits.form]:
            return LeftOut(card, FORM_TOLD[card.form] if card.form else "unknown: its form factor is unknown")
        if self._is_later(card):
            return LeftOut(
                card, f"not available in {self.limits.year}: it was released in {card.model.launch_year}", card.sources
            )
        if self.limits.line not in ("", card.line) and not named:
            return LeftOut(card, f"a {card.line} card, and this profile is for {self.limits.line} cards")
        sale = restricted().get(card.model.name)
        if sale is not None and not named and card.name not in self.prices:
            return LeftOut(card, sale.text, sale.sources)
        precision = self.workload.precision
        stored = precision.stored_from if self.workload.task in ("infer", "lora") else None
        first = stored or precision.from_capability
        if card.capability < first:
            why = f"no hardware support for {precision.name}: it requires compute capability {first}"
            return LeftOut(card, why, precision.sources)
        reason = refusal(card, self.limits.wanted, self._matrix)
        return LeftOut(card, *reason) if reason else None

    def _counts_of(self, card: Card) -> Sequence[int]:
        """How many of a card there can be: as many as were said, otherwise what machines are built with."""
        fixed = self._counts.get(card.name)
        return card.counts(self.limits.gpus) if fixed is None else (fixed,)

    def _gpus_for(self, card: Card) -> int | LeftOut:
        """The fewest GPUs of this kind that hold the workload within the limits."""
        if card.memory is None:
            return LeftOut(card, "unknown: its memory size is unknown", card.sources)
        counts = self._counts_of(card)
        if card.form == "laptop" and counts[-1] > 1:
            return LeftOut(card, f"{FORM_TOLD['laptop']}, and a laptop has one", card.sources)
        for gpus in counts:
            if self._held_by(card, gpus):
                return gpus
        needed = min(load.held for load in self.loads(counts[-1])) / GIB
        each = f" on each of {counts[-1]}" if counts[-1] > 1 else ""
        told = f"{needed:.1f} needed{each}"
        if counts[-1] == 1 and self.need.counted <= card.memory:
            told = (
                f"which the estimate fits in ({self.need.counted / GIB:.1f} GiB), but not the minimum of {needed:g} GiB"
            )
        return LeftOut(card, f"{card.model.memory_gb:g} GiB of memory, {told}", card.sources)

    def _held_by(self, card: Card, gpus: int) -> tuple[Load, ...]:
        """The ways to use so many of the card in which each holds its part."""
        return tuple(load for load in self.loads(gpus) if load.held <= (card.memory or 0))

    def _rate_unknown(self, card: Card, gpus: int) -> str:
        many = f"{gpus} of it hold" if gpus > 1 else "it holds"
        return f"unknown: {many} the workload, but its rate in {self.workload.computes_in} is unknown"

    def _over_power(self, card: Card, gpus: int) -> LeftOut | None:
        """Why so many of the card are not within the limit of power."""
        watts, limit = card.watts(gpus), self.limits.watts
        if limit is None or (watts is not None and watts <= limit):
            return None
        if watts is None:
            return LeftOut(card, "unknown: its power draw is unknown", card.sources)
        return LeftOut(card, f"{watts} W, more than {limit} W", card.sources)

    def _fewest(self, offer: Offer) -> int:
        """How many hold the workload: of modules, fewer than there are on a board."""
        return next(count for count in range(1, offer.gpus + 1) if self._held_by(offer.card, count))

    def _place(self, offer: Offer) -> tuple[float | str, ...]:
        """Where an offer is: value for money where prices are known, otherwise fewer cards, then speed, then the rest.

        The bound of several cards is farther from what they reach than that of one, so one card comes before two.

        Only what is better for the buyer counts until the last two, so that a card that is better in everything and
        not dearer is above.
        """
        card, seconds = offer.card, offer.step.seconds if offer.step else inf
        first = (-offer.value, offer.cost or inf) if offer.price else (0.0, 0.0)
        rate = card.tflops(self.workload.computes_in)[0] or 0
        memory, bandwidth = card.model.memory_gb or 0, card.model.memory_bandwidth_gbs or 0
        count = 0 if self._counts or offer.price else self._fewest(offer)
        least = memory if self.limits.smallest_first and not self._counts else 0
        return (
            *first, least, count, seconds, -memory, -offer.support.rank, -rate, -bandwidth,
            card.watts(offer.gpus) or inf, -(card.model.launch_year or 0), card.name,
        )  # fmt: skip


def relative_speed(offer: Offer, first: Offer) -> float | None:
    """How fast it is next to the first, None where nothing is computed."""
    return round(times_as_fast(offer.step, first.step), 3) if offer.step and first.step else None


def better_buy_below(offer: Offer, first: Offer) -> float | None:
    """The price of a board below which it gives more speed for the money than the first; None without its price."""
    speed = relative_speed(offer, first)
    if offer is first or speed is None or first.cost is None:
        return None
    return round(first.cost * speed / offer.card.boards(offer.gpus), 2)
