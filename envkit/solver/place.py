"""Toolkit, system, image and cuDNN of a selection, chosen together: an image holds a toolkit and a system."""

from __future__ import annotations

from functools import cached_property

from envkit import compat as relations
from envkit.base.versions import Version
from envkit.compat import LibraryMatch, needs_system_cuda
from envkit.solver.candidates import LEVEL_ORDER
from envkit.solver.query import Query, cudnn_fits
from envkit.solver.search import Selection
from envkit.tables.rows import CudnnRelease, FrameworkBuild, ImageTag, OperatingSystem, Runfile, Toolkit


class Placer:
    """The places where one selection of builds could be installed."""

    def __init__(self, selection: Selection, query: Query) -> None:
        self.selection = selection
        self.query = query
        self.request = query.request
        self.knowledge = query.knowledge
        self.system_builds = tuple(build for build in selection.builds if needs_system_cuda(build))

    def best(self) -> tuple[Toolkit | None, OperatingSystem | None, ImageTag | None]:
        """The toolkit (None when no system CUDA is needed), system and image that suit the selection best."""
        if self.selection.toolkits is None:
            return (None, *self._system(None))
        places = [(toolkit, *self._system(toolkit)) for toolkit in self.selection.toolkits]
        ranked = [(self._toolkit_rank(*place), place) for place in places]
        best = min(rank for rank, _ in ranked)
        return self._installable([place for rank, place in ranked if rank == best])

    def _installable(
        self, places: list[tuple[Toolkit, OperatingSystem | None, ImageTag | None]]
    ) -> tuple[Toolkit, OperatingSystem | None, ImageTag | None]:
        """Of equal places the newest release line that has an installer, and in it one with a checksum."""
        newest_first = sorted(places, key=lambda place: place[0].version, reverse=True)
        with_runfile = (place for place in newest_first if place[2] or self.runfiles(place[0]))
        first = next(with_runfile, newest_first[0])
        line = [place for place in newest_first if place[0].release == first[0].release]
        return next((place for place in line if place[2] or self._checked(place[0])), first)

    def _checked(self, toolkit: Toolkit) -> bool:
        return any(runfile.sha256 or runfile.md5 for runfile in self.runfiles(toolkit)[:1])

    def _system(self, toolkit: Toolkit | None) -> tuple[OperatingSystem | None, ImageTag | None]:
        """The best system for a toolkit, with its best image."""
        request = self.request
        if request.platform == "windows":
            return None, None
        images = self._images(toolkit) if request.container else {}
        if request.os_id is not None:
            return self.query.system, images.get(request.os_id)
        if not self._offered:
            return None, None
        best = min(self._offered, key=lambda system: self._system_rank(system, toolkit, system.os_id in images))
        return best, images.get(best.os_id)

    @cached_property
    def _offered(self) -> tuple[OperatingSystem, ...]:
        """The systems to choose from, newest first: those whose glibc suits every build."""
        builds, told = self.selection.builds, self.request.glibc
        return tuple(
            system
            for system in self.knowledge.long_term_ubuntus
            if system.glibc is not None
            and all(relations.glibc_match(build, told or system.glibc).fits is not False for build in builds)
        )

    def _system_rank(self, system: OperatingSystem, toolkit: Toolkit | None, has_image: bool) -> tuple[int, ...]:
        cuda_rows = [toolkit] if toolkit else self._wheel_toolkits
        listed = any(system.os_id in (row.os_ids or ()) for row in cuda_rows)
        by_list = toolkit is not None or not self.request.container
        effort = self.knowledge.compiling_effort(system, toolkit) if toolkit else 0
        return (not has_image, effort, by_list and not listed, not self.knowledge.maintained(system))

    @cached_property
    def _wheel_toolkits(self) -> list[Toolkit]:
        cudas = [build.cuda for build in self.selection.builds if build.cuda]
        return [row for cuda in cudas for row in self.knowledge.toolkits(cuda)]

    def _toolkit_rank(
        self, toolkit: Toolkit, system: OperatingSystem | None, image: ImageTag | None
    ) -> tuple[bool | int, ...]:
        wheels = (build.cuda for build in self.selection.builds if build.cuda and build not in self.system_builds)
        return (
            self.request.container and image is None,
            any(relations.toolkit_serves(build, toolkit) is not LibraryMatch.SAME for build in self.system_builds),
            not all(toolkit.version.starts_with(cuda) for cuda in wheels),
            LEVEL_ORDER[self.query.level(toolkit.version)],
            self._off_list(toolkit, system),
        )

    @staticmethod
    def _off_list(toolkit: Toolkit, system: OperatingSystem | None) -> bool:
        """True when the toolkit's complete list of systems leaves this one out."""
        listed = toolkit.os_ids
        return system is not None and listed is not None and toolkit.os_ids_complete and system.os_id not in listed

    def runfiles(self, toolkit: Toolkit) -> tuple[Runfile, ...]:
        """The installers of a toolkit for the target's processor."""
        if self.request.platform == "windows":
            return ()
        return self.knowledge.runfiles(toolkit, self.request.architecture)

    def _images(self, toolkit: Toolkit | None) -> dict[str, ImageTag]:
        """The best supported image of each system: with the toolkit's libraries, or a plain base for a wheel's own."""
        if toolkit is None:
            return self._base_images()
        tags = self.knowledge.images(toolkit)
        if not tags:
            return {}
        flavor = "runtime" if self.selection.builds and not self.request.needs_toolkit else "devel"
        major = self._cudnn_major(toolkit)
        best: dict[str, ImageTag] = {}
        for tag in tags:
            if tag.flavor != flavor or (tag.cudnn and self._image_cudnn(tag, toolkit) != major):
                continue
            held = best.get(tag.os_id)
            if held is None or (tag.cudnn and not held.cudnn):
                best[tag.os_id] = tag
        return best

    def _base_images(self) -> dict[str, ImageTag]:
        """Base images no newer than any wheel's CUDA: a newer one would ask for a newer driver than the wheel."""
        limits = [self._lowest_cuda(build) for build in self.selection.builds if not build.cpu_only]
        limit = min((cuda for cuda in limits if cuda), default=None)
        if limit is None:
            return {}
        best: dict[str, ImageTag] = {}
        for tags in self.knowledge.supported_images.values():
            for tag in tags:
                cuda = tag.cuda
                if cuda is None or tag.flavor != "base" or tag.cudnn or cuda.major != limit.major:
                    continue
                held = best.get(tag.os_id)
                fits = cuda <= limit or cuda.starts_with(limit)
                if fits and (held is None or held.cuda is None or cuda > held.cuda):
                    best[tag.os_id] = tag
        return best

    def _lowest_cuda(self, build: FrameworkBuild) -> Version | None:
        """The lowest CUDA that a build may bring: its own line, or the first of a whole major (12)."""
        if build.cuda is None or len(build.cuda.parts) > 1:
            return build.cuda
        return build.cuda_min or next((row.release for row in self.knowledge.toolkits(build.cuda)), None)

    def _image_cudnn(self, tag: ImageTag, toolkit: Toolkit) -> int | None:
        """The cuDNN major inside an image: `cudnn8` says so, plain `cudnn` is the newest for its CUDA."""
        named = Version.find(tag.cudnn)
        if named is not None:
            return named.major
        newest = self.knowledge.cudnns(toolkit, self.request.architecture)
        return newest[0].soname_major if newest else None

    def wants_cudnn(self) -> bool:
        """True when a system cuDNN belongs to the plan: a build loads it, or a toolkit was all that was asked for."""
        bundled = any(build.bundles_cuda for build in self.selection.builds)
        return bool(self.system_builds) or not bundled or self.request.cudnn is not None

    def cudnn(self, toolkit: Toolkit) -> CudnnRelease | None:
        """The newest cuDNN for the toolkit, request and builds: one that can be fetched, and that knows the GPUs."""
        rows = (row for row in self.knowledge.cudnns(toolkit, self.request.architecture) if self._fits(row))
        return min(rows, key=self._cudnn_rank, default=None)

    def _cudnn_rank(self, row: CudnnRelease) -> tuple[bool, bool, bool]:
        fetched = bool(row.pip_package or (row.url and row.sha256))
        # beside a toolkit it comes as an archive: no script can take it from a package
        return not fetched, row.url is None, not all(answer is True for answer in self._known_gpus(row))

    def _fits(self, row: CudnnRelease) -> bool:
        asked = self.request.cudnn is None or self.request.cudnn.holds(row.version)
        builds = all(cudnn_fits(row.version, build) for build in self.system_builds)
        return asked and builds and False not in self._known_gpus(row)

    def _known_gpus(self, row: CudnnRelease) -> list[bool | None]:
        return [relations.cudnn_knows_gpu(row, gpu.compute_capability) for gpu in self.request.gpus]

    def _cudnn_major(self, toolkit: Toolkit) -> int | None:
        row = self.cudnn(toolkit) if self.wants_cudnn() else None
        return row.soname_major if row else None
