"""What an eighth set of questions taught: releases that were missing, and what belongs next to an answer."""

from __future__ import annotations

import pytest

from envkit._startup.records import replace
from envkit.base.errors import RequestError
from envkit.solver.having import resolve_having
from envkit.solver.parse import parse_framework, parse_request
from envkit.solver.request import Request, RequestWords
from tests.cli.run import envkit
from tests.solver.asking import ask, matrix, plan_of, refusal_of


def _told(request: Request) -> str:
    """What is told around the answer to a request."""
    return " | ".join(resolve_having(request, matrix()).background)


def _asked_python(request: Request) -> Request:
    return replace(request, asked=frozenset({"python"}))


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        (
            _asked_python(ask("pytorch", python="3.13", platform="windows")),
            "PyTorch releases for Python 3.13 on Windows: 2.6.0 and newer (on Linux x86_64: 2.5.0 and newer)",
        ),
        (
            _asked_python(ask("tensorflow", python="3.12", platform="windows")),
            "the first TensorFlow with packages for Python 3.12 on Windows is 2.16.1, which is CPU-only",
        ),
        (
            _asked_python(ask("tensorflow==1.4.1", python="3.5")),
            "TensorFlow releases for Python 3.5: 0.12.0 to 2.3.1, though not each of them",
        ),
        (
            ask("tensorrt", gpus=("GeForce GTX 1080 Ti",)),
            "the last TensorRT release that supports the NVIDIA GeForce GTX 1080 Ti (sm_61) is 8.6.1; 10.0.1 and newer "
            "need compute capability 7.0",
        ),
        (ask("bitsandbytes", cuda="12.8"), "the first bitsandbytes release for CUDA 12.8 is 0.45.3"),
        (
            ask("sglang==0.4.6.post2"),
            "sglang[all] 0.4.6.post2 requires torch==2.6.0, torchvision==0.21.0, sgl-kernel==0.1.1, "
            "flashinfer-python==0.2.5",
        ),
        (
            ask(cuda="11.4", container=True),
            "NVIDIA's images for CUDA 11.4 check the driver when they start, and take branch 470 and newer",
        ),
        (
            ask(cuda="11.0", driver="440.33.01", container=True),
            "a data center GPU that driver branch 440 supports (such as Tesla T4 or V100) runs an image for CUDA 11.0",
        ),
    ],
)
def test_what_is_told_around_an_answer(request_: Request, sentence: str) -> None:
    assert sentence in _told(request_)


def test_a_gpu_that_the_newest_release_supports_needs_no_last_one() -> None:
    assert "the last TensorRT release" not in _told(ask("tensorrt", gpus=("GeForce RTX 3090",)))


def test_an_image_says_which_driver_it_starts_with() -> None:
    told = envkit("resolve", "--cuda", "11.4", "--container", "--target", "any").stdout
    assert "450.80.02 or newer (the base image requires 470 by default;" in told
    data_center = envkit("resolve", "--cuda", "11.4", "--container", "--gpu", "Tesla T4", "--target", "any").stdout
    assert "the base image requires" not in data_center


def test_a_release_that_needs_an_extra_is_installed_with_it() -> None:
    plan = plan_of(ask("sglang==0.4.6.post2"))
    assert [str(build.version) for build in plan.choice.builds] == ["2.6.0"]
    assert any("python -m pip install 'sglang[all]==0.4.6.post2'" in one for one in plan.warnings)


def test_where_a_package_fixes_its_framework_the_package_is_offered() -> None:
    refused = refusal_of(ask("sglang==0.4.6.post2", gpus=("GeForce RTX 5090",)))
    offers = [change.changes["framework"] for change in refused.alternatives if "framework" in change.changes]
    assert offers
    assert all(offer.startswith("sglang==0.5") for offer in offers)


