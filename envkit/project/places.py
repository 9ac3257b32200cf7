"""Lines of a text by what is in them, and the places that an index is named by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.base.requirements import requirement
from envkit.dockerfile.packages import ListFile, Package, Places, named
from envkit.dockerfile.shell_words import Word
from envkit.project.model import Item, Unread

NOWHERE = Places("", "", (), "", False)
_WORD = regex(r"[\"']([^\"'\n]+)[\"']")
_NAME = regex(r"(?m)^\s*[\"']?([A-Za-z0-9][\w.-]*)[\"']?\s*=")
_PYTORCH = regex(r"download(?:-r2)?\.pytorch\.org/whl")


def mapping(value: object) -> Mapping[str, Any]:
    """What is in a document where a table is expected; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def entries(value: object) -> list[Any]:
    """What is in a document where a list is expected; a value alone counts as a list of one, none as an empty one."""
    return value if isinstance(value, list) else [] if value in (None, "") else [value]


class Lines:
    """Says on which line something is, for formats whose parser does not: the first line that has it."""

    def __init__(self, text: str) -> None:
        self._quoted: dict[str, int] = {}
        self._keys: dict[str, int] = {}
        for number, line in enumerate(text.splitlines(), 1):
            for word in _WORD.findall(line):
                self._quoted.setdefault(word, number)
            key = _NAME.match(line)
            if key is not None:
                self._keys.setdefault(key[1], number)

    def quoted(self, word: str) -> int:
        """The line of a quoted word; 0 for none."""
        return self._quoted.get(word, 0)

    def key(self, name: str) -> int:
        """The line of `name = …`; 0 for none."""
        return self._keys.get(name, 0)


def is_pytorch(url: str) -> bool:
    """True for one of PyTorch's own indexes."""
    return _PYTORCH.search(url) is not None


def at_index(url: str) -> Places:
    """A place that only this address is; the default index has none, whatever mirror is named for it."""
    return Places(url, "", (), "", "/nightly" in url) if url else NOWHERE


@record
class Source:
    """An index that a project names: `only` for those that are told to use it, `default` in place of the default."""

    url: str
    line: int
    only: bool = False
    default: bool = False

    @property
    def has_own_builds(self) -> bool:
        """True for an index that holds other builds than the default one, as far as its address tells."""
        return "/simple" not in self.url


def places_for(name: str, sources: Mapping[str, Source]) -> tuple[Places, int]:
    """Where a package without a source of its own is looked for, and the line of the address that decides.

    Tools that ask their indexes in order take a package from the first that has it: PyTorch's have PyTorch's alone.
    """
    open_ones = [source for source in sources.values() if not source.only]
    own = next((source for source in open_ones if is_pytorch(source.url)), None)
    if own is not None and normalized(name).startswith(("torch", "triton", "pytorch")):
        return at_index(own.url), own.line
    more = " ".join(source.url for source in open_ones if not source.default and not is_pytorch(source.url))
    return Places("", more, (), "", False), 0


def of_channels(*channels: str) -> Places:
    """Where conda looks for what it installs."""
    return Places("", "", channels, "", False)


def item(
    text: str,
    line: int,
    places: Places,
    *,
    index: str = "pip",
    file: str = "",
    written: str = "",
    group: str = "",
    index_line: int = 0,
) -> Item | Unread | None:
    """What one requirement names; `written`: what is in its line, where that is not the requirement itself."""
    found = named(Word.at(line, text), places, index=index)
    if isinstance(found, Package):
        return Item(found, file, written or text, group, index_line)
    return Unread(line, text, file) if isinstance(found, ListFile) else None


def is_requirement(text: str) -> bool:
    """Whether installers take a text for a requirement."""
    return requirement(text) is not None


def sorted_out(found: Sequence[Item | Unread | None]) -> tuple[tuple[Item, ...], tuple[Unread, ...]]:
    """The packages, and what was not looked at."""
    return (
        tuple([one for one in found if isinstance(one, Item)]),
        tuple([one for one in found if isinstance(one, Unread)]),
    )
