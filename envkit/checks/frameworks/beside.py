"""What is compiled against a framework, and has to change with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.sentences import series
from envkit.checks.engine.command import REQUIREMENT, URL, Command
from envkit.checks.frameworks.installs import Installed, pip, release

if TYPE_CHECKING:
    from envkit.tables.rows import FrameworkBuild

_COMPILED = ("vllm", "xformers", "flash-attn", "sgl-kernel", "mamba-ssm", "causal-conv1d", "mmcv", "mmcv-full")
_ON_ITS_INDEX = "xformers"  # whose builds are on PyTorch's own index


def compiled_beside(found: Installed, build: FrameworkBuild) -> tuple[str, tuple[Command, ...]]:
    """The words and the commands for packages that were compiled for the CUDA of the build that is replaced."""
    old = found.framework.cuda
    others = [item for item in found.python.distributions if item.name in _COMPILED]
    if build.framework != "pytorch" or old is None or build.cuda is None or old.major == build.cuda.major or not others:
        return "", ()
    same = build.version == release(found.framework.version)
    own = next((item for item in others if item.name == _ON_ITS_INDEX and same and build.index_url), None)
    left = [item.name for item in others if item is not own]
    were, them = ("was", "it") if len(others) == 1 else ("were", "them")
    words = f" {series(item.name for item in others)} {were} compiled for CUDA {old}; replace {them}, too"
    more = (
        f" ({series(left)} with the wheel for CUDA {build.cuda} on the project's release page, using --no-deps)"
        if left
        else ""
    )
    if own is None:
        return f"{words}{more}.", ()
    line = f"{own.name}=={own.version.partition('+')[0]}"
    index = build.index_url or ""
    return f"{words}{more}.", (
        pip(found.python, "install", "--force-reinstall", "--no-deps", REQUIREMENT(line), "--index-url", URL(index)),
    )