def test_a_vllm_compiled_for_a_newer_cuda_takes_the_torch_of_it() -> None:
    plan = plan_of(ask("vllm==0.9.2", gpus=("GeForce RTX 5070",)))
    assert [(str(build.version), str(build.cuda)) for build in plan.choice.builds] == [("2.7.0", "12.8")]
    assert str(plan_of(ask("vllm==0.9.2")).choice.builds[0].version) == "2.7.0"
    assert refusal_of(ask("vllm==0.8.5", gpus=("GeForce RTX 5070",)))


@pytest.mark.parametrize(
    ("framework", "package", "release"),
    [
        ("pytorch==2.10.0", "torchcodec", "0.10.0"),
        ("pytorch==2.13.0", "torchcodec", "0.17.0"),
        ("tensorflow==2.16.1", "tf-keras", "2.16.0"),
    ],
)
def test_the_release_that_is_made_for_a_framework(framework: str, package: str, release: str) -> None:
    request = parse_request(RequestWords(frameworks=(framework, package)), matrix(), container=False)
    assert any(f"{package}=={release}" in one for one in plan_of(request).warnings)


def test_a_jax_whose_own_extra_names_a_wheel_that_was_never_published() -> None:
    (build,) = [one for one in matrix().builds("jax") if str(one.version) == "0.4.12" and str(one.cuda) == "12"]
    assert str(build.cudnn) == "8.9"
    assert "jaxlib==0.4.12+cuda12.cudnn89" in build.companions


def test_a_jax_without_a_bound_gets_no_cudnn_of_the_next_major() -> None:
    plan = plan_of(ask("pytorch==2.0.1", "jax==0.4.10", cuda="11.8"))
    assert "nvidia-cudnn-cu11<9" in plan.choice.builds[1].companions
    assert not any("brings 8.6" in one for one in plan.warnings)


def test_the_cudnn_of_paddle_for_cuda_12() -> None:
    choice = plan_of(ask("paddlepaddle==2.6.1", cuda="12.0")).choice
    assert choice.cudnn_version is not None
    assert choice.cudnn_version.major == 8


def test_older_releases_are_known() -> None:
    assert str(plan_of(ask("tensorflow==0.12.1", cuda="8.0", python="3.5")).choice.builds[0].cudnn) == "5.1"
    assert plan_of(ask("tensorrt==7.2.1", cuda="11.1", cudnn="8.0", gpus=("GeForce RTX 3090",)))


def test_conda_builds_whose_cuda_came_before_the_gpu_are_not_offered() -> None:
    told = envkit("resolve", "--framework", "pytorch", "--gpu", "GB10", "--format", "conda", "--target", "any").stdout
    assert "cuda-version=13.0" in told
    assert "12.6" not in told


def test_what_is_known_of_the_driver_is_told_of_software_without_a_table() -> None:
    words = RequestWords(frameworks=("numba",), cuda="9.2", driver="390.87")
    with pytest.raises(
        RequestError, match=r"it needs 396\.26 or newer; the newest CUDA that driver [\d.]+ knows is 9\.1"
    ):
        parse_framework("numba", matrix(), words)
    with pytest.raises(RequestError) as healthy:
        parse_framework("numba", matrix(), replace(words, cuda="9.0"))
    assert "396.26" not in str(healthy.value)


@pytest.mark.parametrize(
    ("torch", "package", "wheel"),
    [
        ("1.11.0", "mmcv==1.2.7", "mmcv-full 1.4.7 (CUDA 11.3)"),
        ("2.0.1", "auto-gptq", "0.4.2 (CUDA 11.7, 11.8)"),
        ("2.1.1", "auto-gptq", "0.6.0 (CUDA 11.8, 12.1)"),
    ],
)
def test_the_wheels_of_software_without_a_table(torch: str, package: str, wheel: str) -> None:
    with pytest.raises(RequestError) as refused:
        parse_framework(package, matrix(), RequestWords(frameworks=(f"pytorch=={torch}", package)))
    assert wheel in str(refused.value)


