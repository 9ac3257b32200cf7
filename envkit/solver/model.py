"""A plan: chosen versions with the verdict on each relation; or why there is none and what is nearest."""

from __future__ import annotations

from collections.abc import Mapping

from envkit._startup.records import field, record
from envkit.base.versions import Version
from envkit.compat.verdict import Verdict
from envkit.solver.request import Request
from envkit.tables.rows import (
    CudnnRelease,
    FrameworkBuild,
    FrameworkImage,
    ImageTag,
    OperatingSystem,
    PythonSource,
    Runfile,
    Toolkit,
)


@record
class Conflict:
    """Two parts of a request that cannot both be had."""

    between: tuple[str, ...]
    detail: str
    sources: tuple[str, ...] = ()  # keys of `sources.csv`
    parts: tuple[str, ...] = ()  # the reasons at the end of a long `detail`, as in `Verdict`


@record
class Alternative:
    """A change of the request that gives a plan, and what it provides. Keys are request options."""

    changes: Mapping[str, str]
    gain: str


@record
class Choice:
    """The versions that work together; the rows they come from travel along for the renderers."""

    architecture: str
    cuda: Version | None = None  # full toolkit version 9.0.176; the wheel's own CUDA line when no toolkit is needed
    toolkit: Toolkit | None = None
    runfiles: tuple[Runfile, ...] = ()  # toolkit then patches, in order; empty: no runfile for this architecture
    cudnn: CudnnRelease | None = None
    cudnn_version: Version | None = None  # also where the wheel provides it
    python: Version | None = None
    python_source: PythonSource | None = None
    os: OperatingSystem | None = None
    builds: tuple[FrameworkBuild, ...] = ()
    base_image: ImageTag | None = None  # supported nvidia/cuda tag; None: the plain distribution image
    minimum_driver: Version | None = None
    first_driver_of: str = ""  # the GPU that asks for it, where no CUDA of the choice needs one as new
    needs_toolkit: bool = False  # a system CUDA toolkit has to be installed
    framework_images: tuple[FrameworkImage, ...] = ()  # their own projects' for the builds without a package
    pins: tuple[str, ...] = ()  # requirements next to the builds', which pip would meet with a release too new

    def own_image(self, build: FrameworkBuild) -> str | None:
        """The whole name of the image that a build without a package comes as."""
        names = (
            f"{image.repository}:{image.tag}"
            for image in self.framework_images
            if image.framework == build.framework and image.version == build.version
        )
        return None if build.package else next(names, None)


@record
class Plan:
    """A combination that satisfies every relation known to the matrix."""

    request: Request
    choice: Choice
    verdicts: tuple[Verdict, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    warnings: tuple[str, ...] = ()
    background: tuple[str, ...] = ()  # what the tables say about the parts of the request besides this plan


@record
class NoPlan:
    """No combination satisfies the request: what clashes, and the nearest changes that would do."""

    request: Request
    conflicts: tuple[Conflict, ...]
    alternatives: tuple[Alternative, ...] = ()
    warnings: tuple[str, ...] = ()
    rejected: Mapping[str, int] = field(default_factory=dict)  # relation -> candidates it ruled out
    background: tuple[str, ...] = ()  # what the tables say about the parts of the request
