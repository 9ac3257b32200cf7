"""Which machine a command looks at: this one, a capture, a facts file, a pasted text or a mounted root."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from envkit.base.errors import SourceError

if TYPE_CHECKING:
    from envkit.host.local import LocalHost
    from envkit.model import Environment
    from envkit.tables import Matrix


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
            f"--target: {target} does not describe a system, driver, or GPU.",
            "Pass a capture, a facts JSON file, or a pasted report.",
        )
    return environment


def started_machine(pythons: Sequence[str] = ()) -> LocalHost:
    """This machine, already asked for what takes longest to answer: its Docker engine. `pythons`: those to look at."""
    from envkit.host.local import LocalHost

    host = LocalHost(pythons=pythons)
    host.ask_ahead("docker")
    return host


def chosen_pythons(paths: Sequence[str]) -> tuple[str, ...]:
    """The interpreters that `--python` names, itself or by the folder of its environment. Raises RequestError."""
    return tuple(dict.fromkeys(_interpreter(path) for path in paths))


def _interpreter(path: str) -> str:
    from envkit.base.errors import RequestError

    whole = os.path.abspath(os.path.expanduser(path))
    places = [whole, *(os.path.join(whole, name) for name in ("bin/python", ".venv/bin/python"))] if path else []
    python = next((place for place in places if os.path.isfile(place)), None)
    if python is None or ":" in python or not os.path.basename(python).startswith("python"):
        raise RequestError(
            f"--python: {path or 'an empty path'} is not a Python interpreter or an environment.",
            "Pass an interpreter, such as /opt/venv/bin/python, or the directory of an environment.",
        )
    return python


def this_machine(
    deep: bool = False,
    host: LocalHost | None = None,
    driver_limit_s: float | None = None,
    pythons: Sequence[str] = (),
) -> Environment:
    """What is observed on this machine now; `deep` also runs the opt-in tests in child processes."""
    from envkit.probe.collect import collect

    return collect(host or started_machine(pythons), deep=deep, driver_limit_s=driver_limit_s, tell=say)


def say(line: str) -> None:
    """One line for the user who waits."""
    import click

    click.echo(line, err=True)


def under_root(root: str) -> Environment:
    """What is observed in a mounted file system or unpacked image. Raises SourceError."""
    if not os.path.isdir(root):
        raise SourceError(f"--root: {root} is not a directory.", "Pass the directory where the file system is mounted.")
    from envkit.host.root import RootHost
    from envkit.probe.collect import collect

    return collect(RootHost(root))


def recorded(source: str, option: str = "--from") -> Environment:
    """A capture folder, a facts JSON, or pasted text (`-`: stdin), told apart by what they are. Raises SourceError."""
    from envkit.host.limits import FOREIGN_S, limited

    with limited(f"{option}: {'standard input' if source == '-' else source}", FOREIGN_S):
        (environment,) = all_recorded([source], option)
    return environment


def all_recorded(sources: Sequence[str], option: str = "--from", *, apart: bool = False) -> list[Environment]:
    """The machines of several sources, of which several texts are one machine; `-` is stdin. Raises SourceError.

    `apart`: unless the texts show that they tell of several.
    """
    from envkit.ingest import sources as given

    return given.all_recorded(sources, option, _read, _parse, apart=apart)


def _parse(texts: Sequence[tuple[str, str]]) -> Environment:
    """What the texts tell; who waits for long ones sees how far it is."""
    from envkit.cli.reading import reading
    from envkit.ingest import parse_texts

    with reading(sum(len(text) for _, text in texts)) as progress:
        return parse_texts(texts, progress)


def _read(source: str, option: str) -> str:
    from envkit.ingest.sources import read_file

    return _standard_input(option) if source == "-" else read_file(source, option)


def _standard_input(option: str) -> str:
    """All of standard input; a person at a terminal is told what is awaited. Raises SourceError."""
    import sys

    from envkit.cli.terminal import at_terminal
    from envkit.ingest.sources import read_stream

    if sys.stdin is None:
        raise SourceError(f"{option} -: standard input is closed.", "Pipe a text into it, or pass a file.")
    try:
        if at_terminal(sys.stdin):
            end = "Ctrl-Z and Enter" if os.name == "nt" else "Ctrl-D on an empty line"
            say(f"Paste the output of commands or an error, then press {end}:")
        return read_stream(sys.stdin.buffer, "standard input", option)
    except OSError as error:
        raise SourceError(
            f"{option} -: cannot read standard input: {error.strerror}.", "Pipe a text into it, or pass a file."
        ) from error
