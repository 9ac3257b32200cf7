from __future__ import annotations

import pytest

from envkit.compat.driver import branch_number, driver_floors, driver_runs_cuda
from envkit.compat.driver_gpu import (
    first_driver_for_gpu,
    gpu_on_driver,
    gpu_on_kernel_module,
    last_branch_of,
    last_driver_runs_cuda,
)
from envkit.compat.verdict import DriverVerdict
from envkit.tables import Matrix
from tests.solver.rows import TABLES, Rows, cc, toolkit, v


@pytest.mark.parametrize(
    ("driver", "cuda", "data_center", "expected"),
    [
        ("384.81", "9.0", False, DriverVerdict.NATIVE),
        ("384.80", "9.0", False, DriverVerdict.INCOMPATIBLE),
        ("550.54.14", "12.4", False, DriverVerdict.NATIVE),  # the line's floor is that of its first release
        ("550.54.14", "12.4.1", False, DriverVerdict.MINOR_VERSION),
        ("525.60.13", "12.4", False, DriverVerdict.MINOR_VERSION),
        ("525.60.12", "12.4", False, DriverVerdict.INCOMPATIBLE),
        ("450.80.02", "11.8", False, DriverVerdict.MINOR_VERSION),
        ("450.36.06", "11.0", False, DriverVerdict.MINOR_VERSION),
        ("410.47", "10.0", False, DriverVerdict.INCOMPATIBLE),  # before CUDA 11 there is no minor-version rule
        ("470.256.02", "12.4", True, DriverVerdict.FORWARD),
        ("470.256.02", "12.4", False, DriverVerdict.INCOMPATIBLE),
        ("465.19.01", "12.4", True, DriverVerdict.INCOMPATIBLE),  # the image of 12.4.1 takes 470, 525 and 535
        ("450.248.02", "12.4", True, DriverVerdict.INCOMPATIBLE),  # a supported kind and one major older, yet not taken
        ("384.81", "11.8", True, DriverVerdict.INCOMPATIBLE),
        ("470.256.02", "12.8", True, DriverVerdict.UNKNOWN),  # no list is recorded here: the rule makes it possible
        ("465.19.01", "12.8", True, DriverVerdict.INCOMPATIBLE),  # never for new-feature branches
        ("390.157", "12.8", True, DriverVerdict.INCOMPATIBLE),  # nor over two majors
        ("384.81", "12.8", True, DriverVerdict.UNKNOWN),  # the branch's kind is not recorded
        ("384.81", "10.0", True, DriverVerdict.UNKNOWN),
        ("615.71.09", "13.4", False, DriverVerdict.NATIVE),  # no floor in the data: the branch reports it
        ("590.48.01", "13.4", False, DriverVerdict.MINOR_VERSION),
        ("590.48.01", "14.0", False, DriverVerdict.UNKNOWN),
    ],
)
def test_driver_levels(driver: str, cuda: str, data_center: bool, expected: DriverVerdict) -> None:
    verdict = driver_runs_cuda(v(driver), v(cuda), TABLES, data_center=data_center)
    assert verdict.status == expected.value
    assert driver in verdict.detail and verdict.relation == "driver-runs-cuda"


def test_minor_version_verdict_says_that_ptx_is_not_covered() -> None:
    verdict = driver_runs_cuda(v("525.60.13"), v("12.4"), TABLES)
    assert "does not apply to PTX" in verdict.detail and "550.54.14" in verdict.detail
    assert verdict.sources == ("notes",)


def test_forward_verdict_names_the_package() -> None:
    verdict = driver_runs_cuda(v("470.256.02"), v("12.4"), TABLES, data_center=True)
    assert "cuda-compat-12-4" in verdict.detail


def test_incompatible_verdict_names_the_lowest_driver_that_would_do() -> None:
    assert "needs 525.60.13 or newer" in driver_runs_cuda(v("384.81"), v("12.4"), TABLES).detail
    assert "needs 384.81 or newer" in driver_runs_cuda(v("375.26"), v("9.0"), TABLES).detail


