"""What the shell collector printed, taken apart: records of a word, what it is about, and the lines after it.

    # envkit collected 1
    about kernel 5.4.0-150-generic
    asked /usr/local/cuda-*            what is not listed of it is not there
    path /usr/local/cuda               `ls -ld`, of a link also `ls -ldL`; the path without links; rw
    |lrwxrwxrwx 1 root root 9 Mar  1 10:00 /usr/local/cuda -> cuda-12.4
    text /etc/os-release               its lines; `bytes` has hex digits, `words` pieces of a binary
    |NAME="Ubuntu"
    run 0 modinfo /lib/modules/…       the exit status, the command, and what it printed
    end

A line that is none of these is passed over, and a text that is cut off says less: what was not asked is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from envkit._startup.records import field, record
from envkit.capture.recorded_paths import is_plain
from envkit.host.base import CommandResult
from envkit.model import Observed, Problem, found, missing

HEADER = "# envkit collected 1"
_TIMED_OUT = 124  # of `timeout`
_Lines = Sequence[str]


@record
class Listed:
    """One path: how `ls` lists it and its target, the path without links, and whether it can be read and written."""

    itself: str = ""
    target: str = ""
    real: str = ""
    accessible: bool = False


@record
class Collected:
    """The records by what they are about."""

    asked: list[str] = field(default_factory=list)
    paths: dict[str, Listed] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)  # paths of which only that they are there is known
    contents: dict[str, bytes] = field(default_factory=dict)
    denied: set[str] = field(default_factory=set)
    folders: dict[str, tuple[str, ...]] = field(default_factory=dict)
    programs: dict[str, str] = field(default_factory=dict)
    spaces: dict[str, tuple[int, int]] = field(default_factory=dict)  # total and free bytes
    commands: dict[tuple[str, ...], Observed[CommandResult]] = field(default_factory=dict)
    running: list[str] = field(default_factory=list)
    about: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    marks: set[str] = field(default_factory=set)  # `unloaded`: no driver is; `end`: the collector came to its end


def is_collected(text: str) -> bool:
    """True for what the collector printed, maybe after a shell's greeting."""
    return text.startswith(HEADER) or f"\n{HEADER}\n" in text[:4000]


def collected(text: str) -> Collected:
    """The records of a text that the collector printed."""
    collection = Collected()
    for word, about, lines in _records(text):
        take = _TAKES.get(word)
        if take is not None:
            take(collection, about, lines)
    return collection


def _records(text: str) -> Iterator[tuple[str, str, _Lines]]:
    word = about = ""
    lines: list[str] = []
    for line in _last_run(text.replace("\r\n", "\n")).split("\n"):
        if line.startswith("|"):
            lines.append(line[1:])
        elif line:
            yield word, about, lines
            word, _, about = line.partition(" ")
            lines = []
    yield word, about, lines


def _last_run(text: str) -> str:
    """The newest run that came to its end: the log of a pod holds one after the other."""
    runs = text.split(f"{HEADER}\n")[1:]
    return next((run for run in reversed(runs) if "\nend\n" in run or run.endswith("\nend")), runs[-1] if runs else "")


def _path(collection: Collected, path: str, lines: _Lines) -> None:
    listed = [line for line in lines if line[:1] in "-bcdlps" and " " in line]
    real = next((line for line in lines if is_plain(line)), "")
    collection.paths[path] = Listed("".join(listed[:1]), "".join(listed[1:2]), real, "rw" in lines)


def _text(collection: Collected, path: str, lines: _Lines) -> None:
    collection.contents[path] = "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")


def _words(collection: Collected, path: str, lines: _Lines) -> None:
    collection.contents[path] = "".join(f"{line}\0" for line in lines).encode("utf-8", "replace")


def _bytes(collection: Collected, path: str, lines: _Lines) -> None:
    try:
        collection.contents[path] = bytes.fromhex("".join(lines))
    except ValueError:
        collection.denied.add(path)


def _program(collection: Collected, about: str, lines: _Lines) -> None:
    name, _, place = about.partition(" ")
    collection.programs[name] = place if is_plain(place) else ""


def _space(collection: Collected, path: str, lines: _Lines) -> None:
    numbers = [int(word) for word in " ".join(lines).split() if word.isdigit() and len(word) < 20]
    if len(numbers) >= 3:
        collection.spaces[path] = numbers[-3] * 1024, numbers[-1] * 1024


def _run(collection: Collected, about: str, lines: _Lines) -> None:
    code, *words = about.split(" ")
    if not code.isdigit() or len(code) > 3:
        return
    source = " ".join(words)
    answer: Observed[CommandResult] = found(CommandResult(int(code), "\n".join(lines), ""), source)
    if int(code) == _TIMED_OUT:
        answer = missing(Problem.TIMED_OUT, source, "it did not finish in time")
    collection.commands.setdefault(tuple(words), answer)


def _refused(collection: Collected, about: str, lines: _Lines) -> None:
    why = "not started: it is in no system directory"
    collection.commands.setdefault(tuple(about.split(" ")), missing(Problem.DENIED, about, why))


def _about(collection: Collected, about: str, lines: _Lines) -> None:
    name, _, value = about.partition(" ")
    if value:
        collection.about[name] = value


def _variable(collection: Collected, about: str, lines: _Lines) -> None:
    name, _, value = about.partition("=")
    collection.variables[name] = value


_TAKES: Mapping[str, Callable[[Collected, str, _Lines], object]] = {
    "asked": lambda collection, pattern, lines: collection.asked.append(pattern),
    "name": lambda collection, path, lines: collection.names.add(path),
    "denied": lambda collection, path, lines: collection.denied.add(path),
    "path": _path,
    "text": _text,
    "words": _words,
    "bytes": _bytes,
    "folder": lambda collection, path, lines: collection.folders.update({path: tuple(sorted(filter(None, lines)))}),
    "program": _program,
    "space": _space,
    "run": _run,
    "refused": _refused,
    "running": lambda collection, about, lines: collection.running.extend(filter(None, lines)),
    "about": _about,
    "variable": _variable,
    "unloaded": lambda collection, about, lines: collection.marks.add("unloaded"),
    "end": lambda collection, about, lines: collection.marks.add("end"),
}
