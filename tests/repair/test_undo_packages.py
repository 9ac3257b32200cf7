"""An undo undoes what the fix changed among the packages, and asks before it removes one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from envkit.base.errors import EnvkitError
from envkit.checks.engine.command import run
from envkit.cli import fix
from envkit.host import repairs
from envkit.host.journal import Journal
from envkit.host.repairs import Work
from envkit.repair.run import carry_out
from envkit.repair.steps import step_of
from tests.repair.terminal import Terminal


class Pip:
    """The packages of a Python, and what pip was told to do with them."""

    def __init__(self) -> None:
        self.packages = {"torch": "2.6.0", "numpy": "2.1.3"}
        self.fix = {"numpy": "1.26.4", "helper": "1.0"}
        self.done: list[tuple[str, ...]] = []

    def __call__(self, work: Work, *tell: object) -> str:
        action = work.words[3]
        if action == "freeze":
            return "\n".join(f"{name}=={version}" for name, version in self.packages.items())
        self.done.append(work.words[3:])
        if action == "uninstall":
            for name in work.words[5:]:
                del self.packages[name]
        elif "--force-reinstall" in work.words:
            self.packages |= {word.partition("==")[0]: word.partition("==")[2] for word in work.words[6:]}
        else:
            self.packages.update(self.fix)
        return ""


@pytest.fixture
def pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pip:
    """After a fix of numpy, which brought a helper with it; nobody is there to answer."""
    pip = Pip()
    monkeypatch.setenv("ENVKIT_STATE_DIR", str(tmp_path))
    monkeypatch.setattr(repairs, "carry_out", pip)
    monkeypatch.setattr(repairs, "by_installer", lambda work: work)
    monkeypatch.setattr(sys, "stdin", None)
    step = step_of(run("/v/bin/python", "-m", "pip", "install", "numpy==1.26.4"))
    carry_out(step, Journal.new({"title": "a test"}), lambda line: None)
    pip.done.clear()
    return pip


def test_what_the_user_installed_since_stays(pip: Pip, monkeypatch: pytest.MonkeyPatch) -> None:
    pip.packages |= {"rich": "13.0", "torch": "2.7.0"}
    Terminal(monkeypatch)
    assert fix.undo_here(dry_run=False, yes=True) == 0
    assert pip.packages == {"torch": "2.7.0", "numpy": "2.1.3", "rich": "13.0"}


def test_what_has_another_release_than_the_fix_left_is_named(
    pip: Pip, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pip.packages["numpy"] = "2.2.0"
    Terminal(monkeypatch)
    assert fix.undo_here(dry_run=False, yes=True) == 1
    assert "the release of numpy was changed since" in capsys.readouterr().out
    assert pip.packages == {"torch": "2.6.0", "numpy": "2.2.0"}


def test_nothing_is_removed_without_an_answer(pip: Pip, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EnvkitError, match="removes helper"):
        fix.undo_here(dry_run=False, yes=True)
    asked = Terminal(monkeypatch, lambda question: False).asked
    assert fix.undo_here(dry_run=False, yes=True) == 0
    assert "helper" in asked[0] and not pip.done
    del pip.packages["helper"]  # now there is nothing to remove, and --yes covers the rest
    monkeypatch.setattr(sys, "stdin", None)
    assert fix.undo_here(dry_run=False, yes=True) == 0 and pip.packages["numpy"] == "2.1.3"


def test_of_a_step_that_was_killed_only_what_it_names_is_taken_back(
    pip: Pip, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = Journal.last().folder / "journal.jsonl"
    lines.write_text("".join(lines.read_text().splitlines(keepends=True)[:-1]))
    assert fix.undo_here(dry_run=False, yes=True) == 1
    assert "the release of helper was changed since" in capsys.readouterr().out
    assert pip.packages == {"torch": "2.6.0", "numpy": "2.1.3", "helper": "1.0"}
