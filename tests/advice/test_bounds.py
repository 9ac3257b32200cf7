"""The least time of a step, over all cards: it is never above what a program can reach, and never made of guesses."""

from __future__ import annotations

import shlex
from functools import cache
from math import inf
from typing import Any

import pytest

from envkit.advice.cards import Card
from envkit.advice.rank import Judge, Offer
from envkit.advice.speed import Step, step_on
from envkit.tables.bench import Reference
from envkit.tables.loader import read
from tests.advice.judging import card, cards, envkit, judge

WORKLOADS: list[dict[str, Any]] = [
    {"parameters": "70B", "task": "infer", "precision": "int4"},
    {"parameters": "7B", "task": "infer", "batch": 5},
    {"parameters": "7B", "task": "finetune"},
    {"parameters": "1.5B", "task": "finetune", "batch": 8},
    {"parameters": "13B", "task": "lora", "precision": "int4", "batch": 3},
    {"network": "resnet-50", "batch": 64},
    {"network": "lstm-32", "task": "infer", "batch": 7},
]


@cache
def _judge(words: tuple[tuple[str, Any], ...]) -> Judge:
    return judge(**dict(words))


def _steps(one: Card, most: int, words: dict[str, Any], *, held: bool = True) -> list[Step | None]:
    """The step on 1, 2, ... of the card; `held`: only in ways for which its memory is enough."""
    asked = _judge(tuple(words.items()))
    found = []
    for count in range(1, most + 1):
        loads = tuple(load for load in asked.loads(count) if not held or load.held <= (one.memory or 0))
        found.append(step_on(one, loads) if loads else None)
    return found


@pytest.mark.parametrize("words", WORKLOADS, ids=str)
def test_more_of_a_card_are_never_slower_and_never_more_times_as_fast_than_they_are(words: dict[str, Any]) -> None:
    for one in cards():
        steps = _steps(one, 9, words)
        for fewer, more in zip(steps, steps[1:], strict=False):
            assert fewer is None or (more is not None and more.seconds <= fewer.seconds), one.name
        free = _steps(one, 9, words, held=False)
        for count, step in enumerate(free, start=1):
            assert step is None or free[0] is None or step.seconds * count >= free[0].seconds * (1 - 1e-9), one.name


@pytest.mark.parametrize("words", WORKLOADS, ids=str)
def test_the_headline_is_the_longest_of_its_bounds(words: dict[str, Any]) -> None:
    for step in (step for one in cards() for step in _steps(one, 4, words) if step):
        bounds = {"compute": step.compute_seconds, "bandwidth": step.memory_seconds, "link": step.link_seconds}
        assert step.seconds == max(bounds.values()) == bounds[step.bound]


def test_a_token_passes_through_the_cards_of_a_pipeline_one_after_the_other() -> None:
    # seven heads divide among none of these counts, so the layers are shared and nothing is read at the same time
    words = {"parameters": "7B", "layers": 32, "hidden": 4096, "heads": 7, "task": "infer"}
    for one in cards():
        for count, step in enumerate(_steps(one, 6, words, held=False), start=1):
            if step is not None and one.model.memory_bandwidth_gbs:
                assert step.seconds >= 6.8e9 * 2 / (one.model.memory_bandwidth_gbs * 1e9), (one.name, count)


def test_a_batch_that_is_not_divided_is_not_divided_by_the_cards() -> None:
    one, many = (
        _steps(card("GeForce RTX 4090"), 8, {"network": "resnet-50", "task": "infer", "batch": size})[7]
        for size in (1, 8)
    )
    assert one and many and one.way.cards == 1 and many.way.cards == 8


@pytest.mark.parametrize("words", WORKLOADS, ids=str)
def test_a_rate_that_is_not_known_neither_ranks_nor_changes_a_bound(words: dict[str, Any]) -> None:
    ranking = judge(**words, gpus=4).ranking(cards(), named=True)
    for offer in ranking.offers:
        assert offer.step and offer.step.rate_known
        if not offer.card.tflops(judge(**words).workload.computes_in)[1]:
            assert offer.step.bound != "compute" or offer.step.compute_seconds == offer.step.memory_seconds
    silent = {row.card.name for row in ranking.unknown if "its rate" in row.why}
    assert not silent & {offer.card.name for offer in ranking.offers}


