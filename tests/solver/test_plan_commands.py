"""The commands that a plan ends with: complete and pinned, made for the tool that can provide it."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from envkit.base.settings import Mirrors
from envkit.documents.commands import plan_commands
from envkit.documents.plan import plan_document
from envkit.documents.setting import setting_of
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
    shown = plan_summary(plan, commands=commands)
    assert all(len(line) <= 80 or " " not in line.strip() for line in shown.splitlines()[-3:])
    assert " ".join(shown.replace(" \\\n", " ").split()).endswith(" ".join(commands[-1].split()))


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


@pytest.mark.parametrize(
    ("words", "container", "why", "system"),
    [
        (ask("pytorch"), False, "include CUDA", "ubuntu24.04"),
        (ask("tensorflow==2.13"), False, "would be installed on Ubuntu 22.04", "ubuntu22.04"),
        (ask(cuda="12.1", os_id="ubuntu24.04"), True, "CUDA 12.1.1 does not support Ubuntu 24.04", ""),
        (ask("tensorflow==2.13", os_id="ubuntu24.04"), True, "does not support Ubuntu 24.04", ""),
        (ask("tensorflow==2.3", gpus=("6.1",)), True, "Ubuntu 18.04, which no longer gets updates", "ubuntu18.04"),
    ],
)
def test_a_plan_says_whether_a_container_suits_it(words: Request, container: bool, why: str, system: str) -> None:
    plan = plan_of(words)
    setting = setting_of(plan)
    assert setting is not None and setting.container is container and why in setting.why
    told = plan_summary(plan, commands=plan_commands(plan), setting=setting)
    assert ("A container is recommended: " if container else "If you prefer a container:") in " ".join(
        told.split()
    ) and f"  {setting.command}" in told.splitlines()
    # the command has a plan of its own, on a system that CUDA supports
    options = setting.command.split()
    assert ("--os" in options) is bool(system) and (not system or system in options)
    given = dict(zip(options[2::2], options[3::2], strict=False))
    image = plan_of(
        ask(
            *([given["--framework"]] if "--framework" in given else []),
            cuda=given.get("--cuda", ""),
            cudnn=given.get("--cudnn", ""),
            python=given.get("--python", ""),
            os_id=given.get("--os"),
            container=True,
        )
    )
    assert image.choice.os is not None and (not container or image.choice.os.os_id != words.os_id)


@pytest.mark.parametrize(
    "words",
    [ask("pytorch", platform="windows"), ask("tensorflow-serving"), ask("torch7"), ask("pytorch", container=True)],
)
def test_where_there_is_no_choice_nothing_is_said_of_it(words: Request) -> None:
    assert setting_of(plan_of(words)) is None


def test_frameworks_that_bound_numpy_share_one_bound() -> None:
    commands = " ".join(plan_commands(plan_of(ask("tensorflow", "jax"))))
    assert len(re.findall(r"'numpy[<>=]", commands)) == 1, commands


def test_a_gpu_newer_than_the_cuda_is_named_as_why_the_driver_is() -> None:
    page = " ".join(plan_summary(plan_of(ask("mxnet", gpus=("GeForce RTX 4090",)))).split())
    assert "520.56.06 or newer (the first for the NVIDIA GeForce RTX 4090)" in page
    assert "TORCH_CUDA_ARCH_LIST" not in page
