"""Hosts from what lies in a folder: captures, facts, reports of the doctor, results of a fleet's run, pasted texts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from envkit._startup.records import record, replace
from envkit._startup.regex import regex
from envkit.base.errors import SourceError
from envkit.ingest.arrived import groups_in, kept, seconds_in
from envkit.ingest.sources import all_recorded, environment_in, from_text, read_file

if TYPE_CHECKING:
    from envkit.model import Environment

RESULTS = "hosts"  # the folder of a run that holds its results, one for each host
RUN = "run.json"
PLAYBOOK = frozenset(("playbook.yml", "ansible.cfg", "callback_plugins", "collect.sh", "envkit.pyz"))  # no host's files
# files that say what is to be installed, and nothing of a machine
_OF_PROJECT = regex(
    r"(?i)(?:[\w-]{1,80}\.)?(?:docker|container)file(?:\.[\w.-]{1,80})?|requirements[\w.-]{0,80}\.(?:txt|in)"
    r"|(?:docker-)?compose[\w.-]{0,40}\.ya?ml|(?:conda-)?(?:environment|lock)\.ya?ml|pyproject\.toml|setup\.(?:py|cfg)"
    r"|Pipfile(?:\.lock)?|(?:uv|poetry|pdm|pixi|pylock)\.(?:lock|toml)"
)
_OPTION = "fleet"
_FILE = "the file"  # in reasons: hosts with one reason stand in one line, which a path would keep apart
_NOT_REACHED = frozenset(("unreachable", "timed-out", "hung", "no-python", "no-space", "crashed", "unreadable"))
_UNANSWERED = "it had not answered when the run ended; --resume queries it again"
_DEEPEST = 8  # folders inside each other


@record
class HostSource:
    """A host and the capture, file or files that tell of it, or why none of them can."""

    name: str
    paths: tuple[str, ...]
    trouble: str = ""


@record
class Told:
    """What a source tells of a host: its facts, or in which state it ended instead and why."""

    name: str
    environment: Environment | None = None
    state: str = ""
    reason: str = ""
    seconds: float | None = None
    groups: tuple[str, ...] | None = None  # of the inventory, where one is known


def host_sources(places: Sequence[str]) -> list[HostSource]:
    """The hosts of folders and files, sorted by place; those of one name get the names of their places.

    In a folder each capture and each file is a host, and so is a folder below it that holds several texts and nothing
    else; what is hidden or called README is none, nor is the playbook that collects, nor a project's file such as a
    Dockerfile, and links are not followed. What cannot be read below a place is a host in trouble. A place that is
    named twice counts once. Raises SourceError for a place that cannot be read or holds nothing.
    """
    hosts: dict[tuple[str, ...], HostSource] = {}
    for place in places:
        held = list(_hosts_at(place))
        if not held:
            raise SourceError(
                f"{place} contains no capture and no file.",
                ("Pass a directory of captures, facts files, or text files."),
            )
        for host in held:
            hosts.setdefault((*map(os.path.abspath, host.paths), host.name if host.trouble else ""), host)
    counts: dict[str, int] = {}
    for host in hosts.values():
        counts[host.name] = counts.get(host.name, 0) + 1
    return [host if counts[host.name] == 1 else replace(host, name=_place(host)) for host in hosts.values()]


def told_by(source: HostSource) -> Iterator[Told]:
    """The machines that a source tells of, nearly always one. Raises SourceError."""
    if source.trouble:
        yield Told(source.name, None, "unreadable", source.trouble)
        return
    if len(source.paths) > 1 or os.path.isdir(source.paths[0]):
        machines = all_recorded(source.paths, _OPTION)  # several where facts lie among the texts
        for number, environment in enumerate(machines, 1):
            yield Told(f"{source.name}:{number}" if len(machines) > 1 else source.name, environment)
        return
    (place,) = source.paths
    text = read_file(place, _OPTION)
    document = _document(text)
    if "arrived" in document and "host" in document:
        document = kept(document)
    if str(document.get("state")) in _NOT_REACHED:
        yield _not_reached(source.name, document)
    elif isinstance(reports := document.get("reports"), list) and "verdict" in document:
        for number, report in enumerate(reports, 1):
            yield Told(f"{source.name}:{number}", environment_in(report, place))
    elif isinstance(printed := document.get("text"), str) and "host" in document:
        environment = from_text(printed, _FILE, _OPTION)
        yield _found(source.name, document, environment)
    elif "environment" in document or "system" in document:
        yield _found(source.name, document, environment_in(document, place))
    else:
        yield Told(source.name, from_text(text, _FILE, _OPTION))


def unreadable(source: HostSource, error: SourceError) -> str:
    """Why a source cannot be read, without the place of it, which may tell a host's name."""
    if isinstance(error.__cause__, OSError):
        return f"it cannot be read: {error.__cause__.strerror}"
    text = error.message.removeprefix(f"{_OPTION}: ").rstrip(".")
    (place,) = source.paths[:1]
    return f"it{text.removeprefix(place)}" if text.startswith(f"{place} ") else text


