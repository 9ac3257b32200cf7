"""What may put right a call of pip: the last pip for its Python, no newer one, a build that is not apart from torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import line_of
from envkit.dockerfile.repair_lines import Changes, other_line, start_of
from envkit.tables.build_stops import CompiledPackage
from envkit.tables.loader import read

if TYPE_CHECKING:
    from envkit.tables import Matrix

_CALL = regex(
    r"(?P<values>(?:(?<![\w-])[A-Z]\w{0,60}=[^\s&|;]{1,120}\s+){0,4})(?P<caller>(?:\bsudo\s+(?:-H\s+)?)?(?:\bpython[\d.]*\s+-m\s+pip|(?:\buv\s+)?(?<![\w./-])pip[\d.]*))"
    r"(?P<options>(?:\s+--?[a-z][\w-]*(?:=\S+)?){0,8})\s+install\b(?P<rest>[^&|;\\]*)"
)
_ITSELF = regex(r"(?<=\s)pip(?=\s|$)")
_UPGRADES = frozenset({"-U", "--upgrade"})
_BOUND = regex(r"pip install (?:--upgrade )?'(pip<[\d.]{1,6})'")
_BUILDS = regex(r"^(?:pip|uv) builds ([\w.-]{1,60})[ ,]")


def pip_bounded(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Changes:
    """The last release of pip for the Python in the command that upgrades pip, what else that takes after it."""
    bound = _BOUND.search(finding.remedy.advice if finding.remedy is not None else "")
    if bound is None:
        return
    for at in range(line_of(finding) - 1, -1, -1):
        for call in _CALL.finditer(lines[at]):
            words = call["rest"].split()
            if _UPGRADES.isdisjoint(words) or _ITSELF.search(call["rest"]) is None:
                continue
            others = [word for word in words if word != "pip"]
            start = f"{call['values']}{call['caller']}{call['options']} install"
            changed = f"{start} --upgrade '{bound[1]}'"
            if any(not word.startswith("-") for word in others):  # which the new pip chooses for this Python
                changed += f" && {start} {' '.join(others)}"
            tail = " " if call["rest"].endswith(" ") else ""
            line = f"{lines[at][: call.start()]}{changed}{tail}{lines[at][call.end() :]}"
            yield other_line(lines, at, line), f"bounded {bound[1]} in line {at + 1}"
            return


def pip_renewed(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Changes:
    """The last release of pip for the Python, before the command whose package the pip there cannot install."""
    bound = _BOUND.search(finding.remedy.advice if finding.remedy is not None else "")
    if bound is None:
        return
    index = line_of(finding) - 1
    for at in range(index, start_of(lines, index) - 1, -1):
        call = _CALL.search(lines[at])
        if call is not None:
            renewed = f"{call['values']}{call['caller']}{call['options']} install --upgrade '{bound[1]}' && "
            line = f"{lines[at][: call.start()]}{renewed}{lines[at][call.start() :]}"
            yield other_line(lines, at, line), f"upgraded pip to the last one of this Python, {bound[1]}"
            return


def not_isolated(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Changes:
    """--no-build-isolation, after what a package builds with, which pip then does not fetch."""
    package = _BUILDS.search(finding.title)
    index = line_of(finding) - 1
    tools = next((row.tools for row in read(CompiledPackage) if package and row.package == normalized(package[1])), ())
    for at in range(index, start_of(lines, index) - 1, -1):
        call = _CALL.search(lines[at])
        if call is None:
            continue
        start = f"{call['caller']}{call['options']} install"
        before = f"{start} {' '.join(tools)} && " if tools else ""
        line = lines[at]
        start = f"{call['values']}{start} --no-build-isolation"
        line = f"{line[: call.start()]}{before}{start}{line[call.start('rest') :]}"
        yield other_line(lines, at, line), "added --no-build-isolation" + (" and what the build needs" if tools else "")
        return
