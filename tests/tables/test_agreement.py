"""The tables agree with each other: what one names is in the table of its kind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from envkit.base.versions import ComputeCapability, Version, VersionSpec
from envkit.compat.pythons import python_span
from envkit.compat.software import range_of_row
from envkit.tables import Matrix
from envkit.tables.browse import table_names
from envkit.tables.rows import FrameworkBuild, Toolkit

# Pythons that old wheels name and that no source offers anymore
GONE_PYTHONS = {Version.parse("3.3")}
FAMILIES = {
    "Tesla": {"1.0", "1.1", "1.2", "1.3"},
    "Fermi": {"2.0", "2.1"},
    "Kepler": {"3.0", "3.2", "3.5", "3.7"},
    "Maxwell": {"5.0", "5.2", "5.3"},
    "Pascal": {"6.0", "6.1", "6.2"},
    "Volta": {"7.0", "7.2"},
    "Turing": {"7.5"},
    "Ampere": {"8.0", "8.6", "8.7"},
    "Ada Lovelace": {"8.9"},
    "Hopper": {"9.0"},
    "Blackwell": {"10.0", "10.3", "11.0", "12.0", "12.1"},
}


def every_build(matrix: Matrix) -> Iterator[FrameworkBuild]:
    return (build for framework in matrix.frameworks for build in matrix.builds(framework.name))


def named(build: FrameworkBuild) -> str:
    return f"{build.framework} {build.version} cuda {build.cuda} {build.package} {build.note}"


def line_of(matrix: Matrix, cuda: Version) -> list[Toolkit]:
    return [row for row in matrix.toolkits if row.version.starts_with(cuda)]


# ---- drivers and toolkits


@pytest.mark.parametrize("column", ["minimum_driver", "minor_compatibility_driver", "minimum_windows_driver"])
def test_a_newer_cuda_never_needs_an_older_driver(matrix: Matrix, column: str) -> None:
    known = [(row.version, getattr(row, column)) for row in matrix.toolkits if getattr(row, column) is not None]
    falls = [
        f"{older} needs {driver}, {newer} only {later}"
        for (older, driver), (newer, later) in zip(known, known[1:], strict=False)
        if later < driver
    ]
    assert not falls


def test_the_releases_around_a_build_without_pythons_leave_it_some(matrix: Matrix) -> None:
    unknown = [build for build in every_build(matrix) if not build.pythons]
    spans = {named(build): python_span(build, matrix.builds(build.framework)) for build in unknown}
    assert not [name for name, span in spans.items() if span.low and span.high and span.high < span.low]


def test_a_toolkit_bundles_a_driver_that_runs_it(matrix: Matrix) -> None:
    too_old = {
        str(row.version)
        for row in matrix.toolkits
        if row.bundled_driver and row.minimum_driver and row.bundled_driver < row.minimum_driver
    }
    assert too_old == {"9.1.85"}  # its release notes raised the floor after the runfile was made


def test_minor_version_compatibility_reaches_below_the_native_floor(matrix: Matrix) -> None:
    for row in matrix.toolkits:
        if row.minor_compatibility_driver and row.minimum_driver:
            assert row.minor_compatibility_driver <= row.minimum_driver, row.version
    assert all(row.minor_compatibility_driver is None for row in matrix.toolkits if row.version.major < 11)


def test_every_floor_belongs_to_a_known_branch(matrix: Matrix) -> None:
    branches = {row.branch for row in matrix.driver_branches}
    for toolkit in matrix.toolkits:
        for driver in (toolkit.minimum_driver, toolkit.minor_compatibility_driver, toolkit.bundled_driver):
            assert driver is None or driver.major in branches, (toolkit.version, driver)


def test_a_branch_reports_at_least_the_cuda_that_asks_for_it(matrix: Matrix) -> None:
    for toolkit in matrix.toolkits:
        branch = matrix.driver_branch(toolkit.minimum_driver.major) if toolkit.minimum_driver else None
        if branch and branch.driver_cuda_version:
            assert branch.driver_cuda_version >= toolkit.release, (toolkit.version, branch.branch)


def test_driver_branches_grow(matrix: Matrix) -> None:
    reported = [row.driver_cuda_version for row in matrix.driver_branches if row.driver_cuda_version]
    assert reported == sorted(reported)
    for row in matrix.driver_branches:
        for version in (row.first_version, row.last_version):
            assert version is None or version.major == row.branch
        if row.first_version and row.last_version:
            assert row.first_version <= row.last_version


def test_a_dropped_family_never_comes_back(matrix: Matrix) -> None:
    known = [row for row in matrix.driver_branches if row.families]
    for family in FAMILIES:
        held = [family in (row.families or ()) for row in known]
        first, last = held.index(True), len(held) - 1 - held[::-1].index(True)
        assert all(held[first : last + 1]), family


def test_targets_of_nvcc_lie_between_its_bounds(matrix: Matrix) -> None:
    for row in matrix.toolkits:
        if row.compute_capabilities:
            assert min(row.compute_capabilities) == row.min_compute_capability, row.version
            assert max(row.compute_capabilities) == row.max_compute_capability, row.version


def test_bounds_of_nvcc_never_fall(matrix: Matrix) -> None:
    lows = [row.min_compute_capability for row in matrix.toolkits if row.min_compute_capability]
    highs = [row.max_compute_capability for row in matrix.toolkits if row.max_compute_capability]
    assert lows == sorted(lows)
    assert highs == sorted(highs)


def test_the_host_compiler_limit_never_falls(matrix: Matrix) -> None:
    limits = [row.gcc_max for row in matrix.toolkits if row.gcc_max]
    assert limits == sorted(limits)


# ---- runfiles


def test_every_runfile_belongs_to_a_toolkit_and_is_named_by_its_url(matrix: Matrix) -> None:
    versions = {row.version for row in matrix.toolkits}
    for row in matrix.all_runfiles:
        assert row.cuda in versions
        assert row.url.endswith(f"/{row.name}")
        assert row.sha256 is None or re.fullmatch("[0-9a-f]{64}", row.sha256)
        assert row.md5 is None or re.fullmatch("[0-9a-f]{32}", row.md5)


def test_installers_are_told_apart_by_their_digests(matrix: Matrix) -> None:
    digests = [row.sha256 for row in matrix.all_runfiles if row.sha256]
    assert len(digests) == len(set(digests))


def test_patches_follow_their_toolkit_without_a_gap(matrix: Matrix) -> None:
    for toolkit in matrix.toolkits:
        files = matrix.runfiles(toolkit.version, "x86_64")
        assert [row.order for row in files] == list(range(len(files))), toolkit.version
        assert [row.kind for row in files] == ["toolkit", *["patch"] * (len(files) - 1)][: len(files)]


def test_the_driver_in_a_runfile_name_is_the_bundled_one(matrix: Matrix) -> None:
    compared = 0
    for toolkit in matrix.toolkits:
        for row in matrix.runfiles(toolkit.version, "x86_64")[:1]:
            in_name = re.search(r"_(\d{3}\.\d+(?:\.\d+)?)_linux", row.name)
            if in_name and toolkit.bundled_driver:
                assert Version.parse(in_name[1]) == toolkit.bundled_driver, toolkit.version
                compared += 1
    assert compared > 60


# ---- GPUs


def test_a_gpu_has_a_capability_of_its_family(matrix: Matrix) -> None:
    for gpu in matrix.gpus:
        assert str(gpu.compute_capability) in FAMILIES[gpu.family], gpu.name


def test_the_last_branch_of_a_gpu_still_knows_its_family(matrix: Matrix) -> None:
    for gpu in matrix.gpus:
        branch = matrix.driver_branch(gpu.last_driver_branch) if gpu.last_driver_branch else None
        assert gpu.last_driver_branch is None or branch is not None, gpu.name
        assert branch is None or gpu.family in (branch.families or ()), gpu.name


def test_a_family_that_the_newest_branches_dropped_has_a_last_branch(matrix: Matrix) -> None:
    for gpu in matrix.gpus:
        if gpu.family in ("Kepler", "Maxwell", "Pascal", "Volta") and gpu.variant != "jetson":
            assert gpu.last_driver_branch is not None, gpu.name


def test_device_ids_are_four_upper_case_hex_digits(matrix: Matrix) -> None:
    assert all(re.fullmatch("[0-9A-F]{4}", device) for gpu in matrix.gpus for device in gpu.device_ids)


def test_boards_that_share_a_device_id_share_a_capability(matrix: Matrix) -> None:
    for gpu in matrix.gpus:
        for device in gpu.device_ids:
            found = {other.compute_capability for other in matrix.gpus_by_device_id(device)}
            assert len(found) == 1, (device, gpu.name)


def test_every_gpu_is_a_target_of_some_toolkit(matrix: Matrix) -> None:
    for capability in {gpu.compute_capability for gpu in matrix.gpus if gpu.family != "Tesla"}:  # of CUDA 6.5
        assert any(
            row.min_compute_capability
            and row.max_compute_capability
            and row.min_compute_capability <= capability <= row.max_compute_capability
            for row in matrix.toolkits
        ), capability


def test_tensor_cores_came_with_volta_and_rtx(matrix: Matrix) -> None:
    for gpu in matrix.gpus:
        if gpu.compute_capability < ComputeCapability.parse("7.0"):
            assert gpu.tensor_cores is False, gpu.name
        if gpu.compute_capability >= ComputeCapability.parse("8.0"):
            assert gpu.tensor_cores is True, gpu.name


# ---- cuDNN


def test_every_cudnn_names_a_cuda_that_exists(matrix: Matrix) -> None:
    for row in matrix.cudnns:
        assert line_of(matrix, row.cuda), row.version
        assert row.soname_major == row.version.major
        assert row.supported_cuda, row.version
        for spec in row.supported_cuda:
            for bound in spec.split("-"):
                assert line_of(matrix, Version.parse(bound.removesuffix(".x"))), (row.version, spec)


# ---- images


def test_an_image_tag_is_made_of_its_parts(matrix: Matrix) -> None:
    for row in matrix.image_tags:
        if row.tag != "latest":
            assert row.tag == "-".join(filter(None, (str(row.cuda), row.cudnn, row.flavor, row.os_id)))


def test_every_image_names_a_cuda_and_a_system_that_exist(matrix: Matrix) -> None:
    older_than_the_table = {Version.parse("6.5"), Version.parse("7.0")}
    for row in matrix.image_tags:
        known = row.cuda is None or row.cuda in older_than_the_table or line_of(matrix, row.cuda.release(2))
        assert known, row.tag
        assert not row.os_id or matrix.operating_system(row.os_id), row.tag
    for image in matrix.framework_images:
        assert image.os_id is None or matrix.operating_system(image.os_id), image.tag


def test_all_images_of_the_early_cuda_versions_are_deleted(matrix: Matrix) -> None:
    kept = [row.tag for row in matrix.image_tags if row.cuda and row.cuda.major < 11 and row.state != "deleted"]
    assert not kept


def test_a_tag_that_is_or_was_there_has_a_date(matrix: Matrix) -> None:
    assert all(row.date for row in matrix.image_tags if row.state in ("supported", "unsupported", "seen"))


# ---- builds


def test_every_build_names_a_cuda_that_exists(matrix: Matrix) -> None:
    for build in every_build(matrix):
        assert build.cuda is None or line_of(matrix, build.cuda), named(build)
        for bound in (build.cuda_min, build.cuda_max):
            assert bound is None or line_of(matrix, bound), named(build)


def test_every_build_names_a_cudnn_that_exists(matrix: Matrix) -> None:
    oldest = min(row.version for row in matrix.cudnns)
    for build in every_build(matrix):
        if build.cudnn is not None and build.cudnn >= oldest.release(1):
            assert any(row.version.starts_with(build.cudnn) for row in matrix.cudnns), named(build)


def test_every_build_names_pythons_that_somebody_offers(matrix: Matrix) -> None:
    offered = {row.python for row in matrix.python_sources} | GONE_PYTHONS
    for build in every_build(matrix):
        assert set(build.pythons) <= offered, named(build)
        assert list(build.pythons) == sorted(set(build.pythons)), named(build)


def test_the_code_in_a_build_is_code_that_its_cuda_can_make(matrix: Matrix) -> None:
    for build in every_build(matrix):
        toolkits = line_of(matrix, build.cuda) if build.cuda else []
        lows = [row.min_compute_capability for row in toolkits if row.min_compute_capability]
        highs = [row.max_compute_capability for row in toolkits if row.max_compute_capability]
        for capability in (*(build.sass or ()), *(build.ptx or ())):
            if toolkits:
                assert min(lows) <= capability <= max(highs), (named(build), str(capability))


def test_a_build_needs_no_more_than_the_code_that_it_holds(matrix: Matrix) -> None:
    for build in every_build(matrix):
        if build.sass and build.min_compute_capability:
            assert build.min_compute_capability <= min(build.sass), named(build)


def test_a_package_is_one_of_its_framework_and_comes_from_one_place(matrix: Matrix) -> None:
    for framework in matrix.frameworks:
        for build in matrix.builds(framework.name):
            assert build.framework == framework.name
            assert not (build.on_pypi and (build.index_url or build.find_links)), named(build)
            assert not (build.index_url and build.find_links), named(build)
            if build.package is None:
                assert not build.on_pypi, named(build)
                continue
            requirement = Requirement(build.package)
            assert requirement.name.lower() in {name.lower() for name in framework.packages}, named(build)
            assert str(build.version) in str(requirement.specifier), named(build)


def test_companions_and_numpy_are_requirements(matrix: Matrix) -> None:
    for build in every_build(matrix):
        for companion in build.companions:
            Requirement(companion)
        if build.numpy is not None:
            SpecifierSet(build.numpy)
            assert str(range_of_row(build.numpy)) == build.numpy


def test_a_cpu_build_names_no_cuda(matrix: Matrix) -> None:
    assert not [named(build) for build in every_build(matrix) if build.cpu_only and build.cuda]


def test_glibc_floors_are_versions_that_a_distribution_has(matrix: Matrix) -> None:
    known = {row.glibc for row in matrix.operating_systems if row.glibc}
    for build in every_build(matrix):
        if build.min_glibc is not None:
            assert any(glibc >= build.min_glibc for glibc in known)
            assert Version.parse("2.12") <= build.min_glibc <= Version.parse("2.35"), named(build)


def test_every_framework_of_the_issue_has_builds(matrix: Matrix) -> None:
    wanted = (
        "TensorFlow,PyTorch,MXNet,Keras,JAX,PaddlePaddle,ONNX Runtime,CuPy,TensorRT,MindSpore,CNTK,Theano,Chainer,"
        "Sonnet,Caffe,Caffe2,Torch7,TVM,TensorFlow Serving,TensorFlow Lite,nGraph,Clipper"
    )
    for name in wanted.split(","):
        framework = matrix.framework(name)
        assert framework is not None, name
        assert matrix.builds(framework.name), name


def test_an_archived_framework_says_what_was_its_last(matrix: Matrix) -> None:
    for framework in matrix.frameworks:
        if framework.archived:
            assert len(framework.note) > 20, framework.name


# ---- systems, Pythons, ages


def test_systems_of_toolkits_exist(matrix: Matrix) -> None:
    for row in matrix.toolkits:
        for os_id in row.os_ids or ():
            assert matrix.operating_system(os_id), (row.version, os_id)


def test_the_host_compilers_of_a_system_start_with_its_default(matrix: Matrix) -> None:
    for row in matrix.operating_systems:
        if row.default_gcc and row.installable_gcc:
            assert any(row.default_gcc.starts_with(gcc) for gcc in row.installable_gcc), row.os_id


def test_the_pythons_of_a_system_are_ways_to_one(matrix: Matrix) -> None:
    made = [(row.python, os_id) for row in matrix.python_sources if row.way == "system" for os_id in row.os_ids]
    told = [(python, row.os_id) for row in matrix.operating_systems for python in row.pythons]
    assert sorted(made, key=str) == sorted(told, key=str)


def test_ways_to_a_python_name_systems_that_exist(matrix: Matrix) -> None:
    for row in matrix.python_sources:
        assert all(matrix.operating_system(os_id) for os_id in row.os_ids)
        assert row.exact is None or Version.parse(row.exact).starts_with(row.python)


def test_every_table_has_an_age(matrix: Matrix) -> None:
    known = [row.table for row in matrix.table_status]
    assert sorted(known) == sorted(set(table_names(matrix)) - {"sources"})
    for row in matrix.table_status:
        date.fromisoformat(row.checked)


def test_specs_of_cudnn_hold_for_their_own_cuda(matrix: Matrix) -> None:
    for row in matrix.cudnns:
        whole = any(spec.endswith(".x") and VersionSpec.parse(spec[:-2]).holds(row.cuda) for spec in row.supported_cuda)
        ranged = any(
            row.cuda.starts_with(Version.parse(bound).release(1)) or Version.parse(bound).starts_with(row.cuda)
            for spec in row.supported_cuda
            if not spec.endswith(".x")
            for bound in spec.split("-")
        )
        assert whole or ranged, (row.version, row.cuda, row.supported_cuda)


def test_what_packages_require_is_said_of_builds_that_are_known(matrix: Matrix) -> None:
    builds = {
        (build.package, build.index_url or build.find_links or "")
        for framework in matrix.frameworks
        for build in matrix.builds(framework.name)
    }
    assert {(row.package, row.place) for row in matrix.package_requirements} <= builds
    # METADATA of torch 2.6.0 and of tensorflow 2.18.1 on PyPI: pip finds no versions for both
    rows = {
        (row.package, arch): row.requires or ()
        for row in matrix.package_requirements
        for arch in row.architectures
        if not row.place
    }
    assert "nvidia-cuda-nvrtc-cu12==12.4.127" in rows["torch==2.6.0", "x86_64"]
    assert "nvidia-cuda-nvrtc-cu12==12.5.82" in rows["tensorflow[and-cuda]==2.18.1", "x86_64"]
