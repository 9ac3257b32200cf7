"""The smallest changes of a request with which a card fits: of one option each, otherwise of two, otherwise of all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from math import ceil

from envkit._startup.records import record
from envkit.advice.cards import Card
from envkit.advice.rank import Judge, Offer

Options = Mapping[str, str]
_COUNTS = (2, 4, 8)
_SHORTEST = 512  # tokens: nobody asks a language model for less
_MOST_TOLD = 3  # pairs of changes
_LOWER = {"fp32": ("fp16",), "tf32": ("fp16",), "bf16": ("fp16", "fp32"), "fp8": ("bf16", "fp16")}
_STORED = {"fp32": ("fp16", "int8", "int4"), "tf32": ("fp16", "int8", "int4"), "fp16": ("int8", "int4"),
           "bf16": ("int8", "int4"), "fp8": ("int8", "int4"), "int8": ("int4",)}  # fmt: skip


@record
class Change:
    """Options with which a card fits, as they are typed, and the first card that does."""

    option: str
    gain: str


def nearest_changes(
    judge: Judge,
    cards: tuple[Card, ...],
    remade: Callable[[Options], Judge | None],
    *,
    named: bool,
    counts: Mapping[str, int] | None = None,
) -> tuple[Change, ...]:
    """The changes of one option each after which something fits; of two where there is none; otherwise of all."""

    def best(options: Options) -> Offer | None:
        other = remade(options)
        fixed = {} if "gpus" in options else counts
        found = other.ranking(cards, named=named, counts=fixed) if other else None
        return next(iter((*found.offers, *found.unpriced)), None) if found and found.fits else None

    def enough(most: str) -> tuple[str, ...]:
        """The budget for the cheapest card that fits, and the one for all."""
        other = remade({"budget": most})
        offers = other.ranking(cards, named=named, counts=counts).offers if other else ()
        return (*(str(ceil(cost)) for cost in sorted(offer.cost for offer in offers if offer.cost)[:1]), most)

    tries = [(option, values) for option, values in _tries(judge, bool(counts)) if values]
    if named and judge.limits.wanted.cuda is not None:  # of those that the user has or wants
        last = {version.release(2) for version in map(judge.last_cuda, cards) if version is not None}
        tries.append(("cuda", tuple(map(str, sorted(last, reverse=True)))))
    tries = [(option, enough(values[0]) if option == "budget" else values) for option, values in tries]
    single = [found for option, values in tries for found in _first(option, values, {}, best)]
    if single:
        return tuple(_told(options, offer, bool(counts)) for options, offer in single)
    pairs = []
    for (one, some), (other, more) in combinations(tries, 2):
        if one != other and best({one: some[-1], other: more[-1]}):
            # the least of the second change with all of the first, then the least of the first that goes with it
            for options, _ in _first(other, more, {one: some[-1]}, best):
                pairs += _first(one, some, {other: options[other]}, best)
    if pairs:
        return tuple(_told(options, offer, bool(counts)) for options, offer in pairs[:_MOST_TOLD])
    every = {option: values[-1] for option, values in tries if option != "task"}
    offer = best(every) if every else None
    return (_told(every, offer, bool(counts)),) if offer else ()


def _first(
    option: str, values: tuple[str, ...], beside: Options, best: Callable[[Options], Offer | None]
) -> list[tuple[Options, Offer]]:
    """The first value that helps, with what else is changed."""
    for value in values:
        options = {**beside, option: value}
        offer = best(options)
        if offer is not None:
            return [(options, offer)]
    return []


def _told(options: Options, offer: Offer, counted: bool) -> Change:
    name = offer.card.name
    words = [f'"{offer.gpus}x {name}"' if counted and key == "gpus" else f"--{key} {options[key]}" for key in options]
    count = f"{offer.gpus} × " if offer.gpus > 1 else ""
    verb = "fit" if count else "fits"
    each = " on each" if count else ""
    return Change(" ".join(words), f"{count}{name} {verb}, {offer.each_gb:.1f} GiB{each}")


def _tries(judge: Judge, counted: bool) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Options with the values that may help, the smallest change first."""
    workload, limits = judge.workload, judge.limits
    yield "gpus", tuple(str(count) for count in _COUNTS if counted or count > limits.gpus)
    if workload.parameters:
        stored = workload.task in ("infer", "lora") and workload.network is None
        yield "precision", (_STORED if stored else _LOWER).get(workload.precision.name, ())
        yield "batch", tuple(_halves(workload.batch, 1))
    if workload.shape is not None:
        yield "sequence", tuple(_halves(workload.sequence, _SHORTEST))
    if workload.shape is not None and workload.trains:
        yield "checkpointing", ("full",) if workload.checkpointing != "full" else ()
        if workload.task != "lora":
            yield "optimizer", ("adam8bit",)
            yield "task", ("lora",)
    if limits.wanted.framework:
        yield "framework", (limits.wanted.framework,)
    if limits.watts is not None:
        yield "max-watts", tuple(str(limits.watts * times) for times in (2, 4, 8))
    if limits.budget is not None:
        most = max(price.amount for price in judge.prices.values()) * limits.gpus
        yield "budget", (str(ceil(most)),) if most > limits.budget else ()
    if limits.years is not None:
        yield "years", tuple(str(years) for years in range(limits.years - 1, 0, -1))
    if limits.form == "desktop":
        yield "form", ("server", "any")


def _halves(number: int, least: int) -> Iterator[str]:
    while number // 2 >= least:
        number //= 2
        yield str(number)