def test_a_card_without_its_rate_is_left_open_where_the_rate_decides() -> None:
    silent = next(one for one in cards() if one.name == "GeForce RTX 5090 D")
    assert silent.tflops("fp16")[1] is False
    ranking = judge(network="resnet-50").ranking([silent], named=True)
    assert not ranking.offers and not ranking.out and "rate in tf32 is unknown" in ranking.unknown[0].why
    [offer] = judge(parameters="7B", task="infer").ranking([silent], named=True).offers
    assert offer.step and offer.step.bound == "bandwidth"
    told = envkit("recommend", "RTX 5090 D", "--network", "resnet-50")
    assert told.returncode == 1 and "Too little is known" in told.stdout and "No card fits" not in told.stdout


def test_a_module_sends_over_its_own_link() -> None:
    for name in ("B200", "B300 SXM6 AC", "H100 80GB HBM3"):
        step = _steps(card(name), 8, {"parameters": "7B", "task": "finetune"})[7]
        assert step and step.link == "NVLink" and step.seconds < 0.05


def test_no_bound_is_above_a_published_time() -> None:
    """Every published time of a network on one GPU that the tables have, whatever the framework."""
    judged = 0
    names = {one.model.name: one for one in cards()}
    for row in read(Reference):
        one = next((found for name, found in names.items() if name.endswith(row.device)), None)
        networks = {"fcn-s", "fcn-5", "alexnet-s", "resnet-50", "lstm-32", "lstm-64", "fcn-r", "alexnet-r", "resnet-56"}
        if row.seconds is None or row.gpus != "1" or one is None or row.network not in networks or row.batch is None:
            continue
        words: dict[str, Any] = {"network": row.network, "batch": row.batch, "optimizer": "sgd"}
        step = step_on(one, judge(**words).loads(1))
        assert step and step.seconds <= row.seconds, (row.network, row.batch, row.device)
        judged += 1
    assert judged > 40


@pytest.mark.parametrize(
    ("parameters", "gigabytes"), [("6.74B", 4.08), ("13.02B", 7.87), ("68.98B", 41.42), ("8.03B", 4.92)]
)
def test_weights_at_4_bits_are_as_large_as_published_files(parameters: str, gigabytes: float) -> None:
    # sizes of the Q4_K_M files of Llama 2 and 3.1 that were uploaded to Hugging Face
    need = judge(parameters=parameters, task="infer", precision="int4").need
    assert next(part.size for part in need.parts if part.name == "weights") == pytest.approx(gigabytes * 1e9, rel=0.02)


def test_a_bound_counts_no_scales_of_the_weights() -> None:
    # some formats have almost none, and embeddings are looked up: at least 4 bits of each other weight are read
    step = _steps(card("GeForce RTX 4090"), 1, {"parameters": "6.74B", "task": "infer", "precision": "int4"})[0]
    cache = 2 * 32 * 4096 * 2 * 2048
    assert step and step.seconds == pytest.approx(((6.74e9 - 32000 * 4096) / 2 + cache) / 1008e9, rel=0.01)


def test_old_cards_are_told_what_they_lack_for_8_bits() -> None:
    words = ("--parameters", "7B", "--task", "infer", "--precision", "int8")
    shown = " ".join(envkit("recommend", "K80", "RTX 3090", *words).stdout.split())
    assert "no int8 units" in shown and shown.count("bitsandbytes") == 1


@pytest.mark.parametrize("words", WORKLOADS, ids=str)
def test_the_order_is_fewer_cards_and_then_speed_and_each_line_is_shown(words: dict[str, Any]) -> None:
    ranking = judge(**words, gpus=4, form="any").ranking(cards())
    places = [(offer.gpus, offer.step.seconds if offer.step else inf) for offer in ranking.offers]
    assert places == sorted(places)
    first: dict[tuple[str, int], Offer] = {}
    for offer in ranking.offers:
        first.setdefault((offer.card.line, offer.gpus), offer)
    shown = ranking.shown(max(5, len(first)))
    assert {id(offer) for offer in first.values()} <= {id(offer) for _, offer in shown}
    assert [place for place, _ in shown] == sorted(place for place, _ in shown)
    assert all(ranking.offers[place - 1] is offer for place, offer in shown)


