"""Builds, against the tables of the guides and arithmetic."""

from __future__ import annotations

import pytest

from envkit.advice.build import Judgement, Machine, judged, peak_watts
from envkit.tables.advice import PowerPlug
from envkit.tables.loader import read
from tests.advice.judging import MATRIX, card, cards


def _rules(machine: Machine) -> dict[str, Judgement]:
    return {row.rule: row for row in reversed(judged(machine, MATRIX))}


def _machine(name: str, gpus: int = 1, **given: object) -> Machine:
    return Machine(((card(name), gpus),), **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(("supply", "status"), [(450, "fail"), (650, "warn"), (690, "ok"), (850, "ok"), (None, "info")])
def test_power_of_one_card(supply: int | None, status: str) -> None:
    # 350 W, 125 W for the processor, 100 W for the rest, and a fifth to spare: 690 W
    assert _rules(_machine("GeForce RTX 3090", supply_watts=supply))["power"].status == status


@pytest.mark.parametrize(("gpus", "supply"), [(1, 600), (2, 1000), (4, 1600), (8, 3200)])
def test_the_supplies_that_the_book_advises_carry_the_cards_of_its_time(gpus: int, supply: int) -> None:
    # Dive into Deep Learning: 600, 1000, 1600, and 2 of 1600 W with one spare, for cards of 250 W
    total, _ = peak_watts(_machine("GeForce RTX 2080 Ti", gpus))
    assert total <= supply
    assert _rules(_machine("GeForce RTX 2080 Ti", gpus, supply_watts=supply))["power"].status in ("ok", "warn")


def test_a_board_of_two_gpus_is_counted_once() -> None:
    assert peak_watts(_machine("Tesla K80", 2))[0] == peak_watts(_machine("Tesla K80", 1))[0]
    assert peak_watts(_machine("Tesla K80", 4))[0] == 2 * 300 + 225


def test_unknown_power_is_neither_health_nor_fault() -> None:
    laptop = "GeForce RTX 2070 (laptop)"
    assert card(laptop).model.tdp_w is None
    assert _rules(_machine(laptop, supply_watts=2000))["power"].status == "unknown"


def test_a_power_limit_is_offered_where_it_is_enough() -> None:
    text = _rules(_machine("GeForce RTX 3090", supply_watts=650))["power"].text
    assert "nvidia-smi -pl 280" in text


@pytest.mark.parametrize(
    ("lanes", "pcie", "status"),
    [(16, 3, "ok"), (8, 4, "ok"), (4, 5, "warn"), (8, 3, "warn"), (4, 4, "warn"), (1, 3, "warn"), (16, None, "ok")],
)
def test_lanes_of_a_card_of_generation_four(lanes: int, pcie: int | None, status: str) -> None:
    assert _rules(_machine("GeForce RTX 3090", slots=(lanes,), pcie=pcie))["lanes"].status == status


def test_x4_of_generation_five_is_enough_for_a_card_of_that_generation() -> None:
    assert _rules(_machine("GeForce RTX 5090", slots=(4,), pcie=5))["lanes"].status == "ok"


def test_too_few_slots_fail() -> None:
    assert _rules(_machine("GeForce RTX 3090", 2, slots=(16,)))["slots"].status == "fail"


@pytest.mark.parametrize(("circuit", "status"), [(120 * 15, "ok"), (100 * 10, "ok"), (750, "fail"), (500, "fail")])
def test_a_circuit_carries_four_fifths_of_its_breaker(circuit: float, status: str) -> None:
    assert _rules(_machine("GeForce RTX 3090", circuit_watts=circuit))["circuit"].status == status


def test_a_circuit_is_judged_by_what_is_drawn_from_the_wall() -> None:
    # 1375 W of parts are more than 1440 W of a circuit through any supply of less than 95 %
    row = _rules(_machine("GeForce RTX 5090", 2, supply_watts=1700, circuit_watts=120 * 15.0))["circuit"]
    assert row.status == "fail" and "1528 W at the wall" in row.text


@pytest.mark.parametrize(
    ("name", "status", "told"),
    [
        ("Tesla P40", "info", "EPS"),
        ("Tesla M40 (12GB)", "info", "EPS"), ("Tesla P100-PCIE-16GB", "unknown", "check the card"),
        ("GeForce GTX 1080 Ti", "info", "8-pin and one 6-pin"), ("GeForce RTX 5090", "info", "one 16-pin"),
        ("RTX A6000", "unknown", "check the card"), ("GeForce RTX 3080 (12GB)", "unknown", "check the card"),
    ],
)  # fmt: skip
def test_power_plugs_are_reported_where_they_are_known_and_never_guessed(name: str, status: str, told: str) -> None:
    row = _rules(_machine(name))["cables"]
    assert row.status == status and told in row.text


def test_a_card_that_its_slot_feeds_needs_no_plug() -> None:
    assert "cables" not in _rules(_machine("Tesla T4"))


def test_each_plug_is_that_of_a_card_in_the_data() -> None:
    assert {row.gpu for row in read(PowerPlug)} <= {one.model.name for one in cards()}


def test_forms_that_no_slot_takes_fail_and_passive_cards_need_air() -> None:
    assert _rules(_machine("H100 80GB HBM3"))["form"].status == "fail"
    assert _rules(_machine("Tesla P40"))["air"].status == "warn"
    assert _rules(_machine("Tesla P40", cooling="open"))["air"].status == "fail"
    assert "air" not in _rules(_machine("Tesla P40", cooling="passive"))


def test_three_neighbors_need_blowers() -> None:
    assert "air" not in _rules(_machine("GeForce RTX 3090", 2, cooling="open"))
    assert _rules(_machine("GeForce RTX 3090", 3, cooling="open"))["air"].status == "warn"
    assert "air" not in _rules(_machine("GeForce RTX 3090", 3, cooling="blower"))


@pytest.mark.parametrize(
    ("gpus", "memory", "status"), [(1, 32, "ok"), (2, 32, "warn"), (4, 128, "ok"), (8, 128, "warn")]
)
def test_memory_follows_the_number_of_cards(gpus: int, memory: float, status: str) -> None:
    assert _rules(_machine("GeForce RTX 3090", gpus, memory_gb=memory))["memory"].status == status


def test_mixed_generations_need_one_build() -> None:
    both = Machine(((card("GeForce GTX 1080 Ti"), 1), (card("GeForce RTX 3090"), 1)))
    assert "2.14.1" in _rules(both)["software"].text  # the last PyTorch with code for sm_61
    none = Machine(((card("Tesla K80"), 1), (card("GeForce RTX 5090"), 1)))
    assert _rules(none)["software"].status == "warn"
