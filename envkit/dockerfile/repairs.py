"""What may put a Dockerfile right, by the fault: texts to try, smallest change first. The check says which helps."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.base.versions import Version
from envkit.checks.containers import image_faults, image_stops
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import line_of
from envkit.dockerfile.repair_lines import CONTINUED, end_of, of_nvidia, other_line, start_of, without_word
from envkit.dockerfile.repairs_base import (
    REPLACED,
    WITH,
    compiler_added,
    fuller_tag,
    key_fetched,
    other_cudnn,
    other_system,
    other_tag,
    owner_named,
)
from envkit.dockerfile.repairs_conda import from_conda, newest_conda_has, older_installer
from envkit.dockerfile.repairs_names import (
    answered,
    index_chosen,
    instruction_apart,
    joined_apart,
    name_replaced,
    other_image,
    program_added,
    word_put_right,
)
from envkit.dockerfile.repairs_pip import not_isolated, pip_bounded, pip_renewed, tools_added
from envkit.dockerfile.repairs_words import (
    companion_bounded,
    link_replaces,
    option_put_right,
    read_by_bash,
    switch_renamed,
    without_windows,
    written,
)
from envkit.tables.build_stops import FaultLine, FaultWords
from envkit.tables.images import Repair
from envkit.tables.loader import read
from envkit.tables.rows import os_title

if TYPE_CHECKING:
    from envkit.tables import Matrix

_FROM = regex(r"(?i)\s*FROM\s")
_INSTALLS = regex(r"\b((?:sudo\s+)?(?:apt-get|apt))((?:\s+-\S+){0,12})\s+install\b")
_MORE_SOURCES = regex(r"(?:yum|dnf)\b[^&;|]{0,200}\binstall\b[^&;|]{0,200}\bcentos-release-[a-z]")
_YUM = regex(r"\b(?:yum|dnf)\b(?! clean)")
_LISTS = "rm -f /etc/apt/sources.list.d/"
_SCRIPT = "/get-pip.py"
_APK = "apk add"
_GITHUB, _CURL = "https://github.com/", regex(r"\bcurl\b(?![^|&;]*\s(?:-[a-zA-Z]*L|--location))")
_MINICONDA, _MINIFORGE = "Miniconda3-", "Miniforge3-"
_INSTALLER = regex(
    r"(?:\b(?:ba)?sh\s+|(?:^|\s)(?:\./|[~/$]\S{0,60}/))\S{0,60}(?:conda|forge|mamba)[\w.-]{0,40}\.sh(?P<words>(?:\s+-\w+)+)"
    r"(?!\s+[^&|;\s\\])\s?"
)
_RELEASE = regex(r"Use ([\w.\[\],-]{1,80})==([\w.+]{1,30}), the newest release")
_TORCH = regex(r"(?<![\w.-])torch==(?P<version>[\w.+]+)")
_WITH_DRIVER = regex(r"cuda(?P<release>-\d{1,2}-\d)?")
_PINNED = regex(r"(?<![\w.-])(?P<name>[A-Za-z0-9][\w.-]*)==(?P<version>[\w.+]+)")


@record
class Repaired:
    """A changed text, and what of it is other."""

    text: str
    told: str


Repairs = Callable[[Sequence[str], Finding, "Matrix"], Iterator[tuple[Sequence[str], str]]]


def repairs_of(text: str, finding: Finding, matrix: Matrix) -> Iterator[Repaired]:
    """The changes that may take this finding away, the smallest first; none where nothing is known to help."""
    lines = text.splitlines()
    if not 0 < line_of(finding) <= len(lines):
        return
    end = "\n" if text.endswith("\n") else ""
    for changed, told in (
        *_by_tables(lines, finding, matrix),
        *_REPAIRS.get(finding.id, _none)(lines, finding, matrix),
    ):
        yield Repaired("\n".join(changed) + end, told)


def _by_tables(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Iterator[tuple[Sequence[str], str]]:
    of_terms = finding.id == image_stops.CONDA_TERMS.id
    if of_terms and not newest_conda_has(lines, matrix):
        return  # the terms met, it stops at a Python that it has no build for
    if not (of_terms and from_conda(lines, finding, matrix)):  # which an installer elsewhere in the file changes not
        yield from _known_words(lines, finding)
    yield from _known_lines(lines, finding)


def _none(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Iterator[tuple[Sequence[str], str]]:
    yield from ()


def _known_lines(lines: Sequence[str], finding: Finding) -> Iterator[tuple[Sequence[str], str]]:
    of_alpine = finding.remedy is not None and _APK in finding.remedy.summary
    for row in read(FaultLine):
        if _LISTS in row.line and of_nvidia(lines):  # whose packages come from there
            continue
        if row.fault == finding.id and row.when in finding.title and (_APK in row.line) is of_alpine:
            yield _with_line(lines, finding, row.line, after_from=row.place == "after-from"), row.told


def _known_words(lines: Sequence[str], finding: Finding) -> Iterator[tuple[Sequence[str], str]]:
    """Other words everywhere: a file that is downloaded under one name is run under it."""
    for row in read(FaultWords):
        if row.fault == finding.id and any(row.old in line for line in lines):
            old, new = row.old.rpartition("/")[2], row.new.rpartition("/")[2]
            other, _, instead = row.also.partition("=")
            whole = [line.replace(row.old, row.new).replace(other or old, instead or old) for line in lines]
            changed = [line.replace(old, new) for line in whole] if "://" in row.old else whole
            if _MINICONDA in row.old and _MINIFORGE in row.new:  # whose own folder has another name
                changed = [_INSTALLER.sub(_into_miniconda, line) for line in changed]
            if _GITHUB in row.new:  # which sends downloads on
                changed = [_CURL.sub("curl -L", line) if row.new in line else line for line in changed]
            yield changed, row.told


def _into_miniconda(call: re.Match[str]) -> str:
    """The call of an installer that names no folder, into the one of Miniconda."""
    words = call["words"].split()
    named = any(word.startswith("-") and "p" in word for word in words)
    return call[0] if named or not words else f"{call[0].rstrip()} -p $HOME/miniconda3{' ' * call[0].endswith(' ')}"


def _with_line(lines: Sequence[str], finding: Finding, line: str, *, after_from: bool = False) -> Sequence[str]:
    """The lines with one more: below the FROM of the finding's stage, or above the instruction that it points to."""
    place = start_of(lines, line_of(finding) - 1)
    if after_from:
        place = next((index for index in range(place, -1, -1) if _FROM.match(lines[index])), place) + 1
    return [*lines[:place], line, *lines[place:]]


