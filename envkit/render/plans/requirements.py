"""A requirements file."""

from __future__ import annotations

from envkit.documents.packages import PackageList, in_one_file


def written(packages: PackageList) -> str:
    """The file. Raises EnvkitError for packages of different indexes."""
    python = [f"# For Python {packages.release}."] if packages.release else []
    return "\n".join([*packages.comments, *python, *in_one_file(packages, "requirements")]) + "\n"
