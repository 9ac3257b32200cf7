"""Judges the images that a Dockerfile starts from and copies from: whether they exist and are kept up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.checks.containers import image_faults as faults
from envkit.checks.engine.command import fixed
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.compat.driver import driver_runs_cuda
from envkit.compat.gpu import gpu_runs_cuda
from envkit.compat.system import image_fits
from envkit.compat.verdict import DriverVerdict
from envkit.dockerfile.check_parts import finding, from_verdict, stop, subject_of
from envkit.dockerfile.contents import copied_images
from envkit.dockerfile.other_tags import SUPPORTED, tags_in_place_of
from envkit.dockerfile.stages import BuildStage
from envkit.solver.request import Request
from envkit.tables import images as data
from envkit.tables.build_tools import ClosedRegistry
from envkit.tables.codes import limit
from envkit.tables.known_bases import BareName, WithoutLatest, with_owner
from envkit.tables.known_images import (
    CUDA_REPOSITORY,
    GONE,
    PYTORCH_REPOSITORY,
    framework_image,
    image_name,
    supported_beside,
    tag_row,
    tagged_flavors,
    tagged_releases,
)
from envkit.tables.loader import read
from envkit.tables.rows import FrameworkImage, ImageTag

if TYPE_CHECKING:
    from envkit.tables import Matrix

_IMAGE = regex(r"(?:[\w.-]+(?::\d+)?/)?[a-z0-9][\w./-]*[\w](?::\w[\w.-]{0,127})?(?:@sha256:[0-9a-f]+)?")
_CUDNN = regex(r"cudnn\d+")
_BITNAMI, _LEGACY = "bitnami/", "bitnamilegacy/"
_OF_PYTORCH = regex(r"(?P<release>\d\.\d{1,2}(?:\.\d)?)-cuda(?P<cuda>\d{1,2}\.\d)-cudnn\d-(?:runtime|devel)")
_LISTED = frozenset({"supported", "unsupported"})
_WHOLE = 24  # tags of the release with the fewest distributions
_SHORT = 2  # numbers in the tags of old releases
# Values of a switch, none of which is an image.
_NO_IMAGES = frozenset({"false", "true", "none", "null", "no", "yes"})


@record
class Meant:
    """What an image is for: the frameworks that it installs, each with the release that is pinned, the oldest CUDA that
    the named GPUs run, the driver."""

    frameworks: tuple[str, ...] = ()
    cuda: Version | None = None
    driver: Version | None = None


def meant_for(frameworks: Iterable[str], request: Request, matrix: Matrix) -> Meant:
    """What a Dockerfile and the request say of that."""
    gpus = request.gpus
    fitting = (
        row.version
        for row in matrix.toolkits
        if all(gpu_runs_cuda(gpu.compute_capability, row.version, matrix).status == "ok" for gpu in gpus)
    )
    return Meant(tuple(dict.fromkeys(frameworks)), next(fitting, None) if gpus else None, request.driver)


def base_findings(stage: BuildStage, matrix: Matrix, meant: Meant | None = None) -> Iterator[Finding]:
    """What is to say of the image that a stage starts from, and of those that it copies from."""
    meant = meant or Meant()
    for line, image in copied_images((stage,)):
        yield from _image(image, line, "The build stops at COPY.", matrix, meant)
    if stage.parent is not None:
        return
    if (stage.blank and not _IMAGE.fullmatch(stage.blank)) or _is_capital(stage.image):
        yield _no_name(stage)
        return
    if stage.image in _NO_IMAGES:
        yield stop(
            faults.BASE_UNKNOWN,
            f"FROM asks for an image that is called {stage.image}",
            subject_of(stage.line, stage.image),
            impact="The build stops at FROM: there is no such image.",
            fix="Set the ARG to the name of an image or stage, or leave it empty.",
        )
        return
    if stage.unresolved:
        title = f"the base image {stage.image} depends on a build argument without a default"
        yield finding(faults.BASE_UNKNOWN, Status.UNKNOWN, title, subject_of(stage.line, stage.image))
        return
    yield from _image(stage.image, stage.line, "The build stops at FROM.", matrix, meant)


def _no_name(stage: BuildStage) -> Finding:
    """The finding on a FROM that names no image."""
    stops, fix = "The build stops at FROM", "Write ARG with a default before the first FROM."
    if not stage.unresolved:
        title, told = f"{stage.image} is not an image name: it has capital letters", ""
        fix = "Write the image's name in lower case, or the image that this variable contains."
    elif stage.undeclared:
        title, told = f"no ARG before the first FROM declares a variable of {stage.image}", stage.blank
    else:
        title, told = f"the base image {stage.image} depends on a build argument without a default", stage.blank
        stops += " without --build-arg"
    impact = f"{stops}: {told if told != ':' else 'a blank'} is not an image name." if told else f"{stops}."
    return stop(faults.BASE_UNKNOWN, title, subject_of(stage.line, stage.image), impact=impact, fix=fix)


def _is_capital(image: str) -> bool:
    """True for a name with capitals outside of its registry and its tag: no image has such a name."""
    host, slash, rest = image.partition("@")[0].partition("/")
    path = rest if slash and ("." in host or ":" in host) else f"{host}{slash}{rest}"
    return "$" not in image and path.partition(":")[0] != path.partition(":")[0].lower()


def _image(image: str, line: int, stops: str, matrix: Matrix, meant: Meant) -> Iterator[Finding]:
    subject = subject_of(line, image)
    name = image_name(image)
    repository, tag = name.repository, name.wanted_tag
    row = tag_row(repository, tag, matrix)
    closed = next((one for one in read(ClosedRegistry) if repository.startswith(one.prefix)), None)
    if closed is not None:
        title = f"{image} cannot be pulled: it is in {closed.title}"
        fix = "Start from an image in a public registry."
        yield stop(faults.BASE_GONE, title, subject, impact=stops, fix=fix, sources=closed.sources)
    elif (bare := with_owner(repository, tag, matrix)) is not None:
        yield _without_owner(image, tag, bare, subject, stops)
    elif repository.startswith(_BITNAMI) and tag != "latest":
        yield _of_bitnami(image, name.repository, tag, subject, stops)
    elif row is not None and row.cuda is None and row.state in GONE:
        yield _no_latest(row, image, subject, stops, matrix)
    elif row is not None:
        verdict = image_fits(row)
        impact = stops if verdict.status == "fail" else "It gets no security updates."
        found = {"fail": faults.BASE_GONE, "warn": faults.BASE_END_OF_LIFE}
        fix = nearest_tag(row, matrix, meant)
        yield from_verdict(found.get(verdict.status, faults.BASE_ON_RECORD), verdict, subject, impact, fix)
    elif tag == "latest" and any(known.repository == repository for known in read(WithoutLatest)):
        yield _without_latest(repository, image, subject, stops)
    elif repository == CUDA_REPOSITORY and tag:
        yield _unlisted(image, tag, subject, stops, matrix, meant)
    elif repository == CUDA_REPOSITORY or _is_unlisted_of_a_framework(repository, tag, matrix):
        without = _without_build(repository, tag, matrix)
        yield _not_on_record(image, _with_other_cudnn(repository, tag, matrix), without, subject, stops)


def _of_bitnami(image: str, repository: str, tag: str, subject: str, stops: str) -> Finding:
    """The finding on a release in a catalog that has its newest images alone."""
    other = repository.replace(_BITNAMI, _LEGACY, 1)
    title = f"{image} cannot be pulled: Bitnami moved its images of single releases to {_LEGACY.rstrip('/')} in 2025"
    fix = f"Name {other}:{tag}, which gets no updates, or start from another image."
    return stop(faults.BASE_GONE, title, subject, impact=stops, fix=fix, sources=("github-bitnami-containers-83267",))


def _without_owner(image: str, tag: str, bare: BareName, subject: str, stops: str) -> Finding:
    """The finding on an image that only its owner has."""
    title = f"{image} cannot be pulled: Docker Hub has no image named {bare.name} without an owner"
    fix = f"Use {bare.repository}:{tag}."
    return stop(faults.BASE_GONE, title, subject, impact=stops, fix=fix, sources=bare.sources)


def _without_latest(repository: str, image: str, subject: str, stops: str) -> Finding:
    row = next(known for known in read(WithoutLatest) if known.repository == repository)
    unsaid = "" if image.endswith(":latest") else f"{image} without a tag means {repository}:latest, and "
    title = f"{unsaid}{repository} has no tag latest"
    fix = "Use a release: its tags are listed in NVIDIA's NGC catalog."
    return stop(faults.BASE_GONE, title, subject, impact=stops, fix=fix, sources=row.sources)


def _is_unlisted_of_a_framework(repository: str, tag: str, matrix: Matrix) -> bool:
    """True for an image of a framework's project under a tag that is not known to envkit."""
    known = any(row.repository == repository for row in matrix.framework_images)
    return known and framework_image(repository, tag, matrix) is None


