"""`--components`: the named parts of a toolkit, from NVIDIA's archive of each, with what they need.

No runfile installs less than a whole toolkit: its installers choose between driver, toolkit and samples alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from envkit._startup.records import replace
from envkit.base.errors import EnvkitError, RequestError
from envkit.base.settings import Mirrors
from envkit.base.versions import Version, VersionSpec
from envkit.compat.software import needs_system_cuda
from envkit.install.model import Download, FetchParts, ToolkitPart
from envkit.solver.model import NoPlan, Plan
from envkit.solver.request import Request
from envkit.solver.solve import resolve
from envkit.tables import Matrix
from envkit.tables.codes import limit
from envkit.tables.loader import read
from envkit.tables.parts import PartListRow, PartRow, part_list, part_names, parts_of
from envkit.tables.rows import Toolkit
from envkit.tables.windows import windows_part_names

_OF_CUDNN = ("cudnn-version", "gpu-on-cudnn")
_PLATFORMS = {"x86_64": "linux-x86_64", "aarch64": "linux-sbsa"}  # as the lists call them


def check_names(names: Iterable[str], *, windows: bool = False) -> None:
    """Raises RequestError for a word that is no part of any release."""
    known = windows_part_names() if windows else part_names()
    for name in names:
        if name not in known:
            listing = f"Parts: {', '.join(known)}."
            found = RequestError.unknown_value("--components", name, known)
            raise RequestError(found.message, f"{found.hint} {listing}".strip())


def with_known_parts(plan: Plan, request: Request, matrix: Matrix) -> Plan:
    """The plan with the newest CUDA that fits and whose parts can be obtained. Raises EnvkitError where there is
    none."""
    chosen = plan.choice.toolkit
    if chosen is None or part_list(chosen.version) is not None:
        return plan
    for row in sorted(read(PartListRow), key=lambda row: row.cuda, reverse=True):
        if request.cuda is not None and not request.cuda.holds(row.cuda):
            continue
        other = resolve(replace(request, cuda=VersionSpec.parse(f"=={row.cuda}")), matrix)
        if not isinstance(other, NoPlan):
            why = f"the list of parts for CUDA {chosen.version} has no known checksum, so {row.cuda} is installed"
            return replace(other, request=request, warnings=(*other.warnings, why))
    raise EnvkitError(
        f"--components: parts of CUDA {chosen.version} cannot be installed separately: its runfile installs the whole "
        "toolkit or nothing, and envkit knows no separate archives for it.",
        "Omit --components, use NVIDIA's package repositories, which split every release into packages "
        f"({_packages(chosen.release)}), or choose a release with parts: {', '.join(_releases())}.",
    )


def _packages(release: Version) -> str:
    """Which packages of a release install no driver, and which do."""
    ending = f"-{release.release(2)}".replace(".", "-")
    compiler = (
        f"cuda-nvcc{ending} with cuda-cudart-dev{ending} for the compiler and its headers, "
        if release >= limit("nvcc-package")
        else ""
    )
    return (
        f"{compiler}cuda-toolkit{ending} for the whole toolkit; cuda, cuda{ending}, and cuda-drivers also install a "
        f"driver, which breaks CUDA in WSL; then set CUDA_HOME=/usr/local/cuda-{release.release(2)}"
    )


def without_cudnn(plan: Plan) -> Plan:
    """The plan without cuDNN, where neither the user nor a framework asks for it: it is no part of the toolkit."""
    if plan.request.cudnn is not None or any(map(needs_system_cuda, plan.choice.builds)):
        return plan
    verdicts = tuple(verdict for verdict in plan.verdicts if verdict.relation not in _OF_CUDNN)
    bundled = plan.choice.cudnn_version if plan.choice.builds else None
    return replace(plan, choice=replace(plan.choice, cudnn=None, cudnn_version=bundled), verdicts=verdicts)


def _releases() -> Iterator[str]:
    return (str(row.cuda) for row in read(PartListRow))


def chosen_parts(toolkit: Toolkit, architecture: str, names: tuple[str, ...]) -> tuple[ToolkitPart, ...]:
    """The parts of these names and all that they need, by name. Raises RequestError for one that this CUDA lacks."""
    there = parts_of(toolkit.version, architecture)
    for name in names:
        if name not in there:
            raise RequestError(
                f"--components: CUDA {toolkit.version} for {architecture} has no part {name}.",
                f"It has {', '.join(there)}.",
            )
    asked = set(names)
    rows = (there[name] for name in with_needs(names, there))
    return tuple(ToolkitPart(row.part, row.entry, row.proof, row.bytes, row.part in asked) for row in rows)


def with_needs(names: Iterable[str], there: Mapping[str, PartRow]) -> tuple[str, ...]:
    """The names and all that they need, in order; a name that is not `there` needs nothing."""
    seen, open_names = set[str](), list(names)
    while open_names:
        name = open_names.pop()
        if name not in seen:
            seen.add(name)
            open_names += there[name].needs if name in there else ()
    return tuple(sorted(seen))


def fetch_parts(cuda: Version, architecture: str, parts: tuple[ToolkitPart, ...], mirrors: Mirrors) -> FetchParts:
    """The step that fetches the archives. Raises EnvkitError where no list of this release is known."""
    row = part_list(cuda)
    if row is None:
        raise EnvkitError(f"No list of the parts of CUDA {cuda} is known to envkit.", "Omit --components.")
    file = Download(row.name, mirrors.rewrite(row.url), "sha256", row.sha256)
    return FetchParts(file, file.url.rpartition("/")[0], _PLATFORMS[architecture], parts)
