"""The codec of facts: everything that can be observed goes out and comes back; other data is refused in one line."""

from __future__ import annotations

import json
import random
import typing
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envkit.base.errors import SourceError
from envkit.base.versions import ComputeCapability, Version
from envkit.host.local import LocalHost
from envkit.model import Environment, Identity, Observed, Problem, found
from envkit.model.facts_json import Json, TypeForm, environment_from_json, to_json
from envkit.model.paths import fact, fact_paths
from envkit.probe.collect import collect

VERSIONS = st.lists(st.integers(0, 999), min_size=1, max_size=4).map(lambda parts: Version.of(*parts))
CAPABILITIES = st.builds(ComputeCapability, st.integers(1, 20), st.integers(0, 9), st.sampled_from(["", "a", "f"]))
PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    str: st.text(max_size=12),
    int: st.integers(-(2**63), 2**63),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    object: st.one_of(st.text(max_size=5), st.integers(), st.booleans(), st.lists(st.integers(), max_size=2)),
    Version: VERSIONS,
    ComputeCapability: CAPABILITIES,
    Identity: st.just(Identity()),  # is written nowhere
}


def _values(hint: TypeForm) -> st.SearchStrategy[Any]:
    """Any value that a field of the model may hold."""
    origin: Json = typing.get_origin(hint)
    arguments = typing.get_args(hint)
    if hint in PLAIN:
        return PLAIN[hint]
    if origin is Observed:
        problem = st.builds(
            Observed, st.none(), st.text(max_size=5), st.sampled_from(list(Problem)), st.text(max_size=5)
        )
        return st.one_of(problem, _values(arguments[0]).map(lambda value: found(value, "a source")))
    if origin is tuple:
        return st.lists(_values(arguments[0]), max_size=2).map(tuple)
    if isinstance(origin, type) and issubclass(origin, typing.Mapping):
        return st.dictionaries(st.text(max_size=5), _values(arguments[1]), max_size=2)
    if arguments:
        return st.one_of(st.none(), *(_values(item) for item in arguments if item is not type(None)))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(list(hint))
    assert isinstance(hint, type) and is_dataclass(hint)
    hints = typing.get_type_hints(hint)
    return st.builds(hint, **{item.name: _values(hints[item.name]) for item in fields(hint)})


ENVIRONMENTS = _values(Environment)


@pytest.mark.thorough
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(ENVIRONMENTS)
def test_every_environment_comes_back(environment: Environment) -> None:
    text = json.dumps(to_json(environment), allow_nan=False)
    assert environment_from_json(json.loads(text), strict=True) == environment


def test_this_machine_comes_back_and_keeps_how_versions_were_written() -> None:
    environment = collect(LocalHost())
    back = environment_from_json(json.loads(json.dumps(to_json(environment))), strict=True)
    assert back == replace(environment, identity=Identity())
    written = found(Version.parse("580.65.06"), "x")
    assert to_json(written) == {"value": "580.65.06", "source": "x"}


def test_a_fact_is_a_value_or_a_problem() -> None:
    environment = Environment()
    data = to_json(environment)
    assert data["pci_gpus"] == {"problem": "not-looked"}
    assert all(fact(environment, path).problem is Problem.NOT_LOOKED for path in fact_paths())


def test_a_report_of_doctor_is_read_too() -> None:
    document = {"schema": 1, "environment": {"gpus": {"value": [{"index": 0, "name": "Tesla T4"}]}}, "findings": []}
    assert environment_from_json(document).gpus.get()[0].name == "Tesla T4"


