"""A Jetson: its CUDA, driver, system and packages come with JetPack, of which no release is on record."""

from __future__ import annotations

from collections.abc import Iterator

from envkit.compat.gpu import gpu_runs_cuda
from envkit.compat.verdict import Verdict
from envkit.solver.knowledge import Knowledge
from envkit.solver.model import Choice, Conflict, NoPlan, Plan
from envkit.solver.request import Request

_UNKNOWN = (
    "a Jetson's CUDA, cuDNN, driver and system come with its JetPack, and JetPack's releases are not in the "
    "tables: which versions it has is not known, and those for servers do not fit"
)


def jetson_plan(request: Request, knowledge: Knowledge) -> Plan | NoPlan:
    """A plan that chooses nothing of what is made for servers; none where a GPU cannot have the CUDA asked for."""
    judged = tuple(_cuda_verdicts(request, knowledge))
    refused = next(((gpu, verdict) for gpu, verdict in judged if verdict.status == "fail"), None)
    if refused is not None:
        gpu, verdict = refused
        return NoPlan(request, (Conflict((f"gpu {gpu}", f"cuda {request.cuda}"), verdict.detail, verdict.sources),))
    unknown = (Verdict("platform", "unknown", _UNKNOWN), *_package_verdicts(request, knowledge))
    warnings = tuple(verdict.detail for verdict in unknown)
    return Plan(
        request, Choice(request.architecture), (*unknown, *(verdict for _, verdict in judged)), warnings=warnings
    )


def _cuda_verdicts(request: Request, knowledge: Knowledge) -> Iterator[tuple[str, Verdict]]:
    cuda = request.cuda.exact if request.cuda else None
    if cuda is None:
        return
    for gpu in request.gpus:
        yield str(gpu), gpu_runs_cuda(gpu.compute_capability, cuda, knowledge.tables, name=str(gpu))


def _package_verdicts(request: Request, knowledge: Knowledge) -> Iterator[Verdict]:
    for framework in request.frameworks:
        row = knowledge.tables.framework(framework.name)
        title = row.title if row else framework.name
        detail = f"{title}'s packages are built for servers; a Jetson needs the builds made for its JetPack"
        yield Verdict("platform", "unknown", detail, row.sources if row else ())