@pytest.mark.parametrize("persona", ["starter", "hobby", "kaggle"])
def test_a_beginner_is_shown_a_card_of_each_size(persona: str) -> None:
    shown = envkit("recommend", "--for", persona)
    sizes = [float(line.split(": ")[1].split()[0]) for line in shown.stdout.splitlines() if " GB/s · " in line]
    assert sizes == sorted(set(sizes)) and len(sizes) >= 4
    assert "PRO" not in shown.stdout.split("Left out")[0] and "smallest first" in shown.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["RTX 4090", "--parameters", "7B", "--sequence", "128000", "--batch", "32", "--task", "infer"],
        ["2x RTX 3060 12GB", "--parameters", "70B", "--task", "infer", "--precision", "int4"],
        ["RTX 3060 12GB", "--parameters", "7B", "--task", "finetune"],
        ["RTX 4090", "--network", "resnet-50", "--max-watts", "100"],
        ["GTX 1080 Ti", "--years", "10"],
        ["RTX 3090", "--memory", "99"],
        ["H100 PCIe", "--parameters", "30B"],
    ],
    ids=" ".join,
)
def test_each_change_that_is_named_helps(words: list[str]) -> None:
    done = envkit("recommend", *words)
    assert done.returncode == 1
    told = done.stdout.split("No card fits.")[1].splitlines()
    changes = [line.strip().split(": ")[0] for line in told if line.startswith(("  --", '  "'))]
    assert changes
    for change in changes:
        more = shlex.split(change)
        named = [word for word in more if not word.startswith("--") and "x" in word]
        rest = more if not named else [word for word in more if word not in named]
        assert envkit("recommend", *(named or words[:1]), *_without(words[1:], rest), *rest).returncode == 0, change


def test_it_is_said_when_no_change_is_enough() -> None:
    done = envkit("recommend", "RTX 5090", "--parameters", "405B", "--task", "infer", "--precision", "int4")
    assert done.returncode == 1 and "changing a single option is not enough" in done.stdout


def test_a_size_between_two_models_has_heads_that_models_have() -> None:
    for size, heads in (("65B", 64), ("7.2B", 32), ("14B", 40)):
        shape = judge(parameters=size, task="infer").workload.shape
        assert shape and shape.heads == heads


def _without(words: list[str], options: list[str]) -> list[str]:
    """The options without those that are given again."""
    pairs = zip(words[::2], words[1::2], strict=True)
    return [word for option, value in pairs if option not in options for word in (option, value)]


def test_of_a_mixture_of_experts_all_parameters_are_held_and_the_active_ones_are_read() -> None:
    words: dict[str, Any] = {"parameters": "46.7B", "task": "infer", "precision": "int4", "layers": 32, "hidden": 4096,
                             "heads": 32, "kv_heads": 8, "vocabulary": 32000}  # fmt: skip
    dense, sparse = judge(**words), judge(**words, active="12.9B")
    assert dense.need == sparse.need
    cards_of = [card("RTX 6000 Ada Generation")]
    [slow], [fast] = (one.ranking(cards_of, named=True).offers for one in (dense, sparse))
    assert slow.step and fast.step and slow.step.seconds > 3 * fast.step.seconds
    assert fast.step.seconds > (12.9e9 - 152064 * 4096) / 2 / 960e9
    for more in (["--active", "3B"], ["--parameters", "7B", "--active", "8B"], ["--parameters", "7B", "--active", "x"]):
        assert envkit("recommend", *more).returncode == 2


def test_a_model_of_today_shares_its_keys_among_heads() -> None:
    # 48 layers of 8 heads with 128 values: 3 GiB for 16,384 tokens, not the 13 of a model of 2023
    need = judge(parameters="14B", task="infer", sequence=16384).need
    assert next(part.size for part in need.parts if part.name == "KV cache") == pytest.approx(3 * 2**30, rel=0.05)


def test_machines_that_the_user_counted_are_ordered_by_speed() -> None:
    words = ("--parameters", "32B", "--task", "infer", "--precision", "int4")
    shown = envkit("recommend", "2x RTX 3090", "RTX 5090", "4x RTX 3060 12GB", *words).stdout
    names = [line[3:].split(":")[0] for line in shown.splitlines() if line[:1].isdigit()]
    assert names == ["2 × GeForce RTX 3090", "GeForce RTX 5090", "4 × GeForce RTX 3060 (12GB)"]
