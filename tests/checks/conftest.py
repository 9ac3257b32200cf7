"""Fixtures of the checks' tests."""

from __future__ import annotations

from tests.engine.fixtures import engine

__all__ = ["engine"]
