"""One check in full, for `envkit explain` and the check reference."""

from __future__ import annotations

import textwrap

from envkit.checks.engine.registry import Check, ImageFault

TIERS = {
    "F": "files, sysfs and variables",
    "N": "NVIDIA's management library, called in a child process",
    "X": "the files of frameworks and libraries",
    "L": "the kernel log",
    "C": "the container engine",
    "R": "what only root may read",
}


DOCKERFILE = "a Dockerfile: envkit dockerfile --check FILE"


def explanation(check: Check | ImageFault) -> str:
    """The check's title, what it looks at and why it matters, its fix, what explains it, its sources; 80 columns."""
    parts = [check.id, "=" * len(check.id), "", *textwrap.wrap(check.title, 80), ""]
    for paragraph in check.doc.split("\n\n"):
        parts += [*textwrap.wrap(" ".join(paragraph.split()), 80, break_on_hyphens=False), ""]
    parts += _place(check) if isinstance(check, Check) else _row("Needs", DOCKERFILE)
    if check.fix:
        parts += _row("Fix", check.fix)
    for reference in check.references:
        parts.append(f"{'Source':<9}{reference}")
    return "\n".join(parts)


def _place(check: Check) -> list[str]:
    """Where in the stack a check looks, what it needs, and the checks that explain it."""
    parts = _row("Layer", check.layer.name.lower().replace("_", " "))
    parts += _row("Needs", "; ".join([TIERS[check.tier], *_facts(check)]))
    if check.explained_by:
        parts += _row("Follows", "from " + ", ".join(check.explained_by))
    return parts


def _facts(check: Check) -> list[str]:
    facts = []
    if check.needs:
        facts.append("facts " + ", ".join(check.needs))
    if check.any_of:
        facts.append("one of " + ", ".join(check.any_of))
    return facts


def _row(label: str, text: str) -> list[str]:
    return textwrap.wrap(text, 80, initial_indent=f"{label:<9}", subsequent_indent=" " * 9, break_on_hyphens=False)
