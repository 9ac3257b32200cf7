"""`envkit doctor`: probe, diagnose, report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from envkit._startup.records import record
from envkit.cli.complete import complete_check, complete_fact, complete_file
from envkit.cli.output import one_format, output_option, timeout_option, write_output
from envkit.render.reports import formats

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from envkit.checks.engine.registry import Check, ImageFault
    from envkit.model import Environment

_FORMATS = formats()


@record
class DoctorOptions:
    """The options of one call."""

    sources: tuple[str, ...]
    root: str | None
    pythons: tuple[str, ...]
    assume: tuple[str, ...]
    ids: tuple[str, ...]
    plugins: bool
    list_checks: bool
    deep: bool
    fail_on: str
    timeout: float | None
    form: str
    mask: bool
    verbose: bool
    fix: bool
    dry_run: bool
    yes: bool
    undo: bool
    output: str | None

    @property
    def elsewhere(self) -> bool:
        """True where something else than this machine is diagnosed."""
        return bool(self.sources) or self.root is not None


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
    "machine. Repeatable; all inputs must come from the same machine.",
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
    help="Check this Python or environment instead of the defaults: the active environment, the one on "
    "$PATH, and any in the working directory. Repeatable.",
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
    "--plugins", is_flag=True, help="Also run checks from installed plugins. This runs their code as the current user."
)
@click.option("--list-checks", is_flag=True, help="List the checks and exit.")
@click.option("--deep", is_flag=True, help="Also import frameworks and run a small CUDA kernel in a child process.")
@click.option(
    "--fail-on",
    type=click.Choice(["fail", "warn", "unknown"]),
    help="Exit with status 1 if any result has this severity or higher. From highest to lowest: fail (default), "
    "warn, and unknown (a check could not run). The status is also 1 if too little is known for a verdict.",
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
@click.option(
    "--verbose",
    "-v",
    is_flag=True,
    help="Also show more evidence, machine details, and the results of all checks.",
)
@click.option(
    "--fix", is_flag=True, help="Show the fix for the root cause, run it (asking before each step), and diagnose again."
)
@click.option("--dry-run", is_flag=True, help="With --fix: show the plan and change nothing.")
@click.option(
    "--yes", is_flag=True, help="With --fix: do not ask, except before removing packages or restarting a service."
)
@click.option("--undo", is_flag=True, help="With --fix: undo the last fix.")
@output_option
@click.pass_context
def doctor(ctx: click.Context, /, **given: Any) -> int:
    """Diagnose this machine (or a captured one) and suggest fixes.

    Findings are ranked: the first FAIL is the most likely root cause and comes with its fix. Problems that
    the same fix solves are listed under "Also".
    """
    options = _options(ctx.args, given)
    if options.undo:
        from envkit.cli.fix import undo_here

        return undo_here(dry_run=options.dry_run, yes=options.yes)
    chosen = _pythons(options)
    here = None
    if not (options.elsewhere or options.list_checks or options.ids or options.fix):
        from envkit.cli.environment import started_machine

        here = started_machine(chosen)  # its slowest answer is on its way while the checks are loaded
    known = checks_known(options.plugins)
    if options.list_checks:
        from envkit.checks.engine.registry import image_faults

        others = {id: fault for id, fault in image_faults().items() if id not in known}
        write_output(_list_of({**known, **others}, options.form), options.output)
        return 0
    checks = _selected(options.ids, known)

    def look() -> Environment:
        from envkit.cli.environment import this_machine

        return this_machine(options.deep, here, options.timeout, chosen)

    return _fix(checks, known, options, look) if options.fix else _report(checks, options, look)


def _report(checks: list[Check], options: DoctorOptions, look: Callable[[], Environment]) -> int:
    """Writes what the checks say of this machine or of a recording; the exit status."""
    from envkit.api.report import judged
    from envkit.cli.output import complain
    from envkit.cli.report import doubts, exit_code, rendered, told
    from envkit.tables import Matrix

    with _bounded(options):
        reports = [
            judged(environment, checks, Matrix.load(), mask=options.mask, chosen=bool(options.ids))
            for environment in _environments(options, look)
        ]
        text = rendered(reports, options.form, verbose=options.verbose, to_file=options.output is not None)
    write_output(text, options.output, told=told(reports))
    if why := doubts(reports, options.fail_on):
        complain(why)
    return exit_code(reports, options.fail_on)


def _fix(checks: list[Check], known: dict[str, Check], options: DoctorOptions, look: Callable[[], Environment]) -> int:
    from envkit.api.report import judged
    from envkit.cli.fix import fix_here
    from envkit.cli.report import exit_code
    from envkit.tables import Matrix

    chosen = len(checks) < len(known)
    report = fix_here(
        lambda: judged(look(), checks, Matrix.load(), mask=False, chosen=chosen),
        known,
        dry_run=options.dry_run,
        yes=options.yes,
    )
    return exit_code([report], options.fail_on)


def _options(words: list[str], given: dict[str, Any]) -> DoctorOptions:
    """The options as one record. Raises RequestError for a file without --from and for options that contradict."""
    from envkit.base.errors import RequestError

    if words:
        raise RequestError(f"To diagnose {words[0]}, pass it with --from:", f"envkit doctor --from {words[0]}")
    strict, fail_on = given.pop("strict"), given["fail_on"]
    if strict and fail_on not in (None, "unknown"):
        raise RequestError(f"--strict and --fail-on {fail_on} cannot be used together.", "Use only one of them.")
    given["fail_on"] = "unknown" if strict else fail_on or "fail"
    if given["fix"] or given["dry_run"] or given["yes"] or given["undo"]:
        from envkit.cli.fix import refuse_with_others

        refuse_with_others(given)
    given["form"] = one_format(given["form"], given.pop("as_json"), given["output"], _FORMATS)
    options = DoctorOptions(**given)
    for option, value in [*(("--from", source) for source in options.sources), ("--root", options.root)]:
        if value == "":
            raise RequestError(f"{option} is empty.", "Omit it to diagnose this machine.")
    if options.sources and options.root is not None:
        raise RequestError("--from and --root cannot be used together.", "Use only one of them.")
    if options.deep and options.elsewhere:
        raise RequestError("--deep runs tests on this machine.", "Omit --from and --root.")
    if options.pythons and options.elsewhere:
        raise RequestError("--python chooses among the environments of this machine.", "Omit --from and --root.")
    return options


def _pythons(options: DoctorOptions) -> tuple[str, ...]:
    """The interpreters that the user chose. Raises RequestError for one that is none."""
    if not options.pythons:
        return ()
    from envkit.cli.environment import chosen_pythons

    return chosen_pythons(options.pythons)


def _bounded(options: DoctorOptions) -> AbstractContextManager[None]:
    """Bounds of time and memory for what somebody else wrote; this machine has its own for each probe."""
    if not options.elsewhere:
        from contextlib import nullcontext

        return nullcontext()
    from envkit.host.limits import FOREIGN_S, limited

    if options.root is not None:
        return limited(f"--root: {options.root}", FOREIGN_S)
    return limited(f"--from: {'standard input' if options.sources[0] == '-' else options.sources[0]}", FOREIGN_S)


def checks_known(plugins: bool) -> dict[str, Check]:
    """envkit's own checks, and those of plug-ins where the user wants them, in root-cause order."""
    from envkit.checks.engine.registry import all_checks, ordered

    if not plugins:
        return all_checks()
    from envkit.checks.engine.plugins import plugin_checks

    return ordered({**all_checks(), **plugin_checks()})


def _environments(options: DoctorOptions, look: Callable[[], Environment]) -> list[Environment]:
    from envkit.cli.environment import all_recorded, under_root

    if options.sources:
        environments = all_recorded(options.sources, apart=True)
    else:
        environments = [look() if options.root is None else under_root(options.root)]
    if not options.assume:
        return environments
    from envkit.model.assume import assume_facts

    return [assume_facts(environment, options.assume) for environment in environments]


def _selected(ids: tuple[str, ...], checks: Mapping[str, Check]) -> list[Check]:
    from envkit.base.errors import RequestError
    from envkit.checks.engine.registry import image_faults

    for wanted in ids:
        if wanted in image_faults() and wanted not in checks:
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
