from __future__ import annotations

import pytest

from envkit.compat.gpu import (
    CodeMatch,
    ToolkitMatch,
    code_match,
    cuda_match,
    cuda_span,
    gpu_runs_build,
    gpu_runs_cuda,
    target_span,
    toolkit_match,
)
from tests.solver.rows import TABLES, build, cc, ccs, toolkit, v


@pytest.mark.parametrize(
    ("capability", "sass", "ptx", "expected"),
    [
        ("8.6", "8.0 8.6", "", CodeMatch.NATIVE),
        ("8.9", "8.0 8.6", "", CodeMatch.BINARY),  # sm_86 runs on 8.9
        ("8.0", "8.6", "", CodeMatch.NONE),  # a higher minor does not run on a lower one
        ("9.0", "8.0 8.6", "", CodeMatch.NONE),  # nor another major
        ("9.0", "8.0", "8.0", CodeMatch.JIT),
        ("12.0", "7.0", "7.0", CodeMatch.JIT),
        ("6.1", "7.0", "7.0", CodeMatch.NONE),  # PTX of a higher capability cannot be lowered
        ("9.0", "9.0a", "", CodeMatch.NATIVE),
        ("10.3", "10.0a", "", CodeMatch.NONE),  # architecture-specific code does not carry over
        ("10.3", "10.0f", "", CodeMatch.BINARY),  # family-specific code does, inside its family
        ("12.0", "10.0f", "", CodeMatch.NONE),
        ("10.0", "", "9.0a", CodeMatch.NONE),
        ("10.3", "", "10.0f", CodeMatch.JIT),
        ("12.1", "", "10.0f", CodeMatch.NONE),
        ("12.1", "12.0", "", CodeMatch.BINARY),
    ],
)
def test_code_match(capability: str, sass: str, ptx: str, expected: CodeMatch) -> None:
    assert code_match(cc(capability), ccs(sass), ccs(ptx)) is expected


def test_unknown_lists_are_unknown_unless_the_minimum_rules_it_out() -> None:
    assert code_match(cc("8.6"), None, None) is CodeMatch.UNKNOWN
    assert code_match(cc("8.6"), None, (), cc("5.0")) is CodeMatch.UNKNOWN
    assert code_match(cc("3.7"), None, None, cc("5.0")) is CodeMatch.NONE
    assert code_match(cc("9.0"), ccs("8.0"), None) is CodeMatch.UNKNOWN  # it may hold PTX
    assert code_match(cc("8.0"), ccs("8.0"), None) is CodeMatch.NATIVE


def test_ptx_needs_a_driver_that_is_native() -> None:
    tf = build("1.15", "10.0", framework="tensorflow", sass="3.5 7.0", ptx="7.0")
    lone = gpu_runs_build(cc("8.6"), tf)
    assert lone.status == "warn" and "compute_70" in lone.detail and "slow" in lone.detail
    assert gpu_runs_build(cc("8.6"), tf, driver_verdict="native").status == "warn"
    refused = gpu_runs_build(cc("8.6"), tf, driver_verdict="minor-version-compatibility")
    assert refused.status == "fail" and "cannot JIT-compile" in refused.detail


def test_build_verdicts_say_what_the_build_holds() -> None:
    torch = build("2.6.0", "12.4", sass="5.0 8.0 9.0", ptx="")
    refused = gpu_runs_build(cc("12.0"), torch, name="RTX 5090")
    assert refused.status == "fail" and "sm_50, sm_80, and sm_90" in refused.detail and "PTX" not in refused.detail
    assert "RTX 5090" in refused.detail and refused.sources == ("wheel",)
    assert gpu_runs_build(cc("8.0"), torch).status == "ok"
    assert "run on sm_89" in gpu_runs_build(cc("8.9"), torch).detail


def test_builds_without_lists() -> None:
    jax = build("0.4.30", "12", framework="jax", minimum="5.2")
    assert gpu_runs_build(cc("8.0"), jax).status == "ok"  # XLA compiles for the GPU
    assert gpu_runs_build(cc("8.0"), build("2.0", "12", framework="paddlepaddle", minimum="5.2")).status == "unknown"
    refused = gpu_runs_build(cc("3.7"), jax)
    assert refused.status == "fail" and "needs compute capability 5.2" in refused.detail
    cpu = gpu_runs_build(cc("8.0"), build("1.0", None, cpu_only=True))
    assert cpu.status == "warn" and "CPU build" in cpu.detail


@pytest.mark.parametrize(
    ("capability", "version", "expected"),
    [
        ("7.0", "9.0.176", ToolkitMatch.TARGET),
        ("7.5", "9.0.176", ToolkitMatch.BINARY),
        ("8.0", "9.0.176", ToolkitMatch.TOO_NEW),
        ("2.0", "9.0.176", ToolkitMatch.DROPPED),
        ("3.7", "11.8.0", ToolkitMatch.TARGET),
        ("3.7", "12.4.1", ToolkitMatch.DROPPED),
        ("6.1", "13.0.0", ToolkitMatch.DROPPED),
        ("12.0", "12.4.1", ToolkitMatch.TOO_NEW),
        ("10.3", "12.8.0", ToolkitMatch.BINARY),
        ("11.0", "12.8.0", ToolkitMatch.TOO_NEW),  # between known targets, and its major is not among them
        ("8.0", "13.4.1", ToolkitMatch.UNKNOWN),
    ],
)
def test_toolkit_match(capability: str, version: str, expected: ToolkitMatch) -> None:
    row = next(row for row in TABLES.toolkits if row.version == v(version))
    assert toolkit_match(cc(capability), row) is expected


def test_a_line_knows_what_its_best_release_knows() -> None:
    assert cuda_match(cc("12.0"), v("12"), TABLES) is ToolkitMatch.TARGET
    assert cuda_match(cc("12.0"), v("12.4"), TABLES) is ToolkitMatch.TOO_NEW
    assert cuda_match(cc("12.0"), v("99"), TABLES) is ToolkitMatch.UNKNOWN


def test_cuda_span() -> None:
    assert cuda_span(cc("3.7"), TABLES) == (v("9.0"), v("11.8"))
    assert cuda_span(cc("9.0"), TABLES) == (v("11.8"), v("13.0"))
    assert cuda_span(cc("99.0"), TABLES) == (None, None)
    assert cuda_span(cc("8.6"), TABLES)[0] == v("11.0")  # whose code for sm_80 runs on sm_86
    assert target_span(cc("8.6"), TABLES)[0] == v("11.8")  # the first here to compile for it


def test_h100_and_cuda_9_0_are_refused_with_the_reason() -> None:
    verdict = gpu_runs_cuda(cc("9.0"), v("9.0"), TABLES, name="H100")
    assert verdict.status == "fail"
    assert "needs CUDA 11.8 or newer" in verdict.detail and "PTX" in verdict.detail and "cuBLAS" in verdict.detail
    assert verdict.sources == ("notes",)


def test_other_gpu_and_cuda_verdicts() -> None:
    dropped = gpu_runs_cuda(cc("3.7"), v("12.4"), TABLES)
    assert dropped.status == "fail" and "CUDA 11.8 was the last release that did" in dropped.detail
    assert "same major" in gpu_runs_cuda(cc("7.5"), v("9.0"), TABLES).detail
    assert gpu_runs_cuda(cc("7.0"), v("9.0"), TABLES).status == "ok"
    assert gpu_runs_cuda(cc("7.0"), v("99"), TABLES).status == "unknown"


def test_toolkit_without_bounds_is_unknown() -> None:
    assert toolkit_match(cc("8.0"), toolkit("1.0", None)) is ToolkitMatch.UNKNOWN
