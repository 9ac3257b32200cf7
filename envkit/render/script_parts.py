"""What the templates of the install script get: the typed steps by kind, and what the tables say of them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from envkit._startup.records import record, types_of
from envkit.base.versions import Version
from envkit.install.model import (
    AddRepository,
    ApplyPatch,
    CreatePython,
    DriverPackage,
    FetchFile,
    FetchParts,
    Installation,
    InstallCudnn,
    InstallDriver,
    InstallFramework,
    InstallPrerequisites,
    InstallToolkit,
    LinkToolkit,
    Need,
    Step,
    Verify,
    WriteModule,
)
from envkit.install.repository import repository_row
from envkit.tables import Matrix
from envkit.tables.images import repair
from envkit.tables.installer import FailureRow, GlibcRow, NameRow, PlaceRow, StyleRow, space, style_of, unfit_glibc
from envkit.tables.loader import read

T = TypeVar("T")
_UNPACKED = 4  # times the size of its archive, at most, is what a part takes: an estimate


@record
class Watched:
    """A folder that an installer changes besides its own, how deep, and why it is looked at."""

    path: str
    depth: int
    why: str


@record
class Installers:
    """What is known of the installers that the steps start: their logs, their failures, the traces they leave."""

    logs: tuple[str, ...]
    failures: tuple[FailureRow, ...]
    compile_failures: tuple[FailureRow, ...]
    watched: tuple[Watched, ...]
    stale_log: str | None  # a file that makes the installer crash where it lies about
    unfit_glibc: tuple[GlibcRow, ...]  # from which on the headers do not compile, newest first
    names: tuple[NameRow, ...]  # what a killed step may have put into the plan's own directories


@record
class SpaceNeed:
    """Bytes that a step takes in a folder; WORK is one that is given back."""

    step: str
    folder: str
    bytes: int


@record
class Space:
    """Bytes by what they are for, and by step in the order of the steps."""

    work: int
    cudnn: int
    conda: int
    needs: tuple[SpaceNeed, ...]


@record
class ScriptParts:
    """The steps of an installation by kind, and what goes with them. Each field is a name in the templates."""

    needs: tuple[Need, ...]
    needed: tuple[tuple[str, tuple[str, ...]], ...]  # package manager, names of all the packages
    fetches: tuple[FetchFile, ...]
    unverified: tuple[FetchFile, ...]  # those without a published checksum
    driver: InstallDriver | None
    repository: AddRepository | None
    repository_known: bool  # whether an option could add it
    driver_packages: tuple[str, ...]
    other_drivers: tuple[str, ...]
    toolkit: InstallToolkit | None
    runfile: InstallToolkit | None  # the toolkit, where a runfile provides it
    fetch_parts: FetchParts | None
    nvcc_versions: tuple[tuple[Version, Version], ...]  # nvcc's own version, release: those of the toolkit's line
    patches: tuple[ApplyPatch, ...]
    cudnn: InstallCudnn | None
    link: LinkToolkit | None
    python: CreatePython | None
    frameworks: tuple[InstallFramework, ...]
    modules: tuple[WriteModule, ...]
    verify: Verify | None
    installer: Installers
    space: Space
    uses_packages: bool
    archive: str | None  # for an ended release: what points its lists of repositories in $LISTS to the archive
    uses_work_dir: bool
    writable: tuple[str, ...]  # folders, as bash variables
    closing: tuple[str, ...]


def named_fields(parts: ScriptParts) -> dict[str, Any]:
    """The fields by name, as a template takes them."""
    return {name: getattr(parts, name) for name in types_of(ScriptParts)}


def script_parts(work: Installation) -> ScriptParts:
    """The parts of the script for these steps."""
    steps = work.steps
    driver, toolkit = _only(steps, InstallDriver), _only(steps, InstallToolkit)
    python, frameworks = _only(steps, CreatePython), _all(steps, InstallFramework)
    modules = _all(steps, WriteModule)
    prerequisites = _only(steps, InstallPrerequisites)
    needs = prerequisites.needs if prerequisites else ()
    room = _space(steps)
    return ScriptParts(
        needs=needs,
        needed=tuple(_needed(needs)),
        fetches=_all(steps, FetchFile),
        unverified=tuple(one for one in _all(steps, FetchFile) if not one.download.checksum),
        driver=driver,
        repository=_only(steps, AddRepository),
        repository_known=repository_row(work.plan.choice) is not None,
        driver_packages=tuple(map(_driver_package, driver.packages if driver else ())),
        other_drivers=tuple(map(_driver_package, driver.others if driver else ())),
        toolkit=toolkit,
        runfile=_of_runfile(toolkit),
        fetch_parts=_only(steps, FetchParts),
        nvcc_versions=tuple(_nvcc_versions(toolkit)) if toolkit else (),
        patches=_all(steps, ApplyPatch),
        cudnn=_only(steps, InstallCudnn),
        link=_only(steps, LinkToolkit),
        python=python,
        frameworks=frameworks,
        modules=modules,
        verify=_only(steps, Verify),
        installer=_installers(driver, toolkit, _only(steps, CreatePython)),
        space=room,
        uses_packages=bool(needs) or driver is not None,
        archive=_archive(work.os.os_id) if work.os else None,
        uses_work_dir=any(need.folder == "WORK" for need in room.needs),
        writable=(
            *(name for part, name in ((toolkit, "$TOOLKIT_DIR"), (python, "$ENV_DIR")) if part),
            *(module.path for module in modules),
        ),
        closing=(*_closing(toolkit, python, frameworks), *(f"Module: {module.title}" for module in modules)),
    )


def _all(steps: Sequence[Step], kind: type[T]) -> tuple[T, ...]:
    return tuple(step for step in steps if isinstance(step, kind))


def _only(steps: Sequence[Step], kind: type[T]) -> T | None:
    return next(iter(_all(steps, kind)), None)


def _archive(os_id: str) -> str | None:
    """The repair of the system's image, on copies of its lists."""
    command = repair(os_id)
    return command.replace(" /etc/yum.repos.d/", ' "$LISTS"/') if command else None


