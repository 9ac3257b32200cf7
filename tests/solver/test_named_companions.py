"""What sixty questions of 2026-11-29 taught (questions-6): packages asked for by name, and software without a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from envkit._startup.records import replace
from envkit.api.project import project_report
from envkit.base.errors import RequestError, UnknownFramework
from envkit.checks.engine.findings import Status
from envkit.documents.commands import plan_commands
from envkit.solver.having import resolve_having
from envkit.solver.model import NoPlan, Plan
from envkit.solver.parse import parse_framework, parse_request
from envkit.solver.request import RequestWords
from tests.cli.run import envkit
from tests.project.test_expected import request_of
from tests.solver.asking import matrix


def _answer(*frameworks: str, container: bool = False, **words: Any) -> Plan | NoPlan:
    """The answer to options as a user types them."""
    asked: RequestWords = replace(RequestWords(frameworks=frameworks), **words)
    return resolve_having(parse_request(asked, matrix(), container=container), matrix())


def _refusal(*frameworks: str, **words: Any) -> str:
    refused = _answer(*frameworks, **words)
    assert isinstance(refused, NoPlan), refused
    return " | ".join(conflict.detail for conflict in refused.conflicts)


def _plan(*frameworks: str, **words: Any) -> Plan:
    plan = _answer(*frameworks, **words)
    assert isinstance(plan, Plan), plan
    return plan


def _unknown(name: str, **words: Any) -> str:
    """What is told of software that has no table."""
    asked: RequestWords = replace(RequestWords(), **words)
    with pytest.raises(UnknownFramework) as raised:
        parse_framework(name, matrix(), asked)
    return str(raised.value)


@pytest.mark.parametrize(
    ("frameworks", "told"),
    [
        (
            ("torch==2.8.0", "torchcodec==0.8"),
            "requires torch>=2.9,<2.10, not PyTorch 2.8.0",
        ),
        (("torchcodec==0.8", "torch==2.8.0"), "there is torchcodec 0.6.0, 0.7.0"),
        (("torch==2.10.0", "torchvision==0.26.0"), "for PyTorch 2.10.0 there is torchvision 0.25.0"),
        (
            ("torch==2.0.1", "xformers==0.0.22.post4"),
            "requires torch==2.1.0, not PyTorch 2.0.1",
        ),
        (("torchvision==0.20.0", "vllm==0.9.1"), "vllm 0.9.1 requires torch==2.7.0, not PyTorch 2.5.0"),
    ],
)
def test_the_package_that_clashes_is_named_with_the_releases_that_fit(frameworks: tuple[str, ...], told: str) -> None:
    assert told in _refusal(*frameworks)


@pytest.mark.parametrize(
    ("frameworks", "torch"),
    [
        (("torch==2.8.0", "torchcodec==0.7"), "2.8.0"),
        (("torch==2.8", "torchcodec==0.7"), "2.8.0"),
        (("torch==2.7", "vllm==0.9.1"), "2.7.0"),
        (("torch>=2.6", "vllm==0.9.1"), "2.7.0"),
        (("vllm==0.9.1", "torch>=2.6"), "2.7.0"),
        (("torch>=2.9", "torchcodec==0.9"), "2.9.1"),
    ],
)
def test_what_a_package_needs_narrows_what_is_asked_of_its_framework(frameworks: tuple[str, ...], torch: str) -> None:
    assert str(_plan(*frameworks).choice.builds[0].version) == torch


def test_a_framework_that_is_typed_twice_is_refused() -> None:
    with pytest.raises(RequestError, match="requested both as pytorch==2.8 and as pytorch==2.7"):
        _answer("torch==2.8", "torch==2.7")


def test_an_unknown_release_names_those_for_the_torch_beside_it() -> None:
    with pytest.raises(RequestError, match=r"For PyTorch 2\.0\.1: xformers 0\.0\.20, 0\.0\.21, 0\.0\.22\."):
        _answer("torch==2.0.1", "xformers==0.0.22.post9")


def test_a_release_of_which_an_extra_is_known_is_installed_with_it() -> None:
    plan = _plan("sglang==0.4.10.post1", driver="535.183.01", python="3.12")
    assert plan.choice.builds[0].package == "torch==2.7.1" and plan.choice.builds[0].on_pypi
    assert plan_commands(plan)[-1] == "python -m pip install 'sglang[all]==0.4.10.post1'"
    assert any("sgl-kernel==0.2.8" in line for line in plan.background)
    assert any("branch 550" in line and "0.4.9.post2" in line for line in plan.warnings)
    newer = _plan("sglang==0.4.10.post1", driver="570.86.10", python="3.12")
    assert not any("cuGreenCtxDestroy" in line for line in newer.warnings)


def test_windows_takes_xformers_from_the_index_of_pytorch() -> None:
    plan = _plan("torch==2.5.1", "xformers", os_id="windows", python="3.10")
    assert plan.choice.builds[0].index_url == "https://download.pytorch.org/whl/cu124"
    place = "--index-url https://download.pytorch.org/whl/cu124"
    assert plan_commands(plan)[-1] == f"python -m pip install xformers==0.0.29.post1 {place}"


def test_a_build_that_fits_is_not_said_to_be_missing() -> None:
    """pytorch/builder#1971: torch 2.4.0 has wheels for 64-bit Arm with CUDA, torchvision has none."""
    refused = _answer("torch==2.4.0", "torchvision", gpus=("GH200",), arch="aarch64")
    assert isinstance(refused, NoPlan)
    detail = refused.conflicts[0].detail
    assert "PyTorch 2.4.0 for CUDA 12.4 fits, but no torchvision is known to be built for it" in detail
    assert any("for the CPU only" in line for line in refused.background)


