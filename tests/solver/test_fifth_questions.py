"""What the fifth set of questions taught (questions-5), and the misses of the sixty before it."""

from __future__ import annotations

from pathlib import Path

import pytest

from envkit.api.project import project_report
from envkit.base.errors import RequestError
from envkit.base.settings import Mirrors
from envkit.base.versions import ComputeCapability, Version
from envkit.checks.engine.findings import Finding, Status
from envkit.compat.gpu import gpu_runs_cuda
from envkit.compat.pythons import python_has_wheel
from envkit.compat.system import runfile_on_os
from envkit.documents.packages import package_list
from envkit.render.plan_text import plan_summary
from envkit.render.plans.conda import written
from envkit.solver.having import resolve_having
from envkit.solver.model import NoPlan
from envkit.solver.parse import parse_framework, parse_request
from envkit.solver.request import RequestWords
from tests.project.test_expected import request_of
from tests.solver.asking import ask, matrix, plan_of, refusal_of

ANY = "--os ubuntu22.04"


def findings(text: str, target: str, folder: Path, name: str = "requirements.txt") -> tuple[Finding, ...]:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return project_report(str(file), request_of(target, matrix()), matrix()).findings


def told(text: str, target: str, folder: Path, name: str = "requirements.txt") -> dict[str, str]:
    """The titles of what is wrong, by id."""
    return {
        one.id: one.title for one in findings(text, target, folder, name) if one.status in (Status.FAIL, Status.WARN)
    }


def test_tensorflow_2_14_without_its_extra_on_python_3_11(tmp_path: Path) -> None:
    """tensorflow/tensorflow#61986: the extra requires tensorrt 8.5.3.1, which ends with Python 3.10."""
    plan = plan_of(ask("tensorflow==2.14", python="3.11"))
    assert plan.choice.builds[0].package == "tensorflow==2.14.1" and plan.choice.needs_toolkit
    assert plan_of(ask("tensorflow==2.14", python="3.10")).choice.builds[0].package == "tensorflow[and-cuda]==2.14.1"
    pinned = "tensorflow[and-cuda]==2.14.1\n"
    assert (
        "requires tensorrt 8.5.3.1" in told(pinned, f"{ANY} --python 3.11", tmp_path)["project.python-without-package"]
    )
    assert not told(pinned, f"{ANY} --python 3.10", tmp_path)
    extra = next(row for row in matrix().builds("tensorflow") if row.package == "tensorflow[and-cuda]==2.14.1")
    assert "no wheel for Python 3.8" in python_has_wheel(extra, Version.parse("3.8")).detail


def test_tensorflow_2_15_0_asks_for_a_tensorrt_that_the_index_does_not_have(tmp_path: Path) -> None:
    """NVIDIA/TensorRT#2933; the post release of it asks for none."""
    target = f"{ANY} --python 3.11"
    wrong = told("tensorflow[and-cuda]==2.15.0\n", target, tmp_path)
    assert "tensorrt-libs" in wrong["project.known-to-break"]
    for fine in ("tensorflow[and-cuda]==2.15.0.post1\n", "tensorflow[and-cuda]==2.15.1\n", "tensorflow==2.15.0\n"):
        assert "project.known-to-break" not in told(fine, target, tmp_path)


def test_sglang_for_cuda_13_beside_a_torch_for_cuda_12(tmp_path: Path) -> None:
    """sgl-project/sglang#25069: cuda-python 13 and the cuda-bindings of PyTorch's builds for CUDA 12."""
    index = "--extra-index-url https://download.pytorch.org/whl/cu128\n"
    wrong = told(f"{index}sglang==0.5.11\ntorch==2.11.0+cu128\n", f"{ANY} --python 3.12", tmp_path)
    assert "cuda-python 13" in wrong["project.known-to-break"]
    assert "project.known-to-break" not in told("sglang==0.5.11\ntorch==2.11.0\n", f"{ANY} --python 3.12", tmp_path)


