"""The tables of the image part: readable, sourced, and in step with the rest of the data."""

from __future__ import annotations

import re

import pytest

from envkit.base.versions import VersionSpec
from envkit.tables import Matrix
from envkit.tables import images as data

TABLES = (
    "packages",
    "jupyterlab",
    "tag_cudnn",
    "frontend",
    "needs",
    "smoke_tests",
    "source_builds",
    "repairs",
    "repositories",
    "official",
    "backends",
    "wheel_abi",
    "wheel_files",
    "system_names",
    "system_users",
    "foreign_systems",
    "cpu_packages",
    "geforce_branches",
    "build_errors",
    "numpy_python",
)


@pytest.mark.parametrize("name", TABLES)
def test_every_row_has_sources_that_exist(name: str, matrix: Matrix) -> None:
    own = {row.key for row in data.table("sources")}
    for row in data.table(name):
        assert row.sources
        for key in row.sources:
            assert key in own or matrix.source(key).key == key


@pytest.mark.parametrize("name", ["needs", "smoke_tests", "source_builds", "official", "backends", "wheel_files"])
def test_frameworks_are_those_of_the_matrix(name: str, matrix: Matrix) -> None:
    known = {framework.name for framework in matrix.frameworks}
    assert {row.framework for row in data.table(name)} <= known


def test_every_package_manager_can_install_python(matrix: Matrix) -> None:
    for system in matrix.operating_systems:
        if system.base_image and system.package_manager and system.default_python:
            assert data.packages("python-default", system), system.os_id
            assert data.packages("certificates", system), system.os_id


def test_patterns_and_ranges_can_be_read() -> None:
    for row in data.table("build_errors"):
        re.compile(row.pattern)
        assert row.message.endswith(".")
    for row in data.table("backends"):
        assert VersionSpec.parse(row.versions).clauses
        assert VersionSpec.parse(row.backend_versions).clauses


def test_source_builds_know_only_kinds_that_are_built() -> None:
    kinds = {"packages", "archive", "git", "run", "copy", "runtime", "environment", "smoke", "python"}
    assert {row.kind for row in data.table("source_builds")} == kinds


def test_every_cudnn_word_of_a_tag_is_known(matrix: Matrix) -> None:
    words = {tag.cudnn for tag in matrix.image_tags if tag.cudnn}
    assert {word for word in words if data.tag_cudnn(word) is None} == set()


def test_jupyterlab_for_every_python(matrix: Matrix) -> None:
    for source in matrix.python_sources:
        known = data.jupyterlab(source.python)
        assert (known is None) == (source.python.major < 3)
