"""Judges a CPU-only package: a fault where a GPU is meant; its fix is a GPU build that the image serves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.base.versions import Version, VersionSpec
from envkit.checks.containers import image_faults as faults
from envkit.checks.engine.command import NAME, REQUIREMENT, Command, run
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.checks.frameworks.swap import place_words
from envkit.compat.pairs import pairs_by_package, required
from envkit.compat.software import glibc_meets, some_version_meets, toolkit_serves_build
from envkit.dockerfile.check_parts import finding, package_subject
from envkit.dockerfile.check_targets import runs_where_base_does
from envkit.dockerfile.contents import Contents
from envkit.dockerfile.framework_packages import Wanted
from envkit.dockerfile.packages import Package
from envkit.dockerfile.specifiers import Release, Wish, package_release, pinned_release
from envkit.dockerfile.suffixes import is_on_page
from envkit.solver.request import Request
from envkit.tables.images import CpuPackage
from envkit.tables.known_bases import CudaWheel
from envkit.tables.known_images import CUDA_REPOSITORY
from envkit.tables.loader import read
from envkit.tables.rows import FrameworkBuild, framework_title

if TYPE_CHECKING:
    from envkit.tables import Matrix

_TORCH = "torch"
_PYTORCH = "pytorch"
_PADDLE = "paddlepaddle"
_FOR_GPUS = regex(r"/linux/gpu/?(?: |$)|jetson-ai-lab\.\w{2,3}/jp\d")  # TensorFlow's old wheels, and those for Jetson


def is_for_the_cpu(wanted: Wanted, found: Contents) -> bool:
    """True for a package that its index, its suffix, its name or what is next to it says to be for the CPU."""
    if wanted.tool == "conda":
        return wanted.variant == "cpu" or found.conda_cpu
    if _FOR_GPUS.search(wanted.places):
        return False
    rows = [row for row in read(CpuPackage) if row.package == wanted.package]
    return (
        any(_applies(row, wanted, found) for row in rows) or wanted.variant == "cpu" or wanted.package.endswith("-cpu")
    )


def is_cpu_by_system(wanted: Wanted, found: Contents) -> bool:
    """True where the default index has builds for GPUs for other systems, and for this one only those for the CPU."""
    rows = (row for row in read(CpuPackage) if row.package == wanted.package and row.platform)
    return wanted.tool == "pip" and wanted.variant != "cpu" and any(_applies(row, wanted, found) for row in rows)


def _applies(row: CpuPackage, wanted: Wanted, found: Contents) -> bool:
    """Whether a requirement takes what a row describes; another index than the default one may have other builds."""
    elsewhere = wanted.variant or not wanted.default_index or is_on_page(wanted)
    if row.platform and (row.platform != found.platform or elsewhere):
        return False
    if row.architecture and row.architecture != found.base.architecture:
        return False
    try:
        asked, told = VersionSpec.parse(wanted.spec), VersionSpec.parse(row.versions)
    except ValueError:
        return False
    if any(operator == "<" for operator, _ in told.clauses):  # old releases: an open requirement takes a newer one
        return asked.exact is not None and told.holds(asked.exact)
    return not row.versions or some_version_meets((asked, told))


def cpu_without_python(wanted: Wanted, subject: str, matrix: Matrix) -> Iterator[Finding]:
    """A torch for the CPU of a release that was built for no Python as new or as old: those for CUDA tell that."""
    pin = pinned_release(wanted.spec) if wanted.framework == _PYTORCH and wanted.tool == "pip" else None
    if pin is None or wanted.python is None:
        return
    rows = [row for row in matrix.builds(_PYTORCH) if row.version == Version.parse(pin)]
    pythons = {python for row in rows for python in row.pythons}
    release = wanted.python.release(2)
    if pythons and not min(pythons) <= release <= max(pythons):
        yield finding(
            faults.PYTHON_WITHOUT_PACKAGE,
            Status.FAIL,
            f"PyTorch {pin} was built for Python {min(pythons)} to {max(pythons)}, and this is Python {release}",
            subject,
            impact="The build stops with 'No matching distribution found'.",
            remedy=Remedy("Use a Python that it was built for, or a different release."),
            sources=rows[0].sources,
        )


def cpu_on_purpose(
    wanted: Wanted, subject: str, found: Contents, request: Request, matrix: Matrix
) -> Iterator[Finding]:
    """A CPU build that the Dockerfile asks for is wrong only where a GPU is meant."""
    base = found.base.jetson or found.base.repository == CUDA_REPOSITORY
    own = found.base.own
    base = base or (own is not None and own.cuda is not None)
    gpu_meant = bool(request.gpus or request.driver or ((found.cuda or base) and not _is_beside_another(wanted, found)))
    title = f"{wanted.package}{wanted.spec} installs a CPU build: it will not use a GPU"
    if not gpu_meant:
        yield finding(faults.CPU_BUILD, Status.OK, title, subject)
        return
    build = _served(wanted, found, matrix)
    if build is None:
        fix = (
            f"envkit knows of no GPU build of {framework_title(wanted.framework)} for this image: start from a "
            "different one."
        )
        remedy = Remedy(fix, (run("envkit", "dockerfile", "--framework", NAME(wanted.framework)),))
    else:
        fix = "Install the GPU build that matches this image."
        if not wanted.own_index and wanted.variant == "cpu" and found.index_set:
            fix = "Remove the CPU index setting, and install the GPU build that matches this image."
        remedy = Remedy(
            fix, (run("pip", "install", REQUIREMENT(build.package), *place_words(build.index_url, build.find_links)),)
        )
    over = own is not None and own.cuda is not None and own.framework == wanted.framework and not wanted.variant
    if over:  # by a name that does not say so
        title += f", and replaces the files of the GPU build in {found.base.image}"
    yield finding(faults.CPU_BUILD, Status.FAIL if over else Status.WARN, title, subject, remedy=remedy)


def _is_beside_another(wanted: Wanted, found: Contents) -> bool:
    """True where another framework does the GPU work: that of the base image, or one that comes with its CUDA.

    What Paddle's programs do they do with Paddle: nothing else is installed for the CPU by a name that says so little.
    """
    if wanted.framework == _PADDLE:
        return False
    own = found.base.own
    if own is not None and own.version is not None and own.framework != wanted.framework:
        return True
    others = [one for one in found.wanted if one.framework != wanted.framework]
    return wanted.framework != _PYTORCH and any(map(_is_for_gpus, others))


def _is_for_gpus(wanted: Wanted) -> bool:
    """True for a package that comes with its CUDA, or whose extra brings it."""
    return (wanted.framework == _PYTORCH and wanted.variant != "cpu") or any(
        extra.startswith("cuda") for extra in wanted.extras
    )


def cpu_build(title: str, subject: str, command: Command) -> Finding:
    """The finding on a build that comes for the CPU though nothing asks for that; `command` provides the CUDA build."""
    return finding(faults.CPU_BUILD, Status.WARN, title, subject, remedy=Remedy("Install the CUDA build.", (command,)))


def _served(wanted: Wanted, found: Contents, matrix: Matrix) -> FrameworkBuild | None:
    """The GPU build that this image can serve: of the wanted version where there is one, otherwise the newest."""
    builds = [build for build in matrix.builds(wanted.framework) if _serves(build, wanted, found, matrix)]
    try:
        wish = Wish.parse(wanted.spec, wanted.tool)
    except ValueError:
        return None
    same = [build for build in builds if wish.holds(package_release(build)) or wish.holds(Release(build.version))]
    return max(same or builds, key=lambda build: (package_release(build).order, build.on_pypi), default=None)


def _serves(build: FrameworkBuild, wanted: Wanted, found: Contents, matrix: Matrix) -> bool:
    """True for a build whose Python, CUDA and cuDNN the image certainly has."""
    if not build.package or build.cuda is None or build.cpu_only or found.base.architecture not in build.architectures:
        return False
    if build.yanked or wanted.python is None or wanted.python not in build.pythons:
        return False
    if found.base.system is not None and glibc_meets(build, found.base.system.glibc).status == "fail":
        return False
    if build.bundles_cuda:
        return runs_where_base_does(build.cuda, found, matrix)
    toolkits = [
        row for row in matrix.toolkits if found.cuda is not None and row.version.starts_with(found.cuda.version)
    ]
    if not toolkits or toolkit_serves_build(build, toolkits[-1]).status not in ("ok", "warn"):
        return False
    return build.cudnn is None or (found.cudnn is not None and found.cudnn.major == build.cudnn.major)


def chosen_by_the_driver(found: Contents) -> Iterator[Finding]:
    """The first package whose torch uv chooses by the driver, which a builder does not have."""
    of_cuda = {row.package for row in read(CudaWheel) if not row.versions} - {_TORCH}
    for package in found.packages:
        if package.places.backend == "auto" and _comes_with_torch(package) and not found.base.jetson:
            yield finding(
                faults.CPU_BUILD,
                Status.FAIL if normalized(package.name) in of_cuda else Status.WARN,
                "--torch-backend=auto chooses the CPU build of torch, because there is no driver while an image is "
                "being built",
                package_subject(package),
                remedy=Remedy("Specify the CUDA of the build: --torch-backend=cu…."),
            )
            return


def _comes_with_torch(package: Package) -> bool:
    """True for torch, and for what requires one release of it."""
    name = normalized(package.name)
    rows = pairs_by_package().get(name, ())
    return name == _TORCH or any(line.package == _TORCH for row in rows[-1:] for line in required(row))
