"""A plan as the JSON document that the interface fixes; nothing here decides anything."""

from __future__ import annotations

from envkit.base.platforms import WINDOWS
from envkit.base.settings import Mirrors
from envkit.base.versions import Version
from envkit.compat.verdict import Verdict
from envkit.documents.citations import cited
from envkit.documents.commands import plan_commands
from envkit.solver.build_targets import plan_targets
from envkit.solver.model import Alternative, Choice, Conflict, NoPlan, Plan
from envkit.solver.request import Request
from envkit.solver.wheel_files import companions_for
from envkit.tables.rows import FrameworkBuild, ImageTag

SCHEMA = 1


def plan_document(plan: Plan | NoPlan, mirrors: Mirrors | None = None) -> dict[str, object]:
    """The plan, or why there is none, as plain JSON data; its commands download from the mirrors."""
    if isinstance(plan, NoPlan):
        return {
            "schema": SCHEMA,
            "status": "none",
            "conflicts": [_conflict(conflict) for conflict in plan.conflicts],
            "alternatives": [_alternative(alternative) for alternative in plan.alternatives],
            "warnings": list(plan.warnings),
            "rejected": dict(plan.rejected),
            "background": list(plan.background),
        }
    return {
        "schema": SCHEMA,
        "status": "ok",
        "choice": _choice(plan.choice, plan.request),
        "commands": list(plan_commands(plan, mirrors)),
        "build_targets": _build_targets(plan),
        "verdicts": [_verdict(verdict) for verdict in plan.verdicts],
        "alternatives": [_alternative(alternative) for alternative in plan.alternatives],
        "warnings": list(plan.warnings),
        "background": list(plan.background),
    }


def _build_targets(plan: Plan) -> dict[str, object] | None:
    targets = plan_targets(plan.request, plan.choice)
    if targets is None:
        return None
    return {
        "TORCH_CUDA_ARCH_LIST": targets.torch,
        "CMAKE_CUDA_ARCHITECTURES": targets.cmake,
        "gencode": list(targets.nvcc),
    }


def image_name(tag: ImageTag) -> str:
    """The whole name of an image: `nvidia/cuda:12.4.1-base-ubuntu22.04`."""
    return f"{tag.repository}:{tag.tag}"


def os_name(choice: Choice, request: Request) -> str | None:
    """The system of a plan by its id; Windows is none of the distributions known to envkit."""
    if request.platform == WINDOWS:
        return WINDOWS
    return choice.os.os_id if choice.os else None


def _choice(choice: Choice, request: Request) -> dict[str, object]:
    return {
        "cuda": _text(choice.cuda),
        "cudnn": _text(choice.cudnn_version),
        "python": _text(choice.python),
        "python_source": choice.python_source.way if choice.python_source else None,
        "os": os_name(choice, request),
        "arch": choice.architecture,
        "frameworks": [_framework(build, choice) for build in choice.builds],
        "base_image": image_name(choice.base_image) if choice.base_image else None,
        "minimum_driver": _text(choice.minimum_driver),
        "needs_toolkit": choice.needs_toolkit,
    }


def _framework(build: FrameworkBuild, choice: Choice) -> dict[str, object]:
    return {
        "name": build.framework,
        "version": str(build.version),
        "package": build.package,
        "companions": list(companions_for(build, choice.python)),
        "image": choice.own_image(build),
        "cuda": _text(build.cuda),
        "index_url": build.index_url,
        "find_links": build.find_links,
        "bundles_cuda": build.bundles_cuda,
    }


def _verdict(verdict: Verdict) -> dict[str, object]:
    return {
        "relation": verdict.relation,
        "status": verdict.status,
        "detail": verdict.detail,
        "source": cited(verdict.sources),
    }


def _conflict(conflict: Conflict) -> dict[str, object]:
    return {"between": list(conflict.between), "detail": conflict.detail, "source": cited(conflict.sources)}


def _alternative(alternative: Alternative) -> dict[str, object]:
    return {"changes": dict(alternative.changes), "gain": alternative.gain}


def _text(version: Version | None) -> str | None:
    return str(version) if version is not None else None
