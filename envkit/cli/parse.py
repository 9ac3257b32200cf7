"""Option values become typed request parts; each error names the option and the valid values, nearest first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from envkit.errors import RequestError
from envkit.plan.request import FrameworkRequest, Request, TargetGpu
from envkit.regex import regex
from envkit.versions import ComputeCapability, Version, VersionSpec

if TYPE_CHECKING:
    from envkit.matrix import Matrix
    from envkit.matrix.rows import GpuModel

_FRAMEWORK = regex(r"\s*([A-Za-z][\w.-]*?)\s*((?:[=<>!~]=?|==)\s*[\d.*].*)?\s*")


def parse_request(options: Mapping[str, Any], matrix: Matrix, *, container: bool) -> Request:
    """The request as the user wrote it, nothing filled in from a machine. Raises RequestError."""
    asked = {"frameworks", "cuda", "cudnn", "python", "os_id", "arch", "gpus", "driver"}
    return Request(
        frameworks=tuple(parse_framework(text, matrix) for text in options["frameworks"]),
        cuda=_known(parse_spec("--cuda", options["cuda"]), "--cuda", [row.version for row in matrix.toolkits])
        if options["cuda"]
        else None,
        cudnn=_known(parse_spec("--cudnn", options["cudnn"]), "--cudnn", [row.version for row in matrix.cudnns])
        if options["cudnn"]
        else None,
        python=parse_spec("--python", options["python"]) if options["python"] else None,
        os_id=parse_os(options["os_id"], matrix) if options["os_id"] else None,
        architecture=options["arch"] or "x86_64",
        gpus=tuple(parse_gpu(text, matrix) for text in options["gpus"]),
        driver=parse_driver(options["driver"]) if options["driver"] else None,
        container=container,
        asked=frozenset(name for name in asked if options[name]),
    )


def parse_spec(option: str, text: str) -> VersionSpec:
    """The version spec of an option. Raises RequestError."""
    try:
        spec = VersionSpec.parse(text)
    except ValueError:
        raise RequestError(
            f"{option}: {text!r} is not a version.", f"Examples: {option} 9.0 or {option} '>=12'"
        ) from None
    if not spec.clauses:
        raise RequestError(f"{option}: an empty value says nothing.", f"Leave {option} out, or give a version.")
    return spec


def parse_framework(text: str, matrix: Matrix) -> FrameworkRequest:
    """`pytorch`, `torch==2.3`, `mxnet>=1.5,<2` by our name. Raises RequestError for an unknown name or version."""
    match = _FRAMEWORK.fullmatch(text)
    if not match:
        raise RequestError(f"--framework: {text!r} is not NAME or NAME==VERSION.", "Example: --framework 'mxnet>=1.5'")
    framework = matrix.framework(match.group(1))
    if framework is None:
        raise RequestError.unknown_value("--framework", match.group(1), [row.name for row in matrix.frameworks])
    if not match.group(2):
        return FrameworkRequest(framework.name)
    spec = parse_spec("--framework", match.group(2))
    known = [build.version for build in matrix.builds(framework.name)]
    return FrameworkRequest(framework.name, _known(spec, f"--framework {framework.name}", known))


def parse_os(text: str, matrix: Matrix) -> str:
    """The id of a distribution on record. Raises RequestError."""
    row = matrix.operating_system(text.lower())
    if row is None:
        raise RequestError.unknown_value("--os", text, [row.os_id for row in matrix.operating_systems])
    return row.os_id


def parse_gpu(text: str, matrix: Matrix) -> TargetGpu:
    """A GPU by name or compute capability. Raises RequestError with the nearest names."""
    try:
        return TargetGpu(ComputeCapability.parse(text))
    except ValueError:
        pass
    model = matrix.gpu_by_name(text) or _same_gpu(text, matrix)
    if model is None:
        raise RequestError.unknown_value("--gpu", text, dict.fromkeys(row.name for row in matrix.gpus))
    return TargetGpu(model.compute_capability, model.name, model.last_driver_branch, model.data_center, model.memory_gb)


def _same_gpu(text: str, matrix: Matrix) -> GpuModel | None:
    """The model meant by a part of its name (`H100`), where all models that hold it are alike to the resolver."""
    words = set(text.lower().split())
    models = [row for row in matrix.gpus if words and words <= set(row.name.lower().split())]
    alike = {(row.compute_capability, row.last_driver_branch, row.data_center) for row in models}
    return models[0] if len(alike) == 1 else None


def parse_driver(text: str) -> Version:
    """A driver version. Raises RequestError."""
    try:
        return Version.parse(text)
    except ValueError:
        raise RequestError(f"--driver: {text!r} is not a driver version.", "Example: --driver 384.81") from None


def _known(spec: VersionSpec, option: str, versions: Iterable[Version]) -> VersionSpec:
    known = sorted(set(versions))
    if any(spec.holds(version) for version in known):
        return spec
    wanted = spec.clauses[0][1]
    nearest = sorted(
        known, key=lambda version: (version.major != wanted.major, abs(_number(version) - _number(wanted)))
    )
    shown = ", ".join(dict.fromkeys(str(version) for version in nearest[:8]))
    raise RequestError(f"{option}: no version {spec} is on record.", f"Nearest: {shown}")


def _number(version: Version) -> float:
    return version.major * 1e4 + version.minor * 1e2 + (version.parts[2] if len(version.parts) > 2 else 0) / 1e4
