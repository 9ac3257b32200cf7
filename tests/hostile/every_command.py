"""Every command and every format of its output, told by the command line itself, asked about what a stranger sent.

A new command has no words here and fails the tests until it has some; a new format of a command is asked for by itself.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import click

from envkit.cli.dockerfile import FORMATS
from envkit.cli.main import envkit
from envkit.model import Environment
from envkit.model.facts_json import to_json

Words = tuple[str, ...]

PROJECT = ("requirements.txt", "pyproject.toml", "environment.yml", "setup.py", "Dockerfile")
# Why a command is asked nothing: it reads this machine or our own tables alone.
READS_NOTHING_FOREIGN = {
    "bench": "measures this machine; its own test reads a hostile baseline",
    "capture": "records this machine; tests/redact reads what it kept",
    "completion": "prints what is installed with envkit",
    "explain": "prints our own words",
    "fleet doctor": "collects, and then reports as `fleet report` does",
    "fleet playbook": "writes our own files",
    "fleet kubernetes": "writes our own files",
    "fleet slurm": "writes our own files",
    "installed": "reads root's notes; its own test has hostile ones",
    "matrix": "prints our own tables",
    "probe": "looks at this machine; tests/redact prints hostile facts",
    "uninstall": "reads what installed reads",
    "use": "reads what installed reads",
}
# What each other command is asked, about the files that `sent` makes.
ASKED: dict[str, Callable[[Path], list[Words]]] = {
    "doctor": lambda folder: [("--from", str(folder / "facts.json"), "-v")],
    "resolve": lambda folder: [("--framework", "pytorch", "--target", str(folder / "facts.json"))],
    "install": lambda folder: [("--framework", "pytorch", "--target", str(folder / "facts.json"))],
    "dockerfile": lambda folder: [
        ("--framework", "pytorch", "--target", str(folder / "facts.json")),
        ("--check", str(folder / "Dockerfile")),
    ],
    "check": lambda folder: [
        *((str(folder / name), "--target", str(folder / "facts.json")) for name in PROJECT),
        (str(folder / "requirements.txt"), "--target", str(folder / "facts.json"), "--fix"),
    ],
    "diff": lambda folder: [
        (str(folder / "plain.json"), str(folder / "facts.json"), "-v"),
        (str(folder / "facts.json"), str(folder / "plain.json"), "-v"),
    ],
    "recommend": lambda folder: [("--for", "vision", "--prices", str(folder / "prices.csv"), "-v")],
    "fleet report": lambda folder: [(str(folder / "fleet"), "--jobs", "1", "-v")],
    "fleet diff": lambda folder: [(str(folder / "before"), str(folder / "fleet"), "--jobs", "1")],
    "fleet baseline": lambda folder: [(str(folder / "fleet"), "--jobs", "1")],
}
_TORCH = "torch==2.6.0+cu118"


@dataclass(frozen=True)
class Question:
    """One run: the command, the format of its output, and whether it masks."""

    command: str
    form: str
    words: Words
    masks: bool = False

    def __str__(self) -> str:
        return f"{self.command} --format {self.form}{' --mask' if self.masks else ''}"


@cache
def commands() -> dict[str, click.Command]:
    """Each command that does something, by its words."""
    return dict(_leaves(envkit, ""))


def _leaves(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield name, command
        return
    context = click.Context(command)
    if name and len(command.params) > 1:  # `recommend` answers by itself, too
        yield name, command
    for inner in command.list_commands(context):
        found = command.get_command(context, inner)
        assert found is not None
        yield from _leaves(found, f"{name} {inner}".strip())


def forms(command: click.Command) -> dict[str, Words]:
    """The formats of a command's output, each with the words that ask for it."""
    options = {name: option for option in command.params for name in option.opts}
    choice = options["--format"].type if "--format" in options else None
    named = list(choice.choices) if isinstance(choice, click.Choice) else []
    found: dict[str, Words] = {form: ("--format", form) for form in named} or {"text": ()}
    return found | ({"json": ("--json",)} if "--json" in options else {})


