"""What packages require of each other, with lines copied from METADATA on PyPI."""

from __future__ import annotations

from dataclasses import replace

import pytest

from envkit.compat.packages import clash_of, libraries_of, requirement_met, requirements_of, wheels_share_libraries
from envkit.tables.rows import FrameworkBuild, PackageFile, PackageRequirements
from tests.solver.rows import TABLES, build, v

# the wheels' RECORD: nvidia-cudnn-cu12 9.x and nvidia-cudnn-cu13 9.x
FILES = tuple(
    PackageFile("nvidia/cudnn/lib/libcudnn.so.9", package, ">=9,<10", ("wheels",))
    for package in ("nvidia-cudnn-cu12", "nvidia-cudnn-cu13")
)


@pytest.mark.parametrize(
    ("first", "second", "clash"),
    [
        ("nvidia-cuda-nvrtc-cu12==12.5.82", "nvidia-cuda-nvrtc-cu12==12.4.127", ""),  # tensorflow 2.18, torch 2.6
        ("nvidia-cudnn-cu12==8.9.7.29", "nvidia-cudnn-cu12==9.1.0.70", ""),  # tensorflow 2.17, torch 2.6
        ("nvidia-nccl-cu12<3.0,>=2.27.7", "nvidia-nccl-cu12==2.27.5", ""),  # tensorflow 2.21, torch 2.10
        ("nvidia-cudnn-cu12<10.0,>=9.3.0.75", "nvidia-cudnn-cu13==9.26.0.51", "nvidia/cudnn/lib/libcudnn.so.9"),
        ("nvidia-cudnn-cu12==8.9.7.29", "nvidia-cudnn-cu13==9.26.0.51", None),  # libcudnn.so.8 is another file
        ("nvidia-cudnn-cu12<10.0,>=9.8", "nvidia-cudnn-cu12==9.10.2.21", None),  # jax 0.10, torch 2.10
        ("nvidia-cudnn-cu12", "nvidia-cudnn-cu12~=9.0", None),
        ("nvidia-cublas-cu12==12.4.5.8", "nvidia-cublas==13.4.1.3.*", None),  # each in a folder of its own
    ],
)
def test_one_environment_holds_one_version_and_one_file(first: str, second: str, clash: str | None) -> None:
    for one, other in ((first, second), (second, first)):
        found = clash_of(requirements_of((one,)), requirements_of((other,)), FILES)
        assert (None if found is None else found[2]) == clash


def row(package: str, *requires: str) -> PackageRequirements:
    return PackageRequirements(package, "", ("x86_64",), requires, ("metadata",))


def package_build(package: str, framework: str, cuda: str = "12.4") -> FrameworkBuild:
    return replace(build("2.6.0", cuda, framework=framework), package=package)


def test_wheels_share_libraries_tells_ok_fail_and_unknown() -> None:
    torch, jax = package_build("torch==2.6.0", "pytorch"), package_build("jax[cuda12]==0.6.0", "jax")
    pinned, ranged = row("torch==2.6.0", "nvidia-cudnn-cu12==9.1.0.70"), row("jax", "nvidia-cudnn-cu12<10.0,>=9.8")
    assert wheels_share_libraries(torch, jax, (pinned, ranged), TABLES).status == "fail"
    assert (
        wheels_share_libraries(torch, jax, (row("torch", "nvidia-cudnn-cu12==9.8.0.87"), ranged), TABLES).status == "ok"
    )
    assert wheels_share_libraries(torch, jax, (None, ranged), TABLES).status == "unknown"
    assert wheels_share_libraries(torch, jax, (None, row("jax")), TABLES).status == "ok"


def test_what_a_build_requires_is_looked_up_by_place_and_processor() -> None:
    torch = package_build("torch==2.6.0", "pytorch")
    rows = (row("torch==2.6.0", "nvidia-cudnn-cu12==9.1.0.70"),)
    assert libraries_of(torch, rows, "x86_64", "linux") == rows[0]
    assert libraries_of(torch, rows, "aarch64", "linux") is None
    assert libraries_of(torch, rows, "x86_64", "windows") is None
    assert libraries_of(replace(torch, index_url="https://example.org/cu126"), rows, "x86_64", "linux") is None
    from_system = libraries_of(replace(torch, bundles_cuda=False), rows, "x86_64", "linux")
    assert from_system is not None and from_system.requires == ()


def test_a_requirement_bounds_releases_also_where_it_names_a_candidate() -> None:
    (wanted,) = requirements_of(("keras<2.8,>=2.7.0rc0",))  # METADATA of tensorflow 2.7.0
    tensorflow, keras = build("2.7.0", framework="tensorflow"), build("2.7.0", framework="keras")
    assert requirement_met(tensorflow, wanted, keras).status == "ok"
    assert requirement_met(tensorflow, wanted, replace(keras, version=v("2.8.0"))).status == "fail"
    assert requirements_of(("keras @ https://example.org/keras.whl",)) == ()