def _needed(needs: Sequence[Need]) -> Iterator[tuple[str, tuple[str, ...]]]:
    managers = dict.fromkeys(manager for need in needs for manager, _ in need.packages)
    for manager in managers:
        names = [name for need in needs for one, found in need.packages if one == manager for name in found]
        yield manager, tuple(dict.fromkeys(names))


def _nvcc_versions(toolkit: InstallToolkit) -> Iterator[tuple[Version, Version]]:
    for row in Matrix.load().toolkits:
        if row.release == toolkit.release and row.nvcc is not None:
            yield row.nvcc, row.version


def _of_runfile(toolkit: InstallToolkit | None) -> InstallToolkit | None:
    return None if toolkit is None or toolkit.parts else toolkit


def _by_runfile(driver: InstallDriver | None) -> bool:
    return driver is not None and bool(driver.file or driver.chosen_path)


def _driver_package(package: DriverPackage) -> str:
    """`first branch|last branch|module stream|names`, as the script reads it."""
    stream = f"nvidia-driver:{package.stream}" if package.stream else ""
    names = " ".join(package.names).replace("{version}", "@VERSION@")
    return f"{package.first_branch or ''}|{package.last_branch or ''}|{stream}|{names}"


def _installers(
    driver: InstallDriver | None, toolkit: InstallToolkit | None, python: CreatePython | None
) -> Installers:
    by_runfile, places = _of_runfile(toolkit), {"toolkit": toolkit, "environment": python}
    own = style_of(by_runfile.toolkit.installer_style) if by_runfile else None
    # what a CUDA runfile starts for its driver is the driver's own installer, too
    styles = dict.fromkeys([*(["package"] if _by_runfile(driver) else []), *([own.style] if own else [])])
    return Installers(
        logs=tuple(log for style in styles for log in style_of(style).log),
        failures=tuple(row for row in read(FailureRow) if row.style in ("all", *styles)),
        compile_failures=tuple(row for row in read(FailureRow) if row.style == "nvcc"),
        watched=tuple(_watched(own)) if own else (),
        stale_log=own.stale_log if own else None,
        unfit_glibc=unfit_glibc(toolkit.toolkit.version) if toolkit and toolkit.has_compiler else (),
        names=tuple(row for row in read(NameRow) if places[row.place]),
    )


