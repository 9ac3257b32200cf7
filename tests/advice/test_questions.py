"""Questions that people ask in forums, and what somebody who knows the field answers.

`FIRST_LOOK` says what the program answered when it first ran, before anything was changed for a question.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.advice.judging import envkit

HERE = Path(__file__).parent
FIRST_LOOK = {
    "which card for full fine-tuning of a 7B model": "right: 126 GB, none alone; no word of LoRA until nothing fits",
    "3090 or 4090 for LoRA on 7B": "right: both hold it, the 4090 is faster",
    "2x3090 or one 4090 for a model of 13B": "right: 30 GB need both 3090s",
    "70B at 4 bits at home": "right: 38 GB, two cards of 24 GB",
    "is a P40 still good": "in part: passive and last PyTorch named, nothing about its missing tensor cores",
    "can I buy a K80 for 50": "in part: said that its driver is maintained until a day that has passed",
    "will my 650 W supply carry a 3090": "right: 575 W at the peak, 690 advised, or a limit of 280 W",
    "second card in an x4 slot": "right: a warning with the cost of a step",
    "four 4090 in one case": "right: power and circuit fail, lanes and air warn",
    "3060 12 GB or 4060 Ti 8 GB": "right: the faster is named and the memory shown; the memory is left to the reader",
    "5090 with an old PyTorch": "in part: refused with the reason, no way out was offered",
    "mix a 1080 Ti and a 3060": "right: the last PyTorch that has code for both is named",
}


def _answer(*words: str, status: int = 0) -> dict[str, Any]:
    done = envkit("recommend", *words, "--json")
    assert done.returncode == status, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _rules(answer: dict[str, Any]) -> dict[str, str]:
    return {row["rule"]: row["status"] for row in reversed(answer["findings"])}


def test_which_card_for_full_fine_tuning_of_a_7b_model() -> None:
    answer = _answer("--parameters", "7B", status=1)
    assert 110 < answer["need"]["gb"] < 150
    options = [change["option"] for change in answer["changes"]]
    assert "--gpus 2" in options and "--task lora" in options


def test_3090_or_4090_for_lora_on_7b() -> None:
    answer = _answer("RTX 3090", "RTX 4090", "--parameters", "7B", "--task", "lora")
    assert [card["name"] for card in answer["cards"]] == ["NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 3090"]


def test_two_3090_or_one_4090() -> None:
    answer = _answer("2x RTX 3090", "RTX 4090", "--parameters", "13B", "--task", "infer")
    assert [(card["name"], card["gpus"]) for card in answer["cards"]] == [("NVIDIA GeForce RTX 3090", 2)]
    fits = _answer("2x RTX 3090", "RTX 4090", "--parameters", "7B", "--task", "infer")
    assert {card["name"] for card in fits["cards"]} == {"NVIDIA GeForce RTX 3090", "NVIDIA GeForce RTX 4090"}


def test_is_a_p40_still_good() -> None:
    [card] = _answer("P40", "--parameters", "13B", "--task", "infer", "--precision", "int8")["cards"]
    notes = " ".join(card["notes"])
    assert "passively cooled" in notes and "no tensor cores" in notes and "branch 580 is its last" in notes
    assert card["bound"] == "bandwidth"
    assert {row["name"]: row["ended"] for row in card["support"]["software"]} == {"CUDA": True, "PyTorch": True}


def test_can_i_buy_a_k80() -> None:
    [card] = _answer("K80", "--network", "resnet-50")["cards"]
    notes = " ".join(card["notes"])
    assert "maintenance ended 2024" in notes and "2 GPUs on one board" in notes


def test_will_my_650_w_supply_carry_a_3090() -> None:
    answer = _answer("machine", "--gpu", "RTX 3090", "--psu", "650")
    assert _rules(answer)["power"] == "warn" and answer["peak_watts"] == 575


def test_second_card_in_an_x4_slot() -> None:
    answer = _answer("machine", "--gpu", "RTX 3090 x2", "--slots", "x16,x4", "--pcie", "4", "--psu", "1200")
    lanes = [row for row in answer["findings"] if row["rule"] == "lanes"]
    assert [row["status"] for row in lanes] == ["ok", "warn"]
    assert "gradients" in lanes[1]["detail"]


def test_four_4090_in_one_case() -> None:
    words = ("--gpu", "RTX 4090 x4", "--psu", "1600", "--circuit", "120V15A", "--cooling", "open")
    rules = _rules(_answer("machine", *words, status=1))
    assert rules["power"] == rules["circuit"] == "fail" and rules["air"] == "warn"


def test_memory_or_speed() -> None:
    answer = _answer("RTX 3060 12GB", "RTX 4060 Ti 8GB", "--network", "resnet-50", "--batch", "64")
    assert [card["memory_gb"] for card in answer["cards"]] == [8, 12]
    larger = _answer("RTX 3060 12GB", "RTX 4060 Ti 8GB", "--memory", "10")
    assert [card["memory_gb"] for card in larger["cards"]] == [12]
    assert "8 GiB of memory" in larger["left_out"][0]["why"]


def test_a_new_card_with_an_old_pytorch() -> None:
    answer = _answer("RTX 5090", "--framework", "pytorch==2.4", status=1)
    assert "sm_120" in answer["left_out"][0]["why"]
    assert "--framework pytorch" in [change["option"] for change in answer["changes"]]


def _names(*words: str) -> list[str]:
    return [card["name"] for card in _answer(*words)["cards"]]


@pytest.mark.parametrize("name", ["H100 SXM", "H100 SXM5", "H100 SXM5 80GB", "2x H100 SXM5"])
def test_a_module_is_meant_where_its_socket_is_said(name: str) -> None:
    assert _names(name) == ["NVIDIA H100 80GB HBM3"]
    assert _names("A100 80GB PCIe") == ["NVIDIA A100 80GB PCIe"] and _names("H100 PCIe") == ["NVIDIA H100 PCIe"]


def test_a_name_of_several_cards_is_asked_about() -> None:
    told = envkit("recommend", "machine", "--gpu", "A100 80GB").stderr
    assert "A100-SXM4-80GB" in told and "A100 80GB PCIe" in told
    assert "H100 PCIe, H100 80GB HBM3, H100 NVL" in envkit("recommend", "H100").stderr


def test_convolutions_are_taken_to_run_in_tf32_unless_a_precision_is_given() -> None:
    assert _names("--for", "cluster")[:2] == [
        "NVIDIA B300 SXM6 AC",
        "NVIDIA B200",
    ]  # not the L40S, whose fp32 is faster
    speeds = {}
    for more in ((), ("--precision", "fp32"), ("--precision", "tf32")):
        answer = _answer("H100 SXM5", "--network", "resnet-50", "--batch", "64", *more)
        assert any("TF32" in text for text in answer["workload"]["assumed"]) is (more == ())
        speeds[more] = answer["cards"][0]["step_seconds_at_best"]
    assert speeds[()] == speeds["--precision", "tf32"] < speeds["--precision", "fp32"]
    products = _answer("H100 SXM5", "--network", "fcn-s")
    assert not any("TF32" in text for text in products["workload"]["assumed"])
    [old] = _answer("V100 SXM2 32GB", "--network", "resnet-50")["cards"]
    assert not any("is unknown" in note for note in old["notes"])


def test_a_token_after_a_long_prompt_reads_the_weights_and_the_cache_once() -> None:
    words = ("--parameters", "8B", "--task", "infer", "--sequence", "131072", "--precision", "bf16")
    answer = _answer("RTX PRO 6000 Blackwell Workstation Edition", "RTX A6000", *words)
    sizes = {part["name"]: part["gb"] for part in answer["need"]["parts"]}
    embeddings = 128256 * 4096 * 2 / 2**30  # of which a token reads one row
    read = (sizes["weights"] - embeddings + sizes["KV cache"]) * 2**30 / 1792e9
    assert answer["cards"][0]["step_seconds_at_best"] == pytest.approx(read, rel=0.01)
    assert "NVIDIA RTX A6000" in [card["name"] for card in answer["cards"]]  # 48 GB hold it
    assert sizes["activations"] < 2  # a prompt is read in pieces


def test_cards_that_each_hold_the_model_share_the_batch() -> None:
    [card] = _answer("9x RTX 3090")["cards"]
    assert any("data parallel" in note for note in card["notes"])
    assert not any("split" in note for note in card["notes"])


def test_power_that_is_not_known_is_not_within_a_limit() -> None:
    answer = _answer("RTX 5000 Ada Generation Laptop GPU", "RTX 4090", "--max-watts", "10", status=1)
    assert "W, more than 10 W" in answer["left_out"][0]["why"]
    assert "power draw is unknown" in answer["unknown"][0]["why"]
    anything = _answer("--max-watts", "10", "--form", "any", "--network", "fcn-s", "--memory", "2")
    assert all(card["watts"] <= 10 for card in anything["cards"])


def test_a_card_whose_driver_ends_before_the_years_are_over_is_left_out() -> None:
    assert "10 years" in _answer("GTX 1080 Ti", "--years", "10", status=1)["left_out"][0]["why"]
    assert _names("GTX 1080 Ti", "--years", "1") == ["NVIDIA GeForce GTX 1080 Ti"]


def test_a_card_that_came_later_is_neither_chosen_nor_called_too_old() -> None:
    assert "released in 2025" in _answer("RTX 5090", "--as-of", "2020", status=1)["left_out"][0]["why"]
    then, years_later = _answer("--as-of", "2018"), _answer("--as-of", "2026")
    assert then["older"] < years_later["older"]


def test_the_card_that_is_owned_is_set_next_to_the_cards_of_the_answer() -> None:
    notes = _answer("RTX 3060 12GB", "RTX 4090", "--owned", "RTX 3090")["notes"]
    assert len(notes) == 2 and "RTX 4090" in notes[0] and "RTX 3060" in notes[1]


def test_what_the_table_of_instances_covers_is_said() -> None:
    assert any("AWS, Azure, and Google Cloud only" in note for note in _answer("RTX 4090", "--cloud")["notes"])


PERSONAS = [
    ("starter", 400, {"RTX 2060", "GTX 1060 6GB"}, ()),
    ("kaggle", 600, {"RTX 2070"}, ("--memory", "8")),
    ("kaggle", 250, {"GTX 1060 6GB"}, ()),
    ("hobby", 250, {"GTX 1050 Ti"}, ()),
    ("vision", 2500, {"RTX 2080 Ti"}, ()),
    ("vision", 2500, {"TITAN RTX"}, ("--memory", "20")),
]


@pytest.mark.parametrize(("persona", "budget", "names", "more"), PERSONAS)
def test_the_cards_that_the_guide_of_2019_named_lead_their_price_class(
    persona: str, budget: int, names: set[str], more: tuple[str, ...]
) -> None:
    # prices at launch, from NVIDIA's announcements
    answer = _answer(
        "--for", persona, "--as-of", "2019", "--prices", str(HERE / "prices_2019.csv"), "--budget", str(budget), *more
    )
    first = {card["name"].removeprefix("NVIDIA ").removeprefix("GeForce ") for card in answer["cards"][:5]}
    assert names <= first, first