def _with_other_cudnn(repository: str, tag: str, matrix: Matrix) -> FrameworkImage | None:
    """The image whose tag names another cuDNN and is the same otherwise: there is one for each CUDA of a release."""
    if _CUDNN.search(tag) is None:
        return None
    rest = _CUDNN.sub("", tag)
    return next(
        (row for row in matrix.framework_images if row.repository == repository and _CUDNN.sub("", row.tag) == rest),
        None,
    )


def _without_build(repository: str, tag: str, matrix: Matrix) -> tuple[Version, Version] | None:
    """Release and CUDA of a tag of PyTorch's images, where that release was never built for that CUDA."""
    named = _OF_PYTORCH.fullmatch(tag) if repository == PYTORCH_REPOSITORY else None
    if named is None:
        return None
    release, cuda = Version.parse(named["release"]), Version.parse(named["cuda"])
    built = {build.cuda for build in matrix.builds("pytorch") if build.version.starts_with(release) and build.cuda}
    known = built and not any(one.starts_with(cuda) or cuda.starts_with(one) for one in built)
    return (release, cuda) if known or _has_no_image(release, cuda, matrix) else None


def _has_no_image(release: Version, cuda: Version, matrix: Matrix) -> bool:
    """True for a release all images of which are on record, and none of them is for this CUDA."""
    rows = [row for row in matrix.framework_images if row.repository == PYTORCH_REPOSITORY and row.version is not None]
    found = {row.cuda.release(2) for row in rows if row.cuda and row.version and row.version.starts_with(release)}
    return release <= limit("pytorch-images-all-known") and bool(found) and cuda not in found


