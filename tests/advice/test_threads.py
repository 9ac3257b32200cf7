"""Questions of people in threads, with what somebody who knows the field answers, written before the program was asked.

`OBJECTIONS` says what an expert objected to in the first answer; each test holds what it was changed to.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.advice.judging import envkit

OBJECTIONS = {
    "OptimalScale/LMFlow#213: LoRA of 7B on two A4000 with 16 GB": "none: one lacks a GiB, two split it, int8 fits",
    "ymcui/Chinese-LLaMA-Alpaca#730: LoRA of 13B on 2 x 24 GB": "none: 30 GiB, and the model has to be split",
    "Alpha-VLLM/LLaMA2-Accessory#26: 13B on two A800": "its fp16 rate counted as that of fp32, 16 times too slow; "
    "three cards were offered for tensor parallelism, which 40 heads do not divide by",
    "tdrussell/diffusion-pipe#156: a Tesla M10 to train": "no way out of bf16; not called a card without a fan",
    "ollama/ollama#2250: M60, K80 or P40": "K80 not called a card without a fan; order and last software right",
    "vllm-project/llm-compressor#1010: A6000 or 4090 with FP8": "A6000 refused, though servers store FP8 weights on it",
    "apoorvkh/academic-pretraining#3: A6000 twice a 3090": "none with a batch; for one sequence the update rules",
    "4060 Ti 16 GB or used 3090 for 13B at 4 bits": "rate of the 4060 Ti counted as that of fp32; order right",
    "kohya-ss/sd-scripts#1434: two H100 PCIe as slow as one": "no word of what the cards exchange",
    "ebongard/renfield#1265: a V100 beside a 5090": "called sound, though no kernel module drives both",
    "a laptop to learn with": "no word that its power varies; cards for desktops listed as left out",
}


def _answer(*words: str, status: int = 0) -> dict[str, Any]:
    done = envkit("recommend", *words, "--json")
    assert done.returncode == status, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _notes(card: dict[str, Any]) -> str:
    return " ".join(card["notes"])


def test_lora_of_7b_on_16_gb() -> None:
    words = ("--parameters", "7B", "--task", "lora", "--sequence", "512")
    alone = _answer("RTX A4000", *words, status=1)
    assert 16 < alone["need"]["gb"] < 20
    assert {"--gpus 2", "--precision int8"} <= {change["option"] for change in alone["changes"]}
    assert "tensor parallel" in _notes(_answer("2x RTX A4000", *words)["cards"][0])


def test_lora_of_13b_on_two_cards_with_24_gb() -> None:
    [card] = _answer("2x RTX 3090", "--parameters", "13B", "--task", "lora", "--sequence", "512")["cards"]
    assert "each layer is split among 2 cards (tensor parallel)" in _notes(card)


def test_fine_tuning_of_13b_on_a800() -> None:
    words = ("--parameters", "13B", "--sequence", "512")
    assert "on each of 2" in _answer("2x A800 80GB PCIe", *words, status=1)["left_out"][0]["why"]
    [card] = _answer("A800 80GB PCIe", *words, "--gpus", "8")["cards"]
    assert card["gpus"] == 3 and "divides the 40 attention heads" in _notes(card)
    # one sequence passes through the three cards one after the other: 512 x 6 operations for each of 12.9B parameters
    assert card["step_seconds_at_best"] == pytest.approx(6 * 512 * 12.84e9 / 312e12, rel=0.01)
    assert "pipeline parallel" in _notes(card)
    [card] = _answer("A800 80GB PCIe", *words, "--gpus", "8", "--batch", "3")["cards"]
    assert "FSDP" in _notes(card) or "pipeline parallel" in _notes(card)


def test_a_tesla_m10_to_train() -> None:
    answer = _answer("Tesla M10", "--parameters", "110M", "--task", "finetune", "--precision", "bf16", status=1)
    assert "bf16" in answer["left_out"][0]["why"]
    assert "--precision fp16" in [change["option"] for change in answer["changes"]]


def test_old_cards_of_servers() -> None:
    answer = _answer(
        "Tesla M60", "Tesla K80", "Tesla P40", "--parameters", "7B", "--task", "infer", "--precision", "int4"
    )
    assert [card["name"] for card in answer["cards"]] == ["Tesla P40", "Tesla K80", "Tesla M60"]
    assert all("passively cooled" in _notes(card) for card in answer["cards"][:2])


def test_fp8_weights_on_a_card_without_fp8_units() -> None:
    words = ("--parameters", "3.8B", "--task", "infer", "--precision", "fp8")
    first, second = _answer("RTX A6000", "RTX 4090", *words)["cards"]
    assert first["name"].endswith("4090") and second["speed_of_first"] == pytest.approx(768 / 1008, abs=0.01)
    assert "computations run in fp16" in _notes(second) and "fp16" not in _notes(first)
    assert "7.5" in _answer("Tesla V100-PCIE-32GB", *words, status=1)["left_out"][0]["why"]
    trained = _answer("RTX A6000", "--network", "resnet-50", "--precision", "fp8", status=1)
    assert "8.9" in trained["left_out"][0]["why"]


def test_an_a6000_next_to_a_3090() -> None:
    words = ("--parameters", "350M", "--task", "finetune", "--precision", "bf16", "--batch", "32")
    first, second = _answer("RTX 3090", "RTX A6000", *words)["cards"]
    assert first["name"].endswith("A6000") and second["speed_of_first"] == pytest.approx(71 / 154.8, abs=0.02)


def test_a_used_card_with_more_bandwidth() -> None:
    prices = ("--price", "RTX 4060 Ti 16GB=450", "--price", "RTX 3090=800")
    words = ("--parameters", "13B", "--task", "infer", "--precision", "int4", *prices)
    first, second = _answer("RTX 4060 Ti 16GB", "RTX 3090", *words)["cards"]
    assert first["name"].endswith("3090") and second["better_buy_below"] == pytest.approx(800 * 288 / 936.2, rel=0.01)


def test_two_cards_that_are_no_faster_than_one() -> None:
    words = ("--parameters", "350M", "--batch", "16", "--precision", "bf16")
    [card] = _answer("2x H100 PCIe", *words)["cards"]
    assert "data parallel" in _notes(card) and "sends 0.7 GB: 11.1 ms at best over PCIe 5.0 x16" in _notes(card)
    [module] = _answer("2x H100 SXM5", *words)["cards"]
    assert "over NVLink" in _notes(module)
    [reader] = _answer("2x RTX 3090", "--parameters", "13B", "--task", "infer")["cards"]
    assert "sends 0.8 MB" in _notes(reader)  # two sums of 10 kB in each of 40 layers, in a ring


def test_cards_that_no_driver_joins() -> None:
    told = envkit("recommend", "machine", "--gpu", "RTX 5090", "--gpu", "V100 PCIe 32GB")
    assert told.returncode == 1 and "FAIL driver" in told.stdout
    for pair in (("RTX 5090", "RTX 3090"), ("GTX 1080 Ti", "RTX 3060 12GB"), ("RTX 5090",)):
        words = [word for name in pair for word in ("--gpu", name)]
        assert "driver" not in envkit("recommend", "machine", *words).stdout


def test_a_laptop_to_learn_with() -> None:
    answer = _answer("--form", "laptop", "--for", "starter")
    assert all("the laptop's manufacturer sets" in _notes(card) for card in answer["cards"])
    assert "a card for a desktop" not in envkit("recommend", "--form", "laptop", "--for", "starter").stdout