def test_later_keys_are_passed_over_unless_strict() -> None:
    data = {"system": {"kernal": {"value": "6.1"}}, "quantum": 1}
    assert environment_from_json(data) == Environment()
    with pytest.raises(SourceError, match="'quantum' is not known|'kernal' is not known. Did you mean kernel"):
        environment_from_json(data, strict=True)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([], "facts: expected an object, found []"),
        (None, "facts: expected an object"),
        ("text", "facts: expected an object"),
        ({"schema": 2, "environment": {}}, "schema 2"),
        ({"gpus": []}, "facts.gpus: expected an object"),
        ({"gpus": {}}, "facts.gpus: a fact has a value or a problem"),
        ({"gpus": {"problem": "lost"}}, "facts.gpus.problem: expected one of absent, denied"),
        ({"gpus": {"problem": ["absent"]}}, "facts.gpus.problem: expected one of"),
        ({"gpus": {"value": {"index": 0}}}, "facts.gpus: expected a list"),
        ({"gpus": {"value": [{"index": 0}]}}, "facts.gpus[0]: 'name' is missing"),
        ({"gpus": {"value": [{"index": True, "name": "x"}]}}, "facts.gpus[0].index: expected a whole number"),
        ({"gpus": {"value": [{"index": 0, "name": "x", "power_limit_w": 10**400}]}}, "a finite number"),
        ({"gpus": {"value": [{"index": 0, "name": "x", "power_limit_w": float("nan")}]}}, "a finite number"),
        ({"gpus": {"value": [{"index": 0, "name": "x", "mig_mode": 1}]}}, "expected true or false"),
        ({"gpus": {"value": [{"index": 0, "name": 7}]}}, "facts.gpus[0].name: expected text, found 7"),
        ({"gpus": {"value": [{"index": 0, "name": "", "compute_capability": "x"}]}}, "expected a compute capability"),
        ({"driver": {"kernel_module": {"value": "five"}}}, "facts.driver.kernel_module: expected a version"),
        ({"driver": {"kernel_module": {"value": 535}}}, "facts.driver.kernel_module: expected text"),
        ({"driver": {"kernel_module": {"value": "1.2", "source": 3}}}, "expected text, found 3"),
        ({"system": {"machine_kind": {"value": "laptop"}}}, "expected one of metal, vm"),
        ({"variables": {"value": {"A": 1}}}, "facts.variables.A: expected text"),
        ({"variables": {"value": "A" * 500}}, "…"),
    ],
)
def test_other_data_is_refused_in_one_line(data: object, words: str) -> None:
    with pytest.raises(SourceError) as caught:
        environment_from_json(data)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


def _mutated(data: Json, generator: random.Random) -> Json:
    """The data with one place changed to something else."""
    other: Json = generator.choice(
        [None, True, 0, -1, 1.5, "", "x", "12.4", [], {}, [[]], {"value": None}, {"problem": "absent"}]
    )
    if isinstance(data, dict) and data and generator.random() < 0.9:
        key = generator.choice(sorted(data))
        changed = dict(data)
        if generator.random() < 0.15:
            del changed[key]
        else:
            changed[key] = _mutated(data[key], generator)
        return changed
    if isinstance(data, list) and data and generator.random() < 0.9:
        index = generator.randrange(len(data))
        return [*data[:index], _mutated(data[index], generator), *data[index + 1 :]]
    return other


@pytest.mark.thorough
def test_mutated_facts_give_an_environment_or_one_line(machine_facts: list[Any]) -> None:
    generator = random.Random(20261121)
    refused = read = 0
    for number in range(2000):
        data = _mutated(machine_facts[number % len(machine_facts)], generator)
        try:
            environment = environment_from_json(data)
        except SourceError as error:
            assert "\n" not in str(error)
            refused += 1
        else:
            assert environment_from_json(to_json(environment), strict=True) == environment
            read += 1
    assert refused > 200 and read > 200


@pytest.fixture(scope="module")
def machine_facts() -> list[Any]:
    """Real and synthetic facts to mutate."""
    folder = Path(__file__).resolve().parent.parent / "machines"
    recorded = [json.loads(path.read_text()) for path in sorted(folder.glob("*/facts.json"))]
    return [to_json(collect(LocalHost())), *recorded[:5]]
