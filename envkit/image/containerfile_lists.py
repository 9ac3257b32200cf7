"""Finds the requirements files that a Dockerfile names among the files beside it, and reads their lines."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator

from envkit.image.containerfile import BuildStage, Instruction
from envkit.image.heredocs import heredocs
from envkit.regex import regex

Reader = Callable[[str], str | None]

_COMMENT = regex(r"(?m)(?:^|\s+)#.*$")
_CONTINUED = regex(r"\\\n")
_OPTION = regex(r"(--[\w-]+|-\w)[\s=]*(.*)")
_OPTIONS_OF_ONE = regex(r"\s--?[a-z].*$")
_NAMES_A_FILE = frozenset({"-r", "--requirement", "-c", "--constraint"})


def nothing_beside(name: str) -> str | None:
    """The reader where no files are at hand."""
    return None


def list_reader(stages: Iterable[BuildStage], beside: Reader) -> Reader:
    """Reads a file by the name that it has inside the image; `beside` by the one that it has beside the Dockerfile."""
    copies = [part for stage in stages for part in stage.instructions if part.keyword in ("COPY", "ADD")]

    def read(name: str) -> str | None:
        for copy in copies:
            body = _written_out(copy, name)
            if body is not None:
                return body
        for place in dict.fromkeys(_places(copies, name)):
            text = beside(posixpath.normpath(place))
            if text is not None:
                return text
        return None

    return read


def _written_out(copy: Instruction, name: str) -> str | None:
    """The body of the heredoc that a COPY makes that file of."""
    *sources, target = copy.text.split() or [""]
    if len(sources) != 1 or len(copy.heredocs) != 1 or not list(heredocs(sources[0])):
        return None
    return copy.heredocs[0] if posixpath.basename(target) == posixpath.basename(name) else None


def _places(copies: Iterable[Instruction], name: str) -> Iterator[str]:
    """Where the file may lie beside the Dockerfile, the likeliest place first."""
    base = posixpath.basename(name)
    for copy in copies:
        *sources, target = copy.text.split() or [""]
        if "from" in copy.flags:
            continue
        for source in sources:
            if posixpath.basename(source) == base:
                yield source
            elif not posixpath.isabs(name):
                yield posixpath.join(source, name)
            elif posixpath.isabs(target) and name.startswith(f"{target.rstrip('/')}/"):
                yield posixpath.join(source, posixpath.relpath(name, target))
    if not posixpath.isabs(name):
        yield name
    yield base  # a file that RUN mounts, or that an earlier instruction put elsewhere


def list_words(text: str, name: str) -> Iterator[str]:
    """The lines of a requirements file as the words of a command; files that it names are those beside it."""
    for line in _COMMENT.sub("", _CONTINUED.sub("", text)).splitlines():
        if not line.strip():
            continue
        if not line.lstrip().startswith("-"):
            yield _OPTIONS_OF_ONE.sub("", line.strip())
            continue
        found = _OPTION.fullmatch(line.strip())
        option, value = (found[1], found[2].strip("\"' ")) if found else (line.strip(), "")
        yield option
        if value:
            yield posixpath.join(posixpath.dirname(name), value) if option in _NAMES_A_FILE else value
