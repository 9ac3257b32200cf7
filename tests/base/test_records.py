"""Records are values: equal by fields, frozen, and strict about their arguments."""

from __future__ import annotations

import dataclasses
import pickle

import pytest

from envkit._startup.records import field, record


@record
class Point:
    """A point."""

    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list)


def test_equal_by_fields_and_not_by_identity() -> None:
    assert Point(1, 2) == Point(1, y=2)
    assert Point(1) != Point(2)


def test_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Point(1).x = 2  # type: ignore[misc]  # the refusal is what is tested


def test_each_gets_its_own_default() -> None:
    assert Point(1).tags is not Point(1).tags


@pytest.mark.parametrize("arguments", [{}, {"x": 1, "z": 2}, {"y": 1}])
def test_wrong_arguments_are_refused(arguments: dict[str, int]) -> None:
    with pytest.raises(TypeError):
        Point(**arguments)  # type: ignore[arg-type]


def test_a_value_given_twice_and_too_many_are_refused() -> None:
    with pytest.raises(TypeError):
        Point(1, **{"x": 2})  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Point(1, 2, [], 4)  # type: ignore[call-arg]


def test_the_standard_functions_work() -> None:
    point = dataclasses.replace(Point(1, 2), y=5)
    assert dataclasses.asdict(point) == {"x": 1, "y": 5, "tags": []}
    assert [item.name for item in dataclasses.fields(point)] == ["x", "y", "tags"]
    assert pickle.loads(pickle.dumps(point)) == point
    assert repr(point) == "Point(x=1, y=5, tags=[])"
