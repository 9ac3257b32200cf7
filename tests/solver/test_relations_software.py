from __future__ import annotations

from dataclasses import replace

import pytest

from envkit.base.versions import VersionSpec
from envkit.compat.pythons import has_python, python_has_wheel, python_span
from envkit.compat.software import (
    LibraryMatch,
    cudnn_meets,
    cudnn_serves,
    cudnn_supports_cuda,
    glibc_match,
    glibc_meets,
    gpu_on_cudnn,
    numpy_agree,
    some_version_meets,
    toolkit_serves,
    toolkit_serves_build,
)
from envkit.compat.system import (
    compiler_fits_nvcc,
    compiling_effort,
    image_fits,
    os_compiler_fits_nvcc,
    other_gcc,
    runfile_on_os,
)
from tests.solver.rows import TABLES, build, cc, cudnn, image, system, toolkit, v, with_cudnns


def test_python_needs_a_wheel() -> None:
    torch = build("1.1.0", "9.0", pythons="2.7 3.5 3.6 3.7")
    assert python_has_wheel(torch, v("3.7")).status == "ok"
    refused = python_has_wheel(torch, v("3.10"))
    assert refused.status == "fail" and "2.7, 3.5, 3.6, and 3.7" in refused.detail and refused.sources == ("wheel",)
    assert python_has_wheel(torch, v("3.1")).status == "fail"  # 3.10 is no 3.1
    assert python_has_wheel(build(), v("3.7")).status == "unknown"


def test_a_build_without_pythons_is_bounded_by_the_releases_around_it() -> None:
    """The closest releases decide: a later one runs on no older Python than an earlier one did."""
    rows = [build("0.4", pythons="2.7 3.8"), build("0.5", pythons="3.9 3.10"), build("0.6"), build("0.7")]
    later = [build("0.8", pythons="3.10 3.11"), build("0.9", pythons="3.11 3.12")]
    span = python_span(rows[2], [*rows, *later])
    assert str(span) == "3.9 to 3.11"
    refused = python_has_wheel(rows[2], v("3.6"), span)
    assert refused.status == "fail" and "3.9 to 3.11" in refused.detail
    assert [has_python(rows[2], VersionSpec.parse(line), span) for line in ("3.8", "3.9", "3.11.4", "3.12", "3")] == [
        *(False, None, None, False, None)
    ]
    ranges = ("<3.9", "<=3.9", ">=3.11", ">=3.12", ">=3.6,<4")
    assert [has_python(rows[2], VersionSpec.parse(line), span) for line in ranges] == [False, None, None, False, None]
    assert str(python_span(rows[3], rows)) == "3.9 or newer" and str(python_span(rows[2], later)) == "3.11 or older"
    assert has_python(rows[2], v("2.7"), python_span(rows[2], rows[2:])) is None  # no neighbor tells


def test_other_builds_of_a_release_bound_it_from_both_sides() -> None:
    rows = [build("0.5", pythons="3.9"), build("0.6", "11.8", pythons="3.9 3.10"), build("0.6", "12.1")]
    assert str(python_span(rows[2], [*rows, build("0.7", pythons="3.13")])) == "3.9 to 3.10"


def test_glibc_bounds() -> None:
    torch = build("2.7.0", "12.8", glibc="2.28")
    assert glibc_meets(torch, v("2.28")).status == "ok"
    refused = glibc_meets(torch, v("2.27"), where="ubuntu18.04")
    assert refused.status == "fail" and "ubuntu18.04" in refused.detail
    assert glibc_meets(torch, None).status == "unknown"
    assert glibc_meets(build(), v("2.27")).status == "unknown"


