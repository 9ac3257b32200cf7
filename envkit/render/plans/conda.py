"""An environment.yml: Python from conda-forge, the frameworks' own wheels by pip."""

from __future__ import annotations

from json import dumps

from envkit.base.names import requirement_name
from envkit.base.versions import Version
from envkit.documents.packages import PackageList, in_one_file
from envkit.tables.loader import read
from envkit.tables.pairs import CondaCode

_FRAMEWORK, _PACKAGE = "pytorch", "torch"


def _compiled_by_conda_forge(packages: PackageList) -> list[str]:
    """That conda-forge has builds of its own, by CUDA, which hold code for other GPUs than the wheels."""
    lines = [line for line, _ in packages.requirements if requirement_name(line) == _PACKAGE]
    release = Version.find(lines[0].partition("==")[2]) if lines else None
    rows = [row for row in read(CondaCode) if row.framework == _FRAMEWORK]
    *others, newest = [str(row.cuda) for row in rows if release is not None and row.first <= release] or [""]
    if not newest:
        return []
    beside = f" (or {', '.join(others)})" if others else ""
    return [
        f"# conda-forge has its own builds: pytorch-gpu with cuda-version={newest}{beside}.",
        f"# If conda sees no GPU, it installs the CPU build unless CONDA_OVERRIDE_CUDA={newest} is set.",
    ]


def written(packages: PackageList) -> str:
    """The file. Raises EnvkitError for packages of different indexes."""
    python = f"={packages.release}" if packages.release else ""
    lines = [
        *packages.comments,
        *_compiled_by_conda_forge(packages),
        f"name: {packages.name}",
        "channels:",
        "  - conda-forge",
        "dependencies:",
        f"  - python{python}",
        "  - pip",
    ]
    required = [f"      - {dumps(line)}" for line in in_one_file(packages, "conda")]
    return "\n".join([*lines, *(["  - pip:"] if required else []), *required]) + "\n"
