"""The user's own base image: what its name says of its distribution and its CUDA, and whether it can be obtained."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.records import record, replace
from envkit._startup.regex import regex
from envkit.base.errors import RequestError
from envkit.base.versions import VersionSpec
from envkit.solver.model import Choice
from envkit.solver.request import Request
from envkit.tables import images as data
from envkit.tables.images import ForeignSystem
from envkit.tables.known_images import CUDA_REPOSITORY, image_name, tag_row
from envkit.tables.loader import read
from envkit.tables.rows import ImageTag, OperatingSystem

if TYPE_CHECKING:
    from envkit.tables import Matrix

_NAME = regex(r"([a-z]+)-?(\d[\d.]*)?")
_WORDS = regex(r"[-_/:]")
_SERVED = (
    "Use an image of a distribution with apt, dnf, yum, or zypper, such as ubuntu:22.04 or rockylinux/rockylinux:9."
)


@record
class OwnBase:
    """An image that the user named. `cuda_tag`: one of nvidia/cuda, whose `row` is None where it is not known."""

    image: str
    system: OperatingSystem | None
    family: str  # a distribution that is known, in a release that is not; otherwise ''
    cuda_tag: bool
    row: ImageTag | None

    def cuda(self, choice: Choice, devel: bool) -> bool:
        """True when it holds the plan's CUDA libraries, and its compilers where those are wanted."""
        if not self.cuda_tag or self.row is None:
            return "cuda" in self.image
        if self.row.cuda is None or choice.cuda is None or self.row.flavor not in ("runtime", "devel"):
            return False
        return self.row.cuda.release(2) == choice.cuda.release(2) and (self.row.flavor == "devel" or not devel)

    def cudnn(self, choice: Choice, devel: bool) -> bool:
        """True when it holds a cuDNN that serves the plan."""
        if not self.cuda_tag or self.row is None:
            return "cudnn" in self.image
        major = data.tag_cudnn(self.row.cudnn)
        return self.cuda(choice, devel) and choice.cudnn is not None and major == choice.cudnn.soname_major


def own_base(image: str, matrix: Matrix) -> OwnBase:
    """What is known of the image. Raises RequestError for one that no recipe of ours can start from."""
    name = image_name(image)
    repository, tag = name.repository, name.tag
    foreign = foreign_system(repository, tag)
    if foreign is not None:
        raise RequestError(f"--base {image}: {foreign.title} cannot be the base: {foreign.reason}.", _SERVED)
    is_cuda = repository == CUDA_REPOSITORY
    found = tag_row(repository, tag, matrix) if is_cuda else None
    system = matrix.operating_system(found.os_id) if found and found.os_id else _system(repository, tag, matrix)
    family = "" if system or is_cuda else _family(repository, matrix)
    return OwnBase(image, system, family, is_cuda, found)


def foreign_system(repository: str, tag: str) -> data.ForeignSystem | None:
    """The system that no recipe can start from and that the image's name speaks of, or None."""
    words = _words(repository, tag)
    rows = read(ForeignSystem)
    for row in rows:
        if any(word == row.word or (word.startswith(row.word) and word[len(row.word)].isdigit()) for word in words):
            return row
    return None


def on_own_base(request: Request, image: str, matrix: Matrix) -> Request:
    """The request for an image that starts there: for its system, and CUDA alone for its CUDA.

    Raises RequestError where --os or --cuda contradicts it, and where its release has to be said.
    """
    base = own_base(image, matrix)
    told = request.os_id if "os_id" in request.asked else None
    if base.system is not None:
        if told is not None and told != base.system.os_id:
            raise RequestError(f"--base {image} is {base.system.os_id}, but --os says {told}.", "Omit one of them.")
        request = replace(request, os_id=base.system.os_id)
    elif told is None and base.family:
        releases = ", ".join(row.os_id for row in matrix.operating_systems if row.os_id.startswith(base.family))
        raise RequestError(
            f"--base {image}: its name does not show which release of {base.family} it is, or envkit does not know "
            "that release.",
            f"Specify what it is, or what it is closest to, with --os: {releases}.",
        )
    row = base.row
    if row is not None and row.cuda is not None and row.flavor != "base" and not request.frameworks:
        if request.cuda is None:
            release = row.cuda.release(2)
            request = replace(request, cuda=VersionSpec.parse(f"=={release}"))
        elif not request.cuda.holds(row.cuda):
            raise RequestError(
                f"--base {image} has CUDA {row.cuda}, but --cuda says {request.cuda}.", "Omit one of them."
            )
    return request


