"""`envkit probe`: the facts alone."""

from __future__ import annotations

import click

from envkit.cli.output import one_format, output_option, timeout_option, write_output


@click.command(
    epilog="""\b
Examples:
  envkit probe
  envkit probe --json -o facts.json
  envkit probe --root /mnt/image"""
)
@click.option("--root", type=click.Path(), metavar="DIR", help="Inspect a mounted file system or unpacked image.")
@click.option("--json", "as_json", is_flag=True, help="Print the facts as JSON, for `envkit doctor --from`.")
@click.option("--mask", is_flag=True, help="Redact host names, user names, addresses, and serial numbers.")
@timeout_option
@output_option
def probe(root: str | None, as_json: bool, mask: bool, timeout: float | None, output: str | None) -> None:
    """Print the facts about this machine, each with its source.

    --json also has the reason for each missing fact.
    """
    from envkit.cli.environment import this_machine, under_root
    from envkit.host.limits import FOREIGN_S, limited

    if root:
        with limited(f"--root: {root}", FOREIGN_S):
            environment = under_root(root)
    else:
        environment = this_machine(driver_limit_s=timeout)
    if mask:
        from envkit.privacy.masker import mask_environment

        environment = mask_environment(environment)
    if one_format(None, as_json, output, ("text", "json")) == "json":
        from envkit.base.json_text import dumps
        from envkit.model.facts_json import to_json

        write_output(dumps(to_json(environment)), output)
    else:
        from envkit.base.shown import inert
        from envkit.render.facts_text import facts_text

        write_output(facts_text(inert(environment)), output)
