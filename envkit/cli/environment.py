"""Which machine a command looks at: this one, a capture, a facts file, a pasted text or a mounted root."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING

from envkit.base.errors import LimitError, SourceError

if TYPE_CHECKING:
    from envkit.host.local import LocalHost
    from envkit.model import Environment
    from envkit.tables import Matrix

_MOST_BYTES = 64 << 20  # of a text: a long log; the driver's own bug report has some five million


def target_environment(target: str, matrix: Matrix) -> Environment:
    """What a plan asks of `--target`: `this` machine or a recorded one. Raises SourceError."""
    if target != "this":
        return _with_a_machine(recorded(target, "--target"), target)
    from envkit.host.local import LocalHost
    from envkit.probe.target import target_facts

    return target_facts(LocalHost(), matrix.gpus_by_device_id)


def _with_a_machine(environment: Environment, target: str) -> Environment:
    """The environment, if it tells anything that a plan asks. Raises SourceError for a text about other things."""
    system, driver = environment.system, environment.driver
    told = (system.os, system.glibc, driver.kernel_module, driver.user_space, driver.driver_cuda_version)
    if not any(fact.known for fact in (*told, environment.gpus, environment.pci_gpus)):
        raise SourceError(
            f"--target: {target} tells nothing of a system, a driver or a GPU.",
            "Name a capture, a facts JSON or a pasted report.",
        )
    return environment


def started_machine() -> LocalHost:
    """This machine, already asked for what takes longest to answer: its Docker engine."""
    from envkit.host.local import LocalHost

    host = LocalHost()
    host.ask_ahead("docker")
    return host


def this_machine(deep: bool = False, host: LocalHost | None = None, driver_limit_s: float | None = None) -> Environment:
    """What is observed on this machine now; `deep` also runs the opt-in tests in child processes."""
    from envkit.probe.collect import collect

    return collect(host or started_machine(), deep=deep, driver_limit_s=driver_limit_s, tell=say)


def say(line: str) -> None:
    """One line for the person who waits."""
    import click

    click.echo(line, err=True)


def under_root(root: str) -> Environment:
    """What is observed in a mounted file system or unpacked image. Raises SourceError."""
    if not os.path.isdir(root):
        raise SourceError(f"--root: {root} is not a folder.", "Name the folder where the file system is mounted.")
    from envkit.host.root import RootHost
    from envkit.probe.collect import collect

    return collect(RootHost(root))


def recorded(source: str, option: str = "--from") -> Environment:
    """A capture folder, a facts JSON, or pasted text (`-`: stdin), told apart by what they are. Raises SourceError."""
    (environment,) = all_recorded([source], option)
    return environment


def all_recorded(sources: Sequence[str], option: str = "--from") -> list[Environment]:
    """One environment for each capture and each facts JSON, and one for all texts together. Raises SourceError.

    Several texts are taken for one machine: what `nvidia-smi` says stands in one file, the error in another.
    """
    from envkit.cli.reading import reading
    from envkit.ingest import parse_texts

    machines: list[Environment] = []
    texts: list[tuple[str, str]] = []
    for source in sources:
        if os.path.isdir(source):
            from envkit.capture.machine import replay

            machines.append(replay(source))
            continue
        text = _read(source, option)
        facts = _facts_in(text, source, option)
        if facts is not None:
            machines.append(facts)
        else:
            texts.append(("stdin" if source == "-" else source, text))
    if len(texts) == 1:
        texts = [("", texts[0][1])]
    if texts:
        with reading(sum(len(text) for _, text in texts)) as progress:
            machines.insert(0, parse_texts(texts, progress))
    return machines


def from_text(text: str, source: str, option: str = "--from") -> Environment:
    """Facts JSON (from `envkit probe --json` or `doctor --json`) when it is a JSON object, else pasted text."""
    from envkit.ingest import parse_text

    return _facts_in(text, source, option) or parse_text(text)


def _facts_in(text: str, source: str, option: str) -> Environment | None:
    """The environment that a facts JSON holds, None for other text. Raises SourceError for one that tells nothing."""
    from envkit.ingest.own import own_document, own_report

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
            return _told_elsewhere(document, source)
        if document is None and own_document(text):
            raise SourceError(f"{option}: {source} is JSON of envkit that is cut off or damaged.", "Save it again.")
    if not text.strip():
        raise SourceError(f"{option}: {source} is empty.", "Paste the text of a report, a log or a command's output.")
    if own_report(text):
        raise SourceError(
            f"{option}: {source} is a report that envkit wrote for people; it holds too few facts to judge.",
            "Save the facts, with --json or `envkit capture DIR`, and name that.",
        )
    return None


def _told_elsewhere(document: dict[str, object], source: str) -> Environment:
    """The facts of a document; what it calls "this machine" is the one that wrote it, which need not be this one."""
    from envkit._startup.records import replace
    from envkit.model import Environment
    from envkit.model.facts_json import environment_from_json
    from envkit.privacy.walk import without_secret_facts

    environment = without_secret_facts(environment_from_json(document.get("environment", document)))
    if environment.origin != Environment().origin:
        return environment
    return replace(environment, origin="recorded facts" if source == "-" else source)


def _read(source: str, option: str) -> str:
    from envkit.ingest.decode import decoded

    if source == "-":
        return decoded(_standard_input(option))
    try:
        with open(source, "rb") as stream:
            return decoded(_limited(stream, option, source))
    except OSError as error:
        raise SourceError(
            f"{option}: cannot read {source}: {error.strerror}.",
            "Name a capture folder, a JSON file, a text file or -.",
        ) from error


def _limited(stream: IO[bytes], option: str, source: str) -> bytes:
    """All that the stream gives. Raises LimitError for more than a report or a log that can be read through."""
    data = stream.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise LimitError(
            f"{option}: {source} is longer than {_MOST_BYTES >> 20} MiB.", "Cut it to the part that matters."
        )
    return data


def _standard_input(option: str) -> bytes:
    """All of standard input; a person at a terminal is told what is awaited. Raises SourceError."""
    import sys

    from envkit.cli.output import say

    if sys.stdin is None:
        raise SourceError(f"{option} -: standard input is closed.", "Pipe a text into it, or name a file.")
    try:
        if sys.stdin.isatty():
            end = "Ctrl-Z and Enter" if os.name == "nt" else "Ctrl-D on a line of its own"
            say(f"Paste the output of commands or an error, then press {end}:")
        return _limited(sys.stdin.buffer, option, "standard input")
    except OSError as error:
        raise SourceError(
            f"{option} -: cannot read standard input: {error.strerror}.", "Pipe a text into it, or name a file."
        ) from error
