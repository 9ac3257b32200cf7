"""Toolkit, system, image and cuDNN of a selection, chosen together: an image holds a toolkit and a system."""

from __future__ import annotations

from collections.abc import Iterator

from envkit.base.versions import Version
from envkit.compat.software import LibraryMatch, cudnn_knows_gpu, glibc_match, toolkit_serves
from envkit.solver.candidates import LEVEL_ORDER
from envkit.solver.query import Query, cudnn_fits
from envkit.solver.search import Selection
from envkit.tables.rows import CudnnRelease, FrameworkBuild, ImageTag, OperatingSystem, Runfile, Toolkit

System = tuple["OperatingSystem | None", "ImageTag | None"]  # None: not chosen; the plain system without an image


def choose_system(selection: Selection, query: Query) -> tuple[Toolkit | None, OperatingSystem | None, ImageTag | None]:
    """The toolkit (None when no system CUDA is needed), system and image that suit the selection best."""
    offered = _offered(selection, query)
    if selection.toolkits is None:
        return (None, *_system(None, offered, selection, query))
    places = [(toolkit, *_system(toolkit, offered, selection, query)) for toolkit in selection.toolkits]
    ranked = [(_toolkit_rank(*place, selection, query), place) for place in places]
    best = min(rank for rank, _ in ranked)
    return _installable([place for rank, place in ranked if rank == best], query)


def _installable(
    places: list[tuple[Toolkit, OperatingSystem | None, ImageTag | None]], query: Query
) -> tuple[Toolkit, OperatingSystem | None, ImageTag | None]:
    """Of equal places the newest release line that has an installer, and in it one with a checksum."""
    newest_first = sorted(places, key=lambda place: place[0].version, reverse=True)
    if query.request.cuda is None:  # of one that has just come out the driver is not known yet
        newest_first = [place for place in newest_first if place[0].minimum_driver] or newest_first
    with_runfile = (place for place in newest_first if place[2] or runfiles_for(place[0], query))
    first = next(with_runfile, newest_first[0])
    line = [place for place in newest_first if place[0].release == first[0].release]
    return next((place for place in line if place[2] or _is_checked(place[0], query)), first)


def runfiles_for(toolkit: Toolkit, query: Query) -> tuple[Runfile, ...]:
    """The installers of a toolkit for the target's processor."""
    request = query.request
    return () if request.platform == "windows" else query.knowledge.runfiles(toolkit, request.architecture)


def _is_checked(toolkit: Toolkit, query: Query) -> bool:
    return any(runfile.sha256 or runfile.md5 for runfile in runfiles_for(toolkit, query)[:1])


# ---- the system


def _offered(selection: Selection, query: Query) -> tuple[OperatingSystem, ...]:
    """The systems to choose from, newest first: those whose glibc suits every build."""
    told = query.request.glibc
    return tuple(
        system
        for system in query.knowledge.long_term_ubuntus
        if system.glibc is not None
        and all(glibc_match(build, told or system.glibc).fits is not False for build in selection.builds)
    )


def _system(
    toolkit: Toolkit | None, offered: tuple[OperatingSystem, ...], selection: Selection, query: Query
) -> System:
    """The best system for a toolkit, with its best image."""
    request = query.request
    if request.platform == "windows":
        return None, None
    images = _images(toolkit, selection, query) if request.container else {}
    if request.os_id is not None:
        return query.system, images.get(request.os_id)
    if not offered:
        return None, None
    rows = [toolkit] if toolkit else _wheel_toolkits(selection, query)
    by_list = toolkit is not None or not request.container

    def rank(system: OperatingSystem) -> tuple[int, ...]:
        listed = any(system.os_id in (row.os_ids or ()) for row in rows)
        effort = query.knowledge.compiling_effort(system, toolkit) if toolkit else 0
        return system.os_id not in images, effort, by_list and not listed, not query.knowledge.maintained(system)

    best = min(offered, key=rank)
    return best, images.get(best.os_id)


def _wheel_toolkits(selection: Selection, query: Query) -> list[Toolkit]:
    return [row for build in selection.builds if build.cuda for row in query.knowledge.toolkits(build.cuda)]


_SERVICE = list(LibraryMatch)  # best first


