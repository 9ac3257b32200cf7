"""Where a list names folders of the machine on which it was frozen, as pip does in an environment of conda."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from envkit._startup.regex import regex
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import stop, subject_of
from envkit.dockerfile.packages import ListFile

# The folders in which conda's packages are built, and those of people; no image has them.
_FOLDER = regex(
    r"(?s).{0,200} @ file:///(?:home/[\w.-]{1,60}/(?:feedstock_root|[\w./-]{0,100}conda)|croot/|tmp/build/|tmp/abs_"
    r"|work/ci_py|private/tmp/|Users/|[A-Za-z]:/|opt/conda/conda-bld/|b/abs_|ci/|perfbuild/|feedstock_root/).*"
)


def is_frozen(name: str) -> bool:
    """True for a requirement that is such a folder."""
    return _FOLDER.fullmatch(name) is not None


def frozen_folder(lists: Iterable[ListFile]) -> Iterator[Finding]:
    """The first of them, at which pip stops."""
    found = next((one for one in lists if is_frozen(one.name)), None)
    if found is not None:
        name = found.name.partition(" @ ")[0]
        yield stop(
            faults.LIST_MISSING,
            f"{name} refers to a directory on the machine where the list was made",
            subject_of(found.line, found.name),
            impact="The build stops with: No such file or directory.",
            fix="Regenerate the list with releases instead of directories: pip list --format=freeze.",
        )