def test_a_glibc_that_refuses_executable_stacks() -> None:
    """NEWS of glibc 2.41: dlopen fails for a library that asks for an executable stack."""
    torch = replace(build("1.10.2", "11.3", glibc="2.17"), execstack_glibc=v("2.41"))
    assert glibc_meets(torch, v("2.40")).status == "ok"
    for glibc in ("2.41", "2.43"):
        refused = glibc_meets(torch, v(glibc), where="ubuntu26.04")
        assert refused.status == "fail" and "executable stack" in refused.detail and "ubuntu26.04" in refused.detail
    assert glibc_meets(torch, None).status == "unknown"
    assert [glibc_match(torch, v(glibc)).value for glibc in ("2.16", "2.17", "2.40", "2.41")] == [
        "too-old",
        "fits",
        "fits",
        "too-new",
    ]


@pytest.mark.parametrize(
    ("specs", "possible"),
    [
        (("<2", ">=1.22"), True),
        (("<2", ">=2.0"), False),
        (("<1.19.0,>=1.16.0", "~=1.19.2"), False),
        (("<=1.24.3,>=1.22", ">=1.24"), True),
        ((">1.16.0,<2.0", "<=1.16.6"), True),
        (("<1.16", ">=1.15"), True),
        ((">1.24", "<1.24"), False),
        ((), True),
    ],
)
def test_some_version_meets(specs: tuple[str, ...], possible: bool) -> None:
    assert some_version_meets(VersionSpec.parse(spec) for spec in specs) is possible


def test_numpy_conflict_names_both_builds() -> None:
    old = build("1.15.5", "10.0", framework="tensorflow", numpy="<1.19,>=1.16")
    new = build("0.12", "12", framework="jax", numpy=">=2.2")
    refused = numpy_agree((old, new))
    assert refused.status == "fail" and "TensorFlow 1.15.5" in refused.detail and "JAX 0.12" in refused.detail
    assert numpy_agree((old, build())).status == "ok"
    assert "no package restricts the NumPy version" in numpy_agree((build(),)).detail


def test_a_toolkit_serves_its_own_line_and_later_minors_of_cuda_11() -> None:
    mxnet = build("1.9.1", "11.0", framework="mxnet", bundles=False)
    rows = {str(row.version): row for row in TABLES.toolkits}
    assert toolkit_serves(mxnet, rows["11.0.3"]) is LibraryMatch.SAME
    # libcusolver and libnvrtc of 11.0 are called otherwise than those of 11.8
    assert toolkit_serves(mxnet, rows["11.8.0"]) is LibraryMatch.NONE
    later = build("1.9.1", "11.2", framework="mxnet", bundles=False)
    assert toolkit_serves(later, rows["11.8.0"]) is LibraryMatch.MINOR
    assert toolkit_serves(mxnet, rows["12.4.0"]) is LibraryMatch.NONE
    older = build("1.0", "12.8", bundles=False)
    assert toolkit_serves(older, rows["12.4.0"]) is LibraryMatch.NONE  # libraries do not run newer builds
    ten = build("1.0", "10.0", bundles=False)
    assert toolkit_serves(ten, toolkit("10.1.105", "418.39")) is LibraryMatch.NONE  # no such rule before 11
    assert toolkit_serves(build("1.0", None), rows["12.4.0"]) is LibraryMatch.UNKNOWN


def test_a_build_for_a_whole_major_keeps_its_bounds() -> None:
    jax = replace(build("0.4.30", "12", framework="jax"), cuda_min=v("12.4"), cuda_max=v("12.6"))
    rows = {str(row.version): row for row in TABLES.toolkits}
    assert toolkit_serves(jax, rows["12.4.1"]) is LibraryMatch.SAME
    assert toolkit_serves(jax, rows["12.8.0"]) is LibraryMatch.NONE
    assert toolkit_serves(replace(jax, cuda_min=v("12.5")), rows["12.4.1"]) is LibraryMatch.NONE


@pytest.mark.parametrize(
    ("cuda", "version", "status"),
    [
        ("11.8", "11.8.0", "ok"),
        ("11.2", "11.8.0", "warn"),
        ("11.0", "11.8.0", "fail"),
        ("10.0", "11.8.0", "fail"),
        (None, "11.8.0", "unknown"),
    ],
)
def test_toolkit_verdicts(cuda: str | None, version: str, status: str) -> None:
    row = next(row for row in TABLES.toolkits if row.version == v(version))
    verdict = toolkit_serves_build(build("1.0", cuda, bundles=False), row)
    assert verdict.status == status and verdict.sources[0] == "wheel"


