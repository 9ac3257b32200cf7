"""Packages next to a framework: whether the index has a wheel of them for the target, and what they break alongside."""

from __future__ import annotations

from pathlib import Path

import pytest

from envkit.api.project import project_change, project_report
from envkit.base.versions import Version
from envkit.checks.engine.findings import Finding, Status
from envkit.compat.package_wheels import package_has_wheel
from envkit.tables import Matrix
from tests.project.test_expected import request_of


def findings_on(text: str, target: str, folder: Path) -> tuple[Finding, ...]:
    file = folder / "requirements.txt"
    file.write_text(text)
    return project_report(str(file), request_of(target, Matrix.load()), Matrix.load()).findings


@pytest.mark.parametrize(
    ("lines", "target", "told", "helps"),
    [
        (
            "tensorflow==2.17.0\ntensorflow-addons==0.23.0",
            "--python 3.12",
            "for Python 3.12, only for 3.9, 3.10, and 3.11",
            "Use Python 3.9, 3.10, 3.11",
        ),
        ("tensorflow==2.16.1\ntensorflow-addons==0.23.0", "--python 3.11", "Keras 3", "TensorFlow 2.15 or older"),
        (
            "tensorflow==2.17.0\ntensorflow-text==2.17.0",
            "--os windows --python 3.11",
            "for Windows, only for Linux x86_64",
            "Use WSL, or use tensorflow-text 2.10.0",
        ),
        ("tensorflow==2.17.0\ntensorflow-text==2.16.1", "--python 3.11", "requires tensorflow<2.17,>=2.16.1", ""),
        (
            "torch==2.1.0\npytorch3d==0.7.4",
            "--python 3.11",
            "no source distribution that pip could compile",
            "only for PyTorch 2.0.1",
        ),
        (
            "--extra-index-url https://download.pytorch.org/whl/cu113\ntorch==1.10.0+cu113\ndetectron2==0.6",
            "--python 3.9",
            "has no detectron2",
            "detectron2/wheels/cu113/torch1.10/index.html",
        ),
        ("torch~=1.10.0\ntorchvision==0.8.2", "--python 3.8", "requires torch==1.7.1", "0.11.3"),
        (
            "vllm==0.6.3.post1",
            "--python 3.10 --gpu V100 --driver 470.199.02",
            "too old for CUDA 12.1",
            "a different torch does not help",
        ),
        ("torch==2.1.0\nhorovod==0.28.1", "--python 3.10", "C++17", "PyTorch 2.0 or older"),
        ("tensorflow==2.0.0\nkeras==2.2.4", "--python 3.7", "get_default_graph", "Keras 2.3.1"),
        ("torch==2.5.1\nbitsandbytes==0.42.0", "--python 3.10", "with CUDA 12.4", "newer bitsandbytes"),
        ("torch==1.7.1\napex", "--python 3.8", "unrelated package", "from its repository"),
        ("torch==2.2.0\ncudf==0.6.1.post1", "--python 3.8", "a placeholder", "cudf-cu12"),
        (
            "torch==1.13.1\ntorchvision==0.14.1",
            "--os windows --python 3.11",
            "torch==1.13.1 has no Windows wheel for Python 3.11, only for 3.7, 3.8, 3.9, and 3.10",
            "torch==2.0.0",
        ),
        (
            "--extra-index-url https://download.pytorch.org/whl/cu116\ntorch==1.13.1+cu116\nbitsandbytes==0.40.2",
            "--python 3.10",
            "with CUDA 11.6",
            "0.39.1",
        ),
        ("pytorch==1.0.2", "--python 3.8", "does not contain PyTorch", "Write torch"),
        ("tensorflow==2.13.1\ntorch==2.4.1", "--python 3.10", "typing-extensions", ""),
        ("tensorflow==2.17.0\ntensorflow-probability==0.25.0", "--python 3.11", "requires tensorflow>=2.18", ""),
        ("torch==2.6.0\ntorchcodec==0.7.0", "--python 3.11", "requires torch>=2.8,<2.9", ""),
        ("torch==2.4.0\nsglang==0.5.9", "--python 3.11", "sglang 0.5.9 requires torch==2.9.1", ""),
        (
            "cudf-cu12==26.10.2",
            '--python 3.12 --gpu "GeForce GTX 1080" --driver 580.95.05',
            "compute capability 7.0 or higher",
            "before 24.2",
        ),
    ],
)
def test_what_cannot_be_installed_or_breaks_is_told(
    lines: str, target: str, told: str, helps: str, tmp_path: Path
) -> None:
    failed = [one for one in findings_on(f"{lines}\n", target, tmp_path) if one.status is Status.FAIL]
    found = [one for one in failed if told in one.title]
    assert found, [one.title for one in failed]
    assert found[0].sources and not [one for one in failed if "no data" in one.title]
    assert found[0].remedy is not None and helps in found[0].remedy.advice


