"""The smallest change of a project's file that makes it fit: tried in the order of its size, and judged again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from envkit._startup.records import record, replace
from envkit._startup.regex import regex
from envkit.base.names import normalized, requirement_name
from envkit.base.sentences import series
from envkit.base.versions import Version, cuda_tag, narrowest
from envkit.checks.containers import project_faults as faults
from envkit.checks.engine.findings import Finding, Remedy
from envkit.compat.pairs import allows, pairs_by_package, required
from envkit.dockerfile.clashes import TIED_TO_TORCH, releases_of
from envkit.dockerfile.framework_packages import Wanted
from envkit.dockerfile.specifiers import pinned_release
from envkit.dockerfile.wanted import Problem
from envkit.project.choose import Chosen
from envkit.project.companion_releases import companion_releases, is_installable
from envkit.project.installable import goes_with_the_rest
from envkit.project.judge import Judged, is_fault
from envkit.project.model import Item
from envkit.project.nearest import fitting
from envkit.solver.query import Query
from envkit.tables.pairs import PackagePair
from envkit.tables.rows import FrameworkBuild, framework_title

BY_HAND = ("pixi.toml",)  # which people write, and no change is made in
CHANGEABLE = ("requirements", "pyproject.toml", "Pipfile", "setup.py", "setup.cfg", "environment.yml")
_TORCH = "torch"
_TRIED = 12  # builds of one framework
_VARIANT = regex(r"\bcu\d{2,3}\b")
_QUOTED = regex(r"\"[^\"\n]{1,300}\"|'[^'\n]{1,300}'")
_WRITTEN = regex(r"(?P<name>[A-Za-z0-9][\w.-]*\s?(?:\[[^\]\n]*\])?)[^;]*")
_PYTHON = regex(r"Use Python \d+\.\d+: ")
_NAME = regex(r"[A-Za-z0-9][\w.-]*")

Judge = Callable[[str], Judged]


@record
class Change:
    """The text with which the file fits, and what of it is other; nothing wrong is `left`."""

    text: str
    told: tuple[str, ...]
    ported: str = ""  # what of the project's own code has to change with it
    left: tuple[Finding, ...] = ()


def change_for(kind: str, text: str, judged: Judged, judge: Judge) -> Change | None:
    """The first change with which nothing fails anymore, None where none of those that are tried does."""
    if kind not in CHANGEABLE or not judged.faults:
        return None
    for attempt in (Change(text, ()), *_attempts(kind, text, judged)):
        found = judged if attempt.text == text else judge(attempt.text)
        bounded = _with_numpy(attempt, found)
        if bounded is not None and not judge(bounded.text).faults:
            return _new_alone(bounded, text)
        if attempt.text != text and not found.faults:
            return _new_alone(attempt, text)
        followed = _followed(attempt, found) if attempt.text != text else attempt
        if followed.text != attempt.text and not judge(followed.text).faults:
            return _new_alone(followed, text)
    return None


def _followed(change: Change, judged: Judged) -> Change:
    """The change with that of what then clashes, where nothing else is left to put right."""
    if {fault.id for fault in judged.faults} != {faults.REQUIREMENTS_CLASH.id}:
        return change
    more = _other_companions(change.text, judged)
    return replace(change, text=more.text, told=(*change.told, *more.told))


def _new_alone(change: Change, text: str) -> Change:
    """The change without the words that the file has already."""
    have = {line.strip() for line in text.splitlines()}
    return replace(change, told=tuple(one for one in change.told if one not in have) or change.told)


def _with_numpy(change: Change, judged: Judged) -> Change | None:
    """The change with the NumPy that the frameworks take, where that is all that is left to put right."""
    one = judged.chosen.item_of("numpy")
    bounds = narrowest(build.numpy for _, build in judged.chosen.meant if build.numpy)
    lines = change.text.splitlines(keepends=True)
    if one is None or one.file or not bounds or {fault.id for fault in judged.faults} != {faults.NUMPY.id}:
        return None
    if not 0 < one.package.line <= len(lines):
        return None
    new = _rewritten(one.written, bounds)
    lines[one.package.line - 1] = _line_with(lines[one.package.line - 1], one, new, bounds)
    return replace(change, text="".join(lines), told=(*change.told, new))


def with_change(findings: tuple[Finding, ...], change: Change | None) -> tuple[Finding, ...]:
    """The findings, with the change that takes them away as the fix of each fault."""
    if change is None:
        return findings
    ported = f"{change.ported} " if change.ported else ""
    remedy = Remedy(
        f"Change the file to use {series(change.told)}. {ported}With --fix, this command prints the change as a diff."
    )
    return tuple([_with(one, remedy) if is_fault(one) else one for one in findings])


def _with(one: Finding, remedy: Remedy) -> Finding:
    """A fault with a change as its fix; before it what helps against a pair that is known to break, or a Python."""
    python = one.id == faults.PYTHON_WITHOUT_PACKAGE.id and one.remedy is not None and _PYTHON.match(one.remedy.advice)
    if (python or one.id == faults.KNOWN_TO_BREAK.id) and one.remedy is not None:
        remedy = replace(remedy, advice=f"{one.remedy.advice} Or: {remedy.advice}")
    return replace(one, remedy=remedy)


def _attempts(kind: str, text: str, judged: Judged) -> Iterator[Change]:
    query, have = judged.query, judged.chosen
    yield _other_companions(text, judged)
    for wanted, build in have.builds.items():
        one = have.item_of(wanted.package)
        if one is None or one.file or wanted.tool != "pip":
            continue
        near = fitting(wanted, build, query)
        kept = [other for other in near if _keeps_companions(other, have)] if wanted.package == _TORCH else []
        fit = (other for other in (*kept, *near) if goes_with_the_rest(wanted, other, have))
        found = sorted(islice(dict.fromkeys(fit), _TRIED), key=lambda other: not _is_of_conda(other, wanted, have))
        for other in found:
            if one.index_line and other.index_url and _meets(wanted, build, other):
                yield _other_index(text, one, other)
        for other in found:
            yield _other_release(kind, text, one, other, judged, wanted)


def _keeps_companions(build: FrameworkBuild, have: Chosen) -> bool:
    """Whether a torch is the one that the releases next to it are made for, as the file names them."""
    pinned = (one for one in have.items if normalized(one.package.name) in TIED_TO_TORCH and one.package.spec)
    rows = [found for one in pinned if (found := releases_of(one.package))]
    return bool(rows) and all(allows(found, _TORCH, build.version) for found in rows)


def _other_companions(text: str, judged: Judged) -> Change:
    """The file with other releases of what clashes with its frameworks, which stay as they are."""
    lines, told = text.splitlines(keepends=True), []
    for item, spec in dict(companion_releases(judged.chosen, judged.query)).items():
        at = item.package.line - 1
        if item.file or not 0 <= at < len(lines):
            return Change(text, ())
        local = _local(item, judged.chosen) if not {",", "+"} & set(spec) else ""
        new = _rewritten(item.written, f"{spec}{local}")
        lines[at] = _line_with(lines[at], item, new, f"{spec}{local}")
        told.append(new)
    return Change("".join(lines), tuple(told))


def _local(item: Item, have: Chosen) -> str:
    """The suffix that another release of a package gets: its own, or the CUDA of the torch next to it."""
    own = "".join(item.package.spec.partition("+")[1:])
    torch = have.item_of(_TORCH)
    its = "".join(torch.package.spec.partition("+")[1:]) if torch is not None else ""
    return its if own.startswith("+cu") and its.startswith("+cu") else own


def _is_of_conda(other: FrameworkBuild, wanted: Wanted, have: Chosen) -> bool:
    """Whether a build loads the CUDA that conda is told to provide next to it; True where it brings its own."""
    held = have.contents.conda_cuda
    if held is None or other.cuda is None or other.bundles_cuda or wanted.tool != "pip":
        return True
    return held.version.starts_with(other.cuda) or other.cuda.starts_with(held.version)


def _meets(wanted: Wanted, build: FrameworkBuild | Problem, other: FrameworkBuild) -> bool:
    """Whether another index alone may do: the requirement does not name the build by a suffix."""
    return not wanted.suffix and (not isinstance(build, FrameworkBuild) or build.index_url != other.index_url)


# ---- the text


def _other_index(text: str, one: Item, build: FrameworkBuild) -> Change:
    """The same file with another index, also in the names that tell which it is."""
    lines = text.splitlines(keepends=True)
    old = _VARIANT.search(lines[one.index_line - 1])
    new = _VARIANT.search(build.index_url or "")
    if old is None or new is None or old[0] == new[0]:
        return Change(text, ())

    def renamed(match: object) -> str:
        word = str(match.group())  # type: ignore[attr-defined]  # a match of a regular expression
        return word if word[1:-1] == old[0] else word.replace(old[0], new[0])

    changed = _QUOTED.sub(renamed, text) if '"' in lines[one.index_line - 1] else None
    if changed is None:
        lines[one.index_line - 1] = lines[one.index_line - 1].replace(old[0], new[0])
        changed = "".join(lines)
    return Change(changed, (f"the {new[0]} index instead of {old[0]}",))


def _other_release(kind: str, text: str, one: Item, build: FrameworkBuild, judged: Judged, wanted: Wanted) -> Change:
    """The file with another release, its companions, and its index where that is another."""
    told: list[str] = []
    changed = text
    if build.index_url and one.index_line:
        first = _other_index(text, one, build)
        changed, told = first.text, list(first.told)
    elif build.index_url or build.find_links:
        if kind != "requirements":
            return Change(text, ())
        option = f"--extra-index-url {build.index_url}" if build.index_url else f"--find-links {build.find_links}"
        if option not in text.splitlines():
            changed, told = f"{option}\n{changed}", [option]
    shift = len(changed.splitlines()) - len(text.splitlines())
    suffix = _suffix(build) if kind == "requirements" else ""
    for item, version in _pins(one, build, judged):
        name = normalized(item.package.name)
        own = suffix if name.startswith("torch") and not _is_bare(name, build) else ""
        renamed = _other_name(item, build) if item is one else ""
        new = _rewritten(item.written, f"=={version}{own}", renamed)
        if new == item.written and item is not one:
            continue
        lines = changed.splitlines(keepends=True)
        line = item.package.line + shift
        if not 0 < line <= len(lines):
            return Change(text, ())
        lines[line - 1] = _line_with(lines[line - 1], item, new, f"=={version}{suffix}")
        changed = "".join(lines)
        told.append(new)
    return Change(changed, tuple(told), _ported(wanted, build))


def _ported(wanted: Wanted, build: FrameworkBuild) -> str:
    """That the project's own code is for another major version of a framework, where that is all that is pinned."""
    pin = pinned_release(wanted.spec)
    before = Version.find(pin) if pin is not None else None
    if before is None or before.major == build.version.major or not before.major:
        return ""
    title = framework_title(build.framework)
    return f"Code for {title} {before.major} has to be ported to {title} {build.version.major}{_port_by(build)}."