@pytest.mark.parametrize(
    ("spans", "cuda", "made"),
    [
        ("11.0-11.8", "11.8.0", True),
        ("11.0-11.8", "11.4.4", True),
        ("11.0-11.8", "12.0.0", False),
        ("11.0-11.8", "10.2.89", False),
        ("12.x", "12.8.1", True),
        ("12.x", "13.0.0", False),
        ("10.2", "10.2.89", True),
        ("garbage", "10.2.89", False),
        ("", "12.4.1", True),  # no span: the CUDA of its name
    ],
)
def test_cudnn_spans(spans: str, cuda: str, made: bool) -> None:
    package = spans.partition(".")[0] if spans[:1].isdigit() else "12"
    assert cudnn_supports_cuda(cudnn("8.9.7.29", package, spans=spans), v(cuda)) is made


def test_cudnn_needs_the_same_major_and_no_older_minor() -> None:
    tensorflow = build("2.11", "11.2", cudnn="8.1", bundles=False)
    assert cudnn_serves(tensorflow, v("8.9.7.29")) is True
    assert cudnn_serves(tensorflow, v("8.0.5.39")) is False
    assert cudnn_serves(tensorflow, v("9.1.0.70")) is False
    assert cudnn_serves(build(), v("9.1.0.70")) is None


def test_cudnn_drops_gpus() -> None:
    rows = with_cudnns(
        cudnn("9.1.0.70", "11", low="5.0", high="9.0"),
        cudnn("8.7.0.84", "11"),
        cudnn("9.1.0.70", "12", low="7.5"),
    )
    refused = gpu_on_cudnn(cc("3.7"), v("9.1.0.70"), v("11.8"), rows, name="K80")
    assert refused.status == "fail" and "K80" in refused.detail and "from 5.0 to 9.0" in refused.detail
    assert gpu_on_cudnn(cc("6.1"), v("9.1"), v("11.8"), rows).status == "ok"
    assert gpu_on_cudnn(cc("6.1"), v("9.1"), v("12.4"), rows).status == "fail"
    assert gpu_on_cudnn(cc("12.0"), v("9.1"), v("11.8"), rows).status == "fail"
    assert gpu_on_cudnn(cc("3.7"), v("8.7"), v("11.8"), rows).status == "unknown"
    assert gpu_on_cudnn(cc("3.7"), v("7.0"), None, rows).status == "unknown"


@pytest.mark.parametrize(
    ("name", "version", "status"),
    [
        ("gcc", "11.4.0", "ok"),
        ("gcc", "12.2.0", "fail"),
        ("gcc", "9.4.0", "ok"),
        ("clang", "14.0.6", "ok"),
        ("clang", "15.0.0", "fail"),
    ],
)
def test_host_compilers(name: str, version: str, status: str) -> None:
    row = next(row for row in TABLES.toolkits if row.version == v("11.8.0"))
    verdict = compiler_fits_nvcc(name, v(version), row)
    assert verdict.status == status and version in verdict.detail


def test_a_compiler_below_the_lowest_is_refused_and_an_unlisted_one_unknown() -> None:
    row = replace(toolkit("12.0.0", None, gcc="12"), gcc_min=v("6"))
    assert compiler_fits_nvcc("gcc", v("5.4.0"), row).status == "fail"
    assert compiler_fits_nvcc("clang", v("5.4.0"), row).status == "unknown"


