"""`envkit explain ID`: one check in full."""

from __future__ import annotations

import click

from envkit.cli.complete import complete_check


@click.command(
    epilog="""\b
Examples:
  envkit explain driver-library-mismatch
  envkit doctor --list-checks"""
)
@click.argument("check_id", metavar="ID", shell_complete=complete_check)
def explain(check_id: str) -> None:
    """Explain check ID: what it looks at, why it matters, how to mend it, sources."""
    from envkit.checks.registry import all_checks
    from envkit.errors import RequestError
    from envkit.render.explain import explanation

    checks = all_checks()
    if check_id not in checks:
        raise RequestError.unknown_value("ID", check_id, checks)
    click.echo(explanation(checks[check_id]))
