from __future__ import annotations

import pytest

from envkit.tables import Matrix
from tests.engine.fixtures import engine

__all__ = ["engine"]


@pytest.fixture(scope="session")
def matrix() -> Matrix:
    return Matrix.load()
