"""Which repositories the commands of a stage clone, and which of them a command installs by the folder it is in."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.dockerfile.shell import called
from envkit.dockerfile.shell_words import Word
from envkit.dockerfile.stages import BuildStage

Place = tuple[int, ...]  # stage, line and number of a command
_REPOSITORY = regex(r"(?:git\+)?(?:https?://|git@|git://)[\w.@-]+[:/][\w./-]+")
_EXTRAS = regex(r"(?<=[\w.])\[[^\]]*\]$")
_GIT_VALUE = frozenset({"-b", "--branch", "--depth", "-c", "-j", "--jobs", "--config", "-o", "--origin"})
_LISTS = frozenset({"-r", "--requirement", "-c", "--constraint"})
_INSTALLERS = frozenset({"pip", "pip2", "pip3", "uv"})
_SETUP_VERBS = frozenset({"install", "develop", "bdist_wheel", "build_ext", "build"})
_BUILT = ".whl"  # what an earlier command has built
_FURTHEST_UP = 6  # folders from the one that is installed to the one that was cloned


@record
class Clones:
    """What is known at the end of a stage: its folder, the clones by theirs, and what each command installs of them."""

    folder: str = "/"
    places: Mapping[str, str] = MappingProxyType({})
    installed: Mapping[Place, tuple[Word, ...]] = MappingProxyType({})


def is_of_repository(word: str, repository: str) -> bool:
    """True for an address of `owner/name` on GitHub, as pip and git take it."""
    _, found, rest = word.lower().replace("github.com//", "github.com/").partition(f"github.com/{repository.lower()}")
    return bool(found) and rest.removeprefix(".git")[:1] in ("", "/", "@", "#")


def clones_of(stage: BuildStage, below: Clones) -> Clones:
    """The clones of a stage upon another one; `installed` are the commands of this stage alone."""
    found: dict[Place, tuple[Word, ...]] = {}
    places: dict[str, str] | None = None
    folder = below.folder
    for part in stage.instructions:
        if part.keyword == "WORKDIR":
            folder = part.entered(folder)
        here = folder
        for number, command in enumerate(part.commands if part.keyword == "RUN" else ()):
            words = called(command)
            if words[:1] and words[0] in ("cd", "pushd"):
                here = posixpath.normpath(posixpath.join(here, words[1] if len(words) > 1 else "/root"))
                continue
            for place, address in cloned_from(words, here):
                places = dict(below.places) if places is None else places
                places[place] = address
            known = below.places if places is None else places
            installed = tuple(_installed(words, here, known)) if known else ()
            if installed:
                found[(stage.index, part.line, number)] = installed
    return Clones(folder, below.places if places is None else places, found)


def operands_of_clone(words: Sequence[Word]) -> Iterator[Word]:
    """What a `git clone` is given: the repository, and the folder for it."""
    if words[:1] != ("git",) or "clone" not in words:
        return
    for word, before in zip(words[1:], words, strict=False):
        if not word.startswith("-") and before not in _GIT_VALUE and word != "clone":
            yield word


def cloned_from(words: Sequence[Word], here: str) -> Iterator[tuple[str, str]]:
    """The folder that a `git clone` makes, with its repository."""
    given = list(operands_of_clone(words))
    if given and _REPOSITORY.fullmatch(given[0]):
        name = posixpath.basename(given[0].rstrip("/")).removesuffix(".git")
        yield posixpath.normpath(posixpath.join(here, given[1] if len(given) > 1 else name)), given[0]


def _installed(words: Sequence[Word], here: str, places: Mapping[str, str]) -> Iterator[Word]:
    """The repositories that a command of pip or a setup.py installs."""
    if any(word.rpartition("/")[2] in _INSTALLERS for word in words[:3]) and {"install", "wheel"} & set(words):
        start = next(at for at, word in enumerate(words) if word in ("install", "wheel"))
        pairs = zip(words[start + 1 :], words[start:], strict=False)
        given = (word for word, before in pairs if not word.startswith("-") and before not in _LISTS)
        named = [word for word in given if not word.endswith(_BUILT)]
    elif any(word.endswith("setup.py") for word in words[1:3]) and _SETUP_VERBS & set(words):
        named = [word for word in words[1:3] if word.endswith("setup.py")]
    else:
        return
    for word in named:
        path = _EXTRAS.sub("", word.removeprefix("file://"))
        path = posixpath.dirname(path) if path.endswith("setup.py") else path
        whole = posixpath.normpath(posixpath.join(here, path))
        by_path = word.endswith("setup.py") or word.startswith(".") or "/" in word  # else a package of that name
        address = _of(whole, places) if by_path else places.get(whole)
        if address is not None:
            yield Word.at(word.line, address)


def _of(path: str, places: Mapping[str, str]) -> str | None:
    """The repository that a folder is in."""
    for _ in range(_FURTHEST_UP):
        if path in places:
            return places[path]
        path = posixpath.dirname(path)
    return None
