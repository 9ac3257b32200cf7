"""What may put right a word that a program cannot read: options, switches, links, shells, bounds of companions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import line_of
from envkit.dockerfile.repair_lines import PIP_INSTALL, Changes, named_for_pip, other_line, start_of
from envkit.dockerfile.shell_words import exec_form

if TYPE_CHECKING:
    from envkit.tables import Matrix

_UNINSTALL = regex(r"\b(pip[\d.]*\s+uninstall)\b(?!\s+-y)")
_LINK = regex(r"\bln\s+-(\w*s\w*)\b")
_FIRST_USER = regex(r"requests the ID \d+, which images of .{1,40} give to (\w{1,32})$")
_POETRY = regex(r"(\bpip[\d.]*\s+install\b[^&|;\n]{0,200}?\s)(poetry)(?=\s|$)")
_WRITE = regex(r"Write (--?[\w-]+(?: [\w-]+)?)\.")
_NO_ENTRYPOINT, _DOLLAR = "Write ENTRYPOINT []", "Put a $ before the name"
_DECLARED = regex(r"Write ARG (\w{1,60}) after FROM")
_INSTALLS = regex(r"Write: (pip[\d.]*) install \.")
_QUOTES = "Write each word in double quotes"
_ARRAY = regex(r"(\s*(?:CMD|ENTRYPOINT)\s+)\[(.*)\]\s*")
_QUOTED = regex(r"'([^'\"\\]*)'|\"([^'\"\\]*)\"")
_OPTION, _NEW_OPTION = regex(r"stops at the option (-D\w{1,40}=)"), regex(r"Write (-D\w{1,40}=\w{1,10})\.")
_REMOVE = ("Remove it", "Omit it", "Write the identifier alone")
_PIPENV, _LOCK = "pipenv requirements", regex(r"\bpipenv\s+lock\s+(?:-r|--requirements)\b")
_SYSTEM, _UV = "Add --system", regex(r"\b(uv\s+pip\s+install)\b")
_GLOBAL, _SETTING = "--global-option", regex(r"--global-option[= ](?:[\"'])?(--[\w-]+)(?:[\"'])?")
_NOW = regex(r"Write -D(\w{1,40})=ON")
_BOUND = regex(r"Add '([\w-]{1,60}<[\d.]{1,20})'")
_FROM = regex(r"(?i)\s*FROM\s")
_LIST_OF_PIP = "Put -r before it"
# How the advice begins, what is found in the command, what takes its place, and what is told.
_LACKS = (
    (
        "Append a number",
        regex(r"(\bupdate-alternatives\s+--install\s+[\w./-]{1,99}\s+[\w.-]{1,60}\s+[\w./-]{1,99})(?=\s*(?:\\|&|;|$))"),
        r"\1 1",
        "gave the alternative a priority",
    ),
    (
        "Write: conda env create",
        regex(r"\bconda\s+create(?=\s+-f\s+[\w./-]{1,99}\.ya?ml\s*$)"),
        "conda env create",
        "replaced conda create with conda env create",
    ),
)
_OF_SHELL, _UNREAD = "Call a shell: sh -c", "cannot read the requirement"
_PLAIN_WORDS = regex(r"&&|[\w./:=,@+-]{1,200}(?: [\w./:=,@+-]{1,200}){0,20}")
_EXTRAS_APART = regex(r"(?<![\"'\w])\.\[[\w-]{1,60}(?:, ?[\w-]{1,60}){1,9}\](?![\"'\w])")
_FEW = 6  # lines of one command
_SHELL = 'SHELL ["/bin/bash", "-c"]'


def option_put_right(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Changes:
    """-y for a removal, Poetry's plugin, the new name of a switch; otherwise the command without the option."""
    index = line_of(finding) - 1
    for at in range(index, min(index + _FEW, len(lines))):
        changed = _UNINSTALL.sub(r"\1 -y", lines[at], count=1)
        if changed != lines[at]:
            yield other_line(lines, at, changed), "added -y to pip uninstall"
            break
    for at, line in enumerate(lines):
        if "Poetry" in finding.title and _POETRY.search(line):
            yield (
                other_line(lines, at, _POETRY.sub(r"\1\2 poetry-plugin-export", line, count=1)),
                "added Poetry's plugin",
            )
    yield from _as_told(lines, finding)
    yield from _completed(lines, finding)


