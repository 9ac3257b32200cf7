"""`envkit uninstall`: undoes what install scripts have changed, by the script that each of them has kept."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from envkit.base.errors import EnvkitError, RequestError
from envkit.cli.complete import complete_installed
from envkit.cli.install_run import exit_code
from envkit.cli.output import say, write_output
from envkit.cli.registry import all_plans, kept_script, run_kept
from envkit.cli.terminal import at_terminal, paper

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from envkit.host.run_script import ScriptRun
    from envkit.install.registry import InstalledPlan


@click.command(
    epilog="""\b
Examples:
  envkit uninstall cuda-12.4 --dry-run
  envkit uninstall cuda-12.4
  envkit uninstall --all --yes"""
)
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=complete_installed)
@click.option("--all", "everything", is_flag=True, help="Remove everything that `envkit installed` lists.")
@click.option("--dry-run", is_flag=True, help="Show what would be removed, and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation. Required when there is no terminal.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def uninstall(names: tuple[str, ...], everything: bool, dry_run: bool, yes: bool, as_json: bool) -> int:
    """Remove what envkit's install scripts installed.

    \b
    Files that other installations still use are kept, and so are files that
    envkit did not create. NAME is an installation as `envkit installed` lists
    it, the beginning of that name, or its directory.
    """
    from envkit.install.registry import named, newest_first

    if bool(names) == everything:
        raise RequestError("Specify what to remove, or pass --all.", "See: envkit installed")
    if dry_run and yes:
        raise RequestError("--dry-run and --yes cannot be used together.", "Use only one of them.")
    plans = all_plans()
    chosen = newest_first(plans if everything else [named(name, plans) for name in names])
    scripts = {plan.name: kept_script(plan) for plan in chosen}
    _show(chosen)
    agreed = bool(chosen) and not dry_run and (yes or _agreed())
    done = dict(_removed(chosen, scripts)) if agreed else {}
    if as_json:
        write_output(_document(chosen, done), None)
    return max((exit_code(run) for run in done.values()), default=0)


def _show(chosen: Sequence[InstalledPlan]) -> None:
    from envkit.render.installed_text import removal_text

    say(removal_text(chosen, paper(to_file=False).width) if chosen else "envkit has not installed anything here.")


def _agreed() -> bool:
    if not at_terminal(sys.stdin):
        raise EnvkitError(
            "uninstall: there is no terminal to ask for confirmation on.", "Pass --yes to remove without asking."
        )
    agreed = click.confirm("Remove this?", default=False, err=True)
    if not agreed:
        say("Nothing was changed.")
    return agreed


def _removed(chosen: Sequence[InstalledPlan], scripts: dict[str, str]) -> Iterator[tuple[str, ScriptRun]]:
    """Each plan with how its removal ended; the first that fails is the last, since others may rest on it."""
    for number, plan in enumerate(chosen, 1):
        say(f"[{number}/{len(chosen)}] {plan.name}")
        run = run_kept(scripts[plan.name], "--rollback", as_root=plan.for_all)
        yield plan.name, run
        if run.exit_code:
            left = ", ".join(other.name for other in chosen[number:])
            say(f"{plan.name} was not removed. {f'Not attempted: {left}.' if left else ''}".rstrip())
            return


def _document(chosen: Sequence[InstalledPlan], done: dict[str, ScriptRun]) -> str:
    from envkit.base.json_text import dumps, loads

    results = [
        {"name": plan.name, "result": loads(done[plan.name].result) if plan.name in done else None} for plan in chosen
    ]
    return dumps({"schema": 1, "status": _status(chosen, done), "plans": results})


def _status(chosen: Sequence[InstalledPlan], done: dict[str, ScriptRun]) -> str:
    if any(run.exit_code for run in done.values()):
        return "failed"
    return "removed" if done else "unchanged"
