"""A variable of a profile file is not called gone while the shell that envkit was started from still has it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from envkit.api.report import Report
from envkit.checks.engine.command import fixed
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.cli import fix
from envkit.documents.verdict import verdict
from envkit.repair.plan import plan_for
from tests.fakes.machines import load_machine
from tests.repair.machine import HEALTHY
from tests.repair.terminal import Terminal

NAME = "CUDA_VISIBLE_DEVICES"


def look() -> Report:
    environment = load_machine(HEALTHY)
    status = Status.FAIL if NAME in os.environ else Status.OK
    finding = Finding("probe", status, "The variable is set", remedy=Remedy("Unset it.", (fixed(f"unset {NAME}"),)))
    return Report(environment, (finding,), verdict(environment, (finding,)))


def test_the_present_shell_keeps_its_variable_and_the_user_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ENVKIT_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv(NAME, "")
    Terminal(monkeypatch)
    (tmp_path / ".bashrc").write_text(f"export {NAME}=\n")
    after = fix.fix_here(look, {}, dry_run=False, yes=False)
    assert (tmp_path / ".bashrc").read_text() == f"# envkit: export {NAME}=\n"
    said = capsys.readouterr()
    assert after.verdict.status is Status.FAIL and "Gone" not in said.out
    assert f"open a new one, or run this here: unset {NAME}" in said.out + said.err


def test_a_plan_is_as_wide_as_the_terminal_and_its_commands_are_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    environment = load_machine(HEALTHY)
    commands = tuple(map(fixed, ("sudo systemctl restart nvidia-persistenced.service", f"unset {NAME}", "sudo reboot")))
    finding = Finding("probe", Status.FAIL, "word " * 30, remedy=Remedy("fix " * 40, commands))
    monkeypatch.setattr("envkit.cli.terminal.text_width", lambda: 44)
    fix._show(plan_for(finding, {}, "/p"), Report(environment, (finding,), verdict(environment, (finding,))))
    lines = capsys.readouterr().out.splitlines()
    whole = [line for line in lines if line.split(". ")[-1] in {command.line for command in commands}]
    assert len(whole) == len(commands) and all(len(line) <= 44 for line in lines if line not in whole)