def _port_by(build: FrameworkBuild) -> str:
    return " (tf.compat.v1 has most of what TensorFlow 1 had)" if build.framework == "tensorflow" else ""


def _pins(one: Item, build: FrameworkBuild, judged: Judged) -> Iterator[tuple[Item, str]]:
    """The items whose version changes with a build: the framework's own, and those that are made for its release."""
    if _named(one.written) == normalized(one.package.name):
        yield one, str(build.version)
    for item in judged.chosen.items:
        package = normalized(item.package.name)
        if package in TIED_TO_TORCH and build.framework == "pytorch" and item.package.spec and not item.file:
            version = _companion(item, build.version, judged.query)
            if version:
                yield item, version


def _named(written: str) -> str:
    """The package that a line names, which may be one that includes the framework."""
    found = _NAME.match(written)
    return normalized(found.group()) if found else ""


def _companion(item: Item, torch: Version, query: Query) -> str:
    """The release of a package that goes with a torch, the wanted one if it does; '' where nothing has to change."""
    kept = [row for row in releases_of(item.package) if _goes_with(row, torch)]
    if kept and not item.package.spec.startswith("=="):
        return ""
    rows = kept or [row for row in pairs_by_package().get(normalized(item.package.name), ()) if _goes_with(row, torch)]
    rows = kept or [row for row in rows if is_installable(row.package, f"=={row.version}", query)]
    return rows[-1].version if rows else ""


