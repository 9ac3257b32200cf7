"""What a ranking may never do, over all cards of the table."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations
from typing import Any

import pytest

from envkit.advice.prices import Price
from envkit.advice.rank import Offer, Ranking
from envkit.tables.advice import TensorRatio
from envkit.tables.loader import read
from tests.advice.judging import MATRIX, card, cards, judge

WORKLOADS = [
    {"network": "resnet-50", "batch": 64},
    {"network": "fcn-s"},
    {"parameters": "7B", "task": "infer", "gpus": 4},
    {"parameters": "1.5B", "task": "finetune", "precision": "bf16", "gpus": 2},
]


def _priced(seed: int) -> dict[str, Price]:
    numbers = random.Random(seed)
    return {one.name: Price(numbers.choice([200, 400, 800, 1600])) for one in cards() if numbers.random() < 0.7}


def _order(ranking: Ranking) -> dict[str, int]:
    return {offer.card.name: place for place, offer in enumerate((*ranking.offers, *ranking.unpriced))}


def _dominates(better: Offer, worse: Offer, precision: str) -> bool:
    """At least as good in all that counts, better in something, and not dearer."""
    pairs = [
        (better.card.model.memory_gb, worse.card.model.memory_gb),
        (better.card.model.memory_bandwidth_gbs, worse.card.model.memory_bandwidth_gbs),
        (better.card.tflops(precision)[0], worse.card.tflops(precision)[0]),
        (better.support.rank, worse.support.rank),
    ]
    if better.price and worse.price:
        pairs.append((-better.price.amount, -worse.price.amount))
        pairs.append((-better.card.per_board + 9, -worse.card.per_board + 9))
        if better.card.per_board != worse.card.per_board:
            return False  # a board of two is a card of its own kind
    known = [(one, other) for one, other in pairs if one is not None and other is not None]
    return len(known) == len(pairs) and all(one >= other for one, other in known) and any(a > b for a, b in known)


@pytest.mark.parametrize("words", WORKLOADS, ids=str)
@pytest.mark.parametrize("seed", [None, 1])
def test_a_card_that_is_better_in_everything_and_not_dearer_is_never_below(
    words: dict[str, object], seed: int | None
) -> None:
    prices = None if seed is None else _priced(seed)
    asked = judge(prices, **words)
    ranking = asked.ranking(cards(), named=True)
    precision = asked.workload.computes_in
    for group in (ranking.offers, ranking.unpriced):
        for above, below in combinations(group, 2):
            assert not _dominates(below, above, precision), f"{below.card.name} stands below {above.card.name}"
    assert len(ranking.offers) + len(ranking.unpriced) > 40


def test_more_memory_asked_never_adds_a_card() -> None:
    before: set[str] | None = None
    for memory in (1, 4, 6, 8, 12, 16, 24, 48, 80, 200):
        found = set(_order(judge(network="resnet-50", memory=float(memory)).ranking(cards(), named=True)))
        assert before is None or found <= before
        before = found


@pytest.mark.parametrize("option", ["batch", "sequence"])
def test_more_work_never_adds_a_card(option: str) -> None:
    before: set[str] | None = None
    for value in (1, 2, 16, 64, 512):
        words: dict[str, Any] = {"parameters": "350M", "task": "finetune", option: value}
        found = set(_order(judge(**words).ranking(cards(), named=True)))
        assert before is None or found <= before
        before = found


def test_more_cards_allowed_never_removes_one() -> None:
    few = set(_order(judge(parameters="13B", task="infer").ranking(cards())))
    many = set(_order(judge(parameters="13B", task="infer", gpus=4).ranking(cards())))
    assert few < many


def test_every_card_is_ranked_left_out_or_unknown_with_a_reason() -> None:
    ranking = judge(parameters="7B", task="lora", precision="bf16").ranking(cards())
    told = len(ranking.offers) + len(ranking.out) + len(ranking.unknown) + ranking.older
    assert told == len(cards())
    assert all(row.why for row in (*ranking.out, *ranking.unknown))


def test_what_is_not_known_neither_wins_nor_is_refused() -> None:
    ranking = judge(network="resnet-50").ranking(cards(), named=True)
    silent = {
        one.name
        for one in cards()
        if not (one.model.memory_gb and one.model.memory_bandwidth_gbs) and one.model.family not in ("Tesla", "Fermi")
    }  # no framework has code for these, whatever their memory is
    assert silent and silent <= {row.card.name for row in ranking.unknown}


def test_a_laptops_card_is_not_offered_for_a_desktop() -> None:
    offered = judge(network="resnet-50").ranking(cards()).offers
    assert {offer.card.form for offer in offered} == {"desktop"}


@pytest.mark.parametrize(
    ("precision", "name", "fits"),
    [("bf16", "GeForce GTX 1080 Ti", False), ("bf16", "GeForce RTX 3090", True), ("fp8", "GeForce RTX 3090", False),
     ("fp8", "GeForce RTX 4090", True), ("tf32", "Tesla T4", False), ("fp16", "Tesla P40", True)],
)  # fmt: skip
def test_a_precision_needs_its_units(precision: str, name: str, fits: bool) -> None:
    ranking = judge(network="resnet-50", precision=precision).ranking([card(name)], named=True)
    assert bool(ranking.offers) is fits


def test_the_bound_that_holds_is_that_of_the_published_networks() -> None:
    # docs of the benchmark: at its batches FCN-S waits for bandwidth, ResNet-50 for the units
    gtx = [card("GeForce GTX 1080")]
    for network, bound in (("fcn-s", "bandwidth"), ("resnet-50", "compute")):
        [offer] = judge(network=network, optimizer="sgd").ranking(gtx, named=True).offers
        assert offer.step and offer.step.bound == bound
    # 46.9 GFLOP and 489 MB five times, on 8.87 TFLOPS and 320 GB/s
    [fcn] = judge(network="fcn-s", optimizer="sgd").ranking(gtx, named=True).offers
    assert fcn.step and fcn.step.compute_seconds == pytest.approx(46.9e9 / 8.87e12, rel=0.01)
    assert fcn.step.memory_seconds == pytest.approx(7.6e-3, rel=0.05)


def test_no_step_is_faster_than_any_that_was_measured() -> None:
    from tests.advice.published import MEASURED

    for name, network, batch, seconds in MEASURED:
        [offer] = judge(network=network, batch=batch, optimizer="sgd").ranking([card(name)], named=True).offers
        assert offer.step
        assert offer.step.seconds <= seconds, f"{network} on {name}: {offer.step.seconds} > {seconds}"


def test_dense_rates_of_tensor_cores_are_what_the_chips_can_do() -> None:
    """Twice as much would be a rate for sparse matrices, the figure that data sheets print first."""
    allowed = {"GV": (6, 8.5), "TU": (3.9, 8.1), "GA100": (15, 17), "GA10": (1.9, 4.1), "AD": (1.9, 4.1),
               "GB20": (1.9, 4.1), "GH": (13, 15.5), "GB1": (26, 31)}  # fmt: skip
    for one in cards():
        rate = one.board.tensor_fp16_tflops if one.board else None
        if rate is None or one.model.fp32_tflops is None:
            continue
        prefix = max((key for key in allowed if one.model.chip.startswith(key)), key=len)
        low, high = allowed[prefix]
        assert low <= rate / one.model.fp32_tflops <= high, one.name
        tf32 = one.board.tensor_tf32_tflops if one.board else None
        assert tf32 is None or tf32 == pytest.approx(rate / 2, rel=0.02), one.name


def test_rates_in_the_data_are_those_of_their_line_of_cards() -> None:
    held: Counter[str] = Counter()
    for one in cards():
        lines = [row for row in read(TensorRatio) if row.holds(one.model)]
        assert len(lines) <= 1, one.name
        for line, precision in ((line, name) for line in lines for name in ("fp16", "bf16", "tf32", "fp8")):
            rate = getattr(one.board, f"tensor_{precision}_tflops")
            if rate is not None:
                assert rate == pytest.approx(getattr(line, precision) * one.model.fp32_tflops, rel=0.03), one.name
                held[f"{line.family} {line.names}"] += 1
    unseen = {"NVIDIA RTX PRO", "NVIDIA A800"}  # the latter's only board in the data is that of a desktop
    assert len(held) >= len(read(TensorRatio)) - len(unseen)


def test_a_rate_that_is_known_for_its_line_is_known() -> None:
    rate, known = card("GeForce RTX 4060 Ti (16GB)").tflops("fp16")
    assert rate == pytest.approx(44.12) and known
    assert card("GeForce RTX 5090 D").tflops("fp16")[1] is False  # cut down for its market
    assert card("A10G").tflops("fp16")[1] is False


def test_every_gpu_has_its_board_and_every_board_its_gpu() -> None:
    gpus = {(gpu.name, gpu.variant) for gpu in MATRIX.gpus}
    assert gpus == {(board.name, board.variant) for board in MATRIX.gpu_boards}
    assert len({one.name for one in cards()}) == len(cards())


def test_cores_and_clock_give_the_rate() -> None:
    for one in cards():
        if one.board and one.board.cores and one.board.boost_mhz and one.model.fp32_tflops:
            rate = one.board.cores * one.board.boost_mhz * 2 / 1e6
            assert rate == pytest.approx(one.model.fp32_tflops, rel=0.03), one.name


@pytest.mark.parametrize("precision", ["fp16", "bf16", "tf32", "fp8"])
def test_one_chip_on_two_boards_differs_by_its_clock_alone(precision: str) -> None:
    slower, faster = (card(name).tflops(precision) for name in ("H100 PCIe", "H100 80GB HBM3"))
    for name in ("H100 NVL", "H200 NVL"):
        rate, known = card(name).tflops(precision)
        assert known and rate and slower[0] and faster[0] and slower[0] < rate < faster[0]
