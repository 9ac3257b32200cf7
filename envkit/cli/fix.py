"""`envkit doctor --fix`: shows the plan of the root cause's remedy, asks, carries it out, looks again."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from envkit.base.errors import EnvkitError, RequestError
from envkit.base.shown import shown
from envkit.base.wrap import hang
from envkit.cli.output import say
from envkit.cli.terminal import at_terminal, paper

if TYPE_CHECKING:
    from envkit.api.report import Report
    from envkit.checks.engine.registry import Check
    from envkit.host.journal import Journal
    from envkit.repair.plan import Plan
    from envkit.repair.steps import Step

_UNDO = "envkit doctor --fix --undo"


_NOT_BESIDE = {  # options of doctor that --fix does not go with
    "sources": "--from",
    "root": "--root",
    "assume": "--assume",
    "as_json": "--json",
    "form": "--format",
    "output": "--output",
    "mask": "--mask",
    "list_checks": "--list-checks",
    "plugins": "--plugins",
}


def refuse_with_others(given: Mapping[str, object]) -> None:
    """Raises RequestError for options of doctor that make no sense together."""
    if not given["fix"]:
        for name in ("dry_run", "yes", "undo"):
            if given[name]:
                raise RequestError(f"--{name.replace('_', '-')} requires --fix.", "Add --fix.")
    for name, option in _NOT_BESIDE.items():
        if given[name]:
            raise RequestError(f"--fix works only on this machine: it cannot be combined with {option}.")
    if given["dry_run"] and given["yes"]:
        raise RequestError("--dry-run and --yes cannot be used together.", "Use only one of them.")


def fix_here(look: Callable[[], Report], checks: dict[str, Check], *, dry_run: bool, yes: bool) -> Report:
    """The report of the machine after the fix, or of what it is where nothing was done."""
    from envkit._startup.records import replace
    from envkit.repair.plan import plan_for, root_cause
    from envkit.repair.run import as_run, profile_texts

    report = look()
    cause = root_cause(report.findings)
    if cause is None:
        say(f"{report.verdict.title} There is nothing to fix.")
        return report
    plan = plan_for(cause, *profile_texts())
    if plan.runs:
        plan = replace(plan, steps=as_run(plan.steps))
    _show(plan, report)
    if dry_run or not plan.runs:
        left = "Run the first of these commands yourself." if plan.steps else "There is no command to run."
        say("Nothing was changed." if dry_run and plan.runs else f"Nothing was changed. {left}")
        return report
    if not yes and not _can_ask():
        raise EnvkitError(
            "--fix: there is no terminal to ask for confirmation on.", ("Add --yes, or add --dry-run to see the plan.")
        )
    done = _carried_out(plan, yes=yes and _is_certain(report))
    if done == 0:
        say("Nothing was changed.")
        return report
    say("Checking again ...")
    after = look()  # in the same shell, which no profile file reaches
    _tell_of_shell(plan, done)
    _tell_difference(report, after, checks)
    return after


def _tell_of_shell(plan: Plan, done: int) -> None:
    """What is left to do for a variable: the shell that envkit was started from still has it."""
    from envkit.repair.steps import Kind

    lines = [step.line for _, step in plan.todo[:done] if step.kind is Kind.VARIABLE]
    if lines:
        say(f"This shell still has the old variables: open a new one, or run this here: {shown('; '.join(lines))}")


def _is_certain(report: Report) -> bool:
    from envkit.checks.engine.findings import Confidence

    return report.verdict.confidence is Confidence.CERTAIN


def _show(plan: Plan, report: Report) -> None:
    from envkit.repair.steps import Kind

    finding = plan.finding
    subject = f" ({finding.subject})" if finding.subject and finding.subject not in finding.title else ""
    _lines(f"{finding.status.value.upper()}  ", f"{report.verdict.lead}{finding.title}{subject}")
    _lines("Fix   ", finding.remedy.summary if finding.remedy else "No fix is known.")
    for number, step in enumerate(plan.steps, 1):
        click.echo(f"  {number}. {shown(step.line)}")  # whole, for whoever copies it
        if step.runs:
            asked = f"; always asked: {step.reason}" if step.asks else ""
            _lines("     ", f"changes {', '.join(step.touches) or step.kind.value}{asked}")
        else:
            _lines(
                "     ", "only shows information; not run" if step.kind is Kind.LOOK else f"left to you: {step.reason}"
            )


def _lines(head: str, text: str) -> None:
    """A text as wide as the terminal, its later lines under its first word."""
    for line in hang(head, shown(text), paper(to_file=False).width):
        click.echo(line)


def _carried_out(plan: Plan, *, yes: bool) -> int:
    """How many steps were done; the first one that is for the user, or is declined, ends it."""
    from envkit.host.journal import Journal
    from envkit.repair.run import carry_out
    from envkit.repair.steps import Kind

    journal: Journal | None = None
    done = 0
    for number, step in plan.todo:
        if not step.runs:
            say(f"Run step {number} yourself: {shown(step.line)}")
            break
        if not _agreed(number, step, yes):
            break
        journal = journal or Journal.new({"id": plan.finding.id, "title": plan.finding.title})
        say(f"$ {shown(step.line)}")
        try:
            carry_out(step, journal, _tell)
        except EnvkitError as error:
            hint = f"`{_UNDO}` restores the previous state." if done or step.kind is Kind.PACKAGES else ""
            raise EnvkitError(f"Step {number}: {error.message}", f"{error.hint} {hint}".strip()) from error
        done += 1
    return done


def _can_ask() -> bool:
    return at_terminal(sys.stdin)


def _agreed(number: int, step: Step, yes: bool) -> bool:
    if yes and not step.asks:
        return True
    why = f" ({step.reason})" if step.asks else ""
    if not _can_ask():
        say(f"Step {number} needs your confirmation{why}: {shown(step.line)}")
        return False
    return click.confirm(f"Run step {number}{why}: {shown(step.line)}?", default=False, err=True)


def _tell_difference(before: Report, after: Report, checks: dict[str, Check]) -> None:
    from envkit.base.shown import inert
    from envkit.comparison.culprits import difference
    from envkit.render.difference_text import difference_text

    old, new = ((report.environment, report.findings) for report in (before, after))
    found = difference(old, new, checks)
    click.echo("")
    click.echo(difference_text(*inert((old, new, found))), nl=False)
    say(f"To undo it: {_UNDO}")


def undo_here(*, dry_run: bool, yes: bool) -> int:
    """Takes the last fix back; 1 where a step had to be left."""
    from envkit.host.journal import Journal
    from envkit.repair.run import take_back, undo_plan
    from envkit.repair.undo import CHANGED_SINCE

    journal = Journal.last()
    begun = journal.entries()[0]
    plan = undo_plan(journal, _indexes())
    click.echo(shown(f"Undoes: {begun.get('title', '')} ({journal.folder.name})"))
    for undo in plan:
        click.echo(f"  {shown(undo.line)}")
        for work in undo.works:
            click.echo(f"     $ {shown(shlex.join(('sudo', *work.words) if work.root else work.words))}")
        if undo.reason:
            click.echo(f"     left: {shown(undo.reason)}")
    if dry_run:
        return 0
    if not _undo_agreed([name for undo in plan for name in undo.removes], yes):
        return 0
    for undo in plan:
        take_back(undo, _tell)
    left = [undo for undo in plan if undo.reason and CHANGED_SINCE in undo.reason]
    journal.write({"event": "undone", "left": [undo.reason for undo in left]})
    say("Everything that the fix changed has been restored." if not left else "Everything else has been restored.")
    return int(bool(left))


def _undo_agreed(removes: Sequence[str], yes: bool) -> bool:
    """Whether to go on; `--yes` does not cover what removes something. Raises EnvkitError with nobody to ask."""
    if yes and not removes:
        return True
    named = shown(", ".join(removes))
    if not _can_ask():
        if removes:
            hint = "Run it in a terminal, or add --dry-run to see the commands."
            raise EnvkitError(
                f"--undo: nothing was changed: undoing removes {named}, which needs your confirmation.", hint
            )
        raise EnvkitError(
            "--undo: there is no terminal to ask for confirmation on.", ("Add --yes, or add --dry-run to see the plan.")
        )
    question = f"Undo it? This removes {named}." if removes else "Undo it?"
    return click.confirm(question, default=False, err=True)


def _tell(line: str) -> None:
    """A line of a program that runs, for the user who waits."""
    if line:
        say(f"  {shown(line)}")


def _indexes() -> dict[str, str]:
    """Where builds with a local label are found, by the label."""
    from envkit.tables import Matrix

    urls = {build.index_url for build in Matrix.load().builds("pytorch") if build.index_url}
    return {url.rstrip("/").rpartition("/")[2]: url for url in sorted(urls)}