@pytest.mark.parametrize(
    ("frameworks", "cuda", "told"),
    [
        (("bitsandbytes==0.46.0",), "12.9", "0.46.1 up to 12.9"),
        (("torch==1.7.0", "torchvision==0.8.0"), "11.0", "Use torchvision 0.8.1"),
    ],
)
def test_a_release_without_a_library_for_the_cuda_is_refused(frameworks: tuple[str, ...], cuda: str, told: str) -> None:
    assert told in _refusal(*frameworks, cuda=cuda)


def test_releases_with_a_library_for_the_cuda_are_not() -> None:
    assert _plan("bitsandbytes==0.46.1", cuda="12.9")
    assert str(_plan("bitsandbytes==0.46.0", cuda="12.8").choice.cuda) == "12.8"
    plan = _plan("torch==1.7.0", "torchvision", cuda="11.0")
    assert "torchvision==0.8.1+cu110" in " ".join(plan_commands(plan))


def test_wheels_for_another_system_are_no_wheels() -> None:
    beside = ("torch==1.9.0", "detectron2")
    told = _unknown("detectron2", frameworks=beside, os_id="windows", cuda="11.1")
    assert "are for Linux only: on Windows, compile it from source" in told and "Its wheels for PyTorch" not in told
    assert "Its wheels for PyTorch 1.9.0: 0.6" in _unknown("detectron2", frameworks=beside)


def test_wheels_of_other_releases_of_the_same_major_are_told() -> None:
    told = _unknown("flash-attn==2.7.3", frameworks=("torch==2.7.0", "flash-attn==2.7.3"))
    assert "Its wheels for PyTorch 2.7.0: 2.7.4.post1 (CUDA 12), 2.8.3 (CUDA 12)" in told
    assert (
        "Its wheels" not in _unknown("mmcv==1.4.0", frameworks=("torch==1.10.0", "mmcv==1.4.0")).partition(". Its")[0]
    )


