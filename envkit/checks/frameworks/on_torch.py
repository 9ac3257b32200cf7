"""vLLM, whose own kernels are compiled for one torch: only another release of it provides code for another GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.versions import ComputeCapability, Version
from envkit.checks.engine.command import IMAGE, REQUIREMENT, URL, Command, fixed, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import in_container, managed_by
from envkit.checks.engine.messages import named, seen
from envkit.checks.frameworks.installs import for_this_machine, named_python, pip
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix
    from envkit.tables.rows import FrameworkBuild

_VLLM = "vllm"


def newer_vllm(environment: Environment, matrix: Matrix, target: str) -> Remedy | None:
    """The first release of vLLM whose torch has a build with code for this GPU; None where the tables name none."""
    from envkit.compat.pairs import pairs_by_package, required

    own = ComputeCapability.parse(target) if target and ";" not in target else None
    for row in pairs_by_package().get(_VLLM, ()):
        torches = [line.spec.exact for line in required(row) if line.package == "torch" and line.spec.exact]
        build = _with_code(environment, matrix, torches[0], own) if torches and own is not None else None
        if build is not None and build.index_url and Version.find(row.version) is not None:
            return _brought(environment, row.version, torches[0], build)
    return None


def _with_code(
    environment: Environment, matrix: Matrix, torch: Version, own: ComputeCapability
) -> FrameworkBuild | None:
    rows = (row for row in matrix.builds("pytorch") if row.version == torch and for_this_machine(environment, row))
    return next((row for row in rows if row.sass and own in row.sass and row.index_url), None)


def _brought(environment: Environment, version: str, torch: Version, build: FrameworkBuild) -> Remedy:
    why = (
        f"vLLM's own kernels are compiled for its torch, so changing only torch would break vLLM: use vLLM {version} "
        f"or newer, which is built for torch {torch} with CUDA {build.cuda}."
    )
    if managed_by(environment, "kubernetes"):
        chart = named(seen(environment, "arch-newer-than-build", "detail-chart"), "repository")
        other = f" in place of {chart}" if chart else ""
        return Remedy(
            f"{why} In the values of the chart, or in the pod's manifest, use vLLM's own image{other} (repository: "
            f"vllm/vllm-openai, tag: v{version} or newer): it is built with CUDA {build.cuda}, whatever release the "
            "other project's image has. Then upgrade the release with the options of its installation (helm upgrade) "
            "or apply the manifest again. To see which GPUs an image has code for, run in its container: python3 -c "
            "'import torch; print(torch.cuda.get_arch_list())'.",
            (fixed("helm list -A"),),
        )
    if in_container(environment) or managed_by(environment, "gpustack"):
        return Remedy(
            f"{why} In a container, use a newer image (the next release of the program that starts vLLM; the command "
            "is for vLLM's own image); anything installed in a running container is lost with it.",
            (run("docker", "pull", IMAGE(f"vllm/vllm-openai:v{version}")),),
        )
    commands: tuple[Command, ...] = (
        pip(
            named_python(environment),
            "install",
            REQUIREMENT(f"{_VLLM}=={version}"),
            "--extra-index-url",
            URL(build.index_url or ""),
        ),
    )
    return Remedy(why, commands)
