"""What the rules on stopped builds know of one stage: its base, its certain commands, what it and those below tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.dockerfile.base import Base, base_of
from envkit.dockerfile.clones import Clones, clones_of
from envkit.dockerfile.contents import Contents, copied_images, parts_of, script_of
from envkit.dockerfile.packages import ListFile, Package
from envkit.dockerfile.python import Pythons, pythons_of
from envkit.dockerfile.reader import COPIES, Instruction
from envkit.dockerfile.script import Script
from envkit.dockerfile.shell import ShellCommand, called
from envkit.dockerfile.shell_words import Word
from envkit.dockerfile.specifiers import is_bounded
from envkit.dockerfile.stages import (
    BuildStage,
    by_name,
    environments_of,
    final_chain,
    needed_stages,
    with_parents,
)
from envkit.tables.known_images import PYTHON_REPOSITORY, image_name
from envkit.tables.loader import read

if TYPE_CHECKING:
    from envkit.tables import Matrix

# A conda that may bring another Python.
_CONDA = r"(?<!which )conda(?! (?:clean|config|info|list)\b)"
SOURCES = regex(
    r"(?m)^(?!(?:sudo )?rm )[^\n]*(?:add-apt-repository (?!.*deadsnakes)|sources\.list|/etc/(?:apt|yum)|\.deb\b"
    r"|apt-key|keyring|archive\.debian|vault\.|old-releases)"
)
# What a file may tell anywhere before a command, and what then leaves a rule in doubt.
_TELLS = {
    "leave": regex(r"(?i)break.system.packages|EXTERNALLY-MANAGED"),
    "python": regex(
        r"(?i)-m venv|virtualenv|\buv (?:venv|python|sync|run|init)\b|UV_PYTHON\b|mamba|miniforge|pyenv"
        rf"|{_CONDA}"
        r"|deadsnakes|Python-\d|activate"
    ),
    "environment": regex(
        r"(?i)-m venv|virtualenv|\buv (?:venv|python|sync|run|init)\b|UV_PYTHON\b|mamba|miniforge|pyenv"
        rf"|{_CONDA}"
        r"|Python-\d|activate"
    ),
    "compiler": regex(r"cuda-toolkit|cuda-nvcc|cuda-compiler|nvidia-cuda-|cuda-\d|cuda_\d|conda|mamba|SKIP_CUDA"),
    "deadsnakes": regex(r"deadsnakes"),
    "sources": SOURCES,
    # The same without those that only name another mirror of the distribution.
    "repositories": regex(
        r"(?m)^(?!(?:sudo )?rm )(?!(?:sudo )?sed (?![^\n]*(?:archive\.debian|old-releases|vault\.))[^\n]*"
        r"(?:archive\.ubuntu|deb\.debian|security\.(?:debian|ubuntu)|ports\.ubuntu))"
        r"[^\n]*(?:add-apt-repository (?!.*deadsnakes)|sources\.list|/etc/(?:apt|yum)|\.deb\b|apt-key|keyring"
        r"|archive\.debian|vault\.|old-releases)"
    ),
    "key": regex(
        r"(?i)apt-key|keyring|3bf863cc|sources\.list\.d|/etc/apt(?!/sources\.list\b(?!\.d))|trusted="
        r"|allow-?(?:unauthenticated|insecure)"
    ),
    "terms": regex(
        r"(?i)tos accept|ACCEPT_TOS|override-channels|nodefaults|condarc|channels defaults|default_channels|miniforge"
    ),
    "pip": regex(
        r"(?m)python[\d.]*-(?:pip|full)\b|\bpy\d?-pip\b|get-pip|ensurepip|\.sh\b|^(?:sudo )?make\b|ansible|pipx|pipenv"
        r"|poetry|tox\b|xargs|easy_install|\basdf\b|(?<!-1_all)\.deb\b|\buv\b"  # but of NVIDIA's cuda-keyring
    ),
    "get-pip": regex(r"get-pip"),
    "assume-yes": regex(r"(?i)assume-yes|assumeyes|apt\.conf"),
    "sha1": regex(r"(?i)sequoia|sha1"),
    "smi": regex(r"/nvidia-smi|nvidia-utils"),
    "anaconda": regex(r"(?:Mini|Ana)conda3-latest-"),
}
APT = ("apt-get", "apt", "aptitude")
_PIP = regex(r"(?:.*/)?pip[\d.]*")
_VERBS = frozenset({"update", "upgrade", "dist-upgrade", "full-upgrade", "install"})
_PACKAGES = regex(r"/(?:dist|site)-packages/?$")
_PROJECT = frozenset({".", "./"})
_SCRIPT = regex(r"\.sh\b")
# Folders that nobody has on PATH unless ENV says so.
_OWN_FOLDER = regex(r"(?:\./|/(?:app|src|code|workspace|models?|data|build|ComfyUI)(?:/|$))(?!.*(?:env|bin))")
_TEXTS = (*COPIES, "ARG", "ENV")


class OfSystem(Protocol):
    """A row that says which distribution it is of."""

    @property
    def os_id(self) -> str:
        """The distribution: ubuntu22.04."""


R = TypeVar("R", bound=OfSystem)


@record
class Step:
    """A command that certainly runs, and what it installs."""

    command: ShellCommand
    packages: tuple[Package, ...]
    place: tuple[int, ...] = ()  # tells the commands of a file apart
    clones: tuple[Word, ...] = ()  # the addresses of the repositories that it installs from their clones, or by a list

    @property
    def of_apt(self) -> tuple[Word, ...]:
        """What apt is asked to install, options too; nothing in any other command."""
        return arguments(self.command, APT, ("install",)) or ()


@record
class Ground:
    """One stage: `tells` are the names of what it or a stage below it says."""

    base: Base
    steps: tuple[Step, ...]
    tells: frozenset[str]
    environment: Mapping[str, str]
    pythons: Pythons
    first: bool  # it starts from an image itself
    commands: tuple[ShellCommand, ...]  # all of them, those that run in some cases only too
    unread: tuple[ListFile, ...]  # lists and projects whose packages are not known, of all stages
    addresses: tuple[str, ...]  # that it names in ADD and RUN
    texts: tuple[str, ...]  # of its RUNs
    copies: tuple[tuple[int, str], ...] = ()  # line and text of each COPY and ADD
    instructions: tuple[Instruction, ...] = ()
    outer: frozenset[str] = frozenset()  # the arguments that are declared before the first FROM
    place: int = 0  # the number of the stage
    last: bool = True  # the image is made of it, not only of what is copied from it

    @property
    def reads_unseen(self) -> bool:
        """True where packages come from a list or a project that was not read."""
        return bool(self.unread)

    @property
    def reads_list(self) -> bool:
        """True where such packages come from more than the project itself."""
        return any(one.name not in _PROJECT for one in self.unread)

    def of_system(self, table: type[R]) -> tuple[R, ...]:
        """The rows of a table by distribution for that of the image; none where it is not known."""
        system = self.base.system
        return tuple(row for row in read(table) if system is not None and row.os_id == system.os_id)

    @property
    def plain(self) -> bool:
        """True for an image of a distribution, or one of nvidia/cuda: what it has of Python is the distribution's."""
        return self.base.of_distribution

    @property
    def of_python(self) -> bool:
        """True for an image of Python's own project."""
        return self.base.repository == PYTHON_REPOSITORY

    @property
    def lean(self) -> bool:
        """True for a plain image, and for one of Python's own project that has no more packages than that."""
        return self.plain or (self.of_python and "slim" in self.base.tag.split("-"))

    @property
    def stock(self) -> bool:
        """True for an image that has no Python packages but those that come with Python."""
        return self.plain or self.of_python

    @property
    def has_apt(self) -> bool:
        """True where the image is known to be of a distribution with apt."""
        return self.base.system is not None and self.base.system.package_manager == "apt"

    @property
    def written(self) -> tuple[str, ...]:
        """The texts of its RUNs, and of each COPY and ADD."""
        return (*self.texts, *(text for _, text in self.copies))

    @property
    def specs(self) -> dict[str, str]:
        """The packages that the commands install, each with what is asked of its release."""
        return {normalized(one.name): one.spec for step in self.steps for one in step.packages}

    @property
    def bounded(self) -> set[str]:
        """The packages of which some command bounds or pins the release."""
        return {normalized(one.name) for step in self.steps for one in step.packages if is_bounded(one.spec)}


