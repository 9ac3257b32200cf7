"""The GPU code in binaries: hand-written fat binaries, damaged ones, and what nvcc itself was asked for."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from envkit.base.versions import ComputeCapability
from envkit.host.local import LocalHost
from envkit.model import Observed, Problem
from envkit.probe.elf import ElfFile, read_elf
from envkit.probe.fatbin import GpuCode, gpu_code
from tests.probe.binaries import CUBIN, FAMILY, ONLY_THIS, PTX, entry, fatbin, library

BODY = b"\x5a" * 200


def code_in(path: Path, **limits: float) -> Observed[GpuCode]:
    elf = read_elf(LocalHost(), str(path))
    assert elf.known, elf.detail
    return gpu_code(LocalHost(), elf.get(), **limits)  # type: ignore[arg-type]


def targets(codes: frozenset[ComputeCapability]) -> list[str]:
    return [str(code) for code in sorted(codes)]


def test_kinds_and_targets_are_told_apart(tmp_path: Path) -> None:
    content = fatbin(
        entry(CUBIN, 75, BODY),
        entry(CUBIN, 90, BODY, ONLY_THIS | 0x11),
        entry(CUBIN, 100, BODY * 3, FAMILY | 0x1000011, header_size=96),
        entry(PTX, 120, BODY, 0x8011, header_size=80),
    )
    code = code_in(library(tmp_path / "libone.so", section=content)).get()
    assert targets(code.sass) == ["7.5", "9.0a", "10.0f"]
    assert targets(code.ptx) == ["12.0"]
    assert code.complete


def test_the_walk_crosses_padding_between_fat_binaries(tmp_path: Path) -> None:
    one = fatbin(entry(CUBIN, 80, BODY))
    code = code_in(library(tmp_path / "libpadded.so", section=one + b"\0" * 24 + one + b"\0" * 40 + one)).get()
    assert code.fatbins == 3
    assert targets(code.sass) == ["8.0"]


def test_a_target_of_a_few_kernels_is_not_a_target_of_the_library(tmp_path: Path) -> None:
    usual, special = fatbin(entry(CUBIN, 80, BODY), entry(CUBIN, 90, BODY)), fatbin(entry(CUBIN, 89, BODY))
    code = code_in(library(tmp_path / "libmost.so", section=usual * 9 + special)).get()
    assert targets(code.sass) == ["8.0", "9.0"]


def test_a_library_without_gpu_code_says_so(tmp_path: Path) -> None:
    assert code_in(library(tmp_path / "libplain.so")).problem is Problem.ABSENT


@pytest.mark.parametrize("content", [b"\0" * 64, b"not a fat binary, but something long enough to look at" * 4])
def test_a_section_of_something_else_is_unparsable(tmp_path: Path, content: bytes) -> None:
    assert code_in(library(tmp_path / "libodd.so", section=content)).problem is Problem.UNPARSABLE


def test_sizes_that_point_outside_end_the_walk(tmp_path: Path) -> None:
    broken = bytearray(fatbin(entry(CUBIN, 80, BODY), entry(CUBIN, 90, BODY)))
    broken[24:32] = (2**62).to_bytes(8, "little")  # the payload size of the first entry
    code = code_in(library(tmp_path / "libbroken.so", section=bytes(broken))).get()
    assert targets(code.sass) == ["8.0"]


def test_the_walk_keeps_to_its_time(tmp_path: Path) -> None:
    path = library(tmp_path / "libmany.so", section=fatbin(entry(CUBIN, 80, BODY)) * 3000)
    code = code_in(path, limit_s=0.0)
    assert code.problem is Problem.UNPARSABLE or not code.get().complete


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc on PATH")
def test_the_list_is_what_nvcc_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "kernel.cu").write_text("__global__ void one(float* x) { x[0] = 1; }\n")
    asked = ["sm_75", "sm_86", "sm_90a", "sm_100f", "compute_120"]
    flags = [f"-gencode=arch={word.replace('sm_', 'compute_')},code={word}" for word in asked]
    command = ["nvcc", "-shared", "-Xcompiler", "-fPIC", "-o", "libkernel.so", *flags, "kernel.cu"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    code = code_in(tmp_path / "libkernel.so").get()
    assert targets(code.sass) == ["7.5", "8.6", "9.0a", "10.0f"]
    assert targets(code.ptx) == ["12.0"]


def test_a_section_beyond_the_file_is_unparsable() -> None:
    elf = ElfFile("/bin/true", "x64", sections={".nv_fatbin": (10**12, 10**6)})
    assert gpu_code(LocalHost(), elf).problem is Problem.UNPARSABLE
