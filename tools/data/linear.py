"""A linear classifier of texts, learned from examples: one weight for each pair of a term and a cause.

It is the averaged passive-aggressive method (Crammer et al., "Online Passive-Aggressive Algorithms", JMLR 7, 2006).
Each example that its cause does not win by a margin moves the weights of its terms toward its cause, and away from the
strongest other one. The average over all steps is what is kept.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from envkit.ingest.likeness import scaled

Weights = dict[str, dict[str, float]]  # term → cause → weight
_ROUNDS = 8
_MARGIN = 1.0
_LARGEST_STEP = 1.0
_FEWEST = 2  # examples that hold a term
_SEED = 0


@dataclass(frozen=True)
class Learned:
    """The rarity of each term, and its weights."""

    rarities: dict[str, float]
    weights: Weights


def learned(examples: Sequence[tuple[str, frozenset[str]]], kept: int) -> Learned:
    """What the examples teach, without all but the `kept` weights that decide most."""
    held = Counter(term for _, terms in examples for term in terms)
    rarities = {term: math.log((1 + len(examples)) / (1 + n)) + 1 for term, n in held.items() if n >= _FEWEST}
    vectors = [scaled({term: rarities[term] for term in sorted(terms) if term in rarities}) for _, terms in examples]
    weights = _averaged([cause for cause, _ in examples], vectors)
    return Learned(rarities, _strongest(weights, rarities, kept))


def _averaged(causes: Sequence[str], vectors: Sequence[dict[str, float]]) -> Weights:
    weights: Weights = {}
    late: Weights = {}  # each change times the step at which it was made
    order, chance, step = list(range(len(causes))), random.Random(_SEED), 1  # noqa: S311 - the same at each run
    for _ in range(_ROUNDS):
        chance.shuffle(order)
        for number in order:
            step += 1
            _moved(causes[number], vectors[number], weights, late, step)
    return {
        term: {cause: weight - late[term][cause] / step for cause, weight in of_term.items()}
        for term, of_term in weights.items()
    }


def _moved(cause: str, vector: dict[str, float], weights: Weights, late: Weights, step: int) -> None:
    scores: dict[str, float] = {}
    for term, share in vector.items():
        for other, weight in weights.get(term, {}).items():
            scores[other] = scores.get(other, 0.0) + share * weight
    own = scores.pop(cause, 0.0)
    rival = max(scores, key=lambda other: (scores[other], other), default="")
    ahead = max(scores.get(rival, 0.0), 0.0)  # causes without a weight have a score of 0
    loss = _MARGIN - (own - ahead)
    if loss <= 0:
        return
    change = min(_LARGEST_STEP, loss / 2)
    moves = {cause: change} | ({rival: -change} if ahead > 0 else {})
    for term, share in vector.items():
        of_term, then = weights.setdefault(term, {}), late.setdefault(term, {})
        for moved, by in moves.items():
            of_term[moved] = of_term.get(moved, 0.0) + by * share
            then[moved] = then.get(moved, 0.0) + step * by * share


def _strongest(weights: Weights, rarities: dict[str, float], kept: int) -> Weights:
    pairs = [
        (abs(weight) * rarities[term], term, cause) for term, own in weights.items() for cause, weight in own.items()
    ]
    left: Weights = {}
    for _, term, cause in sorted(pairs)[-kept:]:
        left.setdefault(term, {})[cause] = weights[term][cause]
    return left