def grounds(stages: tuple[BuildStage, ...], found: Contents, matrix: Matrix) -> Iterator[Ground]:
    """Those of the stages that the image needs, each after the one that it starts from."""
    installed = _by_command((*found.packages, *found.elsewhere))
    listed = _repositories(found.lists)
    made: dict[int, Ground] = {}
    cloned: dict[int, Clones] = {}
    names = by_name(stages)
    image = {stage.index for stage in final_chain(stages)}
    environments: dict[int, set[int]] = {}  # from which stages it has Python packages, or the one that it starts from
    for stage in needed_stages(stages):
        below = None if stage.parent is None else made[stage.parent]
        base = base_of(stage, matrix) if below is None else below.base
        script = script_of((stage,))
        chain = final_chain(stages, stage.index)
        inherited = set() if stage.parent is None else environments[stage.parent]
        environments[stage.index] = inherited | environments_of(stage, stages, names)
        brought = with_parents(environments[stage.index], chain, stages)
        cloned[stage.index] = clones_of(stage, Clones() if stage.parent is None else cloned[stage.parent])
        made[stage.index] = Ground(
            base,
            tuple(_steps(stage, installed, cloned[stage.index].installed, listed)),
            _tells(stage, script) | (below.tells if below is not None else frozenset()),
            stage.environment,
            pythons_of(base, script, script_of(brought), [one.image for one in brought], chain),
            below is None,
            tuple(command for part in parts_of((stage,), "RUN") for command in part.commands),
            found.lists,
            tuple(_addresses(stage)),
            tuple(part.text for part in parts_of((stage,), "RUN")),
            tuple((part.line, part.text) for part in parts_of((stage,), *COPIES)),
            stage.instructions,
            stage.outer,
            stage.index,
            stage.index in image,
        )
        yield made[stage.index]


