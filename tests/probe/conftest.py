"""What the tests of probes share."""

from __future__ import annotations

import pytest

from envkit.host import driver_loaded


@pytest.fixture
def loaded_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine passes for one with a loaded driver, so that stand-ins for its libraries are asked."""
    monkeypatch.setattr(driver_loaded, "surely_not_loaded", lambda: False)