def test_tensorflow_addons_is_tested_with_three_releases_and_refuses_none(tmp_path: Path) -> None:
    found = findings("tensorflow==2.9.1\ntensorflow-addons==0.16.1\n", f"{ANY} --python 3.9", tmp_path)
    (one,) = (one for one in found if one.id == "project.requirements-clash")
    assert one.status is Status.WARN and "tested only with tensorflow>=2.6,<2.9" in one.title
    fine = told("tensorflow==2.8.4\ntensorflow-addons==0.16.1\n", f"{ANY} --python 3.9", tmp_path)
    assert "project.requirements-clash" not in fine


def test_triton_windows_is_for_windows_and_one_torch() -> None:
    plan = plan_of(ask("triton-windows==3.5.1.post24", platform="windows", gpus=("GeForce RTX 4070",)))
    assert str(plan.choice.builds[0].version).startswith("2.9.")
    refused = refusal_of(ask("triton-windows", gpus=("GeForce RTX 4070",)))
    assert "built for Windows, not for Linux" in refused.conflicts[0].detail
    old = refusal_of(ask("triton-windows==3.5.1.post24", platform="windows", gpus=("GeForce RTX 2060",)))
    assert any("8.0" in conflict.detail for conflict in old.conflicts)


def test_extensions_are_compiled_for_what_nvcc_of_the_packages_knows() -> None:
    """NVlabs/tiny-cuda-nn#239: nvcc 11.3 has no sm_89, and code for 8.6 runs on it."""
    plan = plan_of(ask("pytorch==1.10", cuda="11.3", gpus=("GeForce RTX 4090",)))
    lines = " ".join(plan_summary(plan).split())
    assert "TORCH_CUDA_ARCH_LIST=8.6 CMAKE_CUDA_ARCHITECTURES=86 (nvcc 11.3 does not compile for 8.9" in lines
    newer = plan_of(ask("pytorch==2.6", cuda="12.4", gpus=("GeForce RTX 4090",)))
    assert "does not compile" not in plan_summary(newer) and "TORCH_CUDA_ARCH_LIST=8.9" in plan_summary(newer)
    refused = gpu_runs_cuda(ComputeCapability.parse("8.6"), Version.parse("10.1"), matrix())
    assert "needs CUDA 11.0 or newer (11.1 or newer to compile for it)" in refused.detail


def test_a_toolkit_runs_in_wsl_whatever_is_inside() -> None:
    wsl = matrix().operating_system("wsl")
    toolkits = {str(row.version): row for row in matrix().toolkits}
    assert wsl is not None
    assert runfile_on_os(wsl, toolkits["11.8.0"]).status == "ok"
    assert runfile_on_os(wsl, toolkits["9.0.176"]).status == "unknown"


def test_cuda_9_0_has_no_packages_for_ubuntu_14_04() -> None:
    """alpaka-group/alpaka#410."""
    (row,) = (row for row in matrix().toolkits if str(row.version) == "9.0.176")
    assert row.os_ids is not None and "ubuntu14.04" not in row.os_ids and "ubuntu16.04" in row.os_ids


@pytest.mark.parametrize(
    ("framework", "expected"),
    [
        ("onnxruntime", ("1.17.0 for L4T 35", "wget -O onnxruntime_gpu-1.17.0-cp38", "jp6/cu126")),
        ("jax", ("have no code for Jetson Orin (8.7)", "dustynv/jax:r36.4.0", "jetson-containers build jax")),
        ("pytorch", ("python -m pip install https://developer.download.nvidia.com/compute/redist/jp/v512",)),
    ],
)
def test_an_orin_is_told_of_what_is_built_for_it(framework: str, expected: tuple[str, ...]) -> None:
    asked = ask(framework, gpus=("Jetson AGX Orin",), architecture="aarch64", platform="jetson")
    refused = resolve_having(asked, matrix())
    assert isinstance(refused, NoPlan)
    said = " ".join(refused.warnings)
    assert all(words in said for words in expected), said
    assert "pip install https://nvidia.box.com" not in said  # pip cannot tell what such a file is for


def test_grace_hopper_has_builds_for_cuda_12_9() -> None:
    plan = plan_of(ask("pytorch", cuda="12.9", gpus=("GH200",), architecture="aarch64"))
    assert str(plan.choice.builds[0].version) == "2.9.1"


