"""Looking rows up by the words that machines and people use."""

from __future__ import annotations

import pytest

from envkit.base.errors import DataError
from envkit.base.versions import Version
from envkit.tables import Matrix


def v(text: str) -> Version:
    return Version.parse(text)


@pytest.mark.parametrize(
    ("asked", "found"),
    [("9.0", "9.0.176"), ("9.0.176", "9.0.176"), ("12.4", "12.4.1"), ("10.1.105", "10.1.105"), ("11.9", None)],
)
def test_a_toolkit_is_found_by_version_or_line(matrix: Matrix, asked: str, found: str | None) -> None:
    toolkit = matrix.toolkit(v(asked))
    assert (str(toolkit.version) if toolkit else None) == found


def test_runfiles_are_the_toolkit_then_its_patches(matrix: Matrix) -> None:
    files = matrix.runfiles(v("9.0.176"), "x86_64")
    assert [row.kind for row in files] == ["toolkit", "patch", "patch", "patch", "patch"]
    assert matrix.runfiles(v("9.0.176"), "aarch64") == ()
    assert len(matrix.runfiles(v("12.4.1"), "aarch64")) == 1


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("NVIDIA GeForce GTX 1080 Ti", "NVIDIA GeForce GTX 1080 Ti"),
        ("geforce gtx 1080 ti", "NVIDIA GeForce GTX 1080 Ti"),
        ("Tesla K80", "Tesla K80"),
        ("NVIDIA Tesla K80", "Tesla K80"),
        ("GeForce  RTX 4090", "NVIDIA GeForce RTX 4090"),
        ("GeForce RTX 9999", None),
    ],
)
def test_a_gpu_is_found_by_any_of_its_names(matrix: Matrix, asked: str, found: str | None) -> None:
    gpu = matrix.gpu_by_name(asked)
    assert (gpu.name if gpu else None) == found


def test_a_name_of_several_chips_is_none_of_them(matrix: Matrix) -> None:
    assert matrix.gpu_by_name("GeForce GT 730") is None
    chips = {(gpu.chip, str(gpu.compute_capability)) for gpu in matrix.gpus_by_name("NVIDIA GeForce GT 730")}
    assert chips == {("GF108", "2.1"), ("GK107", "3.0"), ("GK208", "3.5")}


@pytest.mark.parametrize("spelling", ["1B06", "1b06", "0x1b06", "0x1B06"])
def test_a_gpu_is_found_by_its_device_id(matrix: Matrix, spelling: str) -> None:
    assert [gpu.name for gpu in matrix.gpus_by_device_id(spelling)] == ["NVIDIA GeForce GTX 1080 Ti"]


def test_an_unknown_device_id_names_no_gpu(matrix: Matrix) -> None:
    assert matrix.gpus_by_device_id("ffff") == ()


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("torch", "pytorch"), ("PyTorch", "pytorch"), ("tf", "tensorflow"), ("tensorflow-gpu", "tensorflow"),
        ("mxnet_cu112", "mxnet"), ("Torch7", "torch7"), ("onnxruntime-gpu", "onnxruntime"), ("paddle", "paddlepaddle"),
        ("dm-sonnet", "sonnet"), ("TensorFlow Serving", "tensorflow-serving"), ("scikit-learn", None),
    ],
)  # fmt: skip
def test_a_framework_is_found_by_any_word_for_it(matrix: Matrix, asked: str, found: str | None) -> None:
    framework = matrix.framework(asked)
    assert (framework.name if framework else None) == found


@pytest.mark.parametrize(
    ("asked", "found"),
    [("ubuntu22.04", "ubuntu22.04"), ("rhel9.4", "rhel9"), ("ubuntu22.10", None), ("rockylinux9.3", "rockylinux9")],
)
def test_a_minor_release_is_found_where_it_is_no_platform_of_its_own(
    matrix: Matrix, asked: str, found: str | None
) -> None:
    system = matrix.operating_system(asked)
    assert (system.os_id if system else None) == found


def test_builds_are_oldest_first(matrix: Matrix) -> None:
    for framework in matrix.frameworks:
        versions = [build.version for build in matrix.builds(framework.name)]
        assert versions == sorted(versions), framework.name


def test_of_one_version_the_latest_upload_comes_first(matrix: Matrix) -> None:
    packages = [build.package for build in matrix.builds("mxnet") if str(build.version) == "1.5.1"]
    assert packages[:2] == ["mxnet-cu90==1.5.1.post0", "mxnet-cu90==1.5.1"]


def test_a_citation_names_title_and_address(matrix: Matrix) -> None:
    cited = [matrix.source(key).citation for key in ("nvidia-cuda-gpus", "pypi-torch")]
    assert cited == [
        "NVIDIA: CUDA GPU compute capability <https://developer.nvidia.com/cuda-gpus>",
        "PyPI: torch <https://pypi.org/project/torch/>",
    ]


def test_a_source_that_is_not_there_is_an_error(matrix: Matrix) -> None:
    with pytest.raises(DataError, match="no source 'rumour'"):
        matrix.source("rumour")


def test_the_supported_tags_are_those_of_the_whole_table(matrix: Matrix) -> None:
    assert matrix.supported_image_tags == tuple(tag for tag in matrix.image_tags if tag.state == "supported")
    assert matrix.supported_image_tags
