"""A list of facts may be of any length: judging it and telling of it take a time that grows with it alone."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import cache

import pytest

from envkit.api.report import judged
from envkit.checks.engine.registry import all_checks
from envkit.cli.report import rendered
from envkit.ingest import parse_text
from envkit.model import Environment
from envkit.tables import Matrix
from tests.fakes.machines import load_machine, machine_names
from tests.hostile.growing import WAYS, grown, lists
from tests.processor_time import least_seconds, seconds

FEW, TIMES = 300, 4
FAST_S = 0.8  # of processor time for the longer list: no matter how it grew
MOST = 2 * TIMES  # times as long, where the longer list is not fast
SHARES = 4


@cache
def holders() -> Mapping[str, Sequence[str]]:
    """The machines that hold a list at each place, by place."""
    found: dict[str, list[str]] = {}
    for name in machine_names():
        for place in dict.fromkeys(lists(load_machine(name))):
            found.setdefault(place, []).append(name)
    return dict(sorted(found.items()))


def _told(environment: Environment) -> None:
    report = judged(environment, list(all_checks().values()), Matrix.load(), mask=False)
    rendered([report], "text", verbose=True, to_file=False)


def _slow(short: Environment, long: Environment) -> str:
    """By how much the longer one took too long, '' where it did not."""
    took = least_seconds(lambda: _told(long), FAST_S, tries=2)
    if took < FAST_S:
        return ""
    before = min(seconds(lambda: _told(short)) for _ in range(2))
    return f"{before:.2f} s, {took:.2f} s" if took > MOST * before else ""


def _slow_at(place: str, name: str) -> list[str]:
    facts = load_machine(name)
    found = []
    for called, way in WAYS.items():
        late = _slow(grown(facts, place, FEW, way), grown(facts, place, TIMES * FEW, way))
        found += [f"{place} of {name}, {called}: {late}"] if late else []
    return found


@pytest.mark.parametrize(
    ("place", "name"),
    [(".gpus.value[]", "ubuntu22.04-8xh100-550"), (".pci_gpus.value[]", "ubuntu24.04-4xgb200-580-tray")],
)
def test_many_gpus_take_a_time_that_grows_with_them_alone(place: str, name: str) -> None:
    assert _slow_at(place, name) == []


@pytest.mark.thorough
@pytest.mark.parametrize("code", ["79", "{0}"], ids=["one code", "many codes"])
def test_many_errors_of_the_driver_take_a_time_that_grows_with_them_alone(code: str) -> None:
    line = "[ {0}.000000] NVRM: Xid (PCI:{0:04x}:{1:02x}:00): " + code + ", pid={0}, name=python3, GPU\n"
    short, long = (
        parse_text("".join(line.format(number, number % 256) for number in range(count))) for count in (1000, 4000)
    )
    assert not _slow(short, long)


@pytest.mark.thorough
@pytest.mark.parametrize("share", range(SHARES))
def test_no_list_of_facts_takes_longer_than_it_is_long(share: int) -> None:
    chance = random.Random(share)
    places = list(holders().items())[share::SHARES]
    assert [late for place, names in places for late in _slow_at(place, chance.choice(names))] == []
