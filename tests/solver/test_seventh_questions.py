"""What a seventh set of questions taught: the sentences that an expert adds to an answer, and missing rows."""

from __future__ import annotations

import pytest

from envkit._startup.records import replace
from envkit.base.errors import RequestError
from envkit.solver.having import resolve_having
from envkit.solver.model import NoPlan, Plan
from envkit.solver.parse import parse_framework
from envkit.solver.request import Request, RequestWords
from tests.cli.run import envkit
from tests.solver.asking import ask, matrix, plan_of, refusal_of, status_of


def _told(request: Request) -> str:
    """What is told around the answer to a request."""
    return " | ".join(resolve_having(request, matrix()).background)


def _answer(request: Request) -> Plan | NoPlan:
    return resolve_having(request, matrix())


@pytest.mark.parametrize(
    ("request_", "sentences"),
    [
        (
            ask("pytorch==2.6.0"),
            [
                "PyTorch 2.6.0 is built for CUDA 11.8 (cuDNN 9.1, driver 450.80.02 or newer), 12.4 (cuDNN 9.1",
                "for Python 3.9, 3.10, 3.11, 3.12, and 3.13",
                "releases that match PyTorch 2.6.0: torchvision 0.21.0, torchaudio 2.6.0",
            ],
        ),
        (
            replace(ask("pytorch", python="3.9", platform="windows"), asked=frozenset({"python"})),
            ["PyTorch releases for Python 3.9 on Windows: 1.7.1 to 2.8.0"],
        ),
        (
            ask(cuda="12.4", driver="470.82", gpus=("GeForce RTX 3090",), container=True),
            ["by the cuda-compat package in it; a GeForce card does not, and needs driver 525.60.13 or newer"],
        ),
        (ask("jax", cuda="12.4"), ["JAX releases for CUDA 12.4: 0.4.7 to 0.4.23, 0.4.26 to"]),
        (ask("jax", cuda="12.4", cudnn="9.0"), ["cuDNN 8.9: 0.4.12 to 0.4.28; cuDNN 9.1: 0.4.29 to"]),
        (
            ask("bitsandbytes", python="3.9", cuda="12.1", platform="windows"),
            ["wheels for Windows and Python 3.9 on the default index in these releases: 0.43.0 to 0.48.2"],
        ),
        (
            ask("bitsandbytes==0.43.1", architecture="aarch64"),
            ["bitsandbytes has wheels for Linux aarch64 on the default index in these releases: 0.46.0 and newer"],
        ),
        (
            ask(cuda="11.2", platform="windows"),
            [
                "nvcc 11.2 compiles with Visual Studio 2017 to 2019; CUDA 11.6 is the first for Visual Studio 2022",
                "CUDA 11.1 is the last for Visual Studio 2015",
            ],
        ),
        (
            ask(cuda="11.8", platform="windows"),
            ["Visual Studio 2017 to 2022 17.9; CUDA 12.4 is the first for newer updates of 2022"],
        ),
    ],
)
def test_what_is_told_around_an_answer(request_: Request, sentences: list[str]) -> None:
    told = _told(request_)
    assert [sentence for sentence in sentences if sentence not in told] == [], told


def test_an_older_bitsandbytes_is_taken_for_an_older_python() -> None:
    plan = _answer(ask("bitsandbytes", python="3.9", cuda="12.1", platform="windows"))
    assert any("python -m pip install bitsandbytes==0.48.2" in line for line in plan.warnings)


def test_a_processor_without_wheels_is_told_as_one() -> None:
    refused = refusal_of(ask("bitsandbytes==0.43.1", architecture="aarch64"))
    assert "is built for x86_64, not for aarch64" in refused.conflicts[0].detail


def test_an_xformers_for_another_cuda_comes_from_the_index_of_pytorch() -> None:
    plan = plan_of(ask("pytorch==2.6.0", "xformers", cuda="11.8"))
    assert any(
        "xformers==0.0.29.post3 --index-url https://download.pytorch.org/whl/cu118" in one for one in plan.warnings
    )


def test_a_vllm_for_another_cuda_is_refused_for_its_own_reason() -> None:
    refused = refusal_of(ask("vllm==0.2.6", cuda="11.8"))
    assert "vllm 0.2.6 of the default index is made for PyTorch 2.1.2 for CUDA 12.1" in refused.conflicts[0].detail
    assert "is built for CUDA 12.1, not 11.8" not in refused.conflicts[0].detail
    assert any("+cu118-cp310" in way for way in refused.warnings)
    # without a CUDA nothing is told of packages for another one
    assert not any("+cu118" in way for way in refusal_of(ask("vllm==0.2.6", python="3.13")).warnings)


def test_the_driver_inside_wsl_is_the_one_of_windows() -> None:
    refused = refusal_of(ask("pytorch", driver="440.100", platform="wsl"))
    assert "branch 495 or newer on Windows" in refused.conflicts[0].detail
    assert plan_of(ask("pytorch", driver="551.23", platform="wsl"))


