"""A fleet of hundreds says exactly what was planted, in time that grows with its size alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from envkit.checks.engine.registry import all_checks
from envkit.fleet.judge import host_results
from envkit.fleet.report import fleet_report
from envkit.ingest.hosts import host_sources
from envkit.privacy.secrets import _of_short
from envkit.render.fleet import formatted
from envkit.render.reports import Look
from envkit.tables import Matrix
from tests.cli.run import envkit
from tests.fleet.hosts import changed, facts, host, write
from tests.fleet.simulation import CAUSES, differences, failing, write_fleet
from tests.processor_time import least_seconds


@pytest.mark.thorough
def test_what_was_planted_is_what_is_reported(tmp_path: Path) -> None:
    assert len(failing()) == CAUSES
    who = write_fleet(tmp_path / "fleet", 400)
    done = envkit("fleet", "report", str(tmp_path / "fleet"), "--json")
    assert done.returncode == 1 and differences(json.loads(done.stdout), who) == []


def test_what_machines_have_in_common_is_searched_for_secrets_once(tmp_path: Path) -> None:
    """The search costs more than all checks of a machine."""
    checks, matrix = list(all_checks().values()), Matrix.load()
    folder = write(tmp_path, n1=facts(), n2=changed(system__kernel="6.8.0-99-generic"))
    searched = []
    for source in host_sources([str(folder)]):
        host_results(source, checks, matrix, mask=False)
        searched.append(_of_short.cache_info().misses)
    assert searched[1] - searched[0] < 20, searched


def _seconds(number: int) -> float:
    hosts = [host(f"n{n}", kernel=str(n % 7), driver=str(n), os="x") for n in range(number)]

    def told() -> None:
        for form in ("text", "json", "markdown", "html", "prometheus"):
            formatted(fleet_report(hosts), form, Look(True, False, 100))

    return least_seconds(told, 0.0)


@pytest.mark.thorough
def test_joining_and_printing_is_linear() -> None:
    small, large = _seconds(500), _seconds(4000)
    assert large < 8 * 3 * small, (small, large)
