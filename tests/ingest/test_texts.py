"""Every text yields the facts and the messages that expected.csv says, and nothing that it does not tell."""

from __future__ import annotations

from collections import Counter

import pytest

from envkit._startup.records import replace
from envkit.checks.engine.registry import all_checks
from envkit.ingest import parse_text
from envkit.model import COMPLAINT, OTHER_MAKER, READS_LIKE, Environment, Identity, Problem
from envkit.model.facts_json import environment_from_json, to_json
from tests.ingest.texts import FOLDER, Case, cases, told

CASES = cases()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_text_yields_its_facts_and_messages(case: Case) -> None:
    environment = parse_text(case.text)
    document = to_json(environment)
    assert tuple(dict.fromkeys(_known(environment))) == case.signatures
    assert {path: told(document, path) for path, _ in case.facts} == dict(case.facts)
    _say_their_lines(environment, case.text.count("\n") + 1)


def _say_their_lines(environment: Environment, lines: int) -> None:
    """Every fact says the line that it was read from."""
    for section in (environment.system, environment.kernel, environment.driver, environment.containers):
        for name in type(section).__dataclass_fields__:
            observed = getattr(section, name)
            if observed.known:
                assert observed.source.startswith("input line "), (name, observed)
                assert 1 <= int(observed.source.split()[2]) <= lines
            else:
                assert observed.problem in (Problem.NOT_LOOKED, Problem.ABSENT), (name, observed)


def test_every_text_is_listed_and_every_listed_text_is_there() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.txt")) == sorted(case.name for case in CASES)


def test_there_are_enough_texts_healthy_ones_among_them() -> None:
    assert len(CASES) >= 150
    assert sum(case.healthy for case in CASES) >= 25


def test_no_two_texts_are_the_same() -> None:
    repeated = [text for text, count in Counter(case.text for case in CASES).items() if count > 1]
    assert repeated == []


def test_every_expected_fail_is_a_check() -> None:
    assert {case.fail for case in CASES} - {"none"} <= set(all_checks())
    assert {id for case in CASES for id in case.warn} <= set(all_checks())


def test_an_environment_from_text_survives_json() -> None:
    for case in CASES[::40]:
        environment = parse_text(case.text)
        assert environment_from_json(to_json(environment)) == replace(environment, identity=Identity()), case.name


def test_an_empty_text_says_nothing() -> None:
    environment = parse_text("")
    assert environment.messages.get() == ()
    assert environment.gpus.problem is Problem.NOT_LOOKED
    assert environment.pythons.problem is Problem.NOT_LOOKED
    assert environment.system.os.problem is Problem.NOT_LOOKED


def _known(environment: Environment) -> list[str]:
    """The signatures of the known messages; that a text complains, and like whom, is no known message."""
    own_words = (COMPLAINT, OTHER_MAKER, READS_LIKE)
    return [message.signature for message in environment.messages.get() if message.signature not in own_words]
