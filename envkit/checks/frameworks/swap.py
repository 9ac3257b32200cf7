"""The commands that put one build of a framework in the place of another: only what has to change is touched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.base.settings import Mirrors
from envkit.base.versions import cuda_tag
from envkit.checks.engine.command import NAME, PATH, REQUIREMENT, URL, WHEEL, Command, Word, run
from envkit.checks.frameworks.installs import Installed, distribution, local_tag, pip, release
from envkit.model import PythonEnvironment

if TYPE_CHECKING:
    from envkit.solver.model import Choice
    from envkit.solver.pip_calls import PipInstall
    from envkit.tables.rows import FrameworkBuild

# What conda keeps next to the framework's own package: companions, and what chooses the CPU or the CUDA build.
_CONDA_NAMES = {"torch": "pytorch"}  # pip's name of a framework whose package has another name in conda
_CONDA_TOO = ("torchvision", "torchaudio", "cpuonly", "pytorch-cuda", "tensorflow-base")
_LINE = regex(r"(?P<name>[A-Za-z0-9._-]+)(?P<extra>\[[^\]]*\])?(?:==(?P<release>[0-9][A-Za-z0-9.]*)(?:\+.*)?)?")


@record
class _Wanted:
    """A requirement by its parts; `release` is '' for anything but an exact one."""

    line: str
    name: str
    release: str
    extra: bool

    @classmethod
    def of(cls, line: str) -> _Wanted:
        match = _LINE.match(line)
        if match is None:
            return cls(line, line, "", extra=False)
        exact = match.end() == len(line)
        return cls(line, match["name"], (match["release"] or "") if exact else "", bool(match["extra"]))


def swap(
    found: Installed, choice: Choice, also_removed: Iterable[str] = (), *, bundled: bool = False
) -> tuple[Command, ...]:
    """Remove what pip would keep although it is another build of the same release, then install what is not there.

    `also_removed` are packages that write the same files. `bundled`: a program brought all companions, told or not.
    """
    build = choice.builds[0]
    calls = _calls(choice)
    own = _Wanted.of(build.package or "").name
    wanted = [_Wanted.of(line) for call in calls for line in call.requirements]
    left = {one.line for one in wanted if one.name != own and not bundled and _left_alone(found.python, one, build)}
    gone = [*also_removed, *(one.name for one in wanted if one.line not in left and _in_the_way(found, one))]
    if own in gone:  # what came with it is of its kind too
        gone += [
            one.name
            for one in wanted
            if one.release and one.name not in gone and (bundled or not _told(found.python, one))
        ]
    installed = _name(found)
    only_told = installed == _CONDA_NAMES.get(own) and not any(
        item.name == installed for item in found.python.distributions
    )
    if installed not in (own, *gone) and not only_told:  # in words, torch is called PyTorch
        gone.append(installed)
    return (*_removal(found.python, dict.fromkeys(gone)), *_installs(found.python, calls, left))


def anew(python: PythonEnvironment, choice: Choice) -> tuple[Command, ...]:
    """Install what was chosen into an environment of which nothing is known."""
    return tuple(_installs(python, _calls(choice), set()))


def _calls(choice: Choice) -> tuple[PipInstall, ...]:
    from envkit.solver.pip_calls import pip_calls

    return pip_calls(choice, Mirrors(), with_libraries=not choice.needs_toolkit)


def pip_installs(choice: Choice) -> bool:
    """True where pip provides every build that was chosen."""
    from envkit.solver.pip_calls import installed_by_pip

    return all(installed_by_pip(build, choice) for build in choice.builds)


def _left_alone(python: PythonEnvironment, wanted: _Wanted, build: FrameworkBuild) -> bool:
    """A companion that fits already, or that a list of the packages does not hold.

    Words name some packages and leave others out: only what an installer recorded is such a list.
    """
    if not wanted.release:
        return False
    have = distribution(python, wanted.name)
    if have is None and _is_the_build(wanted, build):
        return False
    if have is None:
        return _told(python, wanted) and not any(item.name == wanted.name for item in python.distributions)
    tag = cuda_tag(build.cuda) if build.cuda is not None else "cpu"
    fits = (tag,) if build.index_url or build.find_links else (tag, "")
    return str(release(have.version)) == wanted.release and local_tag(have.version) in fits


def _is_the_build(companion: _Wanted, build: FrameworkBuild) -> bool:
    """True for the part that makes the build one for CUDA, where the framework's own line does not: jaxlib."""
    return "+" in companion.line and "+" not in (build.package or "") and not build.index_url


def _told(python: PythonEnvironment, wanted: _Wanted) -> bool:
    """Whether it is known if a package is installed, and in which release."""
    return any(item.installer or item.name == wanted.name for item in python.distributions)


def _in_the_way(found: Installed, wanted: _Wanted) -> bool:
    """True where pip would take the installed package for the wanted one: the same release of another build."""
    have = distribution(found.python, wanted.name)
    version = have.version if have is not None else found.framework.version if wanted.name == _name(found) else ""
    return bool(wanted.release) and not wanted.extra and str(release(version)) == wanted.release


def _name(found: Installed) -> str:
    return _Wanted.of(found.framework.package).name


def _removal(python: PythonEnvironment, names: Iterable[str]) -> Iterator[Command]:
    """Remove packages by the installer that owns them: pip leaves conda's files alone."""
    by_conda = {item.name for item in python.distributions if item.installer == "conda"}
    conda, own = [], []
    for name in names:
        theirs = _CONDA_NAMES.get(name, name)
        if distribution(python, name) is None and (theirs in by_conda or name in by_conda):
            conda.append(theirs if theirs in by_conda else name)
        else:
            own.append(name)
    if conda:
        place = ("-p", PATH(python.prefix)) if python.prefix else ()  # without one conda takes the one it is in
        too = [also for also in _CONDA_TOO if also in by_conda and also not in conda]
        yield run("conda", "remove", "-y", *place, *map(NAME, conda), *too)
    if own:
        yield pip(python, "uninstall", "-y", *map(NAME, own))


def _installs(python: PythonEnvironment, calls: Iterable[PipInstall], left: set[str]) -> Iterator[Command]:
    for call in calls:
        words = [_word(line) for line in call.requirements if line not in left]
        if words:
            yield pip(python, "install", *words, *place_words(call.index_url, call.find_links))


def _word(line: str) -> Word:
    return WHEEL(line) if "://" in line else REQUIREMENT(line)


def place_words(index_url: str | None, find_links: str | None) -> tuple[Word, ...]:
    """The options of pip that name where a build is found; none for one on the Python package index."""
    return (
        *(("--index-url", URL(index_url)) if index_url else ()),
        *(("-f", URL(find_links)) if find_links else ()),
    )
