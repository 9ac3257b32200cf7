"""The tables of the image part: readable, sourced, and in step with the rest of the data."""

from __future__ import annotations

import re
from typing import Any

import pytest

from envkit.base.versions import VersionSpec
from envkit.tables import Matrix
from envkit.tables import images as data
from envkit.tables.images import Backend, BuildError, Need, OfficialName, SmokeTest, SourceStep, WheelFile
from envkit.tables.loader import read


@pytest.mark.parametrize("kind", [Need, SmokeTest, SourceStep, OfficialName, Backend, WheelFile])
def test_frameworks_are_those_of_the_matrix(kind: type[Any], matrix: Matrix) -> None:
    known = {framework.name for framework in matrix.frameworks}
    assert {row.framework for row in read(kind)} <= known


def test_every_package_manager_can_install_python(matrix: Matrix) -> None:
    for system in matrix.operating_systems:
        if system.base_image and system.package_manager and system.default_python:
            assert data.packages("python-default", system), system.os_id
            assert data.packages("certificates", system), system.os_id


def test_patterns_and_ranges_can_be_read() -> None:
    for row in read(BuildError):
        re.compile(row.pattern)
        assert row.message.endswith(".")
    for backend in read(Backend):
        assert VersionSpec.parse(backend.versions).clauses
        assert VersionSpec.parse(backend.backend_versions).clauses


def test_source_builds_know_only_kinds_that_are_built() -> None:
    kinds = {"packages", "archive", "git", "run", "copy", "runtime", "environment", "smoke", "python"}
    assert {row.kind for row in read(SourceStep)} == kinds


def test_every_cudnn_word_of_a_tag_is_known(matrix: Matrix) -> None:
    words = {tag.cudnn for tag in matrix.image_tags if tag.cudnn}
    assert {word for word in words if data.tag_cudnn(word) is None} == set()


def test_jupyterlab_for_every_python(matrix: Matrix) -> None:
    for source in matrix.python_sources:
        known = data.jupyterlab(source.python)
        assert (known is None) == (source.python.major < 3)
