"""The files that reach machines: a playbook with its parts, and the shell collector with its questions filled in."""

from __future__ import annotations

from collections.abc import Callable

from envkit.capture.collector import GROUPS, WORDS, Ask
from envkit.fleet.playbook import COLLECTOR, PLACES
from envkit.render.templating import template_root

_WITH_SIZE = ("text", "bytes", "words", "tail")
_WITH_PATTERN = ("text", "words", "folder")


def write_playbook(write: Callable[[str, str], object]) -> None:
    """Gives the files of the playbook to `write`, each with its place in the folder."""
    for name, place in PLACES.items():
        write(place, collector() if name == COLLECTOR else fleet_template(name))


def fleet_template(name: str) -> str:
    """A file of the folder `fleet`, which has marks of another language and none of ours."""
    return (template_root() / "fleet" / name).read_text(encoding="utf-8")


def collector() -> str:
    """The shell collector."""
    text = fleet_template(COLLECTOR)
    for group, asks in GROUPS.items():
        text = _with_lines(text, f"@{group}@", [_line(ask) for ask in asks])
    for name, words in WORDS.items():
        text = text.replace(f"@{name}@", words)
    return text


def _with_lines(text: str, mark: str, lines: list[str]) -> str:
    """The text with the lines, indented as the mark that they replace."""
    before, _, after = text.partition(mark)
    indent = before.rpartition("\n")[2]
    return before + f"\n{indent}".join(lines) + after


def _line(ask: Ask) -> str:
    """The call of the collector's function: words in double quotes where a variable of it is in them."""
    name = "tail_of" if ask.how == "tail" else ask.how
    words = [str(ask.most)] if ask.how in _WITH_SIZE else []
    words += [f"'{ask.keep}'"] if ask.how in _WITH_PATTERN else []
    return " ".join([name, *words, *(f'"{word}"' for word in ask.where)])