@pytest.mark.parametrize(
    ("lines", "target"),
    [
        ("tensorflow==2.15.0\ntensorflow-addons==0.23.0", "--python 3.11"),
        ("tensorflow==2.17.0\ntensorflow-text==2.17.0", "--python 3.11"),
        ("torch==2.5.1\nbitsandbytes==0.43.1", "--python 3.10"),
        ("torch==2.0.1\nhorovod==0.28.1", "--python 3.10"),
        ("tensorflow==2.15.0\nkeras==2.15.0", "--python 3.10"),
        ("tensorflow==2.14.0\ntorch==2.4.1", "--python 3.10"),
        ("tensorflow==2.13.1\ntorch==2.1.2", "--python 3.10"),
        ("-f https://example.org/wheels\ntorch==2.1.0\npytorch3d==0.7.4", "--python 3.11"),  # may be there
        ("torch==2.8.0\ntorchcodec==0.7.0", "--python 3.11"),
    ],
)
def test_what_goes_together_is_not_doubted(lines: str, target: str, tmp_path: Path) -> None:
    assert not [one.title for one in findings_on(f"{lines}\n", target, tmp_path) if one.status is Status.FAIL]


def test_a_release_that_is_not_on_record_may_have_a_wheel() -> None:
    python = Version.parse("3.14")
    pinned = package_has_wheel("torchtext", "==0.18.0", "linux", "x86_64", python)
    assert pinned is not None and pinned.status == "fail"
    opened = package_has_wheel("torchtext", ">=0.18", "linux", "x86_64", python)
    assert opened is not None and opened.status == "unknown"
    assert package_has_wheel("torchtext", "==99.0", "linux", "x86_64", python) is None
    assert package_has_wheel("torchtext", "==0.18.0", "linux", "x86_64", Version.parse("3.11")) is None


def test_the_wheels_of_torch_on_arm_are_for_the_cpu(tmp_path: Path) -> None:
    target = "--arch aarch64 --gpu GH200 --driver 570.133.20 --python 3.12 --os ubuntu22.04"
    (one,) = findings_on("torch==2.8.0\n", target, tmp_path)
    assert one.status is Status.WARN and "installs a CPU build" in one.title
    assert one.remedy is not None and "cu129" in one.remedy.advice
    assert not [one for one in findings_on("torch==2.11.0\n", target, tmp_path) if "CPU build" in one.title]


def test_libraries_of_another_major_do_not_serve_what_loads_them(tmp_path: Path) -> None:
    found = findings_on("torch==2.3.1\nonnxruntime-gpu==1.19.2\n", "--python 3.10 --driver 535.183.01", tmp_path)
    (told,) = [one for one in found if one.status is Status.WARN]
    assert "but PyTorch 2.3.1 includes cuDNN 8.9" in told.title
    assert told.remedy is not None and "torch==2.4.0" in told.remedy.advice
    same = findings_on("torch==2.4.1\nonnxruntime-gpu==1.19.2\n", "--python 3.10 --driver 535.183.01", tmp_path)
    assert not [one for one in same if one.status is Status.WARN]


