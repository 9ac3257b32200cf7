"""A machine from what somebody hands over: a capture, facts JSON or pasted text."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import IO, TYPE_CHECKING

from envkit.base.errors import LimitError, SourceError
from envkit.ingest import parse_text, parse_texts

if TYPE_CHECKING:
    from envkit.model import Environment

_MOST_BYTES = 24 << 20  # of a text: a long log; the driver's own bug report has some five million


def read_file(source: str, option: str) -> str:
    """The text of a file, in whatever encoding a shell wrote it. Raises SourceError; `option` is who named the file."""
    from envkit.host.user_file import opened

    try:
        with opened(source) as stream:
            return read_stream(stream, source, option)
    except OSError as error:
        raise SourceError(
            f"{option}: cannot read {source}: {error.strerror}.",
            "Pass a capture directory, a JSON file, or a text file.",
        ) from error


def all_recorded(
    sources: Sequence[str],
    option: str = "--from",
    read: Callable[[str, str], str] = read_file,
    parse: Callable[[Sequence[tuple[str, str]]], Environment] = parse_texts,
    *,
    apart: bool = False,
) -> list[Environment]:
    """One environment for each capture and each facts JSON, and one for all texts together. Raises SourceError.

    Several texts are taken for one machine: what `nvidia-smi` says stands in one file, the error in another. `read`
    gives the text of a source that is no folder, `parse` the facts of the texts. `apart`: texts that tell of several
    machines are one environment for each.
    """
    machines: list[Environment] = []
    texts: list[tuple[str, str]] = []
    size = 0
    for source in sources:
        if os.path.isdir(source):
            from envkit.capture.machine import replay

            machines.append(replay(source))
            continue
        text = read(source, option)
        facts = _facts_in(text, source, option)
        if facts is not None:
            machines.append(facts)
            continue
        texts.append(("stdin" if source == "-" else source, text))
        size += len(text)
        if size > _MOST_BYTES:
            raise LimitError(
                f"{option}: together, the texts are longer than {_MOST_BYTES >> 20} MiB.",
                ("Pass only the ones that matter."),
            )
    if len(texts) == 1:
        texts = [("", texts[0][1])]
    if apart and texts:
        return [*_apart(texts, parse), *machines]
    return [*([parse(texts)] if texts else []), *machines]


def _apart(
    texts: Sequence[tuple[str, str]], parse: Callable[[Sequence[tuple[str, str]]], Environment]
) -> list[Environment]:
    from envkit._startup.records import replace
    from envkit.ingest.machines import machines_in

    found = [(label, parse(named)) for label, named in machines_in(texts, parse)]
    return [replace(each, origin=f"{each.origin} of {label}") if label else each for label, each in found]


def from_text(text: str, source: str, option: str = "--from") -> Environment:
    """Facts JSON (from `envkit probe --json` or `doctor --json`) when it is a JSON object, else pasted text."""
    return _facts_in(text, source, option) or parse_text(text)


def _empty(source: str, option: str) -> SourceError:
    if source == "-":
        return SourceError(f"{option} -: standard input is empty.", "Pipe in a report, a log, or a command's output.")
    return SourceError(f"{option}: {source} is empty.", "Save a report, a log, or a command's output in it.")


def _facts_in(text: str, source: str, option: str) -> Environment | None:
    """The environment of a facts JSON or of what the collector printed, None for other text.

    Raises SourceError for one that tells nothing.
    """
    from envkit.capture.collected_text import is_collected
    from envkit.ingest.own import own_document

    if is_collected(text):
        from envkit.ingest.collected import from_collector

        return from_collector(text, source)
    if text.lstrip().startswith("{"):
        from envkit.base.json_text import loads

        try:
            document = loads(text)
        except LimitError as error:
            if not own_document(text):  # a long log can have a line of JSON first
                return None
            raise LimitError(f"{option}: {source}: {error.message}", error.hint) from None
        except ValueError:
            document = None
        if isinstance(document, dict) and ("environment" in document or "system" in document):
            return environment_in(document, source)
        if document is None and own_document(text):
            raise SourceError(
                f"{option}: {source} is JSON written by envkit, but it is cut off or damaged.", "Save it again."
            )
    _refuse_illegible(text, source, option)
    return None


def _refuse_illegible(text: str, source: str, option: str) -> None:
    """Raises SourceError for what nobody can read facts in: nothing, no text, and a report for people."""
    from envkit.base.decode import legible
    from envkit.ingest.own import own_report

    if not text.strip():
        raise _empty(source, option)
    if not legible(text):
        raise SourceError(f"{option}: {source} is not text.", "Save a report, a log, or a command's output in it.")
    if own_report(text):
        raise SourceError(
            f"{option}: {source} is a report that envkit wrote for people to read; it contains too few facts for a "
            "diagnosis.",
            "Save the facts with --json or `envkit capture DIR`, and pass those instead.",
        )


def environment_in(document: object, source: str) -> Environment:
    """The facts of a document; what it calls "this machine" is the one that wrote it, which need not be this one.

    Raises SourceError for facts of another shape.
    """
    from envkit._startup.records import replace
    from envkit.model import Environment
    from envkit.model.facts_json import environment_from_json
    from envkit.privacy.walk import without_secret_facts

    facts = document.get("environment", document) if isinstance(document, Mapping) else document
    environment = without_secret_facts(environment_from_json(facts))
    if environment.origin != Environment().origin:
        return environment
    return replace(environment, origin="recorded facts" if source == "-" else source)


def read_stream(stream: IO[bytes], name: str, option: str) -> str:
    """All that the stream gives, as text. Raises LimitError for more than a report or a log can be."""
    from envkit.base.decode import decoded

    data = stream.read(_MOST_BYTES + 1) or b""
    if len(data) > _MOST_BYTES:
        raise LimitError(
            f"{option}: {name} is longer than {_MOST_BYTES >> 20} MiB.", "Cut it to the part that matters."
        )
    return decoded(data)