def test_an_unknown_gpu_hides_no_typo() -> None:
    with pytest.raises(RequestError) as refused:
        parse_request(RequestWords(frameworks=("pytroch",), gpus=("RTX 9999",)), matrix(), container=False)
    assert "RTX 9999" in str(refused.value)
    assert "Did you mean pytorch?" in str(refused.value)
    with pytest.raises(RequestError) as gpu_alone:
        parse_request(RequestWords(frameworks=("pytorch",), gpus=("RTX 9999",)), matrix(), container=False)
    assert "--framework" not in str(gpu_alone.value)


def test_wsl_says_which_driver_would_do() -> None:
    refused = refusal_of(ask(cuda="11.1", driver="465.12", platform="wsl", gpus=("GeForce GTX 1080 Ti",)))
    assert [change.changes for change in refused.alternatives] == [{"driver": "495"}]


def test_the_end_of_a_jetson_and_a_python_without_wheels() -> None:
    told = " | ".join(refusal_of(ask("pytorch", gpus=("Jetson Nano",), platform="jetson", python="3.8")).warnings)
    assert "JetPack 4 (L4T 32) is the last for this board" in told
    assert "are for Python 3.6: for Python 3.8, compile pytorch on the board" in told
    orin = " | ".join(refusal_of(ask("pytorch", gpus=("Jetson AGX Orin",), platform="jetson", python="3.10")).warnings)
    assert "is the last for this board" not in orin
    assert "compile pytorch on the board" not in orin


def test_a_cudnn_that_is_too_old_for_a_release_on_a_jetson() -> None:
    request = ask("jax==0.4.38", gpus=("Jetson AGX Orin",), platform="jetson", cudnn="8.9", architecture="aarch64")
    assert any(
        "jax 0.4.38 is compiled with cuDNN 9.1: 8.9 is too old for it" in one for one in refusal_of(request).warnings
    )


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("torchao", "0.15.0 with 2.9.1"),
        ("faster-whisper", "4.4.0 is the last for CUDA 12 with cuDNN 8"),
        ("torch-tensorrt", "each requires one TensorRT"),
        ("opencv-python", "its packages on the default index have no CUDA code"),
        ("nvidia-dali-cuda120", "nvidia-dali-cuda120 for all of CUDA 12"),
    ],
)
def test_software_without_a_table_is_known_by_name(name: str, known: str) -> None:
    with pytest.raises(RequestError) as refused:
        parse_framework(name, matrix())
    assert known.lower() in str(refused.value).lower()


def test_a_release_that_is_not_known_says_which_are() -> None:
    with pytest.raises(RequestError, match=r"not known to envkit\. The newest known to envkit is 0\.5\."):
        parse_framework("sglang==0.4.1", matrix())


def test_a_package_is_offered_for_the_processor_alone() -> None:
    refused = refusal_of(ask("vllm==0.8.5", gpus=("GH200",), architecture="aarch64"))
    offers = [change.changes["framework"] for change in refused.alternatives if "framework" in change.changes]
    assert offers
    assert "vllm==0.9.2" not in offers  # has no wheel for aarch64


def test_a_way_is_told_once() -> None:
    ways = refusal_of(ask("vllm==0.6.3", driver="470.82.01")).warnings
    assert len([way for way in ways if "cu118" in way]) == 1


def test_an_older_onnx_runtime_that_the_index_no_longer_has() -> None:
    plan = plan_of(ask("onnxruntime", cuda="10.2"))
    assert str(plan.choice.builds[0].version) == "1.6.0"
    assert any("the default index no longer has it" in one for one in plan.warnings)


def test_where_a_framework_has_packages_for_windows() -> None:
    assert plan_of(ask("paddlepaddle==3.0.0", cuda="11.8", platform="windows"))
    told = refusal_of(ask("tensorrt==10.3", platform="windows"))
    assert any("a zip file from NVIDIA's download page" in way for way in told.warnings)
    assert "newer ones use it in WSL 2" not in _told(ask("tensorrt==10.3", platform="windows"))
