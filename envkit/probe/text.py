"""Small steps that several probes share: a fact derived from another one, first answers, key=value text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from envkit._startup.regex import regex
from envkit.host.base import Host
from envkit.model import Observed, Problem, found, missing

S = TypeVar("S")
T = TypeVar("T")
_ESCAPED = regex(r'\\([\\"$`])')
_MOST_TOGETHER = 8_000_000  # bytes of all the files of one kind; hundreds of files of settings have less
Facts = Mapping[str, Observed[Any]]  # by the dotted path of the fact in the environment


def derived(observed: Observed[S], read: Callable[[S], T | None], unreadable: str = "") -> Observed[T]:
    """The fact that `read` makes of another; UNPARSABLE when it answers None or raises ValueError."""
    if observed.value is None:
        return missing(observed.problem or Problem.NOT_LOOKED, observed.source, observed.detail)
    try:
        value = read(observed.value)
    except ValueError:
        value = None
    if value is None:
        return missing(Problem.UNPARSABLE, observed.source, unreadable or "its form is not known")
    return found(value, observed.source)


def texts_of(host: Host, paths: Iterable[str], limit: int = 1_000_000) -> Iterator[tuple[str, str]]:
    """The files that can be read and the first `limit` bytes of each, until they are more than any machine has."""
    left = _MOST_TOGETHER
    for path in paths:
        text = host.read_text(path, min(limit, left)).value
        if text is not None:
            left -= len(text)
            yield path, text
        if left <= 0:
            return


def first_known(answers: Iterable[Observed[T]]) -> Observed[T]:
    """The first answer that holds a value, otherwise the first that says more than "not there", otherwise the first."""
    seen: list[Observed[T]] = []
    for answer in answers:
        if answer.known:
            return answer
        seen.append(answer)
    telling = (answer for answer in seen if answer.problem not in (Problem.ABSENT, Problem.NOT_LOOKED))
    return next(telling, seen[0])


def assignments(text: str) -> dict[str, str]:
    """`KEY=value` lines as a shell takes them, the last of a key; comments and other lines are passed over."""
    pairs = {}
    for line in text.splitlines():
        key, separator, value = line.strip().partition("=")
        if separator and key and not key.startswith("#"):
            pairs[key.strip()] = _unquoted(value.strip())
    return pairs


def _unquoted(value: str) -> str:
    quote = value[:1]
    if quote not in ("'", '"') or len(value) < 2 or not value.endswith(quote):
        return value
    return _ESCAPED.sub(r"\1", value[1:-1]) if quote == '"' else value[1:-1]


def colon_pairs(text: str) -> dict[str, str]:
    """`Key: value` lines."""
    pairs = {}
    for line in text.splitlines():
        key, separator, value = line.partition(":")
        if separator:
            pairs[key.strip()] = value.strip()
    return pairs