def test_windows_has_no_forward_compatibility() -> None:
    for platform in ("windows", "wsl"):
        verdict = driver_runs_cuda(v("475.14"), v("12.4"), TABLES, data_center=True, platform=platform)
        assert verdict.status != "forward-compatibility"


def test_minor_version_floors_on_windows() -> None:
    # NVIDIA CUDA Compatibility, Minor Version Compatibility: 450.80.02 (Linux) / 452.39 (Windows) for CUDA 11
    for driver, status in (("452.39", "minor-version-compatibility"), ("452.06", "incompatible")):
        assert driver_runs_cuda(v(driver), v("11.8"), TABLES, platform="windows").status == status


def test_windows_has_its_own_floors() -> None:
    assert driver_runs_cuda(v("385.54"), v("9.0"), TABLES, platform="windows").status == "native"
    assert driver_runs_cuda(v("384.81"), v("9.0"), TABLES, platform="wsl").status == "incompatible"


@pytest.mark.parametrize(
    ("capability", "driver", "last", "status"),
    [
        ("6.1", "580.65.06", 580, "ok"),
        ("6.1", "590.48.01", 580, "fail"),  # Pascal was dropped after 580
        ("6.1", "590.48.01", None, "fail"),  # known from the family alone
        ("3.7", "535.54.03", None, "fail"),  # Kepler ended with 470
        ("9.0", "470.42.01", None, "fail"),  # Hopper came later
        ("12.0", "570.86.10", None, "ok"),
        ("12.0", "615.71.09", None, "unknown"),  # the families of 615 are not recorded
        ("8.6", "700.1", None, "unknown"),
        ("13.0", "580.65.06", None, "unknown"),  # a GPU that no table knows
        ("7.5", "387.26", None, "fail"),  # no row, and before the first branch with Turing
        ("3.7", "520.61.05", None, "fail"),  # no row, and after the last one with Kepler
        ("7.5", "460.32.03", None, "ok"),  # no row, between two that have it
        ("12.0", "566.36", None, "fail"),
        ("3.7", "346.46", None, "unknown"),  # before everything that is recorded
        ("8.6", "450.80.02", None, "fail"),  # Ampere, but its CUDA 11.0 compiles for 8.0 alone
    ],
)
def test_gpu_on_driver(capability: str, driver: str, last: int | None, status: str) -> None:
    verdict = gpu_on_driver(cc(capability), v(driver), TABLES, last_driver_branch=last)
    assert verdict.status == status, verdict.detail


def test_a_dropped_gpu_is_told_its_last_branch() -> None:
    verdict = gpu_on_driver(cc("6.1"), v("590.48.01"), TABLES, name="GTX 1080 Ti", last_driver_branch=580)
    assert "GTX 1080 Ti" in verdict.detail and "580 is its last branch" in verdict.detail
    assert "390 to 470" in gpu_on_driver(cc("3.7"), v("580.1"), _from(390)).detail


def test_a_model_may_be_younger_than_its_family() -> None:
    # LibreELEC/LibreELEC.tv#3327, NVIDIA's announcement: 418.43 added support for GeForce GTX 1660 Ti
    def on(driver: str, platform: str = "linux") -> str:
        return gpu_on_driver(cc("7.5"), v(driver), TABLES, first_driver=v("535.54"), platform=platform).status

    assert (on("470.256.02"), on("535.43.02"), on("535.54.03")) == ("fail", "fail", "ok")
    assert (on("475.14", "windows"), on("581.15", "windows")) == ("fail", "ok")  # by its branch alone