def _completed(lines: Sequence[str], finding: Finding) -> Changes:
    """The command with the word that it lacks: -r before a list, a priority, `env` of `conda env create`."""
    index, word = line_of(finding) - 1, finding.subject.partition(": ")[2]
    advice = finding.remedy.advice if finding.remedy is not None else ""
    lacks = next((one for one in _LACKS if advice.startswith(one[0])), None)
    if advice.startswith(_LIST_OF_PIP):
        changed = re.sub(rf"(?<=\s){re.escape(word)}(?=\s|$)", f"-r {word}", lines[index], count=1)
        if changed != lines[index]:
            yield other_line(lines, index, changed), f"put -r before {word}"
    elif lacks is not None:
        _, pattern, new, told = lacks
        for at in range(index, min(index + _FEW, len(lines))):
            changed = pattern.sub(new, lines[at], count=1)
            if changed != lines[at]:
                yield other_line(lines, at, changed), told
                return


def _as_told(lines: Sequence[str], finding: Finding) -> Changes:
    """The option that the remedy writes in place of one that is gone, or the command without it where it says so."""
    index, word = line_of(finding) - 1, finding.subject.partition(": ")[2]
    advice = finding.remedy.advice if finding.remedy is not None else ""
    now, other = _NOW.search(advice), _WRITE.match(advice)
    new = f"-D{now[1]}=ON" if now is not None else other[1] if other is not None else ""
    name = word.partition("=")[0]
    if new and word in lines[index]:
        yield other_line(lines, index, lines[index].replace(word, new, 1)), f"replaced {word} with {new}"
    elif advice.startswith(_REMOVE) and word.startswith("-") and f" {word}" in lines[index]:
        yield other_line(lines, index, lines[index].replace(f" {word}", "", 1)), f"removed {word}"
    elif _PIPENV in advice:
        whole = [_LOCK.sub(_PIPENV, line) for line in lines]
        yield whole, f"replaced pipenv lock {word} with {_PIPENV}"
    elif advice.startswith(_SYSTEM):
        line = _UV.sub(r"\1 --system", lines[index], count=1)
        yield other_line(lines, index, line), "added --system to uv pip"
    elif name == _GLOBAL:
        whole = [_SETTING.sub(_as_setting, line) for line in lines]
        yield whole, "passed --global-option with --config-settings"


def _as_setting(found: re.Match[str]) -> str:
    return f'--config-settings "--build-option={found[1]}"'