def _to_the_archive(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Iterator[tuple[Sequence[str], str]]:
    """The command that points to the archive of the distribution which the finding names, as `Debian 10`."""
    rows = [row for row in read(Repair) if os_title(row.os_id) in finding.title]
    rows += [row for row in read(Repair) if os_title(row.os_id).rstrip("0123456789.") in finding.title]
    if not rows:
        return
    changed = _with_line(lines, finding, f"RUN {rows[0].command}", after_from=True)
    # Packages that bring repositories of their own bring them with the mirrors that have ended.
    later = [at for at, line in enumerate(changed) if _MORE_SOURCES.search(line) and not line.startswith("#")]
    for at in reversed(later):
        end = end_of(changed, at)
        if any(_YUM.search(line) for line in (changed[at].partition("centos-release-")[2], *changed[at + 1 : end + 1])):
            return  # the same instruction installs from them: a line after it comes too late
        changed = [*changed[: end + 1], f"RUN {rows[0].command}", *changed[end + 1 :]]
    yield changed, f"pointed {_manager(rows[0])} to the archive of {os_title(rows[0].os_id).split()[0]}"


def _manager(row: Repair) -> str:
    return "yum" if "/etc/yum" in row.command else "apt"


# ---- commands


def _with_lists(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Iterator[tuple[Sequence[str], str]]:
    index = line_of(finding) - 1
    changed = _INSTALLS.sub(lambda found: f"{found[1]} update && {found[0]}", lines[index], count=1)
    if changed != lines[index]:
        yield other_line(lines, index, changed), f"added apt-get update to line {index + 1}"


def _other_script(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Iterator[tuple[Sequence[str], str]]:
    """The get-pip.py for the Python that the finding names."""
    python = Version.find(finding.title)
    for index, line in enumerate(lines):
        if python is not None and _SCRIPT in line and "://" in line and "/pip/" not in line:
            name = f"/pip/{python.release(2)}{_SCRIPT}"
            yield (
                other_line(lines, index, line.replace(_SCRIPT, name, 1)),
                f"chose get-pip.py for Python {python.release(2)}",
            )


def _without_variable(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Iterator[tuple[Sequence[str], str]]:
    """Without the ENV that hides the GPU, where it sets nothing else."""
    index = line_of(finding) - 1
    words = lines[index].split()
    alone = len(words) == 2 or (len(words) == 3 and "=" not in words[1])  # ENV NAME=value, ENV NAME value
    if words and words[0].upper() == "ENV" and alone and not CONTINUED.search(lines[index]):
        yield [*lines[:index], *lines[index + 1 :]], f"removed {words[1].partition('=')[0]}"


def _without_driver(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Iterator[tuple[Sequence[str], str]]:
    """Without the package of the driver; of one that brings CUDA as well, the toolkit is left."""
    name, index = finding.subject.partition(": ")[2], line_of(finding) - 1
    both = _WITH_DRIVER.fullmatch(name)
    if both is not None:
        toolkit = f"cuda-toolkit{both['release'] or ''}"
        line = re.sub(rf"(?<![\w.+=-]){re.escape(name)}(?![\w.+=-])", toolkit, lines[index], count=1)
        if line != lines[index]:
            yield other_line(lines, index, line), f"{REPLACED}{name}{WITH}{toolkit}"
        return
    changed = None if name.endswith(".run") else without_word(lines, index, name)  # a command
    if changed is not None:
        yield changed, f"removed {name}"


def _companions(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Iterator[tuple[Sequence[str], str]]:
    """The release of a package that its remedy names, with the suffix of the one that is asked for."""
    index = line_of(finding) - 1
    named = _PINNED.match(finding.subject.partition(": ")[2])
    release = _RELEASE.match(finding.remedy.advice if finding.remedy is not None else "")
    if named is None or release is None or named[0] not in lines[index]:
        return
    suffix = next((found["version"].partition("+")[2] for line in lines for found in _TORCH.finditer(line)), "")
    tail = f"+{suffix}" if suffix and "+" in named["version"] and "+" not in release[2] else ""
    if normalized(release[1].partition("[")[0]) == normalized(named["name"]):
        other = f"{named['name']}=={release[2]}{tail}"
        yield other_line(lines, index, lines[index].replace(named[0], other, 1)), f"{REPLACED}{named[0]}{WITH}{other}"


def _clash_settled(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Iterator[tuple[Sequence[str], str]]:
    yield from _companions(lines, finding, matrix)
    yield from companion_bounded(lines, finding, matrix)


def _either(*several: Repairs) -> Repairs:
    def each(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Iterator[tuple[Sequence[str], str]]:
        for one in several:
            yield from one(lines, finding, matrix)

    return each


_REPAIRS: Mapping[str, Repairs] = {
    image_faults.BASE_GONE.id: _either(owner_named, other_tag, other_image),
    image_faults.CUDA_MISSING.id: fuller_tag,
    image_faults.CUDNN_MISSING.id: fuller_tag,
    image_faults.CUDNN_DIFFERS.id: _either(other_cudnn, fuller_tag),
    image_stops.APT_KEY_ROTATED.id: key_fetched,
    image_faults.DRIVER_INSIDE.id: _without_driver,
    image_faults.GLIBC_TOO_OLD.id: older_installer,
    image_faults.GPU_HIDDEN.id: _without_variable,
    image_faults.REQUIREMENTS_CLASH.id: _clash_settled,
    image_faults.PYTHON_WITHOUT_PACKAGE.id: other_system,
    image_stops.APT_WITHOUT_PACKAGE.id: _either(name_replaced, other_system),
    image_stops.APT_ASKS.id: answered,
    image_stops.PACKAGE_REFUSES.id: _either(name_replaced, pip_renewed, tools_added, switch_renamed),
    image_stops.PIP_OUTDATES_ITSELF.id: pip_bounded,
    image_stops.PROGRAM_MISSING.id: program_added,
    image_stops.COMMANDS_JOINED.id: _either(joined_apart, instruction_apart),
    image_faults.FRAMEWORK_VERSION.id: index_chosen,
    image_stops.APT_LISTS_MISSING.id: _with_lists,
    image_stops.ARCHIVE_GONE.id: _to_the_archive,
    image_stops.COMPILER_MISSING.id: compiler_added,
    image_stops.CONDA_TERMS.id: older_installer,
    image_stops.INSTALLER_REFUSES.id: _other_script,
    image_stops.TORCH_HIDDEN.id: not_isolated,
    image_stops.TOOL_OPTION.id: option_put_right,
    image_stops.PATH_EXISTS.id: link_replaces,
    image_stops.WORD_UNKNOWN.id: _either(read_by_bash, word_put_right, written),
    image_stops.LIBRARY_MISSING.id: without_windows,
}
