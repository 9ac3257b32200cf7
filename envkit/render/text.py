"""The doctor's report for a person: what is wrong, how to fix it, why, and where to read more; the rest on request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import urlsplit

from envkit.base.wrap import WIDTH
from envkit.checks.engine.evidence import NOT_SHOWN, SHOWS_NO, many
from envkit.checks.engine.fact_words import in_a_line
from envkit.checks.engine.findings import Evidence, Finding, Status
from envkit.checks.engine.messages import complained
from envkit.checks.engine.runner import plugins_of, summary
from envkit.checks.frameworks.unchecked import unchecked_environments
from envkit.documents.citations import titles
from envkit.documents.verdict import Verdict, counted, troubles, verdict
from envkit.model import Environment
from envkit.render.machine import machine_line, machine_lines
from envkit.render.page import Page

_SHOWN = 2  # pieces of evidence that a first look needs
_NAMED = 3  # consequences, and checks of one reason, that are named one by one
THIS_MACHINE = Environment().origin
_QUESTIONS = (
    "To find out whether a machine is slow, run envkit bench. To find cards that can run a model, run envkit "
    "recommend. To find versions that work together, run envkit resolve."
)
_ADD = "Add the last lines of the error message and the output of these commands to the input, most useful first:"


def doctor_text(
    environment: Environment,
    findings: Sequence[Finding],
    *,
    verbose: bool = False,
    color: bool = False,
    width: int = WIDTH,
) -> str:
    """The whole report: the answer first. `verbose` adds evidence with its sources, the machine and every check."""
    page, answer, shown = Page(width, color), verdict(environment, findings), troubles(findings)
    failing = not environment.pasted or bool(shown) or complained(environment)
    lines = [] if shown and answer.id == shown[0].id else [*_no_finding(answer, page, failing=failing), ""]
    ids = {finding.id for finding in shown}
    caused: dict[str | None, list[Finding]] = {}
    for finding in shown:
        caused.setdefault(finding.because_of, []).append(finding)
    printed: set[tuple[str, ...]] = set()  # remedies that are above
    for finding in shown:
        if finding.because_of not in ids:
            follow = caused.get(finding.id, [])
            said = answer if finding is shown[0] and answer.id == finding.id else None
            again = _commands(finding) in printed
            lines += [*_finding(finding, follow, said, page, verbose=verbose, again=again), ""]
            printed.add(_commands(finding))
    if verbose:
        lines += _details(environment, findings, page)
    elif answer.status is not Status.UNKNOWN:
        lines += [
            *page.items(machine_line(environment)),
            *page.wrap(_rest(findings, pasted=environment.pasted)),
        ]
        lines += [line for unchecked in unchecked_environments(environment) for line in page.wrap(unchecked)]
    if plugins := plugins_of(findings):
        lines += page.wrap(f"Plug-ins: {', '.join(plugins)}")
    while lines and not lines[-1]:
        lines.pop()
    return "\n".join(lines) + "\n"


def _no_finding(answer: Verdict, page: Page, *, failing: bool) -> Iterator[str]:
    """The answer where none of the findings is it: health, or that too little is known, and what to paste then."""
    yield from page.title(answer.status, answer.title)
    if answer.ask:
        yield ""
        yield from page.labeled("Next", _ADD)
        yield from page.commands(answer.ask)
        if not failing:
            yield from page.labeled("No error?", _QUESTIONS)


def _finding(
    finding: Finding, follow: Sequence[Finding], answer: Verdict | None, page: Page, *, verbose: bool, again: bool
) -> Iterator[str]:
    yield from page.title(finding.status, answer.lead + finding.title if answer else finding.title)
    yield ""
    if finding.remedy and again:
        yield from page.labeled("Fix", "The same as above.")
    elif finding.remedy:
        yield from page.labeled("Fix", finding.remedy.summary)
        one_line = any(step.windows for step in finding.remedy.steps)
        yield from page.commands(finding.remedy.commands, one_line=one_line)
    lines = 0 if answer is None else 1 if follow or len(finding.evidence) > 1 else 2
    yield from _why(finding, page, lines, verbose=verbose)
    for number, other in enumerate(answer.alternatives if answer else ()):
        yield from page.labeled("Or" if number == 0 else "", f"{other.title}. To check, run:")
        yield from page.commands([other.tell_apart])
    if follow:
        yield from _consequences([other.title for other in follow], page)
    more = f"{finding.id} of {finding.plugin}" if finding.plugin else f"envkit explain {finding.id}"
    yield page.whole("See also", more)
    if answer is not None or verbose:
        for address in _of_its_program(finding)[:1]:
            yield page.whole("", address)


def _of_its_program(finding: Finding) -> list[str]:
    """The references without the threads of programs that the finding does not speak of, which would only puzzle."""
    advice = finding.remedy.advice if finding.remedy else ""
    quoted = (item.value for item in finding.evidence)
    shown = " ".join((finding.title, finding.subject, finding.impact, advice, *quoted)).casefold()
    parts = ((address, urlsplit(address).path.casefold().split("/")) for address in finding.references)
    return [
        address for address, path in parts if "issues" not in path or any(name in shown for name in path[1:3] if name)
    ]


def _commands(finding: Finding) -> tuple[str, ...]:
    """The remedy as a person reads it, which several cards of one kind share; the finding itself where it has none."""
    return (finding.remedy.summary, *finding.remedy.commands) if finding.remedy else (finding.id, finding.subject)


def _why(finding: Finding, page: Page, lines: int, *, verbose: bool) -> Iterator[str]:
    """What it means and what shows it; a first look gets so many `lines` of each piece of evidence, 0 for none."""
    if finding.impact:
        yield from page.labeled("Why", finding.impact)
    if finding.subject and finding.subject not in finding.title:
        yield from page.labeled("Affects", finding.subject)
    if verbose:
        for number, item in enumerate(finding.evidence):
            yield from page.labeled("Evidence" if number == 0 else "", _told(item))
    elif lines:
        for number, item in enumerate(finding.evidence[:_SHOWN]):
            told = in_a_line(item)
            start = len(told) - len(item.value) + item.start if item.start else 0
            yield from page.cut("Evidence" if number == 0 else "", told, start, lines=lines)


def _told(item: Evidence) -> str:
    """A fact with where it was read; the addresses of sources are in the JSON."""
    read_in = item.source or "; ".join(titles(item.sources))
    return in_a_line(item) + (f"  [{read_in}]" if read_in else "")


def _consequences(titles: Iterable[str], page: Page) -> Iterator[str]:
    """The failures that go away with the one above: one on the same line, several below each other."""
    distinct = list(dict.fromkeys(titles))
    if len(distinct) == 1:
        yield from page.labeled("Also", f"{distinct[0]} (fixing the problem above should fix this too)")
        return
    yield from page.labeled("Also", "Fixing the problem above should fix these too:")
    for title in distinct[:_NAMED]:
        yield from page.item(title)
    if len(distinct) > _NAMED:
        yield from page.item(f"and {len(distinct) - _NAMED} more")


def _rest(findings: Sequence[Finding], *, pasted: bool) -> str:
    """How much else there is, and how to see it."""
    counts = summary(findings)
    parts = [f"{many(counts['ok'], 'check')} passed"] if counts["ok"] else []
    if counts["unknown"]:
        unseen = str(counts["unknown"]) if parts else many(counts["unknown"], "check")
        parts.append(f"{unseen} could not run{' (the input lacks the information they need)' if pasted else ''}")
    passed = f"{', '.join(parts)}. " if parts else ""
    return f"{passed}Use -v for details."


def _details(environment: Environment, findings: Sequence[Finding], page: Page) -> list[str]:
    """What a first look does without: the machine, what could not be looked at, each check, how many of each."""
    origin = (
        ""
        if environment.origin == THIS_MACHINE
        else " (from the input)"
        if environment.pasted
        else f" ({environment.origin})"
    )
    lines = [page.head(f"Machine{origin}")]
    for label, text in machine_lines(environment):
        lines += page.wrap(text, " " * 15, f"  {label:<11}")
    lines += ["", *_unknowns(findings, page)]
    lines += _short("Passed", findings, Status.OK, page) + _short("Not applicable", findings, Status.SKIP, page)
    return lines + page.wrap(f"Checks: {counted(findings)}", "  ", "")


def _unknowns(findings: Iterable[Finding], page: Page) -> list[str]:
    """What could not be looked at: one line for each reason, with the checks that it stopped."""
    stopped: dict[str, list[str]] = {}
    for finding in findings:
        if finding.status is Status.UNKNOWN:
            stopped.setdefault(finding.title, []).append(finding.id)
    if not stopped:
        return []
    lacking: dict[str, list[str]] = {}
    others: dict[str, list[str]] = {}
    for title, ids in stopped.items():
        wanted = _lacking(title)
        (lacking if wanted else others).setdefault(wanted or title, []).extend(ids)
    lines = []
    for head, group in (
        ("Not in the input, so these checks could not run", lacking),
        ("Could not run for other reasons" if lacking else "Could not run", others),
    ):
        lines += [page.head(head)] if group else []
        for title, ids in group.items():
            lines += page.wrap(f"{title}: {_some(list(dict.fromkeys(ids)))}", "    ", "  ")
        lines += [""] if group else []
    return lines


def _lacking(title: str) -> str:
    """What the text would have to show, '' for a check that something else stopped."""
    prefix = next((prefix for prefix in (NOT_SHOWN, SHOWS_NO) if title.startswith(prefix)), "")
    return title.removeprefix(prefix).removeprefix("the ") if prefix else ""


def _some(ids: Sequence[str]) -> str:
    """The first few of many checks."""
    return ", ".join(ids[:_NAMED]) + (f", and {len(ids) - _NAMED} more" if len(ids) > _NAMED else "")


def _short(title: str, findings: Iterable[Finding], status: Status, page: Page) -> list[str]:
    chosen = [finding for finding in findings if finding.status is status]
    if not chosen:
        return []
    subjects: dict[tuple[str, str], list[str]] = {}  # of what is the same for several GPUs, one line for all
    for finding in chosen:
        subjects.setdefault((finding.id, finding.title), []).append(finding.subject)
    lines = [page.head(title)]
    if status is Status.SKIP:
        alike: dict[str, list[str]] = {}  # of what does not apply, one line for each reason
        for finding in chosen:
            alike.setdefault(finding.title, []).append(finding.id)
        for reason, ids in alike.items():
            lines += page.wrap(f"{reason}: {_some(list(dict.fromkeys(ids)))}", "    ", "  ")
        return [*lines, ""]
    for (id, finding_title), names in subjects.items():  # noqa: A001 - the field's own word in reports
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        subject = f" [{names[0]}{more}]" if names[0] and names[0] not in finding_title else ""
        wrapped = page.wrap(f"{id}: {finding_title}{subject}", " " * 8)
        lines += [f"  {page.status(status)} {wrapped[0].strip()}", *wrapped[1:]]
    return [*lines, ""]