@pytest.mark.parametrize(
    ("name", "words", "told"),
    [
        ("mmcv", {"frameworks": ("torch==1.2.0", "mmcv")}, "PyTorch before 1.3 needs mmcv 0.4.x"),
        ("mmcv==1.4.0", {"frameworks": ("torch==1.10.0", "mmcv==1.4.0")}, "is mmcv-full, whose wheels are listed"),
        ("transformer-engine==1.13", {"frameworks": ("transformer-engine==1.13",)}, "set CUDNN_PATH"),
        ("transformer-engine", {"frameworks": ("transformer-engine==2.5",)}, "--no-build-isolation"),
        ("rapids", {"cuda": "10.1"}, "0.19 is the last release for CUDA 10.1"),
        ("numba", {"cuda": "13.0"}, "numba-cuda[cu13]"),
        ("spacy", {"cuda": "cu130"}, "install spacy without an extra and cupy-cuda13x"),
        ("torch-scatter", {"frameworks": ("torch==2.7.0",), "cuda": "12.8"}, "torch-2.7.0+cu128.html"),
    ],
)
def test_what_is_known_of_software_without_a_table(name: str, words: dict[str, Any], told: str) -> None:
    assert told in _unknown(name, **words)


@pytest.mark.parametrize(
    ("name", "words", "untold"),
    [
        ("mmcv", {"frameworks": ("torch==2.1.0", "mmcv")}, "0.4.x"),
        ("rapids", {"cuda": "12.2"}, "0.19"),
        ("numba", {"cuda": "12.4"}, "cu13"),
        ("spacy", {}, "cupy-cuda13x"),
    ],
)
def test_what_is_not_meant_is_not_told(name: str, words: dict[str, Any], untold: str) -> None:
    assert untold not in _unknown(name, **words)


def test_an_unknown_name_does_not_lose_the_rest() -> None:
    asked = [
        "--framework",
        "spacy",
        "--framework",
        "cupy",
        "--framework",
        "no-such",
        "--cuda",
        "13.0",
        "--target",
        "any",
    ]
    done = envkit("resolve", *asked)
    assert done.returncode == 2
    assert "cupy-cuda13x" in done.stdout
    assert "without no-such" in done.stderr and "cupy-cuda13x (13.6 or newer)" in done.stderr
    assert "unknown value 'no-such'" in done.stderr
    for form in ("json", "pip"):  # programs read it: nothing is left out
        done = envkit("resolve", *asked, "--format", form)
        assert (done.returncode, done.stdout) == (2, "")


def test_wsl_needs_no_cuda_and_docker_desktop_a_release_of_its_own() -> None:
    def told(**words: Any) -> str:
        return " | ".join(_answer("tensorflow==2.16.1", os_id="wsl", **words).background)

    assert "include their own CUDA, so neither a CUDA toolkit" in told(driver="555.85")
    assert "Docker Desktop must be 4.31 or newer" in told(driver="555.85", container=True)
    assert "Docker Desktop" not in told(driver="552.22", container=True) + told(driver="555.85")


def test_a_board_is_told_the_newest_wheel_of_its_jetpack() -> None:
    asked: dict[str, Any] = {"gpus": ("Jetson Orin Nano",), "arch": "aarch64", "cuda": "11.4"}
    refused = _answer("torch==2.5.1", **asked)
    assert isinstance(refused, NoPlan)
    (line,) = [one for one in refused.warnings if "L4T 35" in one and "wheel" in one]
    assert "no wheel of PyTorch 2.5.1 is on record" in line and "the newest is NVIDIA's PyTorch 2.1.0" in line
    exact = _answer("torch==2.1.0", **asked)
    assert any(one.startswith("NVIDIA's PyTorch 2.1.0 for L4T 35") for one in exact.warnings)


def test_the_tensorrt_of_a_board_is_for_its_python() -> None:
    refused = _answer("tensorrt", gpus=("Jetson AGX Xavier",), arch="aarch64", python="3.8")
    assert isinstance(refused, NoPlan)
    assert "part of its JetPack" in refused.conflicts[0].detail
    assert any("3.6 in JetPack 4, 3.8 in JetPack 5" in one for one in refused.warnings)


def test_the_last_tensorrt_for_a_gpu_is_told() -> None:
    plan = _plan("tensorrt", gpus=("Tesla V100",))
    assert (
        "the last TensorRT release that supports the Tesla V100 (sm_70) is 10.4.0; 10.5.0 and newer need"
        in " ".join(plan.background)
    )
    assert not any(
        "the last TensorRT release" in line for line in _plan("tensorrt", gpus=("GeForce RTX 4090",)).background
    )


