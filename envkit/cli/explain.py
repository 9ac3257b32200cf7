"""`envkit explain ID`: one check in full."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from envkit._startup.regex import regex
from envkit.cli.complete import complete_finding

if TYPE_CHECKING:
    from envkit.checks.engine.registry import Check, ImageFault

_XID = regex(r"(?i)\s*xid[\s:_-]{0,3}(?P<number>\d{1,3})\s*")


@click.command(
    epilog="""\b
Examples:
  envkit explain driver-library-mismatch
  envkit explain image.base-gone
  envkit explain "Xid 79"
  envkit doctor --list-checks"""
)
@click.argument("check_id", metavar="ID", shell_complete=complete_finding)
@click.option("--plugins", is_flag=True, help="Also explain checks from installed plugins. This loads their code.")
def explain(check_id: str, plugins: bool) -> None:
    """Explain check ID: what it looks at, why it matters, how to fix it, sources.

    For "Xid N", also what NVIDIA's driver means by that number.
    """
    from envkit.base.errors import RequestError
    from envkit.base.shown import shown_lines
    from envkit.checks.engine.registry import image_faults
    from envkit.cli.doctor import checks_known
    from envkit.render.explain import explanation, of_xid

    known: dict[str, Check | ImageFault] = {**image_faults(), **checks_known(plugins)}
    xid = _XID.fullmatch(check_id)
    meaning, check_id = of_xid(int(xid["number"])) if xid else ("", check_id)
    if check_id not in known and " " in check_id.strip():
        raise RequestError(
            f"explain: {check_id!r} is not a check.", "To diagnose an error message, paste it: envkit doctor --from -"
        )
    if check_id not in known:
        raise RequestError.unknown_value("explain", check_id, known, "envkit doctor --list-checks", kind="check")
    click.echo(shown_lines(meaning + explanation(known[check_id])))
