"""`envkit use`: another toolkit for /usr/local/cuda and login shells, by the script that installed it."""

from __future__ import annotations

import click

from envkit.cli.complete import complete_toolkit
from envkit.cli.install_run import exit_code
from envkit.cli.output import say, write_output
from envkit.cli.registry import all_plans, kept_script, run_kept


@click.command(
    epilog="""\b
Examples:
  envkit use 11.8
  envkit use /usr/local/cuda-12.4 --dry-run"""
)
@click.argument("toolkit", shell_complete=complete_toolkit)
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def use(toolkit: str, dry_run: bool, as_json: bool) -> int:
    """Point /usr/local/cuda and login shells at a toolkit that envkit installed.

    \b
    TOOLKIT is its release, such as 11.8, or its directory; `envkit installed`
    lists them. Shells that are already open keep their settings. If
    update-alternatives manages the link, envkit selects the toolkit there.
    When the toolkit is uninstalled, the link is restored.
    """
    from envkit.base.json_text import dumps
    from envkit.host.registry import link_target
    from envkit.install.registry import LINK, toolkit_user

    plan = toolkit_user(toolkit, all_plans())
    wanted, before = plan.of("toolkit")[0].what, link_target(LINK)
    script = kept_script(plan)
    code = 0
    if dry_run:
        say(_would(before, wanted))
    else:
        code = exit_code(run_kept(script, "--use", as_root=True))
    if as_json:
        after = link_target(LINK)
        write_output(dumps({"schema": 1, "toolkit": wanted, "before": before, "after": after}), None)
    return code


def _would(before: str | None, wanted: str) -> str:
    """What the command would change."""
    from envkit.install.registry import LINK

    if before == wanted:
        return f"{LINK} already points to {wanted}: nothing would change."
    now = f"points to {before}" if before else "does not exist"
    return f"{LINK} {now}; envkit use would point it at {wanted}."
