"""Questions that people asked in the issues of projects, each with what somebody who knows the field answers.

`FIRST_LOOK` says what the program answered when it was first asked, before anything was changed for a question.
"""

from __future__ import annotations

from tests.advice.judging import envkit
from tests.advice.test_questions import _answer, _names, _rules

FIRST_LOOK = {
    "AlexeyAB/darknet#5758: TITAN RTX for 3000 EUR": "right: the 2080 Ti is better value, the TITAN 1.2 times as fast",
    "meta-llama/llama#480: what runs on a 4090": "right: 7B in fp16, 13B in int8, 70B on none",
    "QwenLM/Qwen3-VL#894: a card for 72B at 4 bits": "right: 47 GiB, one card of 48 or two of 32",
    "HIT-SCIR/Chinese-Mixtral-8x7B#16: Mixtral on a 4090": "right: 31 GiB, two of them; LoRA on 80 GB",
    "deepseek-ai/DeepSeek-V3#577: how many GPUs for 671B": "wrong: three and five modules, which nobody sells",
    "shubham-goel/4D-Humans#75: 4 V100 or 8 3090": "in part: two of six kinds of V100 were cut off",
    "NVIDIA-NeMo/Speech#2756: 3090 or Tesla V100": "wrong: the 3090 that was named was not in the answer",
    "iperov/DeepFaceLab#5566: 2060 or 3060": "right: all four boards of these names, the 3060 first",
    "w-okada/voice-changer#906: Quadro M4000 or GTX 1080": "right: the GTX 1080 is 3.4 times as fast, both are ending",
    "deepseek-ai/DeepSeek-V3#624: a laptop's 4060": "wrong: 14B would fit two laptop GPUs",
    "Tom's Hardware 3644634: a supply for two 3090": "right: 850 W is too small, 1110 W advised; plugs left open",
    "specpicks.com: the smallest card for SDXL, 12 GB": "wrong: began with a card of 96 GB",
}


def test_a_card_that_is_named_is_in_the_answer() -> None:
    names = _names("RTX 3090", "Tesla V100", "--network", "resnet-50", "--batch", "64", "--precision", "fp16")
    assert "NVIDIA GeForce RTX 3090" in names and len(names) >= 6
    assert len(_names("RTX 3090", "Tesla V100", "--top", "2")) == 2


def test_a_titan_for_3000_euros() -> None:
    prices = ("--price", "TITAN RTX=2700 EUR", "--price", "RTX 2080 Ti=1250 EUR", "--budget", "3000 EUR")
    answer = _answer("TITAN RTX", "RTX 2080 Ti", "--for", "vision", "--as-of", "2020", *prices)
    value, fast = answer["cards"]
    assert (value["name"], fast["name"]) == ("NVIDIA GeForce RTX 2080 Ti", "NVIDIA TITAN RTX")
    assert 1.1 < fast["speed_of_first"] < 1.3


def test_a_model_of_a_mixture_needs_all_its_memory() -> None:
    words = ("--parameters", "46.7B", "--active", "12.9B", "--task", "infer", "--precision", "int4")
    answer = _answer("RTX 4090", *words, status=1)
    assert 28 < answer["need"]["gb"] < 34 and answer["changes"][0]["option"] == "--gpus 2"


def test_a_mixture_has_the_shape_of_a_mixture() -> None:
    words = ("--parameters", "671B", "--active", "37B", "--task", "infer", "--precision", "fp8", "--form", "server")
    answer = _answer(*words, "--gpus", "8", "--sequence", "131072")
    assert any("DeepSeek-V3" in text for text in answer["workload"]["assumed"])
    [cache] = [part["gb"] for part in answer["need"]["parts"] if part["name"] == "KV cache"]
    assert 8 < cache < 10  # 61 layers x 576 values of 131,072 tokens; keys of 128 heads would be 400 times as much


def test_modules_are_counted_as_their_boards_are_built() -> None:
    words = ("--parameters", "671B", "--active", "37B", "--task", "infer", "--precision", "fp8", "--gpus", "8")
    cards = _answer(*words, "--form", "server", "--top", "40")["cards"]
    counts = {card["name"]: card["gpus"] for card in cards}
    assert counts["NVIDIA H200"] == 8 and counts["NVIDIA B200"] == 4
    assert _answer("3x H200", "--parameters", "70B", "--task", "infer")["cards"][0]["gpus"] == 3  # as was said


def test_a_laptop_has_one_gpu() -> None:
    words = ("--parameters", "14B", "--task", "infer", "--precision", "int4")
    assert not any("--gpus" in row["option"] for row in _answer("RTX 4060 Laptop GPU", *words, status=1)["changes"])
    assert "a laptop has one" in _answer("2x RTX 4060 Laptop GPU", *words, status=1)["left_out"][0]["why"]
    fleet = ("--parameters", "70B", "--task", "infer", "--precision", "int4", "--gpus", "4")
    assert not _answer("--form", "laptop", *fleet, status=1)["cards"]


def test_a_quadro_of_2015_beside_a_gaming_card() -> None:
    first, second = _answer("Quadro M4000", "GTX 1080", "--network", "resnet-50")["cards"]
    assert first["name"] == "NVIDIA GeForce GTX 1080" and second["speed_of_first"] < 0.4


def test_two_3090_on_850_watts() -> None:
    answer = _answer("machine", "--gpu", "RTX 3090 x2", "--psu", "850", status=1)
    assert _rules(answer)["power"] == "fail"
    [cables] = [row["detail"] for row in answer["findings"] if row["rule"] == "cables"]
    assert "2 8-pin connectors" in cables and "on its own cable" in cables


def test_memory_alone_is_answered_from_the_smallest_card_on() -> None:
    sizes = [card["memory_gb"] for card in _answer("--memory", "12")["cards"]]
    assert sizes == sorted(set(sizes)) and sizes[0] == 12
    assert "any workload: at least 12 GiB" in envkit("recommend", "--memory", "12").stdout


def test_slots_that_are_alike_are_told_once() -> None:
    words = ("--gpu", "TITAN V x4", "--slots", "x8,x8,x8,x16", "--pcie", "3", "--psu", "2000")
    lanes = [row["detail"] for row in _answer("machine", *words)["findings"] if row["rule"] == "lanes"]
    assert len(lanes) == 2 and lanes[0].startswith("3 × TITAN V on PCIe 3.0 x8")


def test_no_computer_runs_a_cuda_that_has_no_code_for_it() -> None:
    answer = _answer("--cuda", "7.5", "--form", "any", status=1)
    assert not answer["cards"] and not answer["changes"]


def test_a_budget_is_not_met_by_a_card_without_a_price() -> None:
    answer = _answer("--network", "resnet-50", "--price", "RTX 4090=1799", "--budget", "100", status=1)
    assert answer["status"] == "none" and answer["without_price"]
    [change] = answer["changes"]
    assert change["option"] == "--budget 1799"
    assert _answer("--network", "resnet-50", "--price", "RTX 4090=1799", "--budget", "1799")["status"] == "ok"


def test_words_that_go_with_nothing_are_refused() -> None:
    for words, told in (
        (["--parameters", "7B", "--task", "infer", "--optimizer", "adam"], "--optimizer"),
        (["--network", "resnet-50", "--vocab", "100"], "--vocab"),
        (["--parameters", "7B", "--layers", "80", "--hidden", "8192"], "64.7B"),
        (["--framework", "pytorch==99"], "no PyTorch 99"),
    ):
        done = envkit("recommend", *words)
        assert done.returncode == 2 and told in done.stderr and done.stderr.count("\n") == 1, words