def _watched(style: StyleRow) -> Iterator[Watched]:
    yield from (Watched(row.path, row.depth, row.why) for row in read(PlaceRow))
    yield from (Watched(log, 0, "its log") for log in style.log)


def _space(steps: Sequence[Step]) -> Space:
    toolkit, by_runfile = _of_runfile(_only(steps, InstallToolkit)), _by_runfile(_only(steps, InstallDriver))
    cuda = toolkit.toolkit.version if toolkit else None
    work = space("work", cuda) if toolkit or by_runfile else 0
    cudnn, conda = space("cudnn", None), space("conda", None)
    return Space(work, cudnn, conda, tuple(_space_needs(steps, work, cudnn, conda)))


def _space_needs(steps: Sequence[Step], work: int, cudnn: int, conda: int) -> Iterator[SpaceNeed]:
    """What the steps that take room take, in their order."""
    toolkit, python = _of_runfile(_only(steps, InstallToolkit)), _only(steps, CreatePython)
    parts = _only(steps, FetchParts)
    cuda = toolkit.toolkit.version if toolkit else None
    if parts:
        packed = sum(part.bytes for part in parts.parts)
        yield SpaceNeed("fetch-parts", "$CACHE_DIR", packed)
        yield SpaceNeed("toolkit", "$TOOLKIT_DIR", packed * _UNPACKED)
    if toolkit:
        yield SpaceNeed("fetch-toolkit", f"$CACHE_DIR/{toolkit.file.name}.part", space("download", cuda))
    if _by_runfile(_only(steps, InstallDriver)):
        yield SpaceNeed("driver", "WORK", work)
    if toolkit:
        yield SpaceNeed("toolkit", "$TOOLKIT_DIR", space("toolkit", cuda))
        yield SpaceNeed("toolkit", "WORK", work)
        yield from (SpaceNeed(f"patch-{patch.order}", "WORK", work) for patch in _all(steps, ApplyPatch))
    if _only(steps, InstallCudnn):
        yield from (SpaceNeed("cudnn", folder, cudnn) for folder in ("$TOOLKIT_DIR", "WORK"))
    if python:
        yield SpaceNeed("python", "$ENV_DIR", space("environment", _newest_cuda(_all(steps, InstallFramework))))
        if python.way == "conda":
            yield SpaceNeed("python", "WORK", conda)


def _newest_cuda(frameworks: Sequence[InstallFramework]) -> Version | None:
    """The newest CUDA that one of them is built for; None where one does not say it."""
    found = [framework.cuda for framework in frameworks]
    known = [cuda for cuda in found if cuda is not None]
    return max(known) if known and len(known) == len(found) else None


def _closing(
    toolkit: InstallToolkit | None, python: CreatePython | None, frameworks: Sequence[InstallFramework]
) -> Iterator[str]:
    if toolkit:
        yield f"CUDA: {toolkit.path} (settings for a shell: . {shlex.quote(f'{toolkit.path}/envkit.sh')})"
    if python:
        yield f"Python: {_shell_words(python)}"
    yield from (f"{one.title}: {one.advice}." for one in frameworks if one.advice)


def _shell_words(python: CreatePython) -> str:
    """How a shell comes to this Python; micromamba's environments have no script `activate` of their own."""
    if python.way == "conda":
        return f"{python.path}/bin/python (its pip: {python.path}/bin/python -m pip)"
    return f". {shlex.quote(python.path)}/bin/activate"
