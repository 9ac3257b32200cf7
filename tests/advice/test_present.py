"""Cards that are added to a machine: what is there already counts as well."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.advice.judging import envkit

MACHINES = Path(__file__).parents[1] / "machines"


def _judged(machine: str, *words: str) -> dict[str, Any]:
    done = envkit("recommend", "machine", "--target", str(MACHINES / machine), *words, "--json")
    assert done.returncode in (0, 1) and done.stdout, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def _told(document: dict[str, Any], rule: str) -> list[tuple[str, str]]:
    return [(row["status"], row["detail"]) for row in document["findings"] if row["rule"] == rule]


def test_the_power_and_the_link_of_a_card_that_is_there_count() -> None:
    alone = _judged("debian13-rtx3090-550")
    assert alone["peak_watts"] == 350 + 125 + 100
    assert alone["present"] == [{"name": "NVIDIA GeForce RTX 3090", "variant": "", "lanes": 16, "pcie": 4}]
    both = _judged("debian13-rtx3090-550", "--gpu", "RTX 5090", "--psu", "800", "--slots", "x4", "--pcie", "4")
    assert both["peak_watts"] == 350 + 575 + 125 + 100 and both["status"] == "fail"
    lanes = _told(both, "lanes")
    assert [status for status, _ in lanes] == ["ok", "warn"] and "RTX 5090 on PCIe 4.0 x4" in lanes[1][1]


def test_two_gpus_of_a_board_that_is_there_draw_power_once_and_need_their_driver() -> None:
    document = _judged("centos7-2xk80-470", "--gpu", "RTX 5090")
    assert document["peak_watts"] == 300 + 575 + 125 + 100
    assert [status for status, _ in _told(document, "driver")] == ["fail"]


def test_modules_that_are_there_are_not_refused_for_their_form() -> None:
    document = _judged("ubuntu22.04-8xh200-570")
    assert len(document["present"]) == 8 and not _told(document, "form") and not _told(document, "air")
    assert document["status"] == "ok"


@pytest.mark.parametrize("machine", sorted(path.parent.name for path in MACHINES.glob("*/machine.json")))
def test_every_recorded_machine_is_judged_or_said_to_have_no_gpu(machine: str) -> None:
    done = envkit("recommend", "machine", "--target", str(MACHINES / machine))
    if done.returncode == 2:
        assert "No GPU was found in that machine" in done.stderr
    else:
        assert done.returncode in (0, 1) and "(there)" in done.stdout, done.stderr


def test_neither_a_card_nor_a_machine_is_one_line() -> None:
    done = envkit("recommend", "machine")
    assert done.returncode == 2 and done.stdout == "" and "--gpu is missing" in done.stderr
