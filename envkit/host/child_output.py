"""Lines of JSON from a child whose libraries may print whatever they like on standard output."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping


def answer_with(ask: Callable[[], Mapping[str, object]]) -> None:
    """Print the answer of `ask` on the real standard output; all that is printed meanwhile goes to standard error."""
    print_lines(_once(ask))


def print_lines(answers: Iterable[Mapping[str, object]]) -> None:
    """Print each answer on the real standard output as soon as it is there."""
    real = os.dup(1)
    os.dup2(2, 1)
    with os.fdopen(real, "w", encoding="utf-8") as stream:
        for answer in answers:
            stream.write(json.dumps(answer) + "\n")
            stream.flush()


def _once(ask: Callable[[], Mapping[str, object]]) -> Iterator[Mapping[str, object]]:
    yield ask()


def loaded_file(name: str) -> str:
    """The file that the loader took for a library whose file name begins with `name`, '' when it is not loaded."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            path = line.rstrip("\n").partition("/")
            if path[1] and os.path.basename(path[2]).startswith(name):
                return path[1] + path[2]
    return ""
