"""The commands that a plan ends with: complete and pinned, made for the tool that can bring it."""

from __future__ import annotations

import json
import shlex

import pytest

from envkit.base.settings import Mirrors
from envkit.documents.commands import plan_commands
from envkit.documents.plan import plan_document
from envkit.render.plan_text import plan_summary
from envkit.solver.request import Request
from tests.solver.asking import ask, plan_of

TORCH = ask("pytorch==2.6", gpus=("GeForce RTX 4090",), driver="550.127.08", python="3.11")


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        # PyTorch, previous versions: v2.6.0 with torchvision 0.21.0 and torchaudio 2.6.0; cu124 is on PyPI
        (TORCH, ["python -m pip install torch==2.6.0 torchvision==0.21.0 torchaudio==2.6.0"]),
        (
            ask("pytorch==2.6", cuda="11.8"),
            [
                "python -m pip install torch==2.6.0 torchvision==0.21.0 torchaudio==2.6.0 --index-url "
                "https://download.pytorch.org/whl/cu118"
            ],
        ),
        (ask(cuda="12.4.1", os_id="ubuntu22.04"), ["envkit install --cuda 12.4.1"]),
        (ask("pytorch==2.6", container=True), ["envkit dockerfile --framework pytorch==2.6.0"]),
        (ask("mxnet==1.9.1", os_id="ubuntu20.04"), ["envkit install --framework mxnet==1.9.1"]),
    ],
    ids=("index", "other-index", "toolkit", "image", "toolkit-of-framework"),
)
def test_a_plan_ends_with_its_commands(request_: Request, expected: list[str]) -> None:
    plan = plan_of(request_)
    commands = plan_commands(plan)
    assert len(commands) == len(expected)
    assert all(command.startswith(start) for command, start in zip(commands, expected, strict=True)), commands
    assert plan_document(plan)["commands"] == list(commands)
    assert plan_summary(plan, commands=commands).splitlines()[-1].strip() == commands[-1]


def test_every_word_of_a_command_is_one_for_the_shell() -> None:
    (command,) = plan_commands(plan_of(ask("jax", driver="550.54.15")))
    assert all("<" not in word or word[0].isalnum() for word in shlex.split(command))
    assert "jax[cuda12]==" in "".join(shlex.split(command))


def test_windows_reads_double_quotes() -> None:
    (command,) = plan_commands(plan_of(ask("tensorflow==2.10", platform="windows")))
    assert "'" not in command and '"' in command


def test_a_mirror_stands_in_for_the_index() -> None:
    mirrors = Mirrors({"download.pytorch.org": "https://mirror.lan/torch"}, "https://mirror.lan/simple")
    (command,) = plan_commands(plan_of(ask("pytorch==2.6", cuda="11.8")), mirrors)
    assert command.endswith("--index-url https://mirror.lan/torch/whl/cu118")
    assert plan_commands(plan_of(TORCH), mirrors)[0].endswith("--index-url https://mirror.lan/simple")


def test_companions_are_named_with_their_framework() -> None:
    document = json.loads(json.dumps(plan_document(plan_of(TORCH))))
    assert document["choice"]["frameworks"][0]["companions"] == ["torchvision==0.21.0", "torchaudio==2.6.0"]
