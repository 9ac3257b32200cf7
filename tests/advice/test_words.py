"""The words of the answers: numbers that a reader can check, and sentences that say what is meant."""

from __future__ import annotations

import re

import pytest

from envkit.advice.named_cards import cards_named
from envkit.tables.advice import Network, RestrictedSale
from envkit.tables.loader import read
from tests.advice.judging import cards, envkit


@pytest.mark.parametrize(
    "words",
    [
        ["--parameters", "70B", "--task", "infer", "--precision", "int4", "--sequence", "100000", "--gpus", "8"],
        ["GTX 1080 Ti", "--network", "resnet-50", "--batch", "64"],
        ["RTX 4090", "--network", "resnet-56", "--batch", "1", "--task", "infer"],
        ["RTX 4090", "--parameters", "350M", "--batch", "16", "--sequence", "2000", "--checkpointing", "full"],
    ],
)
def test_times_are_written_without_powers_of_ten(words: list[str]) -> None:
    shown = envkit("recommend", *words).stdout
    assert re.search(r"\d (ms|s) per step", shown) and not re.search(r"\de[+-]?\d", shown)


def test_the_parts_of_a_need_add_up_to_what_is_said_and_the_least_is_named_apart() -> None:
    shown = " ".join(envkit("recommend", "--for", "starter").stdout.split())
    match = re.search(
        r": ([\d.]+) GiB \(([^)]*), and 10% headroom\), estimated; a card with at least 6 GiB is required",
        shown,
    )
    assert match is not None
    parts = [float(number) for number in re.findall(r"\d+\.\d+", match[2])]
    assert float(match[1]) == pytest.approx(1.1 * sum(parts), abs=0.1)


def test_cards_of_one_speed_are_called_so() -> None:
    shown = " ".join(envkit("recommend", "A100 80GB").stdout.split())
    assert "as fast as no. 1, better value if it costs less than no. 1" in shown and "1.00 x" not in shown


def test_a_card_that_few_can_buy_is_offered_only_by_its_name() -> None:
    assert {row.gpu for row in read(RestrictedSale)} <= {one.model.name for one in cards()}
    shown = envkit("recommend", "--network", "resnet-50", "--top", "100").stdout
    assert "GeForce RTX 5090:" in shown and "RTX 5090 D: 32 GiB" not in shown
    assert "sold in China only" in envkit("recommend", "RTX 5090 D", "--parameters", "7B", "--task", "infer").stdout


def test_someone_who_gives_no_prices_is_told_what_the_order_is() -> None:
    assert "without prices, only the fastest" in envkit("recommend", "--for", "starter").stderr
    assert "without prices" not in envkit("recommend", "--for", "starter", "--price", "RTX 5060=300").stderr


def test_the_help_names_every_network() -> None:
    shown = " ".join(envkit("recommend", "--help").stdout.split())
    assert all(row.name in shown for row in read(Network))


def test_a_narrow_link_is_set_next_to_the_link_that_is_meant() -> None:
    shown = envkit("recommend", "machine", "--gpu", "RTX 4090", "--slots", "x4", "--pcie", "4").stdout
    assert "less than the 15.8 GB/s of PCIe 3.0 x16" in " ".join(shown.split())


def test_numbers_agree_with_their_nouns() -> None:
    assert (
        "2 boards but only 1 slot\n" in envkit("recommend", "machine", "--gpu", "RTX 3090 x2", "--slots", "x16").stdout
    )


@pytest.mark.parametrize(
    "words",
    [
        ("--for", "starter"),
        ("RTX 3090", "RTX 4060", "--parameters", "70B", "--task", "infer", "--memory", "20"),
        ("machine", "--gpu", "RTX 3090 x2", "--memory", "16"),
        ("--parameters", "70B", "--task", "train", "--format", "markdown"),
    ],
)
def test_memory_is_counted_in_gib_as_the_driver_counts_it(words: tuple[str, ...]) -> None:
    """GB stands for rates of 10**9 bytes, and in the names of boards."""
    shown = envkit("recommend", *words).stdout
    assert "GiB" in shown and not re.search(r"\d GB\b(?!/s)|\|\s*GB\s*\|", shown)


def test_a_size_after_a_name_does_not_make_it_another_card() -> None:
    """`RTX 4060 8GB` is no RTX 4060 Ti, of which there is one with 8 GB in its name."""
    for one in cards():
        size = one.model.memory_gb
        if one.form != "desktop" or size is None or size != int(size) or one.model.memory_bandwidth_gbs is None:
            continue
        plain = one.model.name.removeprefix("NVIDIA ")
        if not re.search(r"\dGB", plain):
            found = cards_named(f"{plain} {size:.0f}GB", cards(), "GPU")
            assert one.name in [card.name for card in found], one.name
            assert {card.model.name for card in found} == {one.model.name}, one.name
