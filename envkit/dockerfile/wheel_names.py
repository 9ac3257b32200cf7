"""What the file name of a wheel says: package, version, and the Pythons that it installs on."""

from __future__ import annotations

from functools import cache
from urllib.parse import unquote

from envkit._startup.records import record
from envkit.base.sentences import series
from envkit.base.versions import Version


@record
class Wheel:
    """A wheel that is named by its address or path; `tags` are pairs of interpreter and ABI: (cp310, cp310)."""

    file: str
    folder: str
    name: str
    version: str  # with its local part: 2.1.0+cu121
    tags: frozenset[tuple[str, str]]

    def installs_on(self, python: Version) -> bool:
        """True when pip of that CPython takes the wheel, as far as interpreter and ABI go (PEP 425)."""
        return not self.tags.isdisjoint(_tags_of(python))

    @property
    def interpreters(self) -> str:
        """The interpreters that the name gives, in words: cp39, or py2 and py3."""
        return series(sorted({interpreter for interpreter, _ in self.tags}))


def wheel(text: str) -> Wheel | None:
    """The wheel that an address, a path or `name @ address` names; None for anything else."""
    if ".whl" not in text:
        return None
    from packaging.utils import InvalidWheelFilename, parse_wheel_filename

    address = unquote(text.rpartition(" @ ")[2].partition("#")[0].partition("?")[0].strip())
    folder, _, file = address.rpartition("/")
    try:
        name, version, _, tags = parse_wheel_filename(file)
    except InvalidWheelFilename:
        return None
    return Wheel(file, folder, name, str(version), frozenset((tag.interpreter, tag.abi) for tag in tags))


@cache
def _tags_of(python: Version) -> set[tuple[str, str]]:
    from packaging.tags import compatible_tags, cpython_tags

    numbers = python.major, python.minor
    own = f"cp{python.major}{python.minor}"
    abis = [f"{own}{flags}" for flags in ("", "m", "mu")]  # with pymalloc, and with wide Unicode: older than 3.8
    tags = {*cpython_tags(numbers, abis, ["any"]), *compatible_tags(numbers, own, ["any"])}
    return {(tag.interpreter, tag.abi) for tag in tags}
