"""`envkit doctor`: probe, judge, report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from envkit.cli.complete import complete_check, complete_fact, complete_file
from envkit.cli.output import one_format, output_option, write_output

if TYPE_CHECKING:
    from envkit.checks.findings import Finding
    from envkit.checks.registry import Check, ImageFault
    from envkit.facts import Environment
    from envkit.host.local import LocalHost


@click.command(
    epilog="""\b
Examples:
  envkit doctor
  envkit doctor --from report.txt
  nvidia-smi | envkit doctor --from -
  envkit doctor --json --strict
  envkit doctor --assume driver.kernel_module=535.104.05
  envkit doctor --format html -o report.html"""
)
@click.option(
    "--from",
    "source",
    metavar="PATH|-",
    shell_complete=complete_file,
    help="A capture, facts JSON, or pasted text, instead of this machine.",
)
@click.option(
    "--root", type=click.Path(file_okay=False), metavar="DIR", help="Look at a mounted file system or unpacked image."
)
@click.option("--assume", multiple=True, metavar="FACT=VALUE", shell_complete=complete_fact, help="Override a fact.")
@click.option("--check", "ids", multiple=True, metavar="ID", shell_complete=complete_check, help="Run this check only.")
@click.option("--list-checks", is_flag=True, help="List the checks and stop.")
@click.option("--deep", is_flag=True, help="Also import frameworks and run a small kernel in a child process.")
@click.option("--strict", is_flag=True, help="Exit with 1 for warnings and unknowns too.")
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--format", "form", type=click.Choice(["text", "json", "html", "markdown"]), help="text by default.")
@click.option("--mask", is_flag=True, help="Mask host, user, addresses and serial numbers in the report.")
@click.option("--verbose", "-v", is_flag=True, help="Also list what is healthy and what does not apply.")
@output_option
def doctor(
    source: str | None,
    root: str | None,
    assume: tuple[str, ...],
    ids: tuple[str, ...],
    list_checks: bool,
    deep: bool,
    strict: bool,
    as_json: bool,
    form: str | None,
    mask: bool,
    verbose: bool,
    output: str | None,
) -> int:
    """Say what is wrong with this machine (or a recorded one) and how to mend it.

    The first FAIL of the report is the answer to "what is wrong?"; what follows from it stands after it.
    """
    form = one_format(form, as_json)
    here = None
    if source is None and root is None and not (list_checks or ids):
        from envkit.cli.environment import started_machine

        here = started_machine()  # its slowest answer is on its way while the checks are loaded
    from envkit.checks.registry import all_checks, declared
    from envkit.checks.runner import run_checks
    from envkit.matrix import Matrix

    if list_checks:
        write_output(_list_of(declared(), form), output)
        return 0
    checks = _selected(ids, all_checks())
    environment = _environment(source, root, assume, deep, here)
    findings = run_checks(environment, Matrix.load(), checks)
    if mask:
        from envkit.redact import mask_environment, mask_findings

        findings = mask_findings(findings, environment)
        environment = mask_environment(environment)
    write_output(_rendered(form, environment, findings, verbose, output), output)
    return exit_code(findings, strict)


def exit_code(findings: list[Finding], strict: bool) -> int:
    """1 when a check failed or broke; with `strict` also for warnings and unknowns."""
    from envkit.checks.findings import Status

    bad = {Status.FAIL, Status.ERROR} | ({Status.WARN, Status.UNKNOWN} if strict else set())
    return int(any(finding.status in bad for finding in findings))


def _environment(
    source: str | None, root: str | None, assume: tuple[str, ...], deep: bool, here: LocalHost | None
) -> Environment:
    from envkit.cli.environment import recorded, this_machine, under_root
    from envkit.errors import RequestError

    if "" in (source, root):
        raise RequestError(
            f"{'--from' if source == '' else '--root'} is empty.", "Leave it out to look at this machine."
        )
    if source is not None and root is not None:
        raise RequestError("--from and --root contradict each other.", "Give one of them.")
    if deep and not (source is None and root is None):
        raise RequestError("--deep runs tests on this machine.", "Leave out --from and --root.")
    if source is not None:
        environment = recorded(source)
    else:
        environment = this_machine(deep, here) if root is None else under_root(root)
    if assume:
        from envkit.assume import assume_facts

        environment = assume_facts(environment, assume)
    return environment


def _selected(ids: tuple[str, ...], checks: Mapping[str, Check]) -> list[Check]:
    from envkit.checks.registry import image_faults
    from envkit.errors import RequestError

    for wanted in ids:
        if wanted in image_faults():
            raise RequestError(f"--check: {wanted} looks at Dockerfiles.", "Use envkit dockerfile --check FILE.")
        if wanted not in checks:
            raise RequestError.unknown_value("--check", wanted, checks)
    return [checks[id] for id in ids] if ids else list(checks.values())


def _list_of(checks: Mapping[str, Check | ImageFault], form: str) -> str:
    if form not in ("json", "text"):
        from envkit.errors import RequestError

        raise RequestError(f"--list-checks has no format {form}.", "Leave --format out, or take json.")
    if form == "json":
        import json

        return json.dumps([{"id": check.id, "title": check.title} for check in checks.values()], indent=2)
    width = max(map(len, checks))
    return "\n".join(f"{check.id:<{width}}  {check.title}" for check in checks.values())


def _rendered(form: str, environment: Environment, findings: list[Finding], verbose: bool, output: str | None) -> str:
    if form == "json":
        from envkit.render.doctor_json import doctor_json

        return doctor_json(environment, findings)
    if form == "html":
        from envkit.render.html import doctor_html

        return doctor_html(environment, findings)
    if form == "markdown":
        from envkit.render.markdown import doctor_markdown

        return doctor_markdown(environment, findings)
    from envkit.cli.terminal import wants_colour
    from envkit.render.text import doctor_text

    return doctor_text(environment, findings, verbose=verbose, colour=output is None and wants_colour())