def _not_on_record(
    image: str,
    other: FrameworkImage | None,
    without: tuple[Version, Version] | None,
    subject: str,
    stops: str,
) -> Finding:
    if without is not None:
        title = f"{image} cannot exist: there is no image of PyTorch {without[0]} for CUDA {without[1]}"
        fix = "Use a tag with a CUDA that this release has an image for."
        return stop(faults.BASE_GONE, title, subject, impact=stops, fix=fix)
    if other is not None:
        title = f"{image} cannot exist: that release was published with cuDNN {other.cudnn}"
        fix = f"Name {other.repository}:{other.tag}."
        return stop(faults.BASE_GONE, title, subject, impact=stops, fix=fix, sources=other.sources)
    title = f"it is not known whether {image} exists, or what it contains"
    remedy = Remedy("Compare it with the tags known to envkit: envkit matrix framework_images")
    return finding(faults.BASE_UNKNOWN, Status.UNKNOWN, title, subject, remedy=remedy)


def _no_latest(row: ImageTag, image: str, subject: str, stops: str, matrix: Matrix) -> Finding:
    """The finding on a tag that names no CUDA: `latest`, which an image without a tag means too."""
    name = f"{row.repository}:{row.tag}"
    gone = "it was deleted" if row.state == "deleted" else "it never existed"
    unsaid = name not in image
    title = (
        (f"{image} without a tag means {name}, and that tag no longer exists: {gone}")
        if unsaid
        else f"{name} no longer exists: {gone}"
    )
    system = supported_beside(row, matrix)
    plain = [tag for tag in system if tag.flavor == "base" and not tag.cudnn and tag.os_id.startswith("ubuntu")]
    newest = max(plain or system, key=lambda tag: (tag.cuda or Version.of(0), tag.os_id), default=None)
    fix = "Specify the CUDA version, the flavor, and the distribution"
    fix += f", as in {newest.repository}:{newest.tag}." if newest else "."
    return finding(
        faults.BASE_GONE,
        Status.FAIL,
        title,
        subject,
        impact=stops,
        remedy=Remedy(fix, (fixed("envkit matrix image_tags"),)),
        sources=row.sources,
    )


def _unlisted(image: str, tag: str, subject: str, stops: str, matrix: Matrix, meant: Meant) -> Finding:
    named = Version.find(tag)
    if named is not None and matrix.toolkit(named) is None and named.release(2) not in tagged_releases(matrix):
        title = f"{image} cannot exist: there is no CUDA {named.release(2)}"
        fix = "Use a CUDA release that exists: envkit matrix image_tags"
        return stop(faults.BASE_GONE, title, subject, impact=stops, fix=fix)
    if named is not None and _lacks_its_patch(named, matrix):
        title = f"{image} cannot be pulled: tags of CUDA {named} contain all three numbers of a release"
        fix = nearest_tag(as_row(tag, matrix), matrix, meant)
        return stop(faults.BASE_GONE, title, subject, impact=stops, fix=fix)
    if named is not None and _names_no_system(tag, matrix):
        title = f"{image} cannot be pulled: every tag includes a distribution, since those without one were deleted"
        fix = nearest_tag(as_row(tag, matrix), matrix, meant)
        return stop(faults.BASE_GONE, title, subject, impact=stops, fix=fix)
    if named is not None and _all_gone(named, matrix):
        title = f"{image} cannot be pulled: all tags of CUDA {named.release(2)} were deleted"
        fix = nearest_tag(as_row(tag, matrix), matrix, meant)
        return stop(faults.BASE_GONE, title, subject, impact=stops, fix=fix)
    if named is not None and _listed_whole(named, matrix):
        title = f"{image} cannot be pulled: NVIDIA lists no such tag for CUDA {named}"
        fix = nearest_tag(as_row(tag, matrix), matrix, meant)
        return stop(faults.BASE_GONE, title, subject, impact=stops, fix=fix)
    title = f"it is not known whether {image} exists"
    fix = (
        nearest_tag(as_row(tag, matrix), matrix, meant)
        if named is not None
        else "Use a tag known to envkit: envkit matrix image_tags"
    )
    return finding(faults.BASE_UNKNOWN, Status.UNKNOWN, title, subject, remedy=Remedy(fix))


