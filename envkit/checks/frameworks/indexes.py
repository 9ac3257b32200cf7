"""PyTorch's own indexes: the one next to an index that does not exist, and one that serves PyTorch alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.versions import Version, cuda_tag
from envkit.checks.engine.command import REQUIREMENT, URL, fixed, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import said
from envkit.checks.frameworks.installs import TORCH_PACKAGES, first_python, for_this_machine, installs, pip, release
from envkit.model import Environment
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix

_ID = "package-index-wrong"
_TAG = regex(r"/whl/(?P<tag>cu\d{2,3}|cpu)\b")
_OF_TORCH = "https://download.pytorch.org/whl/"


def only_for_torch(environment: Environment, matrix: Matrix) -> Remedy:
    """The lines of pyproject.toml that give an index to PyTorch alone."""
    match = _TAG.search(said(environment, _ID))
    tag = match["tag"] if match else "cuXYZ"
    version = next((release(item.framework.version) for item in installs(environment, "pytorch")), None)
    wanted = f"torch=={version}" if version is not None else "torch"
    return Remedy(
        "Use the index only for PyTorch; everything else then comes from PyPI. In pyproject.toml, replace what names "
        f'the index by these lines: [[tool.uv.index]], name = "pytorch-{tag}", url = "{_OF_TORCH}{tag}", '
        "explicit = true; and below them, [tool.uv.sources], "
        f'torch = {{ index = "pytorch-{tag}" }}, with one line more for torchvision and torchaudio if you use them. '
        f"They need uv {limit('uv-named-indexes')} or newer (uv self update). Leave --index and --index-url out of the "
        "commands.",
        (run("uv", "add", REQUIREMENT(wanted)), fixed("uv sync")),
    )


def nearest_index(environment: Environment, matrix: Matrix, tag: str) -> Remedy | None:
    """The release that is named, from the index of the next older CUDA of the same major line, whose libraries serve
    what is compiled for the missing one; None where there is none, or the release is not known."""
    digits = tag.removeprefix("cu")
    missing = Version.find(f"{digits[:-1]}.{digits[-1:]}")
    item = next(installs(environment, "pytorch"), None)
    version = release(item.framework.version) if item is not None else None
    most = environment.driver.driver_cuda_version.value
    rows = [
        row
        for row in matrix.builds("pytorch")
        if row.version == version and row.cuda is not None and row.index_url and for_this_machine(environment, row)
        if missing is not None and row.cuda.major == missing.major and row.cuda < missing
        if most is None or row.cuda.major <= most.major
    ]
    row = max(rows, key=lambda one: (bool(one.companions), one.cuda or missing), default=None)
    if row is None or row.cuda is None:
        return None
    python = first_python(environment)
    return Remedy(
        f"PyTorch has no builds for CUDA {missing}: install the one for CUDA {row.cuda}, the nearest of the same major "
        "release. Extensions that are compiled for the other minor release usually load with it; the Python and the "
        "installed CUDA toolkit do not matter, only a driver that runs CUDA "
        f"{row.cuda.major}.",
        (
            pip(python, "uninstall", "-y", *TORCH_PACKAGES),
            pip(
                python,
                "install",
                *map(REQUIREMENT, (f"torch=={version}", *row.companions)),
                "--index-url",
                URL(f"{_OF_TORCH}{cuda_tag(row.cuda)}"),
            ),
        ),
    )
