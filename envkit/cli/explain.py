"""`envkit explain ID`: one check in full."""

from __future__ import annotations

import click

from envkit.cli.complete import complete_finding


@click.command(
    epilog="""\b
Examples:
  envkit explain driver-library-mismatch
  envkit explain image.base-gone
  envkit doctor --list-checks"""
)
@click.argument("check_id", metavar="ID", shell_complete=complete_finding)
def explain(check_id: str) -> None:
    """Explain check ID: what it looks at, why it matters, how to mend it, sources."""
    from envkit.checks.registry import declared
    from envkit.errors import RequestError
    from envkit.render.explain import explanation

    known = declared()
    if check_id not in known:
        raise RequestError.unknown_value("ID", check_id, known, "envkit doctor --list-checks")
    click.echo(explanation(known[check_id]))