@pytest.mark.parametrize(
    ("driver", "last", "status"),
    [
        ("581.15", 580, "ok"),  # vGPU 19.1: R580 is 580.82.07 for Linux and 581.15 for Windows
        ("475.14", 470, "ok"),  # vGPU 13.12: R470 is 470.256.02 for Linux and 475.14 for Windows
        ("581.15", 470, "fail"),
        ("596.21", 580, "unknown"),  # of a branch that is not recorded
    ],
)
def test_windows_numbers_are_of_a_branch(driver: str, last: int, status: str) -> None:
    for platform in ("windows", "wsl"):
        verdict = gpu_on_driver(cc("7.5"), v(driver), TABLES, last_driver_branch=last, platform=platform)
        assert verdict.status == status, verdict.detail


def test_the_last_branch_bounds_the_cuda_of_windows_too() -> None:
    rows = Rows(
        toolkits=(toolkit("11.4.0", "470.42.01", windows="471.11"), toolkit("13.1.0", None, windows="591.44")),
        driver_branches=TABLES.driver_branches,
    )
    for cuda in ("11.4", "13.1"):  # 471.11 is of R470; the branch of 591.44 is not recorded, so it refuses nothing
        assert last_driver_runs_cuda(470, v(cuda), rows, name="K80", platform="windows").status == "ok"


def _from(first: int) -> Rows:
    return Rows(gpus=TABLES.gpus, driver_branches=tuple(row for row in TABLES.driver_branches if row.branch >= first))


def test_last_branch_is_read_from_the_families() -> None:
    assert last_branch_of(cc("3.7"), TABLES) == 470
    assert last_branch_of(cc("6.1"), TABLES) == 580
    assert last_branch_of(cc("8.6"), TABLES) is None


@pytest.mark.parametrize(
    ("last", "cuda", "status"),
    [(470, "11.8", "ok"), (470, "12.4", "fail"), (580, "13.0", "ok"), (580, "14.0", "unknown")],
)
def test_the_last_driver_of_a_gpu_bounds_its_cuda(last: int, cuda: str, status: str) -> None:
    assert last_driver_runs_cuda(last, v(cuda), TABLES, name="K80").status == status


@pytest.mark.parametrize(
    ("capability", "open_module", "status"),
    [
        ("7.5", True, "ok"),
        ("7.0", True, "fail"),  # no open module before Turing
        ("7.0", False, "ok"),
        ("9.0", False, "ok"),
        ("10.0", False, "fail"),  # Blackwell needs the open module
        ("12.0", True, "ok"),
    ],
)
def test_kernel_module_kinds(capability: str, open_module: bool, status: str) -> None:
    assert gpu_on_kernel_module(cc(capability), open_module, TABLES).status == status


def test_without_gpu_families_the_kernel_module_is_unknown() -> None:
    assert gpu_on_kernel_module(cc("7.5"), True, Rows()).status == "unknown"


def test_first_driver_of_a_gpu() -> None:
    assert first_driver_for_gpu(cc("12.0"), TABLES) == v("570.86.10")
    assert first_driver_for_gpu(cc("13.0"), TABLES) is None


def test_floors_of_a_whole_major_are_the_lowest_of_its_minors() -> None:
    floors = driver_floors(v("12"), TABLES)
    assert (floors.native, floors.minor_version) == (v("550.54.14"), v("525.60.13"))


def test_a_floor_that_only_some_releases_have_still_counts() -> None:
    rows = Rows(toolkits=(toolkit("12.3.0", "545.23.06", "525.60.13"), toolkit("12.3.2", None, "525.60.13")))
    assert driver_floors(v("12.3"), rows).native == v("545.23.06")


@pytest.mark.parametrize(
    ("driver", "platform", "branch"),
    [
        ("581.80", "windows", 580),
        ("582.28", "wsl", 580),
        ("596.36", "windows", 595),
        ("616.56", "windows", 615),
        ("581.80", "linux", 580),  # a number that only Windows has
        ("570.133.20", "linux", 570),
        ("999.10", "windows", None),
        ("999.10", "linux", 999),
    ],
)
def test_the_branch_of_a_driver(driver: str, platform: str, branch: int | None) -> None:
    assert branch_number(v(driver), Matrix.load(), platform) == branch
