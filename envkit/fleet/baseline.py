"""What a fleet's machines are expected to be: a TOML file that a person edits, made from a run or written by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from envkit._startup.records import field, record
from envkit.base.errors import SourceError, did_you_mean
from envkit.base.shown import inert
from envkit.base.toml_text import toml_table
from envkit.base.versions import Version, VersionSpec
from envkit.fleet.traits import GPU, KEYS, SEPARATOR, without_maker

_OPERATORS = (">", "<", "=", "!", "~")
_AGAIN = "Write one with `envkit fleet baseline` and edit it."


@record
class Wanted:
    """The words that a baseline accepts for a trait: values, sets, or ranges of versions (`>=550,<560`)."""

    words: tuple[str, ...]

    def holds(self, value: str) -> bool:
        """True for a value that one of the words names."""
        return any(_fits(word, value) for word in self.words)


@record
class Section:
    """What is expected of the machines that have the values in `match`."""

    match: Mapping[str, str]
    expect: Mapping[str, Wanted]


@record
class Baseline:
    """The sections, of which those that match a machine count, and the traits in which differing is failing."""

    sections: tuple[Section, ...] = ()
    must: frozenset[str] = frozenset()
    name: str = field(default="")

    def fits(self, traits: Mapping[str, str]) -> bool | None:
        """Whether a section is for a machine with these traits; None where too little is known to tell."""
        unlike = [[k for k, v in section.match.items() if traits.get(k) != v] for section in self.sections]
        if not all(unlike):
            return True
        return None if any(traits.keys().isdisjoint(keys) for keys in unlike) else False

    def expected(self, traits: Mapping[str, str]) -> dict[str, Wanted]:
        """What is expected of a machine with these traits; of two sections the later one counts."""
        wanted: dict[str, Wanted] = {}
        for section in self.sections:
            if all(traits.get(key) == value for key, value in section.match.items()):
                wanted |= section.expect
        return wanted


def read_baseline(text: str, name: str) -> Baseline:
    """The baseline that a TOML text writes. Raises SourceError."""
    document = _toml(text, name)
    _refuse_unknown(document, ("must", "machines"), name)
    must, machines = document.get("must", []), document.get("machines", [])
    if not isinstance(must, list) or not isinstance(machines, list) or not machines:
        raise SourceError(f"{name}: a baseline needs a `must` list and at least one [[machines]] section.", _AGAIN)
    _refuse_unknown(must, KEYS, name)
    return Baseline(tuple(_section(entry, name) for entry in machines), frozenset(must), name)


def _toml(text: str, name: str) -> dict[str, Any]:
    try:
        return toml_table(text)
    except ValueError as error:
        raise SourceError(f"{name} is not TOML: {error}.", _AGAIN) from error


def _model(words: str) -> str:
    """The models of a match as traits write them."""
    return SEPARATOR.join(map(without_maker, words.split(SEPARATOR)))


def _section(entry: object, name: str) -> Section:
    if not isinstance(entry, dict):
        raise SourceError(f"{name}: [[machines]] is a table.", _AGAIN)
    _refuse_unknown(entry, ("match", "expect"), name)
    match, expect = entry.get("match", {}), entry.get("expect", {})
    if not isinstance(match, dict) or not isinstance(expect, dict):
        raise SourceError(f"{name}: match and expect are tables.", _AGAIN)
    _refuse_unknown([*match, *expect], KEYS, name)
    return Section(
        {
            key: _model(_word(value, key, name)) if key == GPU else _word(value, key, name)
            for key, value in match.items()
        },
        {key: _wanted(value, key, name) for key, value in expect.items()},
    )


def _wanted(value: object, key: str, name: str) -> Wanted:
    return Wanted(tuple(_word(item, key, name) for item in (value if isinstance(value, list) else [value])))


def _word(value: object, key: str, name: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, (str, int)):
        raise SourceError(
            f"{name}: {key} is neither a string nor a whole number.",
            'Write a string such as "550.54.15", or a list of strings.',
        )
    word = inert(str(value))  # as the traits of hosts are, with which it is compared and shown
    if word.startswith(_OPERATORS):
        try:
            VersionSpec.parse(word)
        except ValueError as error:
            raise SourceError(f"{name}: {key}: {error}.", "Write a range such as >=550,<560.") from error
    return word


def _fits(word: str, value: str) -> bool:
    if word.startswith(_OPERATORS):
        version = Version.find(value)
        return version is not None and SEPARATOR not in value and VersionSpec.parse(word).holds(version)
    return set(word.split(SEPARATOR)) == set(value.split(SEPARATOR))


def _refuse_unknown(given: Sequence[object] | Mapping[str, object], known: Sequence[str], name: str) -> None:
    for key in given:
        if key not in known:
            raise SourceError(
                f"{name}: {key!r} is not known.", did_you_mean(str(key), known) or f"Known are {', '.join(known)}."
            )