def _toolkit_rank(
    toolkit: Toolkit, system: OperatingSystem | None, image: ImageTag | None, selection: Selection, query: Query
) -> tuple[int, ...]:
    loading = selection.system_builds
    wheels = (build.cuda for build in selection.builds if build.cuda and build not in loading)
    listed = toolkit.os_ids
    return (
        query.request.container and image is None,
        max((_SERVICE.index(toolkit_serves(build, toolkit)) for build in loading), default=0),
        not all(toolkit.version.starts_with(cuda) for cuda in wheels),
        LEVEL_ORDER[query.level(toolkit.version)],
        system is not None and listed is not None and toolkit.os_ids_complete and system.os_id not in listed,
    )


# ---- the image


def _images(toolkit: Toolkit | None, selection: Selection, query: Query) -> dict[str, ImageTag]:
    """The best supported image of each system: with the toolkit's libraries, or a plain base for a wheel's own."""
    if toolkit is None:
        return _base_images(selection, query)
    tags = query.knowledge.images(toolkit)
    if not tags:
        return {}
    flavor = "runtime" if selection.builds and not query.request.needs_toolkit else "devel"
    row = cudnn_for(toolkit, selection, query)
    major = row.soname_major if row else None
    best: dict[str, ImageTag] = {}
    for tag in tags:
        if tag.flavor != flavor or (tag.cudnn and _image_cudnn(tag, toolkit, query) != major):
            continue
        held = best.get(tag.os_id)
        if held is None or (tag.cudnn and not held.cudnn):
            best[tag.os_id] = tag
    return best


def _base_images(selection: Selection, query: Query) -> dict[str, ImageTag]:
    """Base images no newer than any wheel's CUDA: a newer one would ask for a newer driver than the wheel."""
    limits = [_lowest_cuda(build, query) for build in selection.builds if not build.cpu_only]
    limit = min((cuda for cuda in limits if cuda), default=None)
    best: dict[str, ImageTag] = {}
    for tag in _plain_bases(query) if limit else ():
        cuda, held = tag.cuda, best.get(tag.os_id)
        if limit is None or cuda is None or cuda.major != limit.major:
            continue
        fits = cuda <= limit or cuda.starts_with(limit)
        if fits and (held is None or held.cuda is None or cuda > held.cuda):
            best[tag.os_id] = tag
    return best


def _plain_bases(query: Query) -> Iterator[ImageTag]:
    for tags in query.knowledge.supported_images.values():
        yield from (tag for tag in tags if tag.flavor == "base" and not tag.cudnn)


def _lowest_cuda(build: FrameworkBuild, query: Query) -> Version | None:
    """The lowest CUDA that a build may provide: its own line, or the first of a whole major (12)."""
    if build.cuda is None or len(build.cuda.parts) > 1:
        return build.cuda
    return build.cuda_min or next((row.release for row in query.knowledge.toolkits(build.cuda)), None)


def _image_cudnn(tag: ImageTag, toolkit: Toolkit, query: Query) -> int | None:
    """The cuDNN major inside an image: `cudnn8` says so, plain `cudnn` is the newest for its CUDA."""
    named = Version.find(tag.cudnn)
    if named is not None:
        return named.major
    newest = query.knowledge.cudnns(toolkit, query.request.architecture)
    return newest[0].soname_major if newest else None


# ---- cuDNN


def cudnn_for(toolkit: Toolkit, selection: Selection, query: Query) -> CudnnRelease | None:
    """The newest cuDNN for the toolkit, request and builds: one that can be fetched, and that knows the GPUs.

    None where no system cuDNN belongs to the plan: one does where a build loads it, where it is asked for, and where a
    toolkit was all that was asked for.
    """
    bundled = any(build.bundles_cuda for build in selection.builds)
    if bundled and not selection.system_builds and query.request.cudnn is None:
        return None
    rows = query.knowledge.cudnns(toolkit, query.request.architecture)
    fitting = (row for row in rows if _cudnn_fits(row, selection, query))
    return min(fitting, key=lambda row: _cudnn_rank(row, query), default=None)


def _cudnn_rank(row: CudnnRelease, query: Query) -> tuple[bool, bool, bool]:
    fetched = bool(row.pip_package or (row.url and row.sha256))
    # next to a toolkit it comes as an archive: no script can take it from a package
    return not fetched, row.url is None, not all(answer is True for answer in _known_gpus(row, query))


def _cudnn_fits(row: CudnnRelease, selection: Selection, query: Query) -> bool:
    asked = query.request.cudnn is None or query.request.cudnn.holds(row.version)
    builds = all(cudnn_fits(row.version, build) for build in selection.system_builds)
    return asked and builds and False not in _known_gpus(row, query)


def _known_gpus(row: CudnnRelease, query: Query) -> list[bool | None]:
    return [cudnn_knows_gpu(row, gpu.compute_capability) for gpu in query.request.gpus]