def link_replaces(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Changes:
    """ln -sf for ln -s; for a user or a group whose number is taken, without the one that has it."""
    index = line_of(finding) - 1
    first = _FIRST_USER.search(finding.title)
    if first is not None:
        start = start_of(lines, index)
        yield (
            [*lines[:start], f"RUN userdel -r {first[1]}", *lines[start:]],
            f"removed the user {first[1]} of the image",
        )
        return
    changed = _LINK.sub(r"ln -\1f", lines[index], count=1)
    if changed != lines[index]:
        yield other_line(lines, index, changed), f"replaced what was there in line {index + 1}: ln -sf"


def read_by_bash(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Changes:
    """bash as the shell of the stage, where a word is one of bash."""
    if not finding.title.startswith("only bash knows"):
        return
    index = line_of(finding) - 1
    place = next((at for at in range(index, -1, -1) if _FROM.match(lines[at])), None)
    if place is not None:
        yield [*lines[: place + 1], _SHELL, *lines[place + 1 :]], "chose bash as the shell of RUN"


def companion_bounded(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Changes:
    """The bound of a companion that a finding names, in the command that installs the package."""
    bound = _BOUND.search(finding.remedy.advice if finding.remedy is not None else "")
    index = line_of(finding) - 1
    if bound is None:
        return
    name = bound[1].partition("<")[0]
    own = re.compile(rf"(?<=\s){re.escape(name)}(?=\s|$)")
    start = start_of(lines, index)
    earlier = [at for at in range(start) if named_for_pip(name, lines, at)]
    if earlier and not own.search(lines[earlier[-1]]):  # installed there in a release, or a build, of its own
        return
    for at in (*range(index, start - 1, -1), *reversed(earlier)):
        changed = own.sub(f"'{bound[1]}'", lines[at], count=1)
        if changed == lines[at] and not earlier:
            changed = PIP_INSTALL.sub(lambda found: f"{found[0]} '{bound[1]}'", lines[at], count=1)
        if changed != lines[at]:
            yield other_line(lines, at, changed), f"bounded {bound[1]}"
            return


def without_windows(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Changes:
    """The build of OpenCV that loads no libGL."""
    index = line_of(finding) - 1
    name = finding.title.partition(" ")[0]
    if name in lines[index] and "headless" not in lines[index]:
        yield other_line(lines, index, lines[index].replace(name, f"{name}-headless", 1)), f"chose {name}-headless"


def written(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Changes:
    """What the remedy says to write: an instruction more, a word more, a list in double quotes."""
    index = line_of(finding) - 1
    advice = finding.remedy.advice if finding.remedy is not None else ""
    declared, install = _DECLARED.match(advice), _INSTALLS.match(advice)
    if advice.startswith(_NO_ENTRYPOINT):
        yield [*lines[:index], "ENTRYPOINT []", *lines[index:]], "added ENTRYPOINT [] before CMD"
    elif declared is not None:
        place = next((at for at in range(index, -1, -1) if _FROM.match(lines[at])), 0)
        yield [*lines[: place + 1], f"ARG {declared[1]}", *lines[place + 1 :]], f"declared ARG {declared[1]} after FROM"
    elif install is not None:
        line = re.sub(rf"\b{install[1]}(?=\s+\.)", f"{install[1]} install", lines[index], count=1)
        yield other_line(lines, index, line), f"added install to {install[1]}"
    elif advice.startswith(_DOLLAR):
        word = finding.subject.partition(": ")[2]
        name, sign, variable = word.partition("=")
        if word in lines[index] and any(_declares(line, variable.lstrip("=")) for line in lines):
            new = f"{name}{sign}{variable.rpartition('=')[1]}${variable.lstrip('=')}"
            yield other_line(lines, index, lines[index].replace(word, new, 1)), f"replaced {word} with {new}"
    elif advice.startswith(_QUOTES):
        yield from _in_double_quotes(lines, index)
    elif advice.startswith(_OF_SHELL):
        yield from _by_shell(lines, index)
    elif _EXTRAS_APART.search(lines[index]) and _UNREAD in finding.title:
        whole = _EXTRAS_APART.sub(lambda found: re.sub(r"\s", "", found[0]), lines[index], count=1)
        yield other_line(lines, index, whole), "removed the blanks between extras"


def _declares(line: str, variable: str) -> bool:
    return re.match(rf"\s*(?:ARG|ENV)\s+{re.escape(variable)}\b", line) is not None


def _in_double_quotes(lines: Sequence[str], index: int) -> Changes:
    """CMD or ENTRYPOINT as the array that its single quotes mean."""
    found = _ARRAY.fullmatch(lines[index])
    words = _QUOTED.findall(found[2]) if found is not None else []
    if found is not None and words and re.sub(r"[\s,]", "", _QUOTED.sub("", found[2])) == "":
        array = ", ".join(f'"{first or second}"' for first, second in words)
        yield other_line(lines, index, f"{found[1]}[{array}]"), "wrote the words in double quotes"


def _by_shell(lines: Sequence[str], index: int) -> Changes:
    """CMD for a shell, in place of an array with && in it, where each of its words means the same there."""
    found = _ARRAY.fullmatch(lines[index])
    words = exec_form(f"[{found[2]}]") if found is not None else None
    alone = not any(line.lstrip().upper().startswith("ENTRYPOINT") for line in lines)
    if found is not None and words and alone and all(map(_PLAIN_WORDS.fullmatch, words)):
        yield other_line(lines, index, f"{found[1]}{' '.join(words)}"), "wrote the command for a shell"


def switch_renamed(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Changes:
    """The new name of a build's option, wherever the file gives the old one."""
    old = _OPTION.search(finding.title)
    new = _NEW_OPTION.match(finding.remedy.advice if finding.remedy is not None else "")
    if old is not None and new is not None:
        given = re.compile(rf"{re.escape(old[1])}\w+")
        whole = [given.sub(new[1], line) for line in lines]
        if whole != list(lines):
            yield whole, f"replaced {old[1]}… with {new[1]}"
