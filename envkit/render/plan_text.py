"""A plan for people, in 80 columns: what is chosen, why it fits, what to watch, and what else would work."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from envkit.base.platforms import WINDOWS
from envkit.base.sentences import series
from envkit.base.shell_lines import continued
from envkit.base.wrap import WIDTH, hang
from envkit.compat.verdict import Verdict, is_floor
from envkit.documents.citations import citations
from envkit.solver.model import Alternative, NoPlan, Plan
from envkit.solver.parts import part_in_words
from envkit.tables.rows import os_title

if TYPE_CHECKING:
    from envkit.documents.setting import Setting

_OPTIONS = 46  # the widest column of options beside what they give
_MARKS = {"ok": "ok", "native": "ok", "fail": "NO", "incompatible": "NO", "unknown": "?"}


def plan_summary(
    plan: Plan | NoPlan, *, verbose: bool = False, commands: Sequence[str] = (), setting: Setting | None = None
) -> str:
    """The plan in lines of at most 80 columns, without a final newline. It ends with `commands`.

    `verbose` adds the sources, `setting` whether a container suits the plan.
    """
    lines = _refusal(plan, verbose=verbose) if isinstance(plan, NoPlan) else _plan(plan, verbose=verbose)
    placed = list(_setting(setting)) if setting is not None else []
    windows = plan.request.platform == WINDOWS  # whose shells do not join lines
    whole = (line for one in commands for line in ([one] if windows else continued(one, WIDTH - 2)))
    given = ["", _way(plan, commands), *(f"  {line}" for line in whole)] if commands else []
    return "\n".join([*lines, *placed, *given])


def _setting(setting: Setting) -> Iterator[str]:
    yield ""
    best = "A container is" if setting.container else "A native installation is"
    yield from hang(
        "", f"{best} recommended: {setting.why}.{'' if setting.container else ' If you prefer a container:'}"
    )
    yield f"  {setting.command}"


def _way(plan: Plan | NoPlan, commands: Sequence[str]) -> str:
    """What is above the commands: which Python pip's are for."""
    python = plan.choice.python if isinstance(plan, Plan) and commands[0].startswith("python ") else None
    return (
        f"To install, run the following in a Python {python.release(2)} environment:"
        if python is not None
        else "To install:"
    )


def _plan(plan: Plan, *, verbose: bool) -> Iterator[str]:
    from envkit.render.plan_choices import plan_choices

    yield "Plan"
    choices = list(plan_choices(plan.choice, plan.request))
    choices = choices or [("System", f"{os_title(plan.request.platform)} ({plan.choice.architecture})")]
    column = max(10, *(len(name) for name, _ in choices))
    for name, value in choices:
        yield from hang(f"  {name:<{column}}  ", value)
    reasons = [verdict for verdict in plan.verdicts if verdict.detail not in plan.warnings]
    if reasons or (plan.verdicts and verbose):
        yield ""
        yield "Why these versions"
        for mark, detail in dict.fromkeys((_mark(verdict), verdict.detail) for verdict in reasons):
            yield from hang(f"  {mark:<5}", detail)
        if verbose:
            keys = (key for verdict in plan.verdicts for key in verdict.sources)
            yield from ("", "Sources")
            for line in citations(keys):
                yield from hang("  - ", line)
    if plan.warnings:
        yield ""
        yield "Warnings"
        for warning in plan.warnings:
            yield from hang("  - ", _ended(warning))
    yield from _alternatives(plan.alternatives, "Alternatives")
    yield from _notes(plan.background)


def _refusal(plan: NoPlan, *, verbose: bool) -> Iterator[str]:
    yield "No solution: these requirements conflict"
    for conflict in plan.conflicts:
        told = conflict.detail.removesuffix("; ".join(conflict.parts)).rstrip()
        yield from hang("  - ", f"{series(map(part_in_words, conflict.between))}: {told}")
        for part in conflict.parts:
            yield from hang("    - ", _ended(part))
        if conflict.sources and verbose:
            for line in citations(conflict.sources):
                yield from hang("    Source: ", line)
    yield from _alternatives(plan.alternatives, "Working alternatives")
    yield from _notes((*plan.warnings, *plan.background))


def _notes(sentences: tuple[str, ...]) -> Iterator[str]:
    if sentences:
        yield ""
        yield "Notes"
    for sentence in sentences:
        yield from hang("  - ", _ended(sentence))


def _ended(text: str) -> str:
    """The text; with its period if it is more than one sentence."""
    return f"{text}." if ". " in text and not text.endswith((".", ":")) else text


def _mark(verdict: Verdict) -> str:
    if is_floor(verdict):
        return "note"
    return _MARKS.get(verdict.status, "note")


def _alternatives(alternatives: tuple[Alternative, ...], title: str) -> Iterator[str]:
    if not alternatives:
        return
    yield ""
    yield title
    alike: dict[tuple[str, ...], list[Alternative]] = {}  # values of one option that lead to the same
    for alternative in alternatives:
        alike.setdefault((*alternative.changes, alternative.gain), []).append(alternative)
    rows = [(_options(group), group[0].gain) for group in alike.values()]
    column = max(len(options) for options, _ in rows)
    for options, gain in rows:
        if column <= _OPTIONS:
            yield from hang(f"  {options:<{column}}  ", gain)
        else:  # one below the other, which leaves the gain its width
            yield from hang("  ", options)
            yield from hang("      ", gain)


def _options(alternatives: Sequence[Alternative]) -> str:
    """The options of alternatives that lead to the same: all of the first, the values of the others."""
    first, *others = alternatives
    options = " ".join(f"--{option} {shlex.quote(value)}" for option, value in first.changes.items())
    values = series([" ".join(map(shlex.quote, other.changes.values())) for other in others], "or")
    return f"{options} (or {values})" if values else options
