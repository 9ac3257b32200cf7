"""What takes the GPU from a framework, or the release that an image is for: told as an error, and left by `--fix`."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Status
from envkit.dockerfile.repairs_left import why_left
from envkit.tables import Matrix
from tests.image.repaired import assert_repaired, fixed
from tests.image.test_fix import check, errors
from tests.image.told import told

_CUDA = "FROM nvidia/cuda:{}\nRUN apt-get update && apt-get install -y python3-pip\nRUN pip3 install {}\n"
_OF_12 = "12.2.2-cudnn8-runtime-ubuntu22.04"
_OF_11_2 = "11.2.2-cudnn8-runtime-ubuntu20.04"
_ATTENTION = "RUN pip install flash-attn==2.7.4.post1 --no-build-isolation\n"
_RUNTIME = "FROM pytorch/pytorch:2.4.0-cuda12.1-cudnn9-runtime\n"


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        pytest.param(
            _CUDA.format("12.4.1-devel-ubuntu22.04", "vllm==0.6.3 torch==2.5.1 transformers==4.40.0"),
            "Use torch==2.4.0, which vllm==0.6.3 requires.",
            id="vLLM, which an image is for",
        ),
        pytest.param(
            _CUDA.format(_OF_12, "tensorflow==2.16.1 keras==2.12 tensorflow-text==2.15"),
            "Use keras>=3.0.0, which tensorflow==2.16.1 requires.",
            id="TensorFlow, whose companion depends on what becomes of it",
        ),
        pytest.param(
            _CUDA.format(_OF_12, "torch==7.7 torchvision==0.15.2"),
            "Use torch==2.0.1, which torchvision==0.15.2 requires.",
            id="a PyTorch that is not known",
        ),
        pytest.param(
            "FROM python:3.10\nRUN pip install torch==2.1.0 triton==2.2.0\n",
            "Use triton==2.1.0, which torch==2.1.0 requires.",
            id="PyTorch itself",
        ),
    ],
)
def test_no_framework_is_moved(text: str, advice: str) -> None:
    assert fixed(text) == text
    assert any(advice in why_left(one) for one in check(text) if one.status is Status.FAIL)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("torch==2.1.0 torchvision==0.15.0", "torch==2.1.0 torchvision==0.16.0"),
        ("torch==2.15.0 torchvision==0.20.0", "torch==2.15.0 torchvision==0.29.2"),
        ("tensorflow==2.16.1 tensorflow-text==2.15", "tensorflow==2.16.1 tensorflow-text==2.16.1"),
    ],
)
def test_a_companion_follows_its_framework(wrong: str, right: str) -> None:
    assert_repaired(f"FROM python:3.11\nRUN pip install {wrong}\n", right)


def test_everything_that_pip_refuses_of_a_package_is_named() -> None:
    found = check(_CUDA.format("12.4.1-devel-ubuntu22.04", "vllm==0.6.3 torch==2.5.1 transformers==4.40.0"))
    titles = [one.title for one in found if one.status is Status.FAIL]
    assert [title.split(" requires ")[1].split(",")[0] for title in titles] == ["torch==2.4.0", "transformers>=4.45.0"]


COMPILERS = [
    f"FROM python:3.10-slim\nRUN pip install torch==2.5.1 packaging\n{_ATTENTION}",
    f"FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3-pip\n"
    f"RUN pip3 install torch==2.5.1 packaging\n{_ATTENTION}",
    f"{_RUNTIME}{_ATTENTION}",
    f"{_RUNTIME}RUN nvcc --version\n",
    "FROM pytorch/pytorch:1.7.1-cuda11.0-cudnn8-runtime\nRUN git clone https://github.com/NVIDIA/apex && cd apex && "
    "pip install --no-build-isolation --global-option=--cuda_ext ./\n",
]
WITH_COMPILERS = [
    f"FROM pytorch/pytorch:2.4.0-cuda12.1-cudnn9-devel\n{_ATTENTION}",
    f"{_RUNTIME}RUN apt-get update && apt-get install -y cuda-toolkit-12-1\n{_ATTENTION}",
    f"{_RUNTIME}RUN ./toolkit.sh\n{_ATTENTION}",
    f"{_RUNTIME}COPY --from=nvidia/cuda:12.1.1-devel-ubuntu22.04 /usr/local/cuda /usr/local/cuda\n{_ATTENTION}",
    f"{_RUNTIME}ENV FLASH_ATTENTION_SKIP_CUDA_BUILD=TRUE\n{_ATTENTION}",
    f"{_RUNTIME}RUN pip install --no-build-isolation git+https://github.com/NVIDIA/apex\n",
]


@pytest.mark.parametrize("text", COMPILERS)
def test_the_compiler_is_missed_in_every_image(text: str, matrix: Matrix) -> None:
    assert ("image.compiler-missing", Status.FAIL) in told(text, matrix)


@pytest.mark.parametrize("text", WITH_COMPILERS)
def test_what_may_bring_a_compiler_counts(text: str, matrix: Matrix) -> None:
    assert ("image.compiler-missing", Status.FAIL) not in told(text, matrix)


def test_the_devel_image_of_the_same_framework_is_chosen() -> None:
    assert_repaired(f"{_RUNTIME}{_ATTENTION}", "FROM pytorch/pytorch:2.4.0-cuda12.1-cudnn9-devel\n")


@pytest.mark.parametrize(
    ("before", "missing"),
    [
        ("torch==2.5.1", True),
        ("torch==2.5.1 torchvision", True),
        ("torch==2.5.1 packaging", False),
        ("torch==2.5.1 transformers", False),
        ("torch==2.5.1 wheel", False),  # whose newest release requires it
    ],
)
def test_a_setup_finds_what_it_imports(before: str, missing: bool) -> None:
    text = f"{_CUDA.format('12.4.1-devel-ubuntu22.04', before)}{_ATTENTION.replace('pip ', 'pip3 ')}"
    assert ("image.package-refuses" in errors(text)) is missing
    if missing:
        assert_repaired(text, "pip3 install ninja packaging psutil setuptools wheel && pip3 install flash-attn")


FRAMEWORKS = [
    pytest.param(_CUDA.format(_OF_12, "tensorflow==2.10.0 numpy==1.23.5"), Status.FAIL, id="the only framework"),
    pytest.param(_CUDA.format(_OF_12, "tensorflow==2.10.0 numpy==1.23.5 torch"), Status.WARN, id="one of two"),
    pytest.param(
        _CUDA.format("12.4.1-runtime-ubuntu22.04", "tensorflow==2.15.0").replace("-pip", "-pip cuda-toolkit-11-8"),
        None,
        id="the libraries of the base are there as well",
    ),
]


@pytest.mark.parametrize(("text", "status"), FRAMEWORKS)
def test_a_framework_that_never_uses_the_gpu_of_its_image(text: str, status: Status | None, matrix: Matrix) -> None:
    found = [one for name, one in told(text, matrix) if name == "image.framework-for-other-cuda"]
    assert found in ([status], [] if status is None else [status], [Status.OK] if status is None else [status])


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        (_CUDA.format(_OF_11_2, "tensorflow==2.12.0"), True),
        (_CUDA.format(_OF_11_2, "tensorflow==2.10.0 'numpy<2'"), False),
        (_CUDA.format("11.8.0-cudnn8-runtime-ubuntu22.04", "tensorflow==2.12.0"), False),
        (
            _CUDA.format("11.8.0-runtime-ubuntu22.04", "tensorflow==2.13.0").replace(
                "-pip", "-pip libcudnn8=8.1.1.33-1+cuda11.2"
            ),
            True,
        ),
    ],
)
def test_an_older_cudnn_than_tensorflow_was_built_with(text: str, warned: bool, matrix: Matrix) -> None:
    assert (("image.cudnn-differs", Status.WARN) in told(text, matrix)) is warned


@pytest.mark.parametrize(
    ("packages", "status"),
    [
        ("tensorflow==2.10.0", Status.FAIL),
        ("tensorflow==2.10.0 scipy==1.9.0", Status.WARN),  # which may hold NumPy back
        ("torch==2.1.0 torchvision==0.16.0", Status.WARN),
    ],
)
def test_numpy_2_under_what_cannot_import_it(packages: str, status: Status, matrix: Matrix) -> None:
    text = f"FROM python:3.10\nRUN pip install {packages}\n"
    assert ("image.numpy-unbounded", status) in told(text, matrix)


@pytest.mark.parametrize(("asked", "instead"), [("pytorch==2.5.1", "torch==2.5.1"), ("pytorch", "torch")])
def test_pytorch_is_named_torch(asked: str, instead: str) -> None:
    assert_repaired(f"FROM python:3.10\nRUN pip install {asked}\n", f"RUN pip install {instead}\n")


_PIPED = (
    "FROM {}\nRUN apt-get update && apt-get install -y python3{}\n"
    "RUN curl -sS https://bootstrap.pypa.io/get-pip.py | python3{}\nRUN python3 -m pip install torch==2.5.1\n"
)


@pytest.mark.parametrize(
    ("text", "missed"),
    [
        (_PIPED.format("ubuntu:22.04", "", ""), True),
        (_PIPED.format("nvidia/cuda:12.4.1-runtime-ubuntu22.04", "", " -"), True),
        (_PIPED.format("ubuntu:22.04", " curl", ""), False),
        (_PIPED.format("ubuntu:22.04", " python3-pip", ""), False),  # the pipe hides it
        ("FROM ubuntu:22.04\nRUN curl -sS https://example.com/setup | bash\n", False),
    ],
)
def test_a_pipe_hides_that_curl_is_missing(text: str, missed: bool, matrix: Matrix) -> None:
    assert (("image.program-missing", Status.FAIL) in told(text, matrix)) is missed


@pytest.mark.parametrize(
    ("variable", "warned"),
    [
        ("NVIDIA_DRIVER_CAPABILITIES=graphics,utility", True),
        ("NVIDIA_DRIVER_CAPABILITIES=compute,utility", False),
        ("NVIDIA_DRIVER_CAPABILITIES=all", False),
        ('NVIDIA_DRIVER_CAPABILITIES=""', False),
        ("NVIDIA_DRIVER_CAPABILITIES=$MORE", False),
        ("NVIDIA_DRIVER_CAPABILITIES ${NVIDIA_DRIVER_CAPABILITIES:+$NVIDIA_DRIVER_CAPABILITIES,}graphics", False),
        ("NVIDIA_VISIBLE_DEVICES=void", True),
        ("NVIDIA_VISIBLE_DEVICES=all", False),
    ],
)
def test_variables_of_the_container_toolkit(variable: str, warned: bool, matrix: Matrix) -> None:
    image = "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nENV {}\n"
    assert (("image.gpu-hidden", Status.WARN) in told(image.format(variable), matrix)) is warned
    assert ("image.gpu-hidden", Status.WARN) not in told(f"FROM python:3.12-slim\nENV {variable}\n", matrix)


@pytest.mark.parametrize(
    "rest",
    [
        "",
        "RUN pip install torch==2.1.0\n",
        "RUN wget https://www.python.org/ftp/python/3.11.0/Python-3.11.0.tgz\nRUN pip install torch==2.1.0\n",
    ],
)
def test_an_unknown_base_is_not_healthy(rest: str, matrix: Matrix) -> None:
    assert ("image.base-unknown", Status.UNKNOWN) in told(f"FROM mycorp/whatever:1\n{rest}", matrix)


@pytest.mark.parametrize("asked", ["tensorflow-gpu==2.12.0", "tensorflow-gpu"])
def test_a_retired_name_in_the_image_of_its_framework(asked: str) -> None:
    [found] = [
        one
        for one in check(f"FROM tensorflow/tensorflow:2.12.0-gpu\nRUN pip install {asked}\n")
        if one.status is Status.FAIL
    ]
    assert found.remedy is not None
    assert found.remedy.advice == "Remove it: tensorflow/tensorflow:2.12.0-gpu includes TensorFlow 2.12.0."


def test_a_python_is_named_that_has_a_wheel() -> None:
    text = "FROM ubuntu:18.04\nRUN apt-get update && apt-get install -y python3-pip\nRUN pip3 install numpy==1.24\n"
    [advice] = [one.remedy.advice for one in check(text) if one.id == "image.python-without-package" and one.remedy]
    assert "such as 3.11" in advice


def test_the_command_in_place_of_a_gone_base_keeps_releases() -> None:
    text = _CUDA.format("10.1-cudnn7-runtime-ubuntu18.04", "mxnet-cu101==1.6.0 keras==2.2.4")
    [advice] = [one.remedy.advice for one in check(text) if one.id == "image.base-gone" and one.remedy]
    assert "--framework mxnet==1.6.0 --framework keras==2.2.4 --cuda 10.1" in advice


def test_a_pin_of_numpy_that_pip_refuses() -> None:
    text = "FROM python:3.10\nRUN pip install tensorflow==2.18.0 numpy==1.21.0\n"
    [impact] = [one.impact for one in check(text) if one.id == "image.numpy-unbounded"]
    assert impact == "pip reports a conflict and stops."


def test_no_repair_takes_the_gpu_from_a_framework() -> None:
    """The name alone would be right, and the TensorFlow under it would find no CUDA."""
    text = "FROM python:3.10\nRUN pip install tensorflow-gpu==2.12.0 'numpy<1.24'\n"
    assert errors(text) == ["image.framework-version"]
    assert fixed(text) == text
