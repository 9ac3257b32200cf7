"""The CUDA and cuDNN that a Dockerfile puts into its image, each with the line that says so."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from typing import TYPE_CHECKING

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.base.versions import Version
from envkit.dockerfile.base import Base
from envkit.dockerfile.packages import Package
from envkit.dockerfile.script import Mention, Script
from envkit.tables import images as data
from envkit.tables.known_images import CUDA_REPOSITORY, image_name, tag_row
from envkit.tables.rows import FrameworkImage, ImageTag

if TYPE_CHECKING:
    from envkit.tables import Matrix

_APT_CUDA = regex(r"\bcuda(?!-compat|-drivers|-keyring|-repo)(?:-[a-z]{1,20}){0,5}-(\d{1,2})[-.](\d{1,2})\b")
_SOME_CUDA = regex(
    r"\b(nvidia-cuda-toolkit|nvidia-cuda-runtime-cu\d+|libcudart[\d.]+)\b|\s(cuda(?:-toolkit)?(?:-\d+)?)(?=\s|$)"
)
_RUNFILE = regex(r"\bcuda_(\d{1,2}\.\d{1,2}\.\d{1,3})[\w.-]{0,60}?(?:run|linux)\b")
_APT_CUDNN = regex(r"\blibcudnn(\d+)(?:-[\w-]+)?(?:=(\d+(?:\.\d+)+))?|\bcudnn(\d+)-cuda")
_ARCHIVE_CUDNN = regex(r"\bcudnn-[\w.-]{0,40}?-v?(\d{1,2}(?:\.\d{1,3}){1,3})(?:_cuda[\d.]{1,9}-archive)?\.t")
_SOME_CUDNN = regex(
    r"\b(?:nvidia-cudnn|cudnn|libcudnn)\b|\bcuda/(?:lib64|include)/\S{0,40} {1,4}/usr/(?:local/cuda|lib|include)"
)
_CUDA_OF_CONDA = frozenset(
    {"cuda", "cuda-toolkit", "cuda-version", "cuda-runtime", "cuda-libraries", "cudatoolkit", "pytorch-cuda"}
)
_REPOSITORY = regex(r"(?:^|/)cuda[a-z]{0,20}$|/l4t-cuda$")
_TAG = regex(r"(\d+\.\d+(?:\.\d+)?)")
_TAG_LATER = regex(r".*cuda-?(\d+\.\d+(?:\.\d+)?)")
_LABEL = regex(r"nvidia/label/cuda-(\d+\.\d+)")


@record
class Held:
    """A version that the image holds, and where the file says so."""

    version: Version
    line: int
    where: str


def system_cuda(base: Base, script: Script, copied: Iterable[tuple[int, str]], matrix: Matrix) -> Held | None:
    """The system CUDA: of a runfile or of packages, otherwise of the base image, otherwise of one that files are copied
    from."""
    runfile = script.search(_RUNFILE)
    if runfile is not None:
        return Held(Version.parse(runfile.match[1]), runfile.line, runfile.match[0])
    package = script.search(_APT_CUDA)
    if package is not None:
        return Held(Version.of(int(package.match[1]), int(package.match[2])), package.line, package.match[0])
    own = image_cuda(base.row, base.own, base.tag, base.repository)
    if own is not None:
        return Held(own, base.line, f"{base.repository}:{base.tag}")
    for line, image in copied:
        name = image_name(image)
        repository, tag = name.repository, name.wanted_tag
        version = image_cuda(tag_row(repository, tag, matrix), None, tag, repository)
        if version is not None:
            return Held(version, line, f"{repository}:{tag}")
    return None


def some_cuda(script: Script) -> Mention | None:
    """What provides a CUDA whose version is not told."""
    return script.search(_SOME_CUDA)


def image_cuda(row: ImageTag | None, own: FrameworkImage | None, tag: str, repository: str) -> Version | None:
    """The CUDA libraries of an image, as its row or its name tells; none in a base flavor."""
    if row is not None and row.cuda is not None and row.repository == CUDA_REPOSITORY:
        return row.cuda if row.flavor != "base" else None
    if own is not None and own.cuda is not None:
        return own.cuda
    # In the names of CUDA's own images the tag starts with its version, elsewhere with that of the framework.
    first = _REPOSITORY.search(repository) is not None
    told = "cuda" in f"{repository}:{tag}" and "-base" not in tag
    found = (_TAG.match(tag) if first else _TAG_LATER.match(tag)) if told else None
    return Version.parse(found.group(1)) if found else None


def system_cudnn(
    base: Base, script: Script, copied: Iterable[tuple[int, str]], packages: list[Package], matrix: Matrix
) -> Version | None:
    """The system cuDNN, the major alone where only that is known."""
    told = _told_cudnn(script)
    if told is not None:
        return told
    if base.own is not None and base.own.cudnn:
        return Version.find(base.own.cudnn)
    found = next(_image_cudnns([(base.row, base.tag), *_rows(copied, matrix)]), None)
    return found or conda_version(packages, ("cudnn",)) or _wheel_cudnn(packages)


def has_some_cudnn(script: Script) -> bool:
    """True where something provides a cuDNN whose version is not told."""
    return script.search(_SOME_CUDNN) is not None


def _told_cudnn(script: Script) -> Version | None:
    package = script.search(_APT_CUDNN)
    if package is not None:
        return Version.parse(package.match[2] or package.match[1] or package.match[3])
    archive = script.search(_ARCHIVE_CUDNN)
    return Version.parse(archive.match[1]) if archive is not None else None


def _rows(copied: Iterable[tuple[int, str]], matrix: Matrix) -> Iterator[tuple[ImageTag | None, str]]:
    for _, image in copied:
        name = image_name(image)
        yield tag_row(name.repository, name.wanted_tag, matrix), name.wanted_tag


def _image_cudnns(images: Iterable[tuple[ImageTag | None, str]]) -> Iterator[Version]:
    """The cuDNN that each image with one has by its row or its tag."""
    for row, tag in images:
        word = row.cudnn if row is not None else next((part for part in tag.split("-") if part.startswith("cudnn")), "")
        major = data.tag_cudnn(word)
        if major:
            yield Version.of(major)


def conda_cuda(packages: Iterable[Package]) -> Held | None:
    """The CUDA that conda is told to provide."""
    return _of_conda(packages, _CUDA_OF_CONDA)


def conda_version(packages: Iterable[Package], names: Container[str]) -> Version | None:
    """The version that conda is told for one of these packages."""
    held = _of_conda(packages, names)
    return held.version if held is not None else None


def _of_conda(packages: Iterable[Package], names: Container[str]) -> Held | None:
    for item in packages:
        if item.tool != "conda" or item.name not in names:
            continue
        found = Version.find(item.spec)
        if found is not None and not re.search(r"[<>!]", item.spec):
            return Held(found, item.line, f"CUDA {found} from conda")
        label = _LABEL.search(" ".join(item.places.channels))
        if label:
            version = Version.parse(label.group(1))
            return Held(version, item.line, f"CUDA {version} from conda")
    return None


def _wheel_cudnn(packages: Iterable[Package]) -> Version | None:
    """The cuDNN that comes as a wheel."""
    for item in packages:
        if item.tool == "pip" and normalized(item.name).startswith("nvidia-cudnn-cu") and "<" not in item.spec:
            return Version.find(item.spec)
    return None
