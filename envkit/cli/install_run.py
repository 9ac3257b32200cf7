"""`envkit install --run`: asks, says where the log is, and shows how far the script has come."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import click

from envkit._startup.regex import regex
from envkit.base.errors import EnvkitError
from envkit.cli.output import say
from envkit.cli.terminal import at_terminal

if TYPE_CHECKING:
    from envkit.host.run_script import ScriptRun
    from envkit.install.model import Installation

_STEP = regex(r"\[(\d+)/(\d+)\] (.*)")
_INTERRUPTED = 130


def run_here(script: str, work: Installation, yes: bool) -> int:
    """Runs the script on this machine. Gives 0, 1, or 130; raises EnvkitError when nobody can be asked."""
    from envkit.host.run_script import is_root, run_script

    sudo = not is_root()
    if not yes and not at_terminal(sys.stdin):
        raise EnvkitError(
            "--run: cannot ask for confirmation: standard input is not a terminal.", "Pass --yes to run without asking."
        )
    say(f"Log: /var/log/envkit/{work.plan_id}-<time>.log")
    if sudo:
        say("Root is needed: sudo will ask for your password.")
    if not yes and not click.confirm("Run it now?", default=False, err=True):
        say("Nothing was changed.")
        return 0
    with display() as tell:
        done = run_script(script, [], tell, sudo=sudo)
    click.echo(done.result, nl=False)
    return exit_code(done)


def exit_code(done: ScriptRun) -> int:
    """What envkit ends with after a script: 0, 1, or 130."""
    return done.exit_code if done.exit_code in (0, _INTERRUPTED) else 1


def display() -> AbstractContextManager[Callable[[str], None]]:
    """Lines as they come; on a terminal a progress bar below them."""
    return _Bar() if at_terminal(sys.stderr) else nullcontext(say)


class _Bar:
    """A bar over the script's steps, its messages above it."""

    def __enter__(self) -> Callable[[str], None]:
        """The function that takes the script's lines."""
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._progress = Progress(*columns, console=Console(stderr=True))
        self._task = self._progress.add_task("starting", total=None)
        self._progress.start()
        return self._tell

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def _tell(self, line: str) -> None:
        step = _STEP.match(line)
        if step:
            number, total, title = step.groups()
            self._progress.update(self._task, completed=int(number) - 1, total=int(total), description=title)
        self._progress.console.print(line, markup=False, highlight=False)
