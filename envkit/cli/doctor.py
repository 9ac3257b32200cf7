"""`envkit doctor`: probe, diagnose, report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import click

from envkit.cli.complete import complete_check, complete_fact, complete_file
from envkit.cli.output import one_format, output_option, timeout_option, write_output
from envkit.render.reports import formats

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from envkit.checks.engine.registry import Check, ImageFault
    from envkit.model import Environment

_FORMATS = formats()


@click.command(
    epilog="""\b
Examples:
  envkit doctor
  envkit doctor --from report.txt
  nvidia-smi | envkit doctor --from -
  envkit doctor --from nvidia-smi.txt --from error.txt
  envkit doctor --python ~/miniconda3/envs/train --python .venv
  envkit doctor --json --fail-on warn
  envkit doctor --assume driver.kernel_module=535.104.05
  envkit doctor -o report.html
  envkit doctor --fix --dry-run
  envkit doctor --fix --undo""",
    context_settings={"allow_extra_args": True},
)
@click.option(
    "--from",
    "sources",
    multiple=True,
    metavar="PATH|-",
    shell_complete=complete_file,
    help="Read a capture directory, facts JSON, or saved text (such as nvidia-smi output) instead of probing this "
    "machine. Repeatable; all texts together describe one machine.",
)
@click.option(
    "--root", type=click.Path(file_okay=False), metavar="DIR", help="Inspect a mounted file system or unpacked image."
)
@click.option(
    "--python",
    "pythons",
    multiple=True,
    metavar="PATH",
    shell_complete=complete_file,
    help="Check this Python or environment instead of the active one, PATH's, and the working directory's. Repeatable.",
)
@click.option(
    "--assume",
    multiple=True,
    metavar="FACT=VALUE",
    shell_complete=complete_fact,
    help="Override a fact; see `envkit probe` for the names.",
)
@click.option(
    "--check",
    "ids",
    multiple=True,
    metavar="ID",
    shell_complete=complete_check,
    help="Run only this check. Repeatable.",
)
@click.option(
    "--plugins", is_flag=True, help="Also run checks from installed plug-ins. This runs their code as the current user."
)
@click.option("--list-checks", is_flag=True, help="List the checks and exit.")
@click.option("--deep", is_flag=True, help="Also import frameworks and run a small kernel in a child process.")
@click.option(
    "--fail-on",
    type=click.Choice(["fail", "warn", "unknown"]),
    help="Lowest severity that makes the exit status 1: fail (default), warn, or unknown (a check could not run).",
)
@click.option("--strict", is_flag=True, help="Same as --fail-on unknown.")
@timeout_option
@click.option("--json", "as_json", is_flag=True, help="Same as --format json.")
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    help="Report format. [default: from the --output file extension, else text]",
)
@click.option(
    "--mask", is_flag=True, help="Redact host names, user names, addresses, and serial numbers in the report."
)
@click.option("--verbose", "-v", is_flag=True, help="Also show evidence, the machine, and every check.")
@click.option(
    "--fix", is_flag=True, help="Show the fix for the root cause, ask before each step, run it, and diagnose again."
)
@click.option("--dry-run", is_flag=True, help="With --fix: show the plan and change nothing.")
@click.option(
    "--yes", is_flag=True, help="With --fix: do not ask, except before removing packages or restarting a service."
)
@click.option("--undo", is_flag=True, help="With --fix: undo the last fix.")
@output_option
@click.pass_context
def doctor(
    ctx: click.Context,
    sources: tuple[str, ...],
    root: str | None,
    pythons: tuple[str, ...],
    assume: tuple[str, ...],
    ids: tuple[str, ...],
    plugins: bool,
    list_checks: bool,
    deep: bool,
    fail_on: str | None,
    strict: bool,
    timeout: float | None,
    as_json: bool,
    form: str | None,
    mask: bool,
    verbose: bool,
    fix: bool,
    dry_run: bool,
    yes: bool,
    undo: bool,
    output: str | None,
) -> int:
    """Diagnose this machine (or a recorded one) and suggest fixes.

    Findings are ranked: the first FAIL is the most likely root cause and comes with its fix. Problems that it causes
    are listed under "Also".
    """
    _refuse_stray(ctx.args, strict, fail_on)
    if fix or dry_run or yes or undo:
        from envkit.cli.fix import refuse_with_others, undo_here

        others = {"--from": sources, "--root": root, "--assume": assume, "--json": as_json, "--format": form}
        others |= {"--output": output, "--mask": mask, "--list-checks": list_checks, "--plugins": plugins}
        refuse_with_others(others, fix, dry_run, yes, undo)
        if undo:
            return undo_here(dry_run=dry_run, yes=yes)
    form = one_format(form, as_json, output, _FORMATS)
    chosen = _pythons(pythons, sources, root)
    here = None
    if not (sources or root is not None or list_checks or ids):
        from envkit.cli.environment import started_machine

        here = started_machine(chosen)  # its slowest answer is on its way while the checks are loaded
    from envkit.checks.engine.registry import image_faults
    from envkit.cli.environment import this_machine
    from envkit.tables import Matrix

    known = checks_known(plugins)
    if list_checks:
        write_output(_list_of({**known, **image_faults()}, form), output)
        return 0
    checks = _selected(ids, known)
    limit = "unknown" if strict else fail_on or "fail"
    if fix:
        return _fix(checks, known, limit, lambda: this_machine(deep, None, timeout, chosen), dry_run=dry_run, yes=yes)
    with _bounded(sources, root):
        environments = _environments(sources, root, assume, deep, lambda: this_machine(deep, here, timeout, chosen))
        from envkit.api.report import judged
        from envkit.cli.output import complain
        from envkit.cli.report import doubts, exit_code, rendered, told

        reports = [judged(item, checks, Matrix.load(), mask=mask, chosen=bool(ids)) for item in environments]
        text = rendered(reports, form, verbose=verbose, to_file=output is not None)
    write_output(text, output, told=told(reports))
    if why := doubts(reports, limit):
        complain(why)
    return exit_code(reports, limit)


def _pythons(paths: tuple[str, ...], sources: tuple[str, ...], root: str | None) -> tuple[str, ...]:
    """The interpreters that the user chose. Raises RequestError."""
    if not paths:
        return ()
    if sources or root is not None:
        from envkit.base.errors import RequestError

        raise RequestError("--python chooses among the environments of this machine.", "Omit --from and --root.")
    from envkit.cli.environment import chosen_pythons

    return chosen_pythons(paths)


def _bounded(sources: tuple[str, ...], root: str | None) -> AbstractContextManager[None]:
    """Bounds of time and memory for what somebody else wrote; this machine has its own for each probe."""
    if not sources and root is None:
        from contextlib import nullcontext

        return nullcontext()
    from envkit.host.limits import FOREIGN_S, limited

    if root is not None:
        return limited(f"--root: {root}", FOREIGN_S)
    return limited(f"--from: {'standard input' if sources[0] == '-' else sources[0]}", FOREIGN_S)


def _fix(
    checks: list[Check],
    known: dict[str, Check],
    fail_on: str,
    look: Callable[[], Environment],
    *,
    dry_run: bool,
    yes: bool,
) -> int:
    from envkit.api.report import judged
    from envkit.cli.fix import fix_here
    from envkit.cli.report import exit_code
    from envkit.tables import Matrix

    chosen = len(checks) < len(known)
    report = fix_here(
        lambda: judged(look(), checks, Matrix.load(), mask=False, chosen=chosen), known, dry_run=dry_run, yes=yes
    )
    return exit_code([report], fail_on)


def checks_known(plugins: bool) -> dict[str, Check]:
    """envkit's own checks, and those of plug-ins where the user wants them, in root-cause order."""
    from envkit.checks.engine.registry import all_checks, ordered

    if not plugins:
        return all_checks()
    from envkit.checks.engine.plugins import plugin_checks

    return ordered({**all_checks(), **plugin_checks()})


