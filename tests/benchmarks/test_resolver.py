"""The resolver's time on one request, and that it grows no faster than the tables.

Times are of the processor, so that a busy machine does not matter; each is the best of several runs.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from envkit.base.versions import Version
from envkit.solver.solve import resolve
from envkit.tables.rows import FrameworkBuild
from tests.processor_time import least_seconds, seconds
from tests.solver.asking import ask, matrix
from tests.solver.rows import TABLES, build
from tools.bench.resolver import PLANS, QUESTIONS, times

pytestmark = pytest.mark.bench

SLOWEST = "pytorch 2.15, tensorflow 1.15"  # every version of either is tried with the other, and its libraries


@pytest.mark.parametrize("name", QUESTIONS)
def test_an_answer_takes_less_than_5_ms(name: str) -> None:
    spent = times(name, matrix())
    assert spent.plan == (name in PLANS)
    assert spent.next < (0.005 if name != SLOWEST else 0.020)


def releases(count: int) -> tuple[FrameworkBuild, ...]:
    """Builds that no driver of the request runs, but the oldest: every one has to be looked at."""
    newer = (build(f"{number}.0", "13.0", sass="9.0", ptx="", pythons="3.10") for number in range(2, count + 1))
    return (build("1.0", "9.0", sass="7.0", ptx="", pythons="3.7"), *newer)


def seconds_for(count: int) -> float:
    tables = replace(TABLES, frameworks=releases(count))
    request = replace(ask("pytorch"), driver=Version.parse("384.81"))
    return least_seconds(lambda: resolve(request, tables), 0)


def test_time_grows_no_faster_than_the_rows() -> None:
    small, large = seconds_for(500), seconds_for(4000)
    assert large / small < 8 * 1.6  # eight times the rows, with room for the clock


def test_the_whole_answer_grows_no_faster_than_the_rows_when_it_is_a_refusal() -> None:
    def refusal_seconds(count: int) -> float:
        tables = replace(TABLES, frameworks=releases(count)[1:])
        request = replace(ask("pytorch"), driver=Version.parse("384.81"))
        return seconds(lambda: resolve(request, tables))

    small, large = min(refusal_seconds(300) for _ in range(3)), min(refusal_seconds(2400) for _ in range(3))
    assert large / small < 8 * 1.6
