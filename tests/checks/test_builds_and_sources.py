"""Builds, indexes and solvers that stop for a reason outside of the package; Windows and WSL next to them."""

from __future__ import annotations

import pytest

from envkit._startup.records import replace
from envkit.ingest import parse_text
from envkit.model import Distribution, Environment, MachineKind, Nvcc, OsRelease
from tests.checks.software import GPU_4090, Case, assert_case, gpus, machine, python, pythons, torch, v, worst
from tests.ingest.texts import FOLDER

GIB = 1024**3
CLASH = "glibc-newer-than-toolkit"
WINDOWS = OsRelease("windows", "windows", "11", "Windows 11")
TORCH = torch("2.6.0+cu124", "12.4")
BY_CONDA = replace(python(TORCH), distributions=(Distribution("torch", "2.6.0", installer="conda"),))


def listed(*items: tuple[str, str]) -> dict[str, object]:
    return pythons(replace(python(), distributions=tuple(Distribution(name, version) for name, version in items)))


def of_text(name: str) -> Environment:
    return parse_text((FOLDER / f"{name}.txt").read_text("utf-8"))


CASES = (
    Case("build-isolation-hides-torch", "ok", "built", machine(listed(("flash-attn", "2.7.4")))),
    Case("build-out-of-memory", "ok", "roomy", machine(system__memory_bytes=128 * GIB, system__processors=16)),
    Case("build-out-of-memory", "skip", "tight", machine(system__memory_bytes=16 * GIB, system__processors=16)),
    Case(CLASH, "ok", "older-glibc", machine(system__glibc=v("2.39"), nvcc=Nvcc("n", "", v("12.8")))),
    Case(CLASH, "ok", "newer-nvcc", machine(system__glibc=v("2.42"), nvcc=Nvcc("n", "", v("13.0")))),
    Case(CLASH, "warn", "clash", machine(system__glibc=v("2.42"), nvcc=Nvcc("n", "", v("12.8"))), "13.0"),
    Case("package-index-wrong", "ok", "installed", machine(pythons(python(TORCH)))),
    Case("conda-sees-no-gpu", "ok", "installed", machine(pythons(BY_CONDA))),
    Case("windows-paging-file-small", "ok", "quiet", machine(pythons(python(TORCH)), system__os=WINDOWS)),
    Case("windows-runtime-missing", "ok", "quiet", machine(pythons(python(TORCH)), system__os=WINDOWS)),
    Case("wsl-gpu-in-tcc-mode", "ok", "listed", machine(system__machine_kind=MachineKind.WSL2, gpus=gpus(GPU_4090))),
    Case("onnxruntime-two-packages", "ok", "one", machine(listed(("onnxruntime-gpu", "1.20.0")))),
    Case(
        "onnxruntime-two-packages",
        "warn",
        "no-symptom",
        machine(listed(("onnxruntime-gpu", "1.20.0"), ("onnxruntime", "1.20.1"))),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_case_gets_its_verdict(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("build-isolation-hides-torch", "setuptools wheel ninja"),
        ("build-out-of-memory", "MAX_JOBS=2"),
        ("glibc-newer-than-toolkit", "envkit install --cuda 13.2"),
        ("conda-sees-no-gpu", "CONDA_OVERRIDE_CUDA="),
        ("package-index-wrong", "envkit resolve --framework pytorch"),
        ("onnxruntime-two-packages", "onnxruntime-gpu==1.20.0"),
    ],
)
def test_a_text_gets_a_remedy_that_is_whole(name: str, words: str) -> None:
    finding = worst(name, of_text(name))
    assert finding.status.value == "fail" and finding.remedy is not None
    assert any(words in command for command in finding.remedy.commands)


def test_an_index_that_exists_is_not_called_wrong() -> None:
    text = "pip3 install torch --index-url https://mirror.example/whl/cu124\nERROR: from versions: none\n"
    assert worst("package-index-wrong", parse_text(text)).status.value != "fail"