@pytest.mark.parametrize(
    ("asked", "gpu", "reason"),
    [
        ("cupy==10.6", "GeForce RTX 4080", "CuPy 11 is the first release that does"),
        ("tensorrt==8.4", "GeForce RTX 4080", "TensorRT 8.5.1 is the first release that does"),
        ("tensorrt==10.7", "GeForce RTX 5070 Ti", "TensorRT 10.8 is the first release that does, with CUDA 12.8"),
    ],
)
def test_a_release_whose_makers_say_that_it_does_not_know_a_gpu(asked: str, gpu: str, reason: str) -> None:
    refused = refusal_of(ask(asked, gpus=(gpu,)))
    assert reason in refused.conflicts[0].detail
    assert reason in refusal_of(ask(asked, gpus=("GeForce RTX 3090", gpu))).conflicts[0].detail
    assert plan_of(ask(asked, gpus=("GeForce RTX 3090",)))


@pytest.mark.parametrize(
    ("asked", "gpu"),
    [("cupy==11", "8.9"), ("tensorrt==8.5.1", "8.9"), ("paddlepaddle==2.6.1", "8.6"), ("paddlepaddle", "12.0")],
)
def test_a_release_whose_makers_say_that_it_knows_a_gpu(asked: str, gpu: str) -> None:
    assert status_of(plan_of(ask(asked, gpus=(gpu,))), "gpu-runs-build") == {"ok"}


@pytest.mark.parametrize("asked", ["onnxruntime==1.24.1", "onnxruntime==1.26.0", "onnxruntime==1.27.0"])
def test_the_kernels_of_newer_onnx_runtimes(asked: str) -> None:
    assert status_of(plan_of(ask(asked, gpus=("9.0",))), "gpu-runs-build") == {"ok"}


def test_an_onnx_runtime_for_cuda_12_has_an_index_of_its_own() -> None:
    plan = plan_of(ask("onnxruntime==1.18.0", cuda="12.2"))
    assert "onnxruntime-cuda-12" in str(plan.choice.builds[0].index_url)


def test_jax_says_which_cudnn_it_was_compiled_with() -> None:
    assert {str(build.cudnn) for build in matrix().builds("jax") if str(build.version) == "0.4.30"} == {"9.1"}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("numba==0.56.4", "0.57 is the first release for CUDA 12"),
        ("dgl", r"https://data.dgl.ai/wheels/torch-2.4/cu124/repo.html"),
        ("torch-scatter", "https://data.pyg.org/whl/torch-2.4.0+cu124.html"),
        ("triton", "triton-windows"),
        ("faiss-gpu", "conda install -c pytorch faiss-gpu"),
    ],
)
def test_what_is_not_covered_has_a_pointer(name: str, words: str) -> None:
    with pytest.raises(RequestError) as raised:
        parse_framework(name, matrix())
    assert words in f"{raised.value} {raised.value.hint}"


def test_triton_is_told_by_the_torch_beside_it() -> None:
    with pytest.raises(RequestError) as raised:
        parse_framework("triton", matrix(), RequestWords(frameworks=("pytorch==2.6.0", "triton")))
    assert "PyTorch 2.6.0 requires triton==3.2.0" in str(raised.value)


def test_mmcv_is_told_by_the_torch_beside_it() -> None:
    with pytest.raises(RequestError) as raised:
        parse_framework("mmcv", matrix(), RequestWords(frameworks=("pytorch==2.1.0", "mmcv")))
    assert "Its wheels for PyTorch 2.1.0: " in str(raised.value)


def test_power_is_refused_with_those_who_have_packages() -> None:
    done = envkit("resolve", "--framework", "pytorch", "--arch", "ppc64le", "--target", "any")
    assert done.returncode == 2
    assert "https://github.com/open-ce/open-ce" in done.stderr


def test_a_conda_file_names_the_build_of_conda_forge() -> None:
    asked = ["--framework", "pytorch==2.4.1", "--python", "3.10", "--cuda", "12.0", "--format", "conda"]
    out = envkit("resolve", *asked, "--target", "any").stdout
    assert "conda install -c conda-forge 'pytorch=2.4.1=cuda120*'" in out
    assert "pytorch-cuda=11.8 -c pytorch -c nvidia" in out
    assert "CONDA_OVERRIDE_CUDA=12.0" in out


def test_a_conda_file_names_the_release_before_one_that_the_channel_is_not_known_to_have() -> None:
    asked = ["--framework", "pytorch==1.10", "--cuda", "11.3", "--os", "windows", "--format", "conda"]
    out = envkit("resolve", *asked, "--target", "any").stdout
    assert "# PyTorch 1.10.2 for CUDA 11.3" in out
    assert "The pytorch channel has 1.10.1 of its line: conda install pytorch==1.10.1" in out


def test_a_board_is_told_of_its_images_by_jetpack() -> None:
    asked = ["--framework", "pytorch", "--gpu", "Jetson Orin Nano", "--arch", "aarch64", "--container"]
    out = " ".join(envkit("resolve", *asked, "--target", "any").stdout.split())
    assert "for JetPack 5, use images for r35" in out
    assert "for JetPack 6, use images for r36 (dustynv/l4t-pytorch:r36.4.0)" in out


def test_an_older_cudnn_that_is_loaded_first_is_told() -> None:
    plan = plan_of(ask("paddlepaddle==3.2.0", "pytorch==2.8.0"))
    assert any("a process that imports paddlepaddle first has the older one" in one for one in plan.warnings)
