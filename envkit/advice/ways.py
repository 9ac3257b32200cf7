"""The ways in which several cards share a workload: its batch, the layers of its model, and the inside of a layer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from envkit._startup.records import record
from envkit.advice.workload import Workload


@record
class Way:
    """So many copies of a model share a batch, and each copy is split over stages of layers and within each layer."""

    copies: int = 1
    stages: int = 1  # a sample passes through them one after the other
    parts: int = 1  # cards that work on one layer at the same time
    gathered: bool = False  # each copy is held in pieces by all of them, and gathered layer by layer

    @property
    def cards(self) -> int:
        """The cards that it occupies."""
        return self.copies * self.stages * self.parts

    @property
    def split(self) -> int:
        """The cards that hold one copy together."""
        return self.cards if self.gathered else self.stages * self.parts

    def share(self, batch: int) -> float:
        """What the busiest copy takes of a batch: samples are not divided."""
        return -(-batch // self.copies) / batch

    def at_once(self, batch: int) -> int:
        """The stages that can work at the same time: no more than the samples of a copy."""
        return min(self.stages, -(-batch // self.copies))

    @property
    def trouble(self) -> tuple[int, bool, int]:
        """What it takes to set up, to choose between ways that are as fast: copies of a model are the easiest."""
        return self.stages, self.gathered, self.parts

    @property
    def told(self) -> str:
        """In words, with the name that programs have for it."""
        parts = []
        if self.gathered:
            parts.append("each card holds part of the model and processes its share of the batch (FSDP or ZeRO)")
        elif self.copies > 1 and self.split == 1:
            parts.append("each card can hold the whole model and process its share of the batch (data parallel)")
        elif self.copies > 1:
            parts.append(f"{self.copies} copies of the model share the batch (data parallel)")
        if self.parts > 1:
            parts.append(f"each layer is split among {self.parts} cards (tensor parallel)")
        if self.stages > 1:
            parts.append(
                f"the layers are split into {self.stages} groups that each sample passes through one after the other"
                " (pipeline parallel)"
            )
        return "; ".join(parts) or "one card does all the work"


ALONE = Way()


def ways_of(workload: Workload, cards: int) -> tuple[Way, ...]:
    """Every way to use up to so many cards. Only layers with heads of attention are split inside, evenly.

    The networks of the benchmark are too small to be split.
    """
    heads = workload.shape.heads if workload.shape else 1
    return _ways(cards, 1 if workload.network else cards, heads, workload.batch, workload.trains)


@cache
def _ways(cards: int, most_stages: int, heads: int, batch: int, trains: bool) -> tuple[Way, ...]:
    return tuple(_each_way(cards, most_stages, heads, batch, trains))


def _each_way(cards: int, most_stages: int, heads: int, batch: int, trains: bool) -> Iterator[Way]:
    for parts in (number for number in range(1, cards + 1) if heads % number == 0):
        for stages in range(1, min(most_stages, cards // parts) + 1):
            for copies in range(1, min(batch, cards // parts // stages) + 1):
                yield Way(copies, stages, parts)
                if trains and copies > 1:
                    yield Way(copies, stages, parts, gathered=True)