def test_the_systems_compilers() -> None:
    row = next(row for row in TABLES.toolkits if row.version == v("11.8.0"))
    fits = system("ubuntu22.04", gcc="11.4.0")
    other = system("ubuntu24.04", gcc="13.3.0", others="10 11 13")
    none = system("ubuntu26.04", gcc="15.2.0", others="13 14")
    assert os_compiler_fits_nvcc(fits, row).status == "ok"
    told = os_compiler_fits_nvcc(other, row)
    assert told.status == "warn" and "gcc-11 is needed" in told.detail
    assert "no package for a supported GCC" in os_compiler_fits_nvcc(none, row).detail
    unlisted = os_compiler_fits_nvcc(system("rhel9", gcc="13.3.0"), row)
    assert unlisted.status == "warn" and "it is not known which other GCC releases RHEL 9 has" in unlisted.detail
    assert os_compiler_fits_nvcc(system("kylin10"), row).status == "unknown"


@pytest.mark.parametrize(
    ("gcc", "others", "effort", "other"),
    [
        ("9.4.0", "", 0, None),
        (None, "", 0, None),
        ("13.3.0", "10 11 13", 1, "11"),
        ("13.3.0", "", 2, None),
        ("13.3.0", "12 13", 3, None),
        ("5.4.0", "4.8 5 8", 1, "8"),  # nvcc has a lowest GCC too
        ("5.4.0", "4.8 5", 3, None),
    ],
)
def test_what_compiling_takes(gcc: str | None, others: str, effort: int, other: str | None) -> None:
    row = replace(toolkit("11.8.0", None, gcc="11"), gcc_min=v("6"))
    host = system("debian12", gcc=gcc, others=others)
    assert compiling_effort(host, row) == effort
    assert other_gcc(host, row) == (other and v(other))


@pytest.mark.parametrize(
    ("os_id", "version", "status"),
    [
        ("ubuntu22.04", "11.8.0", "ok"),
        ("debian12", "11.8.0", "warn"),  # a complete list that leaves it out
        ("debian12", "9.0.176", "unknown"),  # an incomplete one
        ("debian12", "12.4.1", "unknown"),  # none at all
    ],
)
def test_runfiles_list_their_systems(os_id: str, version: str, status: str) -> None:
    row = next(row for row in TABLES.toolkits if row.version == v(version))
    assert runfile_on_os(system(os_id), row).status == status


@pytest.mark.parametrize(
    ("state", "status"),
    [("supported", "ok"), ("unsupported", "warn"), ("deleted", "fail"), ("never", "fail"), ("seen", "unknown")],
)
def test_image_states(state: str, status: str) -> None:
    verdict = image_fits(image(state))
    assert verdict.status == status and "nvidia/cuda:12.4.1-base-ubuntu22.04" in verdict.detail


def test_a_cudnn_for_older_cuda_has_no_kernels_for_a_newer_gpu() -> None:
    rows = with_cudnns(cudnn("7.6.5", "9.0"), cudnn("7.6.5", "10.0", low="3.0", high="7.5"), cudnn("8.0.5", "11"))
    refused = gpu_on_cudnn(cc("8.6"), v("7"), None, rows, name="RTX 3090")
    assert refused.status == "fail" and "CUDA 10.0 and older, which do not support the RTX 3090" in refused.detail
    assert gpu_on_cudnn(cc("8.6"), v("4"), None, rows).status == "fail"  # older than all in the data
    assert gpu_on_cudnn(cc("7.5"), v("7"), None, rows).status == "ok"
    assert gpu_on_cudnn(cc("3.7"), v("4"), None, rows).status == "unknown"


def test_the_cudnn_of_a_build_and_a_requested_one() -> None:
    rows = with_cudnns(cudnn("8.9.7", "12"), cudnn("9.13.0.50", "13"))

    def meets(cuda: str, own: str | None, wanted: str) -> bool | None:
        torch = replace(build(cuda=cuda), cudnn=v(own) if own else None)
        return cudnn_meets(torch, VersionSpec.parse(wanted), rows)

    assert meets("12.4", "9.1.0.70", "9.1") is True
    assert meets("12.4", "9.1.0.70", "8") is False
    assert meets("12.4", "8", "8.9") is None  # recorded less exactly
    assert meets("12.4", None, "8.9") is None
    assert meets("13.0", None, "8.9") is False  # never made for CUDA 13