def base_notes(base: OwnBase, choice: Choice) -> Iterator[str]:
    """What the user should know of the image: that it is gone, unknown, or holds another CUDA."""
    image = base.image
    if base.cuda_tag:
        state = base.row.state if base.row else ""
        told = {
            "deleted": "was deleted from its registry: the build works only on machines that still have a copy",
            "never": "never existed",
            "unsupported": "is no longer supported and may be deleted",
            "": "is not a tag known to envkit, and may not exist",
        }.get(state)
        if told:
            yield f"{image} {told}"
    if base.system is None and choice.os is not None:
        yield f"what {image} contains is unknown: the file is written for {choice.os.os_id} (change that with --os)"
    held = base.row.cuda if base.row and base.row.flavor != "base" else None
    if held and choice.needs_toolkit and choice.cuda and held.release(2) != choice.cuda.release(2):
        yield f"{image} has CUDA {held}, but the plan needs {choice.cuda}, which is installed alongside it"


def _words(repository: str, tag: str) -> list[str]:
    """The words of the name; a registry's host is none of it."""
    host, slash, rest = repository.partition("/")
    plain = rest if slash and ("." in host or ":" in host) else repository
    return [word for word in _WORDS.split(f"{plain}/{tag}".lower()) if word]


def _system(repository: str, tag: str, matrix: Matrix) -> OperatingSystem | None:
    """The distribution that the name speaks of: its own image, its id or its code name among the words."""
    last = repository.rpartition("/")[2]
    for system in matrix.operating_systems:
        own, _, own_tag = (system.base_image or "").partition(":")
        name, number = _id_parts(system)
        if own and own == repository and (not own_tag or _release(tag, own_tag)):
            return system
        if number and last in _names(system, name) and _release(tag, number):
            return system
    words = _words(repository, tag)
    pairs = [*words, *(f"{one}{other}" for one, other in zip(words, words[1:], strict=False))]
    by_name = {system.code_name: system.os_id for system in matrix.operating_systems if system.code_name}
    named = [by_name[word] for word in words if word in by_name]
    exact = [system.os_id for word in pairs for system in matrix.operating_systems if _release(word, system.os_id)]
    return next((matrix.operating_system(os_id) for os_id in (*exact, *named)), None)


def _release(text: str, wanted: str) -> bool:
    """True when the text is that release, or a point release or variant of it."""
    return text == wanted or text.startswith((f"{wanted}.", f"{wanted}-"))


def _id_parts(system: OperatingSystem) -> tuple[str, str]:
    found = _NAME.fullmatch(system.os_id)
    return (found.group(1), found.group(2) or "") if found else (system.os_id, "")


def _names(system: OperatingSystem, name: str) -> set[str]:
    """What the distribution's repository is called: its id, or its own image's name on Docker Hub."""
    own = (system.base_image or "").partition(":")[0]
    return {name, own.rpartition("/")[2] if "." not in own.partition("/")[0] else name}


def _family(repository: str, matrix: Matrix) -> str:
    """The known distribution whose image this is, in a release that is not known; otherwise ''."""
    last = repository.rpartition("/")[2]
    for system in matrix.operating_systems:
        name, _ = _id_parts(system)
        if last in _names(system, name):
            return name
    return ""
