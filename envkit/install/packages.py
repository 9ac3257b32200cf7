"""Which packages of the distribution the steps call."""

from __future__ import annotations

from collections.abc import Iterator

from envkit.base.versions import Version
from envkit.compat.system import other_gcc
from envkit.install.model import CreatePython, FetchFile, FetchParts, InstallPrerequisites, InstallToolkit, Need, Step
from envkit.solver.model import Choice
from envkit.tables.installer import PackageRow, has_quirk
from envkit.tables.loader import read


def prerequisites(choice: Choice, steps: tuple[Step, ...]) -> InstallPrerequisites:
    """The needs of these steps on the plan's distribution; on every known one where it is open."""
    conditions = frozenset(_conditions(choice, steps))
    purposes = dict.fromkeys(row.purpose for row in read(PackageRow))
    values = {
        "python": str(choice.python or ""),
        "python_digits": str(choice.python or "").replace(".", ""),
        "gcc": str(_older_gcc(choice) or ""),
    }
    needs = (_need(purpose, choice, values) for purpose in purposes if _first(purpose).when in conditions)
    return InstallPrerequisites(tuple(need for need in needs if need is not None))


def _conditions(choice: Choice, steps: tuple[Step, ...]) -> Iterator[str]:
    for step in steps:
        if isinstance(step, FetchFile):
            yield "download"
            if step.download.name.endswith(".xz"):
                yield "xz"
            if step.download.name.endswith((".tgz", ".gz")):
                yield "gzip"
        if isinstance(step, FetchParts):
            yield "xz"
        if isinstance(step, CreatePython):
            yield "framework"
            if step.way == "system":
                yield "system-python"
        if isinstance(step, InstallToolkit):
            yield from _of_a_toolkit(step, choice)


def _of_a_toolkit(step: InstallToolkit, choice: Choice) -> Iterator[str]:
    if step.has_compiler:
        yield "toolkit"
        if _older_gcc(choice):
            yield "old-compiler"
    if not step.parts:  # these start no installer
        yield step.toolkit.installer_style
        if step.toolkit.installer_style == "new" and has_quirk("libxml2", step.toolkit.version):
            yield "libxml2"


def _older_gcc(choice: Choice) -> Version | None:
    """The newest gcc on offer that the toolkit accepts, where the distribution's default is none that it does."""
    return other_gcc(choice.os, choice.toolkit) if choice.os and choice.toolkit else None


def _first(purpose: str) -> PackageRow:
    return next(row for row in read(PackageRow) if row.purpose == purpose)


def _need(purpose: str, choice: Choice, values: dict[str, str]) -> Need | None:
    first = _first(purpose)
    os_id = choice.os.os_id if choice.os else ""
    rows = [row for row in read(PackageRow) if row.purpose == purpose and os_id.startswith(row.os_prefix)]
    if choice.os is not None:
        rows = [row for row in rows if row.manager == choice.os.package_manager]
    if not rows:
        return None
    best = {row.manager: row for row in sorted(rows, key=lambda row: len(row.os_prefix))}
    tests = {row.test for row in best.values() if row.test} or {first.test}
    test = sorted(tests, key=lambda text: text == first.test)[0]
    packages = tuple((row.manager, tuple(name.format(**values) for name in row.packages)) for row in best.values())
    return Need(purpose, first.why, test.format(**values), packages)
