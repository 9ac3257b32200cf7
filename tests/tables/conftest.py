"""The packaged matrix, read once for all tests of this folder."""

from __future__ import annotations

import pytest

from envkit.tables import Matrix


@pytest.fixture(scope="session")
def matrix() -> Matrix:
    return Matrix.load()
