"""Finds the requirements files that a Dockerfile names among the files next to it, and reads their lines."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator

from envkit._startup.records import record, replace
from envkit._startup.regex import regex
from envkit.dockerfile.copies import Copies

Reader = Callable[[str], str | None]

_COMMENT = regex(r"(?:^|(?<=\s))#.*$")
_OPTION = regex(r"(--[\w-]+|-\w)[\s=]*(.*)")
_OPTIONS_OF_ONE = regex(r"\s--?[a-z].*$")
_NAMES_A_FILE = frozenset({"-r", "--requirement", "-c", "--constraint"})


def nothing_beside(name: str) -> str | None:
    """The reader where no files are available."""
    return None


@record
class Lists:
    """Reads files by the names that the RUN of one line of a stage gives them.

    `beside` reads one by the name that it has next to the Dockerfile; `folder`: where the commands before went (cd).
    """

    copies: Copies
    stage: int
    line: int
    beside: Reader
    folder: str = ""

    def within(self, folder: str) -> Lists:
        """The same after `cd folder`."""
        return replace(self, folder=posixpath.normpath(posixpath.join(self.folder, folder or "~")))

    def read(self, name: str) -> str | None:
        """The text of the file; None for an address, for one that nothing puts there, and where two may be meant."""
        if "://" in name:
            return None
        for origin in self.copies.origins(self.stage, self.line, posixpath.join(self.folder, name)):
            text = origin.body if origin.body is not None else self._beside(origin.place)
            if text is not None or origin.certain:
                return text
        if self.folder:
            return None
        found = [self._beside(place) for place in dict.fromkeys(self.copies.likely(self.stage, self.line, name))]
        texts = [text for text in found if text is not None]
        return texts[0] if len(texts) == 1 else None

    def _beside(self, place: str) -> str | None:
        return self.beside(place) if place and "://" not in place else None


@record
class ListLine:
    """One line of a requirements file, or several that backslashes join, without its comment."""

    number: int
    option: str  # '' for a requirement
    value: str  # of the option; the requirement without options of its own


def list_lines(text: str) -> Iterator[ListLine]:
    """The lines of a requirements file that say something, as pip reads them."""
    for number, whole in _joined(text.lstrip("\ufeff").splitlines()):
        line = _COMMENT.sub("", whole).strip()
        if not line:
            continue
        if not line.startswith("-"):
            yield ListLine(number, "", _OPTIONS_OF_ONE.sub("", line).rstrip())
            continue
        found = _OPTION.fullmatch(line)
        yield ListLine(number, found[1], found[2].strip("\"' ")) if found else ListLine(number, line, "")


def _joined(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Each line with its number and those that continue it."""
    held: list[str] = []
    number = 0
    for number, raw in enumerate(lines, 1):
        held.append(raw.removesuffix("\\"))
        if not raw.endswith("\\"):
            yield number - len(held) + 1, "".join(held)
            held = []
    if held:
        yield number - len(held) + 1, "".join(held)


def list_words(text: str, name: str) -> Iterator[str]:
    """The lines of a requirements file as the words of a command; files that it names are those next to it."""
    for line in list_lines(text):
        if not line.option:
            yield line.value
            continue
        yield line.option
        if line.value:
            beside = line.option in _NAMES_A_FILE
            yield posixpath.join(posixpath.dirname(name), line.value) if beside else line.value