def test_a_plan_says_which_cudnn_a_script_takes() -> None:
    plan = plan_of(ask("paddlepaddle==3.0", cuda="12.6"))
    chosen = plan.choice.cudnn
    assert chosen is not None and not chosen.sha256
    lines = " ".join(plan_summary(plan).split())
    assert f"cuDNN {chosen.version} (install scripts use 9." in lines
    assert "install scripts take" not in plan_summary(plan_of(ask("paddlepaddle==3.0", cudnn="9.5")))


def test_conda_forge_compiles_for_blackwell_from_cuda_12_9_on(tmp_path: Path) -> None:
    text = "dependencies:\n  - python=3.12\n  - pytorch-gpu\n  - cuda-version={}\n"
    target = '--gpu "GeForce RTX 5090" --driver 580.65.06 --os ubuntu24.04 --python 3.12'
    assert not told(text.format("12.9"), target, tmp_path, "environment.yml")
    assert "project.gpu-without-code" in told(text.format("12.6"), target, tmp_path, "environment.yml")


@pytest.mark.parametrize(
    ("name", "expected"),
    [("mxnet-cu113", "loads NCCL from the system"), ("sgl-kernel", "SGLang")],
)
def test_names_that_are_no_frameworks(name: str, expected: str) -> None:
    with pytest.raises(RequestError, match=expected):
        parse_framework(name, matrix())


def test_flash_attn_whose_wheels_for_torch_2_6_do_not_load(tmp_path: Path) -> None:
    """Dao-AILab/flash-attention#1783."""
    target = '--gpu "A100 PCIe" --driver 550.54.14 --python 3.11 --os ubuntu22.04'
    wrong = told("torch==2.6.0\nflash-attn==2.8.2\n", target, tmp_path)
    assert "undefined symbol" in wrong["project.known-to-break"]
    for fine in ("torch==2.6.0\nflash-attn==2.7.4.post1\n", "torch==2.7.1\nflash-attn==2.8.2\n"):
        assert "project.known-to-break" not in told(fine, target, tmp_path)


def test_what_is_made_for_tensorflow_is_planned_by_its_name() -> None:
    plan = resolve_having(ask("tensorflow-addons==0.16.1", python="3.9"), matrix())
    assert not isinstance(plan, NoPlan)
    assert plan.choice.builds[0].package == "tensorflow==2.8.4"
    assert any("python -m pip install tensorflow-addons==0.16.1" in line for line in plan.warnings)
    older = resolve_having(ask("tensorflow==2.6", "tensorflow-addons", python="3.8"), matrix())
    assert any("tensorflow-addons==0.16.1" in line for line in older.warnings)


def test_an_older_triton_for_windows_is_found_for_its_torch() -> None:
    words = RequestWords(("pytorch==2.7.1", "triton-windows"), os_id="windows", gpus=("GeForce RTX 4070",))
    plan = resolve_having(parse_request(words, matrix(), container=False), matrix())
    assert any("triton-windows==3.3.1.post21" in line for line in plan.warnings)


def test_macos_and_kernels_of_the_machine_are_told_by_name() -> None:
    with pytest.raises(RequestError, match="macOS"):
        request_of("--os macos", matrix())
    with pytest.raises(RequestError) as refused:
        parse_framework("deepspeed", matrix())
    assert "nvcc must have the same CUDA major version" in str(refused.value.hint)


def test_what_the_second_round_taught(tmp_path: Path) -> None:
    clash = told("torch==1.13.1\nxformers==0.0.19\n", f"{ANY} --python 3.10", tmp_path)
    assert "requires torch==2.0.0" in clash["project.requirements-clash"]
    refused = refusal_of(ask("pytorch==0.3.1", os_id="centos6", python="3.6"))
    assert "needs glibc 2.17 or newer, but" in refused.conflicts[0].detail
    with pytest.raises(RequestError, match="--framework sglang"):
        parse_framework("sgl-kernel", matrix())


def test_a_file_for_conda_names_the_builds_of_conda_forge() -> None:
    text = written(package_list(plan_of(ask("pytorch", cuda="12.6", python="3.12")), Mirrors(), "conda"))
    assert "cuda-version=13.0 (or 12.6, 12.9)" in text and "CONDA_OVERRIDE_CUDA=13.0" in text
    assert "pytorch-gpu" not in written(package_list(plan_of(ask("jax", python="3.12")), Mirrors(), "conda"))
