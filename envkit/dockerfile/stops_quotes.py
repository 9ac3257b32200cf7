"""Requirements whose bounds the shell takes for itself, as no quotes are around them."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.dockerfile.check_parts import finding, subject_of
from envkit.dockerfile.ground import Ground
from envkit.dockerfile.reader import Instruction
from envkit.dockerfile.shell_words import exec_form

_BOUND = regex(r"[ ](?P<word>(?P<name>[A-Za-z][\w.-]{0,60}(?:\[[\w,-]{1,60}\])?)(?P<bound>>=?\d[\w.]{0,30}))(?= |$)")


def bounds_redirected(ground: Ground) -> Iterator[Finding]:
    """The first requirement of pip whose `>` the shell takes for a redirection, where an older release is pinned."""
    pinned: set[str] = set()
    names: set[str] = set()
    for step in ground.steps:
        for one in step.packages:
            if one.tool == "pip" and normalized(one.name) in pinned and not one.places.upgrades:
                names.add(one.asked)
        pinned.update(normalized(one.name) for one in step.packages if one.spec.startswith("=="))
    for part in ground.instructions if names else ():
        word = _redirected(part, names) if part.keyword == "RUN" else None
        if word is None:
            continue
        line, text, name = word
        yield finding(
            faults.WORD_UNKNOWN,
            Status.WARN,
            f"the shell redirects to a file, because {text} is not quoted: pip gets only {name}",
            subject_of(line, text),
            impact="The version bound is lost, and the previously installed release stays.",
            remedy=Remedy(f"Write '{text}'."),
            sources=("posix-shell-redirection",),
        )
        return


def _redirected(part: Instruction, names: set[str]) -> tuple[int, str, str] | None:
    """The line, the requirement, and its name."""
    if part.heredocs or exec_form(part.text):
        return None
    for found in _BOUND.finditer(part.text):
        before = part.text[: found.start()]
        if found["word"] in names and before.count("'") % 2 == before.count('"') % 2 == 0:
            return part.body.line(found.start("word")), found["word"], found["name"]
    return None