def _names_no_system(tag: str, matrix: Matrix) -> bool:
    """True for a tag of a CUDA release, a cuDNN and a flavor alone."""
    words = tag.split("-")[1:]
    return all(word in tagged_flavors(matrix) or data.tag_cudnn(word) for word in words)


def _lacks_its_patch(named: Version, matrix: Matrix) -> bool:
    """True for a release of two numbers that is newer than every one whose tags have no more."""
    short = (row.cuda for row in matrix.image_tags if row.cuda is not None and len(row.cuda.parts) == _SHORT)
    return len(named.parts) == _SHORT and named > max(short)


def _listed_whole(named: Version, matrix: Matrix) -> bool:
    """True for a release so many tags of which are on record that NVIDIA's lists of them are whole."""
    states = [row.state for row in matrix.image_tags if row.cuda == named]
    return sum(state in _LISTED for state in states) >= _WHOLE


def _all_gone(named: Version, matrix: Matrix) -> bool:
    """True for a release of which every tag that ever was is gone."""
    release = named.release(2)
    states = {row.state for row in matrix.image_tags if row.cuda is not None and row.cuda.release(2) == release}
    return bool(states) and states <= set(GONE)


def as_row(tag: str, matrix: Matrix) -> ImageTag:
    """What a tag of nvidia/cuda that is not known to envkit says of itself."""
    words = tag.split("-")
    flavor = next((word for word in words if word in tagged_flavors(matrix)), "")
    cudnn = next((word for word in words if data.tag_cudnn(word)), "")
    os_id = words[-1] if matrix.operating_system(words[-1]) else ""
    return ImageTag(CUDA_REPOSITORY, tag, Version.find(tag), cudnn, flavor, os_id, "", None, None, ())


def nearest_tag(row: ImageTag, matrix: Matrix, meant: Meant) -> str:
    """The fix for a tag that is gone or no longer supported: the tag nearest to it, or CUDA on the plain distribution.

    In place of a tag that can still be pulled it names a supported one.
    """
    newer = meant.cuda if meant.cuda is not None and row.cuda is not None and row.cuda < meant.cuda else None
    near = tags_in_place_of(row, matrix, supported=row.state in _LISTED or newer is not None, oldest=newer)
    if not near:
        release = f" {row.cuda.release(2)}" if row.cuda else ""
        option = "".join(f"--framework {name} " for name in meant.frameworks)
        option += f"--cuda {row.cuda.release(2)} " if row.cuda else ""
        return (
            f"No image of CUDA{release} or its major version is still supported. Generate a Dockerfile that installs "
            f"it on the plain distribution: envkit dockerfile {option.rstrip()}"
        )
    if newer is not None and meant.driver is not None:
        every = tags_in_place_of(row, matrix, oldest=newer)
        near = [tag for tag in (*near, *every) if _starts_on(meant.driver, tag, matrix)] or near
    which = "the nearest supported tag" if near[0].state == SUPPORTED else "the nearest tag that is left"
    which += " whose CUDA version supports the GPU" if newer is not None else ""
    after = "." if near[0].state == SUPPORTED else ", which NVIDIA no longer supports."
    if newer is not None and meant.driver is not None and not _starts_on(meant.driver, near[0], matrix):
        after = f", with a newer driver on the host: {meant.driver} is too old for it{after}"
    return f"Use {near[0].repository}:{near[0].tag}, {which}{after}"


def _starts_on(driver: Version, tag: ImageTag, matrix: Matrix) -> bool:
    return tag.cuda is None or driver_runs_cuda(driver, tag.cuda, matrix).status != DriverVerdict.INCOMPATIBLE.value