def test_the_wheel_of_vllm_for_cuda_11_8_is_named_once_and_as_its_release_names_it() -> None:
    refused = _answer("vllm==0.7.3", driver="510.108.03", python="3.10")
    assert isinstance(refused, NoPlan)
    (line,) = [one for one in refused.warnings if "+cu118" in one]
    assert "vllm-0.7.3+cu118-cp38-abi3-manylinux1_x86_64.whl" in line


def test_conda_forge_has_2_7_1_for_cuda_12_9() -> None:
    asked = ["--framework", "pytorch==2.7.1", "--cuda", "12.9", "--python", "3.12", "--format", "conda"]
    out = envkit("resolve", *asked, "--target", "any").stdout
    assert "pytorch-gpu with cuda-version=12.9 (or 12.6)" in out and "'pytorch=2.7.1=cuda129*'" in out
    assert "  - pytorch-gpu=2.7.1\n  - cuda-version=12.9\n" in out and "pip" not in out.partition("dependencies")[2]
    usual = envkit("resolve", *[word.replace("12.9", "12.6") for word in asked], "--target", "any").stdout
    assert '"torch==2.7.1"' in usual and "pytorch-gpu=2.7.1" not in usual


_UV = """[project]
name = "docs-index"
version = "0.1.0"
requires-python = ">=3.12"
dependencies = ["torch==2.8.0"{more}]
{dynamic}
[tool.uv.sources]
torch = {{ index = "pytorch-cpu" }}
torchvision = {{ index = "pytorch-cpu" }}

[[tool.uv.index]]
name = "pytorch-cpu"
url = "https://download.pytorch.org/whl/cpu"
explicit = true
"""


@pytest.mark.parametrize(
    ("more", "dynamic", "found"),
    [
        ("", "", True),
        (', "torchvision"', "", False),
        ("", '[dependency-groups]\ndev = ["torchvision==0.23.0"]', False),
        ("", '[project.optional-dependencies]\ngpu = ["torchvision"]', False),
        ("", "[tool.uv.workspace]\nmembers = ['a']", False),
    ],
)
def test_a_source_for_what_the_project_does_not_ask_for(more: str, dynamic: str, found: bool, tmp_path: Path) -> None:
    """rhel-lightspeed/docs2db#2: torchvision of the default index beside a torch for the CPU."""
    file = tmp_path / "pyproject.toml"
    file.write_text(_UV.format(more=more, dynamic=dynamic), encoding="utf-8")
    report = project_report(str(file), request_of("--os ubuntu24.04", matrix()), matrix())
    told = [one for one in report.findings if one.id == "project.source-without-effect"]
    assert [(one.status, one.subject) for one in told] == ([(Status.WARN, "line 9: torchvision")] if found else [])


@pytest.mark.parametrize(
    ("text", "target", "told"),
    [
        ("torch<2\ntorchaudio\n", "--python 3.12", "Use Python 3.11: torch==1.13.1 has a wheel for it"),
        ("torch==1.13.1\n", "--python 3.12 --gpu 12.0", ""),  # which has no code for the GPU on any Python
        ("torch\n", "--python 3.8", ""),
    ],
)
def test_an_older_python_is_named_first(text: str, target: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text(text, encoding="utf-8")
    report = project_report(str(file), request_of(f"--os ubuntu22.04 {target}", matrix()), matrix())
    advice = " ".join(one.remedy.advice for one in report.findings if one.remedy is not None)
    assert told in advice if told else "Use Python" not in advice


def test_the_json_of_an_answer_holds_the_notes() -> None:
    asked = ["--framework", "bitsandbytes==0.46.0", "--cuda", "12.9", "--target", "any", "--json"]
    document = json.loads(envkit("resolve", *asked).stdout)
    assert "BNB_CUDA_VERSION=128" in json.dumps(document)
