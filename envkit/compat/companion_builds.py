"""What a package next to a framework is made for: vLLM has none for Windows, and one CUDA, whatever its torch has."""

from __future__ import annotations

from functools import lru_cache

from envkit.base.versions import Version, VersionSpec
from envkit.compat.packages import rows_allowed
from envkit.compat.verdict import Verdict
from envkit.tables.loader import read
from envkit.tables.pairs import CompanionBuilds
from envkit.tables.rows import os_title


@lru_cache(maxsize=1)
def _rows() -> tuple[tuple[CompanionBuilds, VersionSpec], ...]:
    return tuple((row, VersionSpec.parse(row.versions)) for row in read(CompanionBuilds))


def companion_builds(package: str, spec: str) -> list[CompanionBuilds]:
    """What is known of the releases of a package that a requirement allows.

    `package` is the name as indexes compare it, `spec` what follows it: `==0.6.3`.
    """
    own = (pair for pair in _rows() if pair[0].package == package)
    return [row for row, _ in rows_allowed(package, spec, own)]


def companion_on_platform(package: str, spec: str, platform: str, architecture: str = "") -> Verdict | None:
    """Why none of these releases is made for a system, linux or windows, and a processor; None where one may be."""
    rows = companion_builds(package, spec)
    if not rows or any(platform in row.platforms and _on_processor(row, architecture) for row in rows):
        return None
    if any(platform in row.platforms for row in rows):
        made = ", ".join(dict.fromkeys(one for row in rows for one in row.architectures))
        detail = f"{package}{spec} is built for {made}, not for {architecture}"
        return Verdict("companion-on-platform", "fail", detail, rows[-1].sources)
    known = ", ".join(dict.fromkeys(os_title(one) for row in rows for one in row.platforms))
    detail = f"{package}{spec} is built for {known}, not for {os_title(platform)}"
    return Verdict("companion-on-platform", "fail", detail, rows[-1].sources)


def companion_on_glibc(package: str, spec: str, glibc: Version, where: str) -> Verdict | None:
    """Why a system's glibc is too old for the wheels of all these releases; None where one may do, or is not known."""
    rows = companion_builds(package, spec)
    lowest = min((row.min_glibc for row in rows if row.min_glibc is not None), default=None)
    if lowest is None or glibc >= lowest or any(row.min_glibc is None for row in rows):
        return None
    detail = f"the wheels of {package}{spec} need glibc {lowest} or newer, and {where} has {glibc}"
    return Verdict("glibc-meets-build", "fail", detail, rows[-1].sources)


def _on_processor(row: CompanionBuilds, architecture: str) -> bool:
    return not (architecture and row.architectures) or architecture in row.architectures


def is_made_for(package: str, version: str, platform: str, architecture: str) -> bool:
    """Whether the libraries of a release are for a system and a processor, as far as that is known."""
    return companion_on_platform(package, f"=={version}", platform, architecture) is None


def is_on_torch_index(package: str, version: str) -> bool:
    """Whether PyTorch's own index has a release for each CUDA."""
    return any(row.torch_index for row in companion_builds(package, f"=={version}"))


def takes_cuda(package: str, version: str, cuda: Version | None) -> bool:
    """Whether a release is also made for the torch of a CUDA that the default index does not have it for."""
    return cuda is not None and any(cuda in row.other_cudas for row in companion_builds(package, f"=={version}"))


def is_for_usual_torch(package: str, spec: str) -> bool:
    """Whether these releases are known to be compiled for the torch of the default index alone."""
    rows = companion_builds(package, spec)
    return bool(rows) and not any(row.torch_index for row in rows)