def questions(folder: Path) -> Iterator[Question]:
    """Every command in every format, once with masks where it has them."""
    for name, command in commands().items():
        for asked in ASKED[name](folder) if name in ASKED else ():
            asks = {"text": ()} if "--fix" in asked else forms(command)  # a change is printed as a change
            for form, words in asks.items():
                if name == "dockerfile" and (form in FORMATS) is ("--check" in asked):
                    continue  # a format of images, or one of reports
                yield Question(name, form, (*name.split(), *asked, *words))
                if any("--mask" in option.opts for option in command.params):
                    yield Question(name, form, (*name.split(), *asked, *words, "--mask"), masks=True)


def sent(folder: Path, hurt: Environment, plain: Environment, payload: str) -> Path:
    """The folder with what a stranger sent: facts, a fleet's results and a project, the payload in all of them."""
    facts = json.dumps(to_json(hurt))
    (folder / "facts.json").write_text(facts)
    (folder / "plain.json").write_text(json.dumps(to_json(plain)))
    (folder / "before").mkdir()
    (folder / "fleet").mkdir()
    (folder / "before" / "n1.json").write_text(json.dumps({"host": "n1", **to_json(plain)}))
    hosts = {
        "n1": {"host": payload, **json.loads(facts)},
        "n2": {"host": "n2", **json.loads(facts)},
        "n3": {"host": f"n3{payload}", "state": "unreachable", "reason": payload},
        "n4": {"host": "n4", "text": f"{payload}\nRuntimeError: CUDA error: no kernel image is available {payload}\n"},
    }
    for name, document in hosts.items():
        (folder / "fleet" / f"{name}.json").write_text(json.dumps(document))
    (folder / "fleet" / _file_name(payload)).write_text("Failed to initialize NVML: Driver/library version mismatch\n")
    text = payload.encode("utf-8", "replace").decode().replace("\0", "")
    line = text.replace("\n", " ").replace("\r", " ")
    quoted = json.dumps(text)
    written = {
        "requirements.txt": f"{_TORCH}\n{_TORCH}{line}\ntorch @ https://x/{line}.whl\n-r {line}\n"
        f"--index-url {line}\n{text}\n",
        "pyproject.toml": f'[project]\nname = "x"\nrequires-python = {quoted}\ndependencies = ["{_TORCH}", {quoted}]\n'
        f"[[tool.uv.index]]\nname = {quoted}\nurl = {quoted}\n[project.optional-dependencies]\n{quoted} = [{quoted}]\n",
        "environment.yml": f"channels:\n  - {quoted}\ndependencies:\n  - pytorch=2.5\n  - {quoted}\n"
        f"  - pip:\n    - {quoted}\n",
        "setup.py": f"setup(install_requires=['{_TORCH}', {quoted}], python_requires={quoted})\n",
        "Dockerfile": f"FROM ubuntu:22.04\nARG X={quoted}\nRUN pip install {_TORCH} {line}\nRUN pip install '{line}'\n"
        f"ENV {text}\n",
        "prices.csv": f"name,price,currency\nRTX 4090,1600,EUR\n{quoted},5,EUR\nRTX 3090,{quoted},EUR\n{text}\n",
    }
    for name, content in written.items():
        (folder / name).write_text(content, "utf-8", "replace")
    return folder


def _file_name(payload: str) -> str:
    return payload.encode("utf-8", "replace").decode().replace("/", "_").replace("\0", "_")[:60].strip(".") + ".txt"


def again(folder: Path) -> Path:
    """The folder, empty."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def uncovered(names: Sequence[str]) -> set[str]:
    """The commands that nobody decided about."""
    return set(names) ^ (ASKED.keys() | READS_NOTHING_FOREIGN.keys())