def may_bring_pip(ground: Ground, line: int) -> bool:
    """True where an instruction that starts at or before a line, or holds it, may put a pip into the image."""
    before = [part for part in ground.instructions if part.line <= line]
    copied = any(_may_hold_programs(part.text, ground.environment) for part in before if "from" in part.flags)
    run = (" ".join(command.words) for command in ground.commands if command.line <= line)
    return copied or any(_TELLS["pip"].search(text) for text in (*run, *(part.text for part in before)))


def is_pip(word: str) -> bool:
    """True for pip by whichever of its names and paths: pip, pip3.11, /opt/venv/bin/pip."""
    return _PIP.fullmatch(word) is not None


def arguments(command: ShellCommand, tools: Iterable[str], verbs: Iterable[str]) -> tuple[Word, ...] | None:
    """The words after the verb where the command calls one of the tools with one of the verbs; None elsewhere.

    Of several verbs the first is the one: the others are its arguments.
    """
    words = called(command)
    if not words or words[0].rpartition("/")[2] not in tools:
        return None
    at = next((at for at, word in enumerate(words) if at > 0 and (word in verbs or word in _VERBS)), None)
    return words[at + 1 :] if at is not None and words[at] in verbs else None


def _addresses(stage: BuildStage) -> Iterator[str]:
    for part in parts_of((stage,), "ADD"):
        yield from (word for word in part.text.split() if "://" in word)
    for part in parts_of((stage,), "RUN"):
        yield from (word for command in part.commands for word in command.words if "://" in word)


def _by_command(packages: Sequence[Package]) -> dict[tuple[int, ...], list[Package]]:
    found: dict[tuple[int, ...], list[Package]] = {}
    for package in packages:
        found.setdefault(package.command, []).append(package)
    return found


def _repositories(lists: Iterable[ListFile]) -> dict[tuple[int, ...], list[Word]]:
    """The addresses of repositories that each command installs, those in lists too."""
    found: dict[tuple[int, ...], list[Word]] = {}
    for one in lists:
        if "git+" in one.name and ";" not in one.name:
            found.setdefault(one.command, []).append(Word.at(one.line, one.name))
    return found


def _steps(
    stage: BuildStage,
    installed: Mapping[tuple[int, ...], list[Package]],
    cloned: Mapping[tuple[int, ...], tuple[Word, ...]],
    listed: Mapping[tuple[int, ...], list[Word]],
) -> Iterator[Step]:
    for part in parts_of((stage,), "RUN"):
        for number, command in enumerate(part.commands):
            if not command.conditional:
                place = (stage.index, part.line, number)
                of_lists = [word for word in listed.get(place, ()) if word not in command.words]
                yield Step(command, tuple(installed.get(place, ())), place, (*cloned.get(place, ()), *of_lists))


def _may_hold_programs(copied: str, environment: Mapping[str, str]) -> bool:
    """True where what is copied from a stage may put a pip into a folder of PATH."""
    target = copied.split()[-1].strip("\"'],") if copied else "$"
    if _PACKAGES.search(target) is not None:
        return False
    folder = target.rstrip("/")
    on_path = any(one.startswith(folder) for one in environment.get("PATH", "").split(":") if one)
    return on_path or not _OWN_FOLDER.match(target)


def _tells(stage: BuildStage, script: Script) -> frozenset[str]:
    texts = [part.text for part in parts_of((stage,), *_TEXTS)]
    if script.search(_SCRIPT) is None:  # what is copied is for the start of the image
        texts = [_SCRIPT.sub("", text) for text in texts]
    told = {
        name
        for name, pattern in _TELLS.items()
        if script.search(pattern) is not None or any(pattern.search(text) for text in texts)
    }
    copied = [part.text for part in parts_of((stage,), "COPY") if "from" in part.flags]
    told |= {"copied"} if copied else set()
    told |= {"pip"} if any(_may_hold_programs(text, stage.environment) for text in copied) else set()
    images = (image for _, image in copied_images((stage,)))
    if any(not image_name(image).repository.endswith("/uv") for image in images):
        told |= {"python"}
    mounts = [part.flags["mount"] for part in parts_of((stage,), "RUN") if "mount" in part.flags]
    told |= (
        {"bind"}
        if any("type=cache" not in one and "type=secret" not in one or "bind" in one for one in mounts)
        else set()
    )
    told |= {f"--{flag}" for part in parts_of((stage,), "RUN") for flag in part.flags}
    if any("cuda" in part.text for part in parts_of((stage,), *COPIES)):
        told |= {"compiler"}
    return frozenset(told)


_ALONE = frozenset({"--no-deps"})


def alone(made: Iterable[Ground]) -> frozenset[tuple[int, ...]]:
    """The commands that install packages without what those require."""
    steps = (step for ground in made for step in ground.steps if not _ALONE.isdisjoint(step.command.words))
    return frozenset(one.command for step in steps for one in step.packages)
