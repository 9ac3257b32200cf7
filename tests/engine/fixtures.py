"""Fixtures around a real engine. Use: `from tests.engine.fixtures import engine` in the conftest of your tests."""

from __future__ import annotations

import pytest

from tests.engine.engine import Engine, start_engine


@pytest.fixture(scope="session")
def engine() -> Engine:
    """A running Docker engine; the machine keeps it after the tests."""
    return start_engine()
