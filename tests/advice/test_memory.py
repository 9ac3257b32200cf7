"""The memory need, against figures that were worked out by hand from the papers."""

from __future__ import annotations

import pytest

from envkit.advice.memory import GIB, need_of, size_of
from envkit.base.errors import RequestError
from tests.advice.judging import workload

LLAMA = {"parameters": "6.74B", "layers": 32, "hidden": 4096, "heads": 32, "vocabulary": 32000}


def test_full_fine_tuning_takes_sixteen_bytes_a_parameter() -> None:
    # ZeRO: 2 weights, 2 gradients, 12 Adam
    need = need_of(workload(**LLAMA, task="finetune"))
    states = sum(size_of(need, name) for name in ("weights", "gradients", "optimizer"))
    assert states == pytest.approx(16 * 6.74e9)


def test_fp32_adam_takes_sixteen_bytes_too() -> None:
    need = need_of(workload(**LLAMA, task="train", precision="fp32"))
    assert sum(size_of(need, name) for name in ("weights", "gradients", "optimizer")) == pytest.approx(16 * 6.74e9)


@pytest.mark.parametrize(
    ("checkpointing", "bytes_per_cell"),
    [
        ("none", 32 * (34 + 5 * 32 * 2048 / 4096)),
        ("selective", 32 * 34),
        ("full", 32 * 2 + 34 + 5 * 32 * 2048 / 4096),
    ],
)
def test_activations_follow_the_paper(checkpointing: str, bytes_per_cell: float) -> None:
    need = need_of(workload(**LLAMA, task="finetune", sequence=2048, checkpointing=checkpointing))
    assert size_of(need, "activations") == pytest.approx(2048 * 4096 * bytes_per_cell)


def test_the_cache_holds_keys_and_values_of_its_own_heads() -> None:
    need = need_of(workload(**LLAMA, kv_heads=8, task="infer", sequence=1000, batch=3))
    # two of them: the factor that a public calculator leaves out, and a quarter of the heads
    assert size_of(need, "KV cache") == pytest.approx(2 * 32 * 4096 * (8 / 32) * 2 * 3000)


def test_a_convolutional_network_keeps_its_outputs_and_their_gradients() -> None:
    need = need_of(workload(network="resnet-50", batch=64))
    assert size_of(need, "activations") == 11_114_984 * 4 * 64 * 2
    assert size_of(need, "weights") == 25_557_032 * 4


def test_known_needs_of_practice() -> None:
    # what public guides measured: QLoRA 7B about 8 GB, LoRA 7B about 20, full fine-tuning well above one 80 GB card
    gb = {
        task: need_of(workload(parameters="7B", task=name, precision=precision)).whole / GIB
        for task, name, precision in [("qlora", "lora", "int4"), ("lora", "lora", "fp16"), ("full", "finetune", "fp16")]
    }
    assert 6 < gb["qlora"] < 10
    assert 16 < gb["lora"] < 22
    assert 110 < gb["full"] < 150


def test_a_display_takes_its_share() -> None:
    one = workload(network="resnet-50")
    assert need_of(one, display=True).whole > need_of(one).whole + 2 * GIB


@pytest.mark.parametrize(
    "words",
    [
        {"parameters": "seven"}, {"parameters": "0"}, {"parameters": "-7B"}, {"parameters": "9" * 15 + "t"},
        {"network": "resnet-51"}, {"precision": "fp12"}, {"optimizer": "lion"}, {"memory": float("nan")},
        {"memory": -1.0}, {"memory": float("inf")}, {"network": "resnet-50", "parameters": "7B"},
        {"network": "resnet-50", "task": "lora"}, {"parameters": "7B", "heads": 8, "kv_heads": 9},
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_a_line(words: dict[str, object]) -> None:
    with pytest.raises(RequestError) as refused:
        workload(**words)
    assert "\n" not in str(refused.value) and refused.value.hint
