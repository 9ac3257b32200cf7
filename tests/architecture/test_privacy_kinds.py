"""Every text among the facts declares what it reveals about people and machines: a new fact cannot be forgotten by the
masks."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from enum import Enum
from typing import Annotated

from envkit._startup.records import is_record, record
from envkit.base.versions import ComputeCapability, Version
from envkit.model import Environment, Observed
from envkit.model.facts_json import TypeForm
from envkit.model.privacy import Privacy

_SAY_NOTHING = (int, float, bool, type(None), Version, ComputeCapability)


def undeclared(cls: type) -> list[str]:
    """Every text of the record `cls`, and of the records in it, that has no kind."""
    return [".".join(place) for place in _in_record(cls, set())]


def _in_record(cls: type, seen: set[type]) -> Iterator[tuple[str, str]]:
    if cls not in seen:
        seen.add(cls)
        for name, hint in typing.get_type_hints(cls, include_extras=True).items():
            for part in _leaves(hint):
                if is_record(part) and part not in _SAY_NOTHING:
                    yield from _in_record(part, seen)
                elif not _is_declared(part):
                    yield cls.__name__, name


def _leaves(hint: TypeForm) -> Iterator[TypeForm]:
    """The types that a type is made of; a declared text is one of them."""
    origin: TypeForm = typing.get_origin(hint)
    if origin is Annotated or not typing.get_args(hint):
        yield hint
        return
    if origin is Observed:
        yield Observed
    for part in typing.get_args(hint):
        yield from () if part is ... else _leaves(part)


def _is_declared(hint: TypeForm) -> bool:
    origin: TypeForm = typing.get_origin(hint)
    if origin is Annotated:
        return any(isinstance(part, Privacy) for part in typing.get_args(hint)[1:])
    is_word = isinstance(hint, type) and issubclass(hint, Enum)
    return is_word or hint in _SAY_NOTHING or isinstance(hint, typing.TypeVar)


def test_every_text_among_the_facts_has_a_kind() -> None:
    assert not undeclared(Environment), "write it as one of the types of envkit/model/privacy.py instead of str"


@record
class _Inner:
    plain: str = ""


@record
class _Forgotten:
    known: Annotated[str, Privacy.PATH]
    number: int | None
    word: str | None
    many: tuple[str, ...]
    keys: dict[str, int]
    anything: object
    inner: Observed[tuple[_Inner, ...]]
    kind: Privacy


def test_a_forgotten_text_is_found_wherever_it_stands() -> None:
    assert [place.partition(".")[2] for place in undeclared(_Forgotten)] == [
        "word",
        "many",
        "keys",
        "anything",
        "plain",
    ]
