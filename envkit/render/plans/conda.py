"""An environment.yml: Python from conda-forge, the frameworks' own wheels by pip."""

from __future__ import annotations

from json import dumps

from envkit.base.names import requirement_name
from envkit.documents.packages import PackageList, in_one_file
from envkit.tables.loader import read
from envkit.tables.pairs import CondaCode

_FRAMEWORK, _PACKAGE = "pytorch", "torch"


def _compiled_by_conda_forge(packages: PackageList) -> list[str]:
    """That conda-forge has builds of its own, by CUDA, which hold code for other GPUs than the wheels."""
    known = [str(row.cuda) for row in read(CondaCode) if row.framework == _FRAMEWORK]
    if not any(requirement_name(line) == _PACKAGE for line, _ in packages.requirements):
        return []
    return [
        f"# conda-forge also compiles it: pytorch-gpu with cuda-version={known[-1]} (or {', '.join(known[:-1])}).",
        f"# Where conda sees no GPU, it takes the CPU build unless CONDA_OVERRIDE_CUDA={known[-1]} is set.",
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
