"""A damaged or strange fact costs its own answer, never a check: nothing anywhere has the status `error`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest

from envkit.base.errors import SourceError
from envkit.base.versions import Version, VersionSpec
from envkit.checks.engine.findings import Status
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.ingest import parse_text
from envkit.model import Environment
from envkit.model.facts_json import Json, environment_from_json, to_json
from tests.checks.coverage import all_cases
from tests.checks.software import dist, findings, machine, matrix, python, pythons
from tests.fakes.machines import load_machine, machine_names
from tests.ingest.texts import cases

CHECKS = tuple(all_checks().values())
STRANGE = (
    "", " ", "0", "1", "1.", ".1", "1..2", "v1.2", "1.2.3.4.5.6.7.8.9", "1" * 40, "9" * 5000, "1." * 300, "2.6.0+cu124",
    "0.9.1+cu101", "1.13.1+cu117.with.pypi.cudnn", "2.8.0.dev20250601+cu128", "2.7.0rc1", "2.7.0a0+git1234567",
    "1.0.post3", "1!2.0", "2.6.0+", "+cu124", "2.6.0-1", "2024.1", "==", "==2.1", ">=1,<", "1.2 3", "1,2", "None",
    "N/A", "nan", "unknown", "-1", "1e400", "0x10", "\u0661.\u0662", "\u00b2.\u00b3", "\u00b2", "1.2\n3.4", "1.2\x00",
    "1/0", "535.183.01-0ubuntu1", "6.8.0-45-generic", "sm_90a", "compute_", "cu", "+cpu", "*", "1.*", "[", "(", "\\",
    "%s", "{}",
)  # fmt: skip


def broken(environment: Environment) -> list[tuple[str, str]]:
    return [(f.id, f.title) for f in run_checks(environment, matrix(), CHECKS) if f.status is Status.ERROR]


@pytest.mark.thorough
def test_no_check_breaks_on_a_recorded_machine_text_or_case() -> None:
    for name in machine_names():
        assert broken(load_machine(name)) == [], name
    for text in cases():
        assert broken(parse_text(text.text)) == [], text.name
    for case in all_cases():
        assert [f.title for f in findings(case.id, case.environment) if f.status is Status.ERROR] == [], case.name


def test_each_companion_of_each_build_can_be_judged() -> None:
    judged = 0
    for build in matrix().builds("pytorch"):
        for line in build.companions:
            if not line.startswith(("torchvision", "torchaudio")):
                continue  # what these need in turn
            pair = machine(pythons(python(dists=[dist(build.package or f"torch=={build.version}"), dist(line)])))
            (finding,) = findings("torchvision-mismatch", pair)
            assert finding.status is Status.OK, (str(build.version), line, finding.title)
            judged += 1
    assert judged > 300


@pytest.mark.parametrize("text", STRANGE)
def test_a_version_is_found_in_any_text_or_is_none(text: str) -> None:
    assert isinstance(Version.find(text), Version | None)
    for parse in (Version.parse, VersionSpec.parse):
        try:
            parse(text)
        except ValueError as error:
            assert str(error)


def _leaves(node: Json, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Where `node` holds a text with a digit in it."""
    if isinstance(node, str) and re.search(r"\d", node):
        yield path, node
    elif isinstance(node, (dict, list)):
        for key, item in node.items() if isinstance(node, dict) else enumerate(node):
            if key != "source":
                yield from _leaves(item, (*path, key))


@cache
def _places() -> dict[tuple[str, ...], tuple[Json, tuple[str | int, ...]]]:
    """Each kind of text that facts hold, with one document that holds it and where."""
    known = [load_machine(name) for name in machine_names()]
    known += [parse_text(case.text) for case in cases()]
    known += [case.environment for case in all_cases()]
    places: dict[tuple[str, ...], tuple[Json, tuple[str | int, ...]]] = {}
    for environment in known:
        document = to_json(environment)
        for path, _ in _leaves(document):
            places.setdefault(tuple(str(key) for key in path if not isinstance(key, int)), (document, path))
    return places


def _with(node: Json, path: tuple[str | int, ...], text: str) -> Json:
    if not path:
        return text
    if isinstance(node, dict):
        return {**node, path[0]: _with(node[path[0]], path[1:], text)}
    index = int(path[0])
    return [*node[:index], _with(node[index], path[1:], text), *node[index + 1 :]]


def _survives(document: Json, path: tuple[str | int, ...], text: str) -> bool:
    """Whether facts with `text` at `path` are facts at all; if so, no check breaks on them."""
    try:
        environment = environment_from_json(_with(document, path, text))
    except SourceError:
        return False
    assert broken(environment) == [], (path, text)
    return True


def test_a_strange_text_in_any_fact_breaks_no_check() -> None:
    document = to_json(load_machine("ubuntu24.04-rtx4060laptop-580"))
    places = {path[:1] + path[-1:]: (document, path) for path, _ in _leaves(document)}
    assert len(places) > 20
    survived = [_survives(*place, STRANGE[number % len(STRANGE)]) for number, place in enumerate(places.values())]
    assert any(survived)


@pytest.mark.thorough
@pytest.mark.parametrize("text", STRANGE)
def test_each_strange_text_in_each_fact_breaks_no_check(text: str) -> None:
    assert sum(_survives(document, path, text) for document, path in _places().values()) > 20
