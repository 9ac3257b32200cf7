"""Which machine a command looks at: this one, a capture, a facts file, a pasted text or a mounted root."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from envkit.errors import SourceError

if TYPE_CHECKING:
    from envkit.facts import Environment
    from envkit.host.local import LocalHost
    from envkit.matrix import Matrix


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


def this_machine(deep: bool = False, host: LocalHost | None = None) -> Environment:
    """What is observed on this machine now; `deep` also runs the opt-in tests in child processes."""
    from envkit.probe.collect import collect

    return collect(host or started_machine(), deep=deep)


def under_root(root: str) -> Environment:
    """What is observed in a mounted file system or unpacked image. Raises SourceError."""
    if not os.path.isdir(root):
        raise SourceError(f"--root: {root} is not a folder.", "Name the folder where the file system is mounted.")
    from envkit.host.root import RootHost
    from envkit.probe.collect import collect

    return collect(RootHost(root))


def recorded(source: str, option: str = "--from") -> Environment:
    """A capture folder, a facts JSON, or pasted text (`-`: stdin), told apart by what they are. Raises SourceError."""
    if source != "-" and os.path.isdir(source):
        from envkit.probe.replay import replay

        return replay(source)
    return from_text(_read(source, option), source, option)


def from_text(text: str, source: str, option: str = "--from") -> Environment:
    """Facts JSON (from `envkit probe --json` or `doctor --json`) when it is a JSON object, else pasted text."""
    from envkit.ingest.own import own_document, own_report

    if text.lstrip().startswith("{"):
        import json

        try:
            document = json.loads(text)
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
    from envkit.ingest import parse_text

    return parse_text(text)


def _told_elsewhere(document: dict[str, object], source: str) -> Environment:
    """The facts of a document; what it calls "this machine" is the one that wrote it, which need not be this one."""
    from envkit.facts import Environment
    from envkit.facts_json import environment_from_json
    from envkit.records import replace

    environment = environment_from_json(document.get("environment", document))
    if environment.origin != Environment().origin:
        return environment
    return replace(environment, origin="recorded facts" if source == "-" else source)


def _read(source: str, option: str) -> str:
    from envkit.ingest.decode import decoded

    if source == "-":
        import sys

        return decoded(sys.stdin.buffer.read())
    try:
        with open(source, "rb") as stream:
            return decoded(stream.read())
    except OSError as error:
        raise SourceError(
            f"{option}: cannot read {source}: {error.strerror}.",
            "Name a capture folder, a JSON file, a text file or -.",
        ) from error
