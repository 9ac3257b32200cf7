"""What questions of an audit and of a sixth set taught: rows that were missing, and answers that were known."""

from __future__ import annotations

import pytest

from envkit.base.errors import RequestError
from envkit.solver.having import resolve_having
from envkit.solver.model import Plan
from envkit.solver.parse import parse_framework, parse_gpu
from envkit.tables.known_bases import gpus_of_month
from envkit.tables.loader import read
from envkit.tables.rows import PackageRequirements
from tests.solver.asking import ask, matrix, plan_of, refusal_of


def test_a_torch_for_cuda_12_9_whose_nccl_pip_refuses_beside_tensorflow() -> None:
    """pip: torch 2.10.0 requires NCCL 2.27.5, TensorFlow 2.21 one from 2.27.7 on."""
    refused = refusal_of(ask("pytorch==2.10.0", "tensorflow==2.21.0"))
    assert "requires nvidia" in refused.conflicts[0].detail
    assert refusal_of(ask("pytorch==2.10.0", "tensorflow==2.21.0", cuda="12.9"))


def test_a_row_of_torchs_libraries_names_those_that_clash_with_other_packages() -> None:
    rows = [row for row in read(PackageRequirements) if row.package.startswith("torch==2") and row.requires]
    for row in rows:
        names = {line.partition("==")[0].partition(">=")[0].rpartition("-")[0] for line in row.requires or ()}
        assert {"nvidia-cudnn", "nvidia-nccl"} <= names, row


@pytest.mark.parametrize(
    ("asked", "cuda", "package"),
    [
        ("pytorch==2.9.0", "12.9", "torch==2.9.0"),
        ("pytorch==0.1.12", "7.5", "torch==0.1.12.post2"),
        ("pytorch==0.3.0", "9.0", "torch==0.3.0.post4"),
        ("jax==0.4.10", "", "jax[cuda12_pip]==0.4.10"),
        ("jax==0.4.14", "11.8", "jax[cuda11_pip]==0.4.14"),
        ("jax==0.4.1", "11.4", "jax[cuda11_cudnn82]==0.4.1"),
        ("jax==0.2.17", "11.3", "jax[cuda111]==0.2.17"),
        ("cupy==13.4.0", "", "cupy-cuda12x==13.4.0"),
        ("cupy==14.1.0", "13", "cupy-cuda13x==14.1.0"),
    ],
)
def test_releases_that_had_no_row(asked: str, cuda: str, package: str) -> None:
    assert plan_of(ask(asked, cuda=cuda)).choice.builds[0].package == package


def test_the_last_torch_for_the_first_kepler_cards() -> None:
    plan = plan_of(ask("pytorch", gpus=("GeForce GTX 660 Ti",)))
    assert str(plan.choice.builds[0].version) == "0.3.0"
    assert "withdrawn" not in " ".join(plan.warnings)
    assert matrix().builds("pytorch")[0].version < plan.choice.builds[0].version


@pytest.mark.parametrize(
    ("asked", "gpu"),
    [("cupy", "12.0"), ("jax", "6.1"), ("tensorrt", "6.1"), ("onnxruntime==1.22", "8.9"), ("jax", "12.0")],
)
def test_kernels_that_are_known_to_be_there(asked: str, gpu: str) -> None:
    plan = plan_of(ask(asked, gpus=(gpu,)))
    assert {one.status for one in plan.verdicts if one.relation == "gpu-runs-build"} == {"ok"}


def test_cudnn_inside_a_major_and_on_kepler() -> None:
    assert str(plan_of(ask(cuda="11.7", cudnn="8.4.1")).choice.cudnn_version) == "8.4.1.50"
    plan = plan_of(ask(gpus=("Tesla K80",), cudnn="8.7"))
    assert {one.status for one in plan.verdicts if one.relation == "gpu-on-cudnn"} == {"ok"}
    assert not plan_of(ask("caffe", cuda="9.0")).choice.builds[0].on_pypi


def test_keras_is_planned_with_a_framework_that_it_runs_on() -> None:
    newest = resolve_having(ask("keras"), matrix())
    assert isinstance(newest, Plan) and newest.choice.cuda is not None
    old = resolve_having(ask("keras", python="3.8"), matrix())
    assert isinstance(old, Plan)
    assert [build.package for build in old.choice.builds] == ["keras==2.13.1", "tensorflow==2.13.1"]
    assert "TensorFlow was chosen" in old.warnings[0]


@pytest.mark.parametrize("asked", [(), ("cupy",), ("tensorrt",), ("pytorch",), ("jax",)])
def test_one_rule_for_the_system_that_nobody_names(asked: tuple[str, ...]) -> None:
    plan = plan_of(ask(*asked, gpus=("8.9",)))
    assert plan.choice.os is not None and plan.choice.os.os_id == "ubuntu24.04"
    assert str(plan.choice.python) == "3.12"
    toolkit = plan.choice.toolkit
    assert toolkit is None or toolkit.minimum_driver is not None


@pytest.mark.parametrize(
    ("name", "capability"),
    [("p4d.24xlarge", "8.0"), ("g5.xlarge", "8.6"), ("a2-highgpu-1g", "8.0"), ("DGX H100", "9.0")]
    + [("Standard_NC24ads_A100_v4", "8.0"), ("Jetson Thor", "11.0")],
)
def test_machines_that_are_named_in_place_of_their_gpu(name: str, capability: str) -> None:
    assert str(parse_gpu(name, matrix()).compute_capability) == capability


@pytest.mark.parametrize(
    ("name", "told"),
    [("mmcv", "mmcv.readthedocs.io"), ("rapids", "docs.rapids.ai"), ("faiss", "conda install"), ("flash-attn", "8.0")]
    + [("nvidia-tensorflow", "glibc 2.29"), ("triton", "triton-windows"), ("deepspeed", "deepspeed.ai")],
)
def test_software_without_rows_is_told_where_to_look(name: str, told: str) -> None:
    with pytest.raises(RequestError) as refused:
        parse_framework(name, matrix())
    assert told in f"{refused.value.message} {refused.value.hint}"


def test_arm_processors_are_told_of_the_wheels_without_cuda() -> None:
    refused = refusal_of(ask("pytorch", architecture="aarch64", python="3.7"))
    assert any("1.13.1" in way for way in refused.warnings)


def test_a_monthly_container_is_too_new_for_a_kepler_card() -> None:
    row = gpus_of_month("nvcr.io/nvidia/tritonserver", "21.10-py3")
    assert row is not None and str(row.lowest) == "6.0"
    assert gpus_of_month("nvcr.io/nvidia/tritonserver", "24.01-py3") is None
    assert gpus_of_month("nvidia/cuda", "21.10") is None


@pytest.mark.parametrize("name", ["DGX-1", "DGX Station"])
def test_a_machine_of_nvidia_whose_name_tells_no_gpu_is_named_whole_in_the_refusal(name: str) -> None:
    with pytest.raises(RequestError, match=f"unknown value '{name}'"):
        parse_gpu(name, matrix())
