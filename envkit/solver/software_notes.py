"""What to know of a package next to the PyTorch, the CUDA, the driver and the system of a request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from envkit._startup.records import record
from envkit.base.errors import RequestError
from envkit.base.platforms import WINDOWS, WSL
from envkit.base.versions import Version, VersionSpec
from envkit.compat.packages import rows_allowed
from envkit.solver.request import Request, RequestWords
from envkit.tables.loader import read
from envkit.tables.rows import FrameworkBuild
from envkit.tables.ways import SoftwareNote


@record
class Beside:
    """What a package is wanted next to; None for what is left open."""

    torch: Version | None
    cuda: Version | None
    driver: Version | None
    platform: str
    architecture: str


def _rows(package: str, spec: str, beside: Beside) -> Iterator[SoftwareNote]:
    """What is known of the releases that a requirement allows.

    `package` is the name as indexes compare it, `spec` what follows it: `==0.6.3`.
    """
    own = [(row, VersionSpec.parse(row.versions)) for row in read(SoftwareNote) if package in row.packages]
    for row, _ in rows_allowed(package, spec, own):
        if _is_there(row, beside):
            yield row


def notes_of(package: str, spec: str, beside: Beside) -> Iterator[str]:
    """What is known of them, apart from drivers that they do not run on."""
    return (row.note for row in _rows(package, spec, beside) if not row.driver)


def driver_notes(package: str, spec: str, beside: Beside) -> Iterator[str]:
    """What is known of them on the driver."""
    return (row.note for row in _rows(package, spec, beside) if row.driver)


def _is_there(row: SoftwareNote, beside: Beside) -> bool:
    if row.platforms and beside.platform not in row.platforms:
        return False
    if row.architectures and beside.architecture not in row.architectures:
        return False
    wanted = ((row.torch, beside.torch), (row.cuda, beside.cuda), (row.driver, beside.driver))
    return all(not spec or (there is not None and VersionSpec.parse(spec).holds(there)) for spec, there in wanted)


def notes_of_plan(builds: Iterable[FrameworkBuild], request: Request) -> Iterator[str]:
    """What is known of planned builds with their CUDA, where the request leaves that open."""
    for build in builds if request.cuda is None else ():
        beside = Beside(None, build.cuda, request.driver, request.platform, request.architecture)
        yield from notes_of(build.framework, f"=={build.version}", beside)


def beside_of(request: Request, torch: Version | None) -> Beside:
    """What a request has next to a package of its own."""
    cuda = request.cuda.exact if request.cuda is not None else None
    return Beside(torch, cuda, request.driver, request.platform, request.architecture)


def beside_words(words: RequestWords, torch: Version | None) -> Beside:
    """The same of the words of a request; what cannot be read is refused where it is parsed."""
    system = (words.os_id or "").lower()
    platform = next((one for one in (WINDOWS, WSL) if system.startswith(one[:3])), "linux")
    return Beside(
        torch, cuda_of(words), Version.find(words.driver or ""), platform, words.arch or Request().architecture
    )


def cuda_of(words: RequestWords) -> Version | None:
    """The CUDA that the words of a request name; None where they name none or a range."""
    if words.cuda is None:
        return None
    from envkit.solver.other_words import cuda_words

    try:
        return VersionSpec.parse(cuda_words(words.cuda)).exact
    except (RequestError, ValueError):
        return None
