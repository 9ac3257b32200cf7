"""One check in full, for `envkit explain` and the check reference."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from envkit.base.sentences import series
from envkit.checks.engine.evidence import in_words
from envkit.checks.engine.registry import Check, ImageFault
from envkit.tables.codes import xids

_OTHER_XIDS = "xid-other"
TIERS = {
    "F": "files, sysfs, and environment variables",
    "N": "NVIDIA's management library, called in a child process",
    "X": "framework and library files",
    "L": "the kernel log",
    "C": "the container engine",
    "R": "information that only root can read",
}


# what a finding on a file is about, by the beginning of its id
FILES = {
    "image": "a Dockerfile: envkit dockerfile --check FILE",
    "project": "a project file: envkit check FILE",
}


def of_xid(number: int) -> tuple[str, str]:
    """What the driver means by an Xid and what is done about it, and the id of the check that looks for it."""
    row = xids().get(number)
    if row is None:
        told = "This number is not in envkit's table. NVIDIA's list: https://docs.nvidia.com/deploy/xid-errors/"
        return "\n".join([*_row(f"Xid {number}", told), "", ""]), _OTHER_XIDS
    lines = [*_row(f"Xid {number}", f"{row.meaning[0].upper()}{row.meaning[1:]}")]
    lines += _row("Action", f"{row.action[0].upper()}{row.action[1:]}") if row.action else []
    return "\n".join([*lines, "", ""]), row.check or _OTHER_XIDS


def explanation(check: Check | ImageFault) -> str:
    """The check's title, what it looks at and why it matters, its fix, what explains it, its sources; 80 columns."""
    parts = [check.id, "=" * len(check.id), ""]
    parts += _row("Problem", check.title)
    expected, *more = [" ".join(paragraph.split()) for paragraph in check.doc.split("\n\n")]
    parts += [*_row("Expected", expected.removesuffix(".")), ""]
    for paragraph in more:
        parts += [*textwrap.wrap(paragraph, 80, break_on_hyphens=False), ""]
    parts += _place(check) if isinstance(check, Check) else _row("Reads", FILES[check.id.partition(".")[0]])
    if check.fix:
        parts += _row("Fix", check.fix)
    for number, reference in enumerate(check.references):
        label = "" if number else "Source" if len(check.references) == 1 else "Sources"
        parts.append(f"{label:<10}{reference}")
    return "\n".join(parts)


def _place(check: Check) -> list[str]:
    """Where in the stack a check looks, what it needs, and the checks that explain it."""
    parts = _row("Layer", check.layer.title)
    parts += _row("Reads", "; ".join([TIERS[check.tier], *_facts(check)]))
    if check.explained_by:
        which = "this check also fails" if len(check.explained_by) == 1 else "any of these checks also fails"
        told = f"If {which}, the problem that it reports is the likely cause"
        parts += _row("Causes", f"{told}: {', '.join(check.explained_by)}")
    return parts


def _facts(check: Check) -> list[str]:
    facts = []
    if check.needs:
        facts.append(_named(check.needs))
    if check.any_of:
        facts.append(_named(check.any_of, "or"))
    return facts


def _named(paths: Iterable[str], word: str = "and") -> str:
    return series(dict.fromkeys(map(in_words, paths)), word)


def _row(label: str, text: str) -> list[str]:
    return textwrap.wrap(text, 80, initial_indent=f"{label:<10}", subsequent_indent=" " * 10, break_on_hyphens=False)
