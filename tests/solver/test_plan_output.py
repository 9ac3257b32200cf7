"""The plan as JSON (the keys that the interface fixes) and as text (80 columns)."""

from __future__ import annotations

import json

import pytest

from envkit.documents.plan import plan_document
from envkit.render.plan_text import plan_summary
from envkit.solver.model import Alternative, Conflict, NoPlan
from envkit.solver.request import Request
from envkit.solver.solve import resolve
from tests.solver.asking import ask, matrix, plan_of, refusal_of

REQUESTS = [
    ask("pytorch", cuda="9.0", needs_toolkit=True),
    ask("pytorch", cuda="9.0", gpus=("H100 PCIe",), needs_toolkit=True),
    ask("pytorch", "tensorflow", container=True),
    ask("tensorflow==2.10", platform="windows"),
    ask("mxnet", gpus=("Tesla K80",), driver="470.256.02"),
    ask(),
    ask("pytorch==2.6", gpus=("GeForce RTX 5090",), driver="384.81", python="3.7", os_id="centos7"),
]


def test_a_plan_has_the_keys_of_the_interface() -> None:
    document = json.loads(json.dumps(plan_document(plan_of(REQUESTS[0]))))
    assert (document["schema"], document["status"]) == (1, "ok")
    choice = document["choice"]
    wanted = {
        "cuda": "9.0.176",
        "cudnn": "7.4.2.24",
        "python": "3.7",
        "os": "ubuntu16.04",
        "arch": "x86_64",
        "base_image": None,
        "minimum_driver": "384.81",
    }
    assert {key: choice[key] for key in wanted} == wanted
    (framework,) = choice["frameworks"]
    assert framework["name"] == "pytorch" and framework["package"] == "torch==1.1.0"
    assert framework["cuda"] == "9.0" and framework["bundles_cuda"] is True and "index_url" in framework
    assert all(set(verdict) == {"relation", "status", "detail", "source"} for verdict in document["verdicts"])
    assert document["alternatives"][0]["changes"] == {"cuda": "13.2"} and document["alternatives"][0]["gain"]
    assert isinstance(document["warnings"], list)


def test_a_refusal_has_the_keys_of_the_interface() -> None:
    document = json.loads(json.dumps(plan_document(refusal_of(REQUESTS[1]))))
    assert (document["schema"], document["status"]) == (1, "none")
    (conflict,) = document["conflicts"]
    assert set(conflict) == {"between", "detail", "source"} and conflict["between"][1] == "cuda 9.0"
    assert document["alternatives"][0]["changes"] == {"cuda": "11.8"}
    assert "choice" not in document and document["rejected"]["gpu-runs-cuda"] > 0


def test_the_image_is_named_in_full() -> None:
    choice = plan_document(plan_of(REQUESTS[2]))["choice"]
    assert isinstance(choice, dict) and str(choice["base_image"]).startswith("nvidia/cuda:")


@pytest.mark.parametrize("request_", REQUESTS, ids=str)
def test_text_fits_80_columns_and_json_can_be_written(request_: Request) -> None:
    plan = resolve(request_, matrix())
    text = plan_summary(plan)
    assert all(len(line) <= 80 and line == line.rstrip() for line in text.splitlines())
    assert json.loads(json.dumps(plan_document(plan)))["status"] in ("ok", "none")


def test_the_text_of_a_plan_says_what_and_why() -> None:
    text = plan_summary(plan_of(REQUESTS[0]))
    assert "torch==1.1.0" in text and "9.0.176 (system toolkit)" in text and "384.81 or newer" in text
    assert "Why these versions" in text and "Sources" not in text and "--cuda 13.2" in text
    assert "Sources" in plan_summary(plan_of(REQUESTS[0]), verbose=True)


def test_the_text_of_a_refusal_says_what_clashes_and_what_would_do() -> None:
    text = plan_summary(refusal_of(REQUESTS[1]))
    assert text.startswith("No solution") and "needs CUDA" in text and "--cuda 11.8  PyTorch" in text


def test_values_that_a_shell_would_read_are_quoted() -> None:
    refused = NoPlan(
        Request(),
        (Conflict(("a", "b"), "they clash"),),
        (Alternative({"gpu": "GeForce RTX 3090"}, "works"),),
        ("note",),
    )
    text = plan_summary(refused)
    assert "--gpu 'GeForce RTX 3090'  works" in text and "- note" in text and "Sources" not in text


def test_a_long_word_is_kept_whole() -> None:
    url = "https://example.org/" + "x" * 90
    text = plan_summary(NoPlan(Request(), (Conflict(("a", "b"), f"see {url} there"),)))
    assert any(line.strip() == url for line in text.splitlines())