def _goes_with(row: PackagePair, torch: Version) -> bool:
    return any(line.package == "torch" and line.spec.holds(torch) for line in required(row))


def _suffix(build: FrameworkBuild) -> str:
    """The suffix of a build next to that of the default index: +cu128; '' where its wheels have none on their page."""
    bare = build.on_pypi or (build.index_url is None and "+" not in (build.package or ""))
    cuda = build.cuda if build.framework == "pytorch" and not bare else None
    return f"+{cuda_tag(cuda)}" if cuda is not None else ""


def _is_bare(name: str, build: FrameworkBuild) -> bool:
    """Whether a companion has no suffix next to a build that has one, as torchaudio before 0.8."""
    lines = [line for line in build.companions if line.startswith(f"{name}==")]
    return "+" in (build.package or "") and bool(lines) and all("+" not in line for line in lines)


def _line_with(line: str, item: Item, new: str, spec: str) -> str:
    """A line with another requirement in place of an item's, or in a table another version."""
    return line.replace(item.written, new, 1) if item.written in line else _value_replaced(line, spec)


def _other_name(item: Item, build: FrameworkBuild) -> str:
    """The name of a build's package where each CUDA has one of its own (cupy-cuda113); '' where it is the same."""
    name = requirement_name(build.package or "")
    return "" if normalized(name) == normalized(item.package.name) or "[" in (build.package or "") else name


def _rewritten(written: str, spec: str, name: str = "") -> str:
    """A requirement with other versions, its extras and marker kept."""
    found = _WRITTEN.match(written)
    if found is None:
        return written
    marker = written[found.end() :]
    return f"{name or found['name'].strip()}{spec}{marker}"


_VALUE = regex(r"^([^=\n]*=\s*(?:\{[^}\n]*?version\s*=\s*)?)([\"'])[^\"'\n]*([\"'])")


def _value_replaced(line: str, spec: str) -> str:
    """A line `name = "^2.0"` or `name = {version = "^2.0", …}` with other versions."""
    return _VALUE.sub(lambda match: f"{match[1]}{match[2]}{spec}{match[3]}", line, count=1)
