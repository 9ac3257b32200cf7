"""The Python environments of a text, told apart where its session names several: `(train) $`, `~/rocm/bin/pip list`."""

from __future__ import annotations

from collections.abc import Sequence

from envkit._startup.records import replace
from envkit.ingest.answers import command_above
from envkit.ingest.clues import Clue, Framework, Package, PythonFact
from envkit.ingest.computed import last_failure, used
from envkit.ingest.python import framework_of, python_environment
from envkit.ingest.sessions import Pythons, python_of, same_python
from envkit.ingest.text import Text
from envkit.model import Observed, PythonEnvironment, found

Named = tuple[Clue, str]  # a clue and the words for its place


def python_environments(text: Text, told: Sequence[Named]) -> Observed[tuple[PythonEnvironment, ...]] | None:
    """The environment that the text is about first; those beside it, which it only mentions, are not active.

    They are one where nothing shows that the GPU was used by one of several.
    """
    own, others = _apart(text, told)
    first = python_environment(own)
    if first is None or not others:
        return first
    beside = [python for group in others if (each := python_environment(group)) for python in each.get()]
    return found((*first.get(), *(replace(python, active=False) for python in beside)), first.source)


def _apart(text: Text, told: Sequence[Named]) -> tuple[list[Named], list[list[Named]]]:
    """The clues of the Python that used the GPU last, or failed after that, and those of each other one."""
    clues = [each for each in told if isinstance(each[0], (Package, PythonFact, Framework))]
    if not any(framework_of(clue) for clue, _ in clues if isinstance(clue, Package)) or used(text) < 0:
        return clues, []
    last = used(text)
    user = python_of(command_above(text, max(last, last_failure(text, last))))
    if not user:
        return clues, []
    pythons = Pythons(text)
    own: list[Named] = []
    unnamed: list[Named] = []
    others: dict[str, list[Named]] = {}
    for each in clues:
        name = pythons.at(each[0].offset)
        group = own if same_python(name, user) else others.setdefault(name, []) if name else unnamed
        group.append(each)
    if not _packages(own):
        return clues, []
    if _contradict(unnamed, own):
        return own, [*others.values(), unnamed]
    return [*own, *unnamed], list(others.values())


def _packages(clues: Sequence[Named]) -> dict[str, str]:
    return {clue.name: clue.version for clue, _ in clues if isinstance(clue, Package)}


def _contradict(some: Sequence[Named], own: Sequence[Named]) -> bool:
    """Whether both have a package in different versions: then they are of different environments."""
    mine = _packages(own)
    return any(mine.get(name, version) != version for name, version in _packages(some).items())
