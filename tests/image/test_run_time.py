"""What frameworks load, compile or look for when they run: the image holds it, and its smoke test would notice."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from envkit.base.errors import EnvkitError
from envkit.base.settings import Mirrors
from envkit.image.options import ImageOptions
from envkit.image.recipe import recipe
from envkit.render.dockerfile import render_dockerfile
from envkit.tables import Matrix
from tests.image.making import froms, made, plan, text


@pytest.mark.parametrize(
    ("framework", "options", "told"),
    [
        ("onnxruntime", ImageOptions(), True),
        ("onnxruntime", ImageOptions(slim=True), True),
        ("onnxruntime", ImageOptions(lock="requirements.lock"), True),
        ("onnxruntime==1.20.2", ImageOptions(), False),  # takes CUDA from its base
        ("pytorch", ImageOptions(), False),  # finds its packages' libraries itself
    ],
)
def test_the_loader_knows_the_libraries_of_packages(
    matrix: Matrix, framework: str, options: ImageOptions, told: bool
) -> None:
    """libonnxruntime_providers_cuda.so has neither RPATH nor RUNPATH (readelf -d of the wheel of 1.31.1)."""
    rendered = text(matrix, framework, options=options)
    assert ("/etc/ld.so.conf.d/wheels.conf" in rendered) == told
    if told:
        assert rendered.index("pip install") < rendered.index("/etc/ld.so.conf.d/wheels.conf")


@pytest.mark.parametrize(
    ("limits", "options", "package"),
    [
        ({"cuda": "12.4", "os_id": "ubuntu22.04"}, ImageOptions(), "cuda-cudart-dev-12-4"),
        ({"cuda": "12.9", "os_id": "rockylinux9"}, ImageOptions(), "cuda-cudart-dev-12-9"),
        ({"cuda": "13.0"}, ImageOptions(), "cuda-cudart-dev-13-0"),
        ({"cuda": "12.4"}, ImageOptions(devel=True), None),
        ({"cuda": "11.8"}, ImageOptions(), None),
        ({"cuda": "12.4", "os_id": "ubuntu22.04"}, ImageOptions(slim=True), None),
        ({"os_id": "ubuntu22.04"}, ImageOptions(base="mine/cuda:1"), None),
    ],
)
def test_kernels_that_compile_at_run_time_have_the_headers(
    matrix: Matrix, limits: dict[str, str], options: ImageOptions, package: str | None
) -> None:
    """cupy/cupy, docs/source/install.rst: from CUDA 12.2 on headers are required, cuda-cudart-dev-12-X has them."""
    recipe_made = made(matrix, "cupy", options=options, **limits)
    rendered = render_dockerfile(recipe_made)
    assert re.findall(r"cuda-cudart-dev-[0-9-]+", rendered) == ([package] if package else [])
    assert ("/include/. /opt/cuda/include/" in rendered) == options.slim
    assert any("must contain them" in note for note in recipe_made.notes) == bool(options.base)


@pytest.mark.parametrize(
    ("limits", "packages"),
    [
        ({}, ["libgomp1", "libopenmpi1.10"]),
        ({"os_id": "ubuntu16.04", "python": "3.5"}, ["libgomp1", "libopenmpi1.10", "libpython3.5"]),
    ],
)
def test_cntk_has_its_open_mpi(matrix: Matrix, limits: dict[str, str], packages: list[str]) -> None:
    """readelf -d of _cntk_py and libCntk.Core in cntk_gpu-2.7.post2: libmpi.so.12, libmpi_cxx.so.1, libnvidia-ml.so.1.

    Contents-amd64 of Ubuntu 16.04: usr/lib/libmpi.so.12 is of libopenmpi1.10; 18.04 and later have Open MPI 2 to 4.
    """
    recipe_made = made(matrix, "cntk", options=ImageOptions(), **limits)
    rendered = render_dockerfile(recipe_made)
    assert froms(rendered)[-1] == "ubuntu:16.04"
    assert [
        name for name in packages if f"        {name} \\\n" in rendered or f"        {name}\n" in rendered
    ] == packages
    assert recipe_made.needs_driver and "AS smoke-test" not in rendered


def test_a_system_without_a_library_is_refused(matrix: Matrix) -> None:
    with pytest.raises(EnvkitError, match="cntk loads openmpi1.10.*ubuntu22.04.*--os ubuntu16.04"):
        made(matrix, "cntk", os_id="ubuntu22.04")


def test_a_mirror_of_the_distribution_leaves_nvidias_repository_alone(matrix: Matrix, tmp_path: Path) -> None:
    """The files as in rockylinux:9 (rocky.repo) and in NVIDIA's images on it (cuda.repo)."""
    rocky = "mirrorlist=https://mirrors.rockylinux.org/mirrorlist?arch=x\n#baseurl=http://dl.rockylinux.org/$contentdir/9/\n"
    nvidia = "baseurl=https://developer.download.nvidia.com/compute/cuda/repos/rhel9/x86_64\n"
    (tmp_path / "rocky.repo").write_text(rocky)
    (tmp_path / "cuda.repo").write_text(nvidia)
    mirrors = Mirrors(yum="https://mirror.example/")
    chosen = plan(matrix, "tensorflow", os_id="rockylinux9")
    rendered = render_dockerfile(recipe(chosen, ImageOptions(), mirrors, matrix))
    command = re.search(r"sed -i -E [^&]*", rendered)
    assert command is not None
    script = command.group().replace("\\\n", "").replace("/etc/yum.repos.d", str(tmp_path))
    subprocess.run(["sh", "-c", script], check=True)
    assert (tmp_path / "cuda.repo").read_text() == nvidia
    assert (tmp_path / "rocky.repo").read_text().splitlines() == [
        "#mirrorlist=https://mirrors.rockylinux.org/mirrorlist?arch=x",
        "baseurl=https://mirror.example/$contentdir/9/",
    ]


def test_a_silent_fall_to_the_cpu_fails_the_smoke_test(matrix: Matrix, tmp_path: Path) -> None:
    """A stand-in for onnxruntime-gpu whose provider library cannot be loaded, and one whose session is the CPU's."""
    script = "\n".join(made(matrix, "onnxruntime").smoke)
    providers = tmp_path / "onnxruntime/capi"
    providers.mkdir(parents=True)
    code = "__version__ = '1.31.1'\ndef get_available_providers():\n    return ['CUDAExecutionProvider']\n"
    (tmp_path / "onnxruntime/__init__.py").write_text(code)
    run = ["sh", "-c", script.replace("python -c", f"PYTHONPATH={tmp_path} {sys.executable} -c")]
    assert subprocess.run(run, capture_output=True, text=True).stdout.endswith("smoke test passed\n")
    (providers / "libonnxruntime_providers_cuda.so").write_bytes(b"no library")
    failed = subprocess.run(run, capture_output=True, text=True)
    assert failed.returncode != 0 and "libonnxruntime_providers_cuda.so" in failed.stderr
    assert 'assert s.get_providers()[0] == "CUDAExecutionProvider"' in script
    (providers / "libonnxruntime_providers_cuda.so").unlink()
    (tmp_path / "onnxruntime/__init__.py").write_text(code.replace("CUDA", "CPU"))  # what installs over it leaves
    failed = subprocess.run(run, capture_output=True, text=True)
    assert failed.returncode != 0 and "a CPU build" in failed.stderr
