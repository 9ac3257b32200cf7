"""`envkit installed`: what install scripts have put on this machine, and who uses it."""

from __future__ import annotations

import click

from envkit.cli.complete import complete_installed
from envkit.cli.output import output_option, write_output
from envkit.cli.registry import all_plans


@click.command(
    epilog="""\b
Examples:
  envkit installed
  envkit installed cuda-12.4 -v
  envkit installed --json"""
)
@click.argument("name", required=False, shell_complete=complete_installed)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("-v", "--verbose", is_flag=True, help="Also list packages and files outside its directories.")
@output_option
def installed(name: str | None, as_json: bool, verbose: bool, output: str | None) -> int:
    """List what envkit's install scripts installed, and what depends on it.

    NAME is the name of an installation, a prefix of one, or a directory.
    """
    from envkit.base.json_text import dumps
    from envkit.base.shown import inert
    from envkit.cli.terminal import paper
    from envkit.documents.installed import installed_document
    from envkit.host.registry import link_target, toolkit_folders
    from envkit.install.registry import LINK, named
    from envkit.render.installed_text import installed_text

    plans = all_plans()
    own = {use.what for plan in plans for use in plan.of("toolkit")}
    link, others = link_target(LINK), [path for path in toolkit_folders() if path not in own]
    if name is not None:
        plans = (named(name, plans),)
    if as_json:
        write_output(dumps(installed_document(plans, link, others)), output)
        return 0
    told = inert((plans, link, others))
    write_output(installed_text(*told, paper(to_file=output is not None).width, verbose=verbose), output)
    return 0
