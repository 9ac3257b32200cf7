"""Where a build stops at a switch that the newest state of a cloned project has given another name."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import stop, subject_of
from envkit.dockerfile.clones import is_of_repository
from envkit.dockerfile.ground import Ground
from envkit.dockerfile.shell import called
from envkit.tables.loader import read
from envkit.tables.program_stops import RenamedSwitch

_CHECKS_OUT = regex(r"\bgit (?:-C \S{1,200} )?(?:checkout|reset|switch)\b")
_BRANCHES = frozenset({"-b", "--branch"})
_FALSE = frozenset({"0", "OFF", "off", "FALSE", "false", "NO"})


def switch_renamed(ground: Ground) -> Iterator[Finding]:
    """The first call of cmake with such a switch, after the project was cloned in its newest state."""
    if any(_CHECKS_OUT.search(text) for text in ground.texts):
        return
    rows: dict[str, RenamedSwitch] = {}
    for step in ground.steps:
        words = called(step.command)
        if words[:1] == ("git",) and "clone" in words and _BRANCHES.isdisjoint(words):
            cloned = [
                row for row in read(RenamedSwitch) if any(is_of_repository(word, row.repository) for word in words)
            ]
            rows.update((row.switch, row) for row in cloned)
        if words[:1] != ("cmake",) or not step.command.decisive:
            continue
        for word in words:
            name, _, value = word.removeprefix("-D").partition("=")
            row = rows.get(name.partition(":")[0])
            if row is not None and value not in _FALSE:
                yield stop(
                    faults.TOOL_OPTION,
                    f"the newest {row.repository.rpartition('/')[2]} stops at {row.switch}, which is now called "
                    f"{row.now}",
                    subject_of(word.line, word),
                    impact="The build stops: CMake reports an error.",
                    fix=f"Write -D{row.now}=ON, or check out an older release.",
                    sources=row.sources,
                )
                return