def _hosts_at(place: str) -> Iterator[HostSource]:
    if os.path.isdir(place):
        yield from _hosts_in(place, 0)
    elif os.path.exists(place):
        yield HostSource(_stem(place), (place,))
    else:
        raise SourceError(
            f"{place}: no such file or directory.", ("Pass a directory of captures, facts files, or text files.")
        )


def _hosts_in(folder: str, depth: int) -> Iterator[HostSource]:
    names = _names_in(folder)
    if _is_capture(names):
        yield HostSource(os.path.basename(os.path.abspath(folder)), (folder,))
        return
    if RUN in names and RESULTS in names:
        yield from _hosts_of_run(folder)
        return
    no_hosts = PLAYBOOK if PLAYBOOK.issubset(names) else ()
    places = {name: os.path.join(folder, name) for name in names if name not in no_hosts}
    files = [place for place in places.values() if os.path.isfile(place) and not os.path.islink(place)]
    if depth and len(files) == len(places) > 1 and not any(place.endswith(".json") for place in files):
        yield HostSource(os.path.basename(folder), tuple(files))
        return
    for place in places.values():
        if os.path.isdir(place) and not os.path.islink(place):
            yield from _below(place, depth + 1)
        elif not _OF_PROJECT.fullmatch(os.path.basename(place)):
            yield _file(place)


def _hosts_of_run(folder: str) -> Iterator[HostSource]:
    """The hosts with a result, and those that were asked and have none."""
    results = os.path.join(folder, RESULTS)
    names = _names_in(results)
    for name in names:
        yield _file(os.path.join(results, name))
    asked = _document(read_file(os.path.join(folder, RUN), _OPTION)).get("asked")
    if isinstance(asked, dict):
        for name in sorted(asked.keys() - set(names)):
            yield HostSource(str(asked[name]), (os.path.join(results, name),), _UNANSWERED)


def _below(folder: str, depth: int) -> Iterator[HostSource]:
    """The hosts in a folder that nobody named; one that holds none is itself a host, of which nothing is known."""
    trouble = f"more than {_DEEPEST} nested directories" if depth > _DEEPEST else "the directory is empty"
    try:
        if depth <= _DEEPEST and _names_in(folder):
            yield from _hosts_in(folder, depth)
            return
    except SourceError as error:
        trouble = unreadable(HostSource("", (folder,)), error)
    yield HostSource(os.path.basename(folder), (folder,), trouble)


def _file(place: str) -> HostSource:
    """The file as a host. A link is none: whoever packed the folder would choose which of the reader's files count."""
    trouble = "" if os.path.isfile(place) else "it is not a file"
    if os.path.islink(place):
        trouble = "it is a link, which is not followed"
    return HostSource(_stem(place), (place,), trouble)


def _is_capture(names: Sequence[str]) -> bool:
    """True for a folder with a capture's own file; facts count as one where no other host's file lies beside them."""
    from envkit.capture.replay import NAMES

    return "machine.json" in names or ("facts.json" in names and NAMES.issuperset(names))


def _names_in(folder: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if not name.startswith((".", "README")))
    except OSError as error:
        raise SourceError(f"cannot read {folder}: {error.strerror}.", "Pass a directory that can be read.") from error


def _stem(place: str) -> str:
    name = os.path.basename(place)
    stem, ending = os.path.splitext(name)
    return stem if ending in (".json", ".txt", ".log", ".md") and stem else name


def _place(host: HostSource) -> str:
    return host.paths[0] if len(host.paths) == 1 else os.path.dirname(host.paths[0])


def _document(text: str) -> Mapping[str, Any]:
    """The JSON object that a text is, an empty one for another text."""
    from envkit.base.json_text import loads

    try:
        found = loads(text) if text.lstrip().startswith("{") else None
    except ValueError:
        found = None  # `from_text` knows which words there are for it
    return found if isinstance(found, dict) else {}


def _found(name: str, document: Mapping[str, Any], environment: Environment) -> Told:
    return Told(_name(name, document), environment, seconds=seconds_in(document), groups=groups_in(document))


def _not_reached(name: str, document: Mapping[str, Any]) -> Told:
    return Told(
        _name(name, document), None, str(document["state"]), str(document.get("reason", "")), seconds_in(document)
    )


def _name(name: str, document: Mapping[str, Any]) -> str:
    """The name that a run gave the host; its file has one that is safe on a disk."""
    given = document.get("host")
    return given if isinstance(given, str) and given else name
