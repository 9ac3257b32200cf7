"""Which Python the image of a Dockerfile has, and which one a command means; None wherever that is not certain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.dockerfile.base import Base
from envkit.dockerfile.python_steps import Callers, callers_of
from envkit.dockerfile.script import Mention, Script
from envkit.dockerfile.stages import BuildStage
from envkit.tables.codes import limit
from envkit.tables.known_images import image_name

_PACKAGE = regex(r"\bpython(\d)\.?(\d{1,2})(?:-(?:venv|dev|devel|distutils|pip|full))?\b")
_MADE = regex(
    r"(?:--python[= ]|python install (?:cpython-)?|pyenv (?:install|global) (?:-\w+ )*|\b[Cc]?[Pp]ython-"
    r"|\bpython(?=\d\.\d+ -m (?:venv|virtualenv)\b)|\bpython(?=\d\.\d+ \S*get-pip\.py))[\"']?(\d)\.(\d+)"
)
_LINKED = regex(r"(?m)^(?:sudo )?(?:ln|update-alternatives|alternatives) .*?\b(?:python|pip)(\d)\.?(\d{1,2})\b")
# What gives `python` alone to one of them.
_PLAIN = regex(
    r"(?m)^(?:sudo )?(?:ln|update-alternatives) [^\n]*?"
    r"(?:python(\d)\.(\d+) \S*/python(?: |$)|/python python \S*/python(\d)\.(\d+)\b)"
)
_OF_CONDA = regex(r"(?<![\w.-])python[= ]+=?(\d)\.(\d+)")
_CONDA = regex(r"conda|mamba|miniforge")
_MAJOR = regex(r"\b(?:python|pip)(\d)")
_TAG = regex(r"(\d)\.(\d+)")
_TAG_WORD = regex(r"(?:^|[-_])py(?:thon)?(\d)\.?(\d+)\b")
_OF_CALLER = regex(r"\b(?:python|pip)-?(\d)\.(\d+)\b")
_SECOND = regex(r"\b(?:python|pip)2\b")
_WITHOUT_MAJOR = regex(r"(?:^|[ /])(?:python|pip)(?: |$)")
# What gives `pip` and `python` to a Python 2, on systems that have both.
_TWO = regex(r"\bpython-(?:pip|dev|setuptools|virtualenv)\b|\bpython \S*get-pip\.py")


@record
class Pythons:
    """The Python of the image, and the one that `pip` and `python` without a number are."""

    default: Version | None
    plain: Version | None
    callers: Callers | None = None  # what the names mean at each command, where that can be followed
    told: Pythons | None = None  # by the words of the commands alone: for a name that none of them makes

    def of(self, caller: str, command: tuple[int, ...] = ()) -> Version | None:
        """The one that a tool runs with, called like that by a command: `python3.8 -m pip`, `/opt/venv/bin/pip`."""
        told = _OF_CALLER.search(caller)
        if told is not None:
            return _version(told.groups())
        if _SECOND.search(caller):
            return limit("last-python-2")
        if self.callers is not None and command:
            if self.told is not None and not self.callers.follow(caller, command):
                return self.told.of(caller)
            return self.callers.of(caller, command)
        return self.plain if _WITHOUT_MAJOR.search(caller) else self.default


def pythons_of(
    base: Base, own: Script, copied: Script, images: Iterable[str], chain: Iterable[BuildStage] = ()
) -> Pythons:
    """What is known about them: `own` are the commands of the image itself, `copied` those of the other stages.

    `images` are those that the stages start from whose Python packages are copied, `chain` the stages of the image.
    """
    told = _told_by_words(base, own, copied, images)
    callers = callers_of(base, chain)
    return told if callers is None else Pythons(callers.last, callers.last, callers, told)


def _told_by_words(base: Base, own: Script, copied: Script, images: Iterable[str]) -> Pythons:
    default = _default(base, own, copied, images)
    unsure = default is not None and default.major > 2 and own.search(_TWO) is not None
    named = {_version(filter(None, mention.match.groups())) for mention in own.all(_PLAIN)}
    if named:
        return Pythons(default, named.pop() if len(named) == 1 else None)
    return Pythons(default, None if unsure else default)


def _version(parts: Iterable[str]) -> Version:
    return Version.of(*map(int, parts))


def _default(base: Base, own: Script, copied: Script, images: Iterable[str]) -> Version | None:
    conda = _CONDA.search(base.repository) is not None or any(script.search(_CONDA) for script in (own, copied))
    told = next(filter(None, _told(own, copied, conda)), None)
    if told is not None:
        return _version(told.match.groups())
    for repository, tag in ((base.repository, base.tag), *map(_parts, images)):
        found = _TAG.match(tag) if repository == "python" else None
        if found is not None:
            return _version(found.groups())
    return _of_system(base, own, conda)


def _parts(image: str) -> tuple[str, str]:
    name = image_name(image)
    return name.repository, name.tag


def _told(own: Script, copied: Script, conda: bool) -> Iterator[Mention | None]:
    """Where a Python's version is stated; the statement nearest to what runs comes first."""
    if conda:  # the environments of the image itself come before those that another stage hands over
        yield own.search(_OF_CONDA)
        yield copied.search(_OF_CONDA)
    yield own.search(_MADE)
    yield copied.search(_MADE)


def _of_system(base: Base, own: Script, conda: bool) -> Version | None:
    """The Python of the base or its distribution, where no second one is installed; that which links then name."""
    usual = _of_base(base, own, conda)
    added = {_version(mention.match.groups()) for mention in own.all(_PACKAGE)} - {usual}
    if not added:
        return usual
    linked = {_version(mention.match.groups()) for mention in own.all(_LINKED)}
    return linked.pop() if len(linked) == 1 else None


def _of_base(base: Base, own: Script, conda: bool) -> Version | None:
    if base.own is not None and base.own.python is not None:
        return base.own.python.release(2)
    word = _TAG_WORD.search(base.tag)
    if word:
        return _version(word.groups())
    if conda or base.repository.rpartition("/")[2] == "python":  # its own Python, whose version is not told
        return None
    default = base.system.default_python if base.system else None
    if default is None or any(int(mention.match[1]) > default.major for mention in own.all(_MAJOR)):
        return None  # a second Python of the distribution, whose version is not told
    return default.release(2)
