"""Whatever a machine's facts hold, the printed commands have the words that were meant, and no more."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from functools import cache, partial
from pathlib import Path

import pytest

from envkit.base.shown import shown
from envkit.checks.engine.command import Command
from envkit.checks.engine.findings import Finding
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.model import Environment
from envkit.tables.findings import RemedyStep
from envkit.tables.loader import read
from tests.checks.software import matrix
from tests.hostile.payloads import MARK, PAYLOADS, SHELL
from tests.hostile.places import WAYS, Way, holders, known, put

CHECKS = list(all_checks().values())
BASH = shutil.which("bash") or "bash"
# Places whose value a command holds, each with a machine or text where it does.
REACHED = [
    (".pythons.value[].executable", "ubuntu22.04-rtx4090-535-torch-cu130"),
    (".pythons.value[].shadowing_modules[]", "ubuntu22.04-rtx4090-550-local-torch"),
    (".pythons.value[].distributions[].name", "cudnn-mixed-sublibraries.txt"),
    (".pythons.value[].prefix", "cpu-only-conda.txt"),
    (".pythons.value[].frameworks[].name", "ubuntu22.04-gtx1080ti-580-torch-cu130"),
    (".nvcc.value.toolkit_path", "debian12-none-none"),
    (".driver.device_nodes.value[].group", "ubuntu22.04-rtx4090-permission"),
    (".pci_gpus.value[].pci_address", "ubuntu22.04-rtx3090-x4"),
    (".cuda_toolkits.value[].real_path", "several-toolkits-in-path.txt"),
    (".cuda_toolkits.value[].path", "ubuntu22.04-rtx4090-550-dangling-link"),
    (".messages.value[].values{}", "arch-dropped-torch-28.txt"),
    (".kernel.acs_redirect.value[]", "acs-blocks-p2p.txt"),
]
_WORD = r"(?:[\w@%+=:,./-]|'[^']*'|\"'\")+"  # one word as shlex.quote writes it
# where checks/engine/place.py puts what a text names: the Python of its traceback, its image
_PLACES = re.compile(r"(?P<before>^|\$\()python(?= -[cm] )|(?P<image>\bIMAGE\b)")


@cache
def _templates() -> re.Pattern[str]:
    """Every line of remedies.csv, a quoted word in each blank and place."""
    lines = sorted({_PLACES.sub(r"\g<before>{place}", row.command) for row in read(RemedyStep)})
    return re.compile("|".join(re.sub(r"\\\{[a-z]+\\\}", lambda _: _WORD, re.escape(line)) for line in lines))


def judged(environment: Environment) -> list[Finding]:
    return run_checks(environment, matrix(), CHECKS)


def steps(findings: Sequence[Finding]) -> Iterator[Command]:
    """The commands that a report prints."""
    for finding in findings:
        if finding.remedy is not None and finding.remedy.commands:
            yield from finding.remedy.steps


def _chosen_by_content(words: Sequence[str]) -> Iterator[str]:
    """The words without the package index of our own tables: it goes with the release, which a payload may hide."""
    return (word for word in words if word != "--index-url" and not word.startswith("https://download.pytorch.org/"))


def commands(findings: Sequence[Finding]) -> dict[str, list[list[str]]]:
    """The words of each finding's commands."""
    return {
        finding.id: [[*_chosen_by_content(step.words)] for step in finding.remedy.steps if not step.shell]
        for finding in findings
        if finding.remedy is not None and finding.remedy.commands
    }


class Shell:
    """Lets a real shell read what was printed, many commands at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.waiting: list[Command] = []
        self.count = 0

    def take(self, commands: Iterator[Command]) -> None:
        for command in commands:
            assert command.line == shown(command.line)
            if command.shell:
                assert _templates().fullmatch(command.shell), command.shell
            elif not command.windows and "…" not in command.words:
                self.waiting.append(command)
            self.count += 1
        if len(self.waiting) > 2000:
            self.read()

    def read(self) -> None:
        lines = [f"f {command.line}" for command in self.waiting]
        done = subprocess.run(
            [BASH, "--norc"],
            input="\n".join(['f() { printf \'%s\\0\' "$#" "$@"; }', *lines, ""]).encode(),
            capture_output=True,
            check=True,
            cwd=self.folder,
            env={"PATH": "", "LC_ALL": "C.UTF-8"},
        )
        expected = [word for command in self.waiting for word in (str(len(command.words)), *command.words)]
        assert done.stdout.decode().split("\0")[:-1] == expected
        assert done.stderr == b"" and not (self.folder / MARK).exists()
        self.waiting = []


@cache
def commands_before(name: str) -> dict[str, list[list[str]]]:
    """The same of a machine as it was recorded."""
    return commands(judged(known(name)))


def attack(place: str, name: str, payload: str, shell: Shell, ways: Sequence[Way] = WAYS) -> None:
    """The facts of one machine with a payload at a place."""
    was = commands_before(name)
    for way in ways:
        findings = judged(put(known(name), place, partial(way, payload)))
        shell.take(steps(findings))
        now = commands(findings)
        for id in was.keys() & now.keys():
            if len(was[id]) == len(now[id]):  # what a payload hides may take an option away
                longer = [words for words, before in zip(now[id], was[id], strict=True) if len(words) > len(before)]
                # what a payload hides may also lead to another command, which then holds nothing of it
                gained = [words for words in longer if any(part in words for part in payload.split())]
                assert not gained, f"{place} of {name}: {payload!r} adds words to {id}"


@pytest.mark.parametrize(("place", "name"), REACHED)
def test_a_value_that_a_command_holds_gains_no_word(place: str, name: str, tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    attack(place, name, "".join(SHELL), shell)
    attack(place, name, f" '\"$(:>{MARK})`:>{MARK}`;:>{MARK}", shell)
    shell.read()


@pytest.mark.thorough
def test_no_payload_in_any_place_gains_a_word(tmp_path: Path) -> None:
    chance, shell = random.Random(12), Shell(tmp_path)
    for place, names in holders().items():
        payloads = SHELL if not place.endswith((".source", ".detail")) else chance.sample(PAYLOADS, 1)
        for payload in payloads:
            attack(place, chance.choice(names), payload, shell, [chance.choice(WAYS)])
    shell.read()
    print(f"{shell.count} commands of {len(holders())} places read by bash: no word gained")
