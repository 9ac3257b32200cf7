"""What a text does not mention is no trait of its machine, and a GPU that does not answer is no model."""

from __future__ import annotations

from envkit._startup.records import replace
from envkit.fleet.traits import traits_of
from envkit.ingest import parse_text
from envkit.model import Environment, PythonEnvironment, found


def test_a_text_without_python_has_no_trait_of_it() -> None:
    assert "pythons" not in traits_of(parse_text("torch 2.5.1 is installed, driver 550.54.15"))
    assert "frameworks" not in traits_of(parse_text("Python 3.10.12"))
    bare = Environment()
    here = replace(bare, pythons=found((PythonEnvironment("/usr", None, active=True),), "pythons"))
    assert traits_of(here)["frameworks"] == "none"


def test_a_gpu_that_does_not_answer_is_no_model() -> None:
    table = """| NVIDIA-SMI 550.90.07              Driver Version: 550.90.07      CUDA Version: 12.4     |
|   0  NVIDIA A100-SXM4-80GB          On  |   00000000:1B:00.0 Off |                    0 |
| N/A   33C    P0             72W /  400W |       4MiB /  81559MiB |      0%      Default |
|   1  ERR!                           On  |   00000000:43:00.0 Off |                 ERR! |
"""
    assert traits_of(parse_text(table))["gpu"] == "A100-SXM4-80GB"
