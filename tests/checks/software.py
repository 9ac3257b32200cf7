"""Environments for the checks of toolkits, frameworks and containers, built from a few words each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from envkit.base.versions import ComputeCapability, Version
from envkit.checks.engine.findings import Finding
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.ingest import parse_text
from envkit.model import (
    CudaToolkit,
    Distribution,
    DriverLibrary,
    Environment,
    FrameworkInstall,
    Gpu,
    LibraryUse,
    MachineKind,
    Message,
    Nvcc,
    Observed,
    OsRelease,
    PythonEnvironment,
    found,
)
from envkit.model.paths import with_facts
from envkit.tables import Matrix

PREFIX = "/home/user/venv"
SITE = f"{PREFIX}/lib/python3.11/site-packages"
CONTAINER = MachineKind.CONTAINER
GPU_4090 = ("NVIDIA GeForce RTX 4090", "8.9")
GPU_5090 = ("NVIDIA GeForce RTX 5090", "12.0")
GPU_1080 = ("NVIDIA GeForce GTX 1080 Ti", "6.1")
GPU_A100 = ("NVIDIA A100-SXM4-80GB", "8.0")


@dataclass(frozen=True)
class Case:
    """An environment and the worst status that one check must find in it."""

    id: str
    status: str
    name: str
    environment: Environment
    words: str = ""  # text that title, impact or remedy must hold

    def __str__(self) -> str:
        return f"{self.id}-{self.status}-{self.name}"


@lru_cache(maxsize=1)
def matrix() -> Matrix:
    return Matrix.load()


def findings_of(text: str) -> list[Finding]:
    """What all checks find in a pasted text."""
    return run_checks(parse_text(text), matrix(), all_checks().values())


def findings(id: str, environment: Environment) -> list[Finding]:  # noqa: A002 - the field's own word
    return run_checks(environment, matrix(), [all_checks()[id]])


def worst(id: str, environment: Environment) -> Finding:  # noqa: A002
    """The finding of one check that a report would show first."""
    return findings(id, environment)[0]


def assert_case(case: Case) -> None:
    finding = worst(case.id, case.environment)
    assert finding.status.value == case.status, f"{finding.status.value}: {finding.title}"
    said = " ".join([finding.title, finding.impact, *_remedy(finding)])
    assert case.words in said, said
    if case.status in ("fail", "warn"):
        assert finding.evidence, "a fault without evidence"
        assert finding.remedy is not None and finding.remedy.summary, "a fault without a remedy"
        assert finding.impact, "a fault without what it means"


def _remedy(finding: Finding) -> Iterable[str]:
    return (finding.remedy.summary, *finding.remedy.commands) if finding.remedy else ()


def machine(facts: Mapping[str, object] | None = None, /, **more: object) -> Environment:
    """An environment with these facts by path; a value that is no `Observed` was found in a test."""
    every = {**(facts or {}), **{name.replace("__", "."): value for name, value in more.items()}}
    observed = {path: value if isinstance(value, Observed) else found(value, "test") for path, value in every.items()}
    return with_facts(Environment(), observed)


def v(text: str) -> Version:
    return Version.parse(text)


def sm(*texts: str) -> tuple[ComputeCapability, ...]:
    return tuple(ComputeCapability.parse(text) for text in texts)


def gpus(*models: tuple[str, str]) -> tuple[Gpu, ...]:
    return tuple(
        Gpu(index, name, f"0000:0{index + 1}:00.0", compute_capability=ComputeCapability.parse(capability))
        for index, (name, capability) in enumerate(models)
    )


def dist(text: str, *requires: str, **more: object) -> Distribution:
    """`torch==2.6.0` as an installed distribution."""
    name, _, version = text.partition("==")
    path = f"{SITE}/{name.replace('-', '_')}-{version}.dist-info"
    return Distribution(name, version, path, requires=requires, **more)  # type: ignore[arg-type]


def torch(version: str = "2.6.0+cu124", cuda: str | None = "12.4", **more: object) -> FrameworkInstall:
    return framework("pytorch", f"torch=={version}", version, cuda, **more)


def framework(name: str, package: str, version: str, cuda: str | None, **more: object) -> FrameworkInstall:
    known = v(cuda) if cuda else None
    return FrameworkInstall(name, version, package, known, True, path=SITE, source="version.py", **more)  # type: ignore[arg-type]


def python(*frameworks: FrameworkInstall, dists: Iterable[Distribution] = (), **more: object) -> PythonEnvironment:
    given = tuple(dists)
    names = {item.name for item in given}
    own = tuple(dist(item.package) for item in frameworks)
    kept = (*(item for item in own if item.name not in names), *given)
    values: dict[str, object] = {
        "executable": f"{PREFIX}/bin/python",
        "kind": "venv",
        "active": True,
        "distributions": kept,
        "frameworks": frameworks,
        **more,
    }
    version = values.pop("version", v("3.11.7"))
    return PythonEnvironment(PREFIX, version, **values)  # type: ignore[arg-type]


def pythons(*items: PythonEnvironment) -> dict[str, object]:
    return {"pythons": items}


def use(
    soname: str, path: str | None, rule: str, version: str = "", consumer: str = "torch/lib/libtorch_cuda.so"
) -> LibraryUse:
    return LibraryUse(f"{SITE}/{consumer}", soname, path, rule, version)


def said(signature: str, text: str = "a line of a log", **values: str) -> dict[str, object]:
    return {"messages": (Message(signature, text, 1, values),)}


def nvcc(version: str, path: str = "/usr/local/cuda/bin/nvcc", **more: object) -> Nvcc:
    return Nvcc(path, path, v(version), **more)  # type: ignore[arg-type]


def toolkit(version: str, path: str = "/usr/local/cuda", **more: object) -> CudaToolkit:
    return CudaToolkit(v(version), path, path, "version.json", **{"has_nvcc": True, "complete": True, **more})  # type: ignore[arg-type]


def libcuda(version: str | None, path: str = "", **more: object) -> DriverLibrary:
    place = path or f"/usr/lib/x86_64-linux-gnu/libcuda.so.{version}"
    return DriverLibrary("libcuda.so.1", place, v(version) if version else None, **{"in_ld_cache": True, **more})  # type: ignore[arg-type]


UBUNTU = {"system.os": OsRelease("ubuntu22.04", "ubuntu", "22.04", "Ubuntu 22.04", ("debian",))}
