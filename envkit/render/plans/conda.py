"""An environment.yml: Python from conda-forge, the frameworks' own wheels by pip."""

from __future__ import annotations

from json import dumps

from envkit.documents.packages import PackageList, in_one_file


def written(packages: PackageList) -> str:
    """The file. Raises EnvkitError for packages of different indexes."""
    python = f"={packages.release}" if packages.release else ""
    lines = [
        *packages.comments,
        f"name: {packages.name}",
        "channels:",
        "  - conda-forge",
        "dependencies:",
        f"  - python{python}",
        "  - pip",
    ]
    required = [f"      - {dumps(line)}" for line in in_one_file(packages, "conda")]
    return "\n".join([*lines, *(["  - pip:"] if required else []), *required]) + "\n"