def _refuse_stray(words: list[str], strict: bool, fail_on: str | None) -> None:
    """Raises RequestError for a file without --from and for options that differ."""
    from envkit.base.errors import RequestError

    if words:
        raise RequestError(f"To diagnose {words[0]}, pass it with --from:", f"envkit doctor --from {words[0]}")
    if strict and fail_on not in (None, "unknown"):
        raise RequestError(f"--strict and --fail-on {fail_on} cannot be used together.", "Use only one of them.")


def _environments(
    sources: tuple[str, ...], root: str | None, assume: tuple[str, ...], deep: bool, look: Callable[[], Environment]
) -> list[Environment]:
    from envkit.base.errors import RequestError
    from envkit.cli.environment import all_recorded, under_root

    for option, value in [*(("--from", source) for source in sources), ("--root", root)]:
        if value == "":
            raise RequestError(f"{option} is empty.", "Omit it to diagnose this machine.")
    if sources and root is not None:
        raise RequestError("--from and --root cannot be used together.", "Use only one of them.")
    if deep and (sources or root is not None):
        raise RequestError("--deep runs tests on this machine.", "Omit --from and --root.")
    environments = all_recorded(sources) if sources else [look() if root is None else under_root(root)]
    if assume:
        from envkit.model.assume import assume_facts

        environments = [assume_facts(environment, assume) for environment in environments]
    return environments


def _selected(ids: tuple[str, ...], checks: Mapping[str, Check]) -> list[Check]:
    from envkit.base.errors import RequestError
    from envkit.checks.engine.registry import image_faults

    for wanted in ids:
        if wanted in image_faults():
            told = ("Dockerfiles", "dockerfile --check") if wanted.startswith("image.") else ("project files", "check")
            raise RequestError(f"--check: {wanted} is for {told[0]}.", f"Use envkit {told[1]} FILE.")
        if wanted not in checks:
            raise RequestError.unknown_value("--check", wanted, checks, "envkit doctor --list-checks", kind="check")
    return [checks[id] for id in ids] if ids else list(checks.values())


def _list_of(checks: Mapping[str, Check | ImageFault], form: str) -> str:
    if form not in ("json", "text"):
        from envkit.base.errors import RequestError

        raise RequestError(f"--list-checks has no format {form}.", "Omit --format, or use --format json.")
    if form == "json":
        from envkit.base.json_text import dumps

        return dumps([{"id": check.id, "title": check.title} for check in checks.values()])
    width = max(map(len, checks))
    return "\n".join(f"{check.id:<{width}}  {check.title}" for check in checks.values())