def test_a_change_does_not_bring_what_breaks(tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text("torch\nbitsandbytes==0.41.3\n")
    target = '--python 3.10 --gpu "GeForce RTX 3090" --driver 535.183.01'
    _, change, _ = project_change(str(file), request_of(target, Matrix.load()), Matrix.load())
    assert change is not None and change.told[-1] == "torch==2.7.1+cu118"  # of whose CUDA it has a library


# ---- what the third look at public files taught


AMPERE = '--gpu "GeForce RTX 3090" --driver 535.183.01 --python 3.10 --os ubuntu22.04'


def test_an_extra_may_hold_torch(tmp_path: Path) -> None:
    """sglang 0.4.6 itself requires no torch, its extras 2.6.0; without that, torch would be the newest, for CUDA 13."""
    found = findings_on("torchvision\nsglang[all]==0.4.6\n", AMPERE, tmp_path)
    assert any("torch==2.6.0 installs PyTorch 2.6.0" in one.title for one in found)
    assert not [one for one in found if one.status is Status.FAIL]
    clashing = findings_on("torch==2.5.1\nsglang[srt]==0.4.6\n", AMPERE, tmp_path)
    assert any("requires torch==2.6.0" in one.title for one in clashing if one.status is Status.FAIL)
    assert not [
        one for one in findings_on("torch==2.5.1\nsglang==0.4.6\n", AMPERE, tmp_path) if "requires" in one.title
    ]


def test_numpy_holds_an_open_framework_at_an_older_release(tmp_path: Path) -> None:
    found = findings_on("tensorflow\nnumpy<1.24\n", AMPERE, tmp_path)
    assert not [one.title for one in found if one.status is Status.FAIL]
    assert any("TensorFlow 2.17" in one.title for one in found)
    pinned = findings_on("tensorflow==2.21.0\nnumpy<1.24\n", AMPERE, tmp_path)
    assert any("numpy" in one.title for one in pinned if one.status is Status.FAIL)


def test_a_package_that_torch_holds_itself_needs_no_data_of_its_own(tmp_path: Path) -> None:
    target = '--gpu "GeForce RTX 5090" --driver 575.57.08 --python 3.12 --os ubuntu24.04'
    lines = "--extra-index-url https://download.pytorch.org/whl/cu128\ntorch==2.8.0+cu128\ntriton>=3.3.0\n"
    assert not [one.title for one in findings_on(lines, target, tmp_path) if one.status is not Status.OK]
    old = findings_on("torch==1.13.1\ntriton\n", "--python 3.10", tmp_path)
    assert any("no data: triton" in one.title for one in old)  # nothing says which one goes with it


@pytest.mark.parametrize(
    ("lines", "target", "helps"),
    [
        (
            "torch==2.1.0\nmmcv==2.1.0",
            "--python 3.10",
            "mmcv==2.1.0 --find-links https://download.openmmlab.com/mmcv/dist/cu121/torch2.1/index.html",
        ),
        ("torch==2.9.1\nmmcv==2.2.0", "--python 3.12", "no wheel from its project for PyTorch 2.9.1 with CUDA 12.8"),
        (
            "torch==2.8.0\nflash-attn==2.8.3",
            "--python 3.12",
            "/v2.8.3/flash_attn-2.8.3+cu12torch2.8cxx11abiTRUE-cp312-cp312-linux_x86_64.whl",
        ),
        ("torch==2.9.0\nflash-attn==2.8.3", "--python 3.11", "only for PyTorch 2.9 with CUDA 12 and Python 3.12"),
        ("torch==2.8.0\nflash-attn==2.8.3", "--python 3.11 --gpu V100", ""),  # no release runs there
        ("mmcv==2.1.0", "--python 3.10", ""),  # nothing says for which PyTorch
        ("torch==2.11.0\nmmcv==2.1.0", "--os windows --python 3.11", "2.0, 2.1: use one of those"),  # a CPU build
        ("torch==2.1.0\nmmcv==2.1.0", "--os windows --python 3.11", "only for PyTorch 2.1 with CUDA 11.8"),
        ("--extra-index-url https://download.pytorch.org/whl/cpu\ntorch==2.1.0+cpu\nmmcv==2.1.0", "--python 3.10", ""),
    ],
)
def test_a_wheel_that_its_project_has_is_named_where_pip_would_compile(
    lines: str, target: str, helps: str, tmp_path: Path
) -> None:
    found = [one for one in findings_on(lines, target, tmp_path) if "pip compiles it from source" in one.title]
    assert [one.status for one in found] == [Status.UNKNOWN]
    advice = found[0].remedy.advice if found[0].remedy is not None else ""
    assert helps in advice if helps else not advice


@pytest.mark.parametrize(
    ("lines", "target", "helps"),
    [
        (
            "faiss-gpu-cu11",
            "--os windows --python 3.12",
            "Use WSL, or leave it out on Windows (faiss-gpu-cu11; sys_platform != 'win32')",
        ),
        (
            "faiss-gpu-cu12",
            "--os windows --python 3.11",
            "Use WSL, or leave it out on Windows (faiss-gpu-cu12; sys_platform != 'win32')",
        ),
        ("faiss-gpu-cu12", "--python 3.11", None),
    ],
)
def test_a_package_for_another_system_has_a_way_even_where_its_release_is_open(
    lines: str, target: str, helps: str | None, tmp_path: Path
) -> None:
    found = [one for one in findings_on(lines, target, tmp_path) if "the default index has no" in one.title]
    assert [one.remedy and one.remedy.advice for one in found] == ([f"{helps}."] if helps else [])


@pytest.mark.parametrize(
    ("lines", "helps"),
    [
        ("sglang[all]==0.4.6\ntorch==2.7.1", "use sglang[all]==0.4.10.post2"),
        ("sglang[srt]==0.4.6\ntorch==2.8.0", "use sglang[srt]==0.5."),
        ("sglang[all]==0.4.6\ntorch==2.6.0", None),
    ],
)
def test_the_release_that_goes_with_the_rest_is_named_of_a_package_with_an_extra_too(
    lines: str, helps: str | None, tmp_path: Path
) -> None:
    found = [one for one in findings_on(lines, "--python 3.12", tmp_path) if one.status is Status.FAIL]
    assert [one.remedy is not None and str(helps) in one.remedy.advice for one in found] == ([True] if helps else [])
