"""Which Python the image of a Dockerfile has, as far as the file tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from envkit.image.containerfile_base import Base
from envkit.image.containerfile_script import Mention, Script
from envkit.regex import regex
from envkit.versions import Version

_PACKAGE = regex(r"\bpython(\d\.\d+)(?:-(?:venv|dev|distutils|pip|full))?\b")
_CALLED = regex(r"\bpython(\d\.\d+) -m (?:pip|venv|virtualenv)")
_MADE = regex(
    r"(?:--python[= ]|python install (?:cpython-)?|pyenv (?:install|global) (?:-\w+ )*|\b[Cc]?[Pp]ython-)[\"']?"
    r"(\d\.\d+)"
)
_OF_CONDA = regex(r"\bpython[= ]+=?(\d\.\d+)")
_CONDA = regex(r"conda|mamba|miniforge")
_IMAGE = regex(r"(?:^|/)python:(\d\.\d+)")
_MAJOR = regex(r"\b(?:python|pip)(\d)")
_TAG_WORD = regex(r"(?:^|[-_])py(?:thon)?(\d)\.?(\d+)\b")


def python_of(base: Base, own: Script, copied: Script, images: Iterable[str]) -> Version | None:
    """The Python that pip runs with: `own` are the commands of the image itself, `copied` those of the other stages.

    `images` are those that the stages start from whose Python packages are copied.
    """
    conda = _CONDA.search(base.repository) is not None or any(script.search(_CONDA) for script in (own, copied))
    told = next(filter(None, _told(own, copied, conda)), None)
    if told is not None:
        return Version.parse(told.match[1])
    image = next(filter(None, map(_IMAGE.search, (f"{base.repository}:{base.tag}", *images))), None)
    if image is not None:
        return Version.parse(image[1])
    named = {mention.match[1] for mention in own.all(_PACKAGE)}
    if named:
        return Version.parse(named.pop()) if len(named) == 1 else None
    return _of_base(base, own, conda)


def _told(own: Script, copied: Script, conda: bool) -> Iterator[Mention | None]:
    """Where a Python's version is told, the nearest to what runs first."""
    if conda:  # the environments of the image itself come before those that another stage hands over
        yield own.search(_OF_CONDA)
        yield copied.search(_OF_CONDA)
    yield own.search(_CALLED)
    yield own.search(_MADE)
    yield copied.search(_MADE)


def _of_base(base: Base, own: Script, conda: bool) -> Version | None:
    if base.own is not None and base.own.python is not None:
        return base.own.python.release(2)
    word = _TAG_WORD.search(base.tag)
    if word:
        return Version.of(int(word.group(1)), int(word.group(2)))
    if conda or base.repository.rpartition("/")[2] == "python":  # its own Python, whose version is not told
        return None
    default = base.system.default_python if base.system else None
    if default is None or any(int(mention.match[1]) > default.major for mention in own.all(_MAJOR)):
        return None  # a second Python of the distribution, whose version is not told
    return default.release(2)
