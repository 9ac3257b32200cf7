"""An environment.yml: Python from conda-forge, the frameworks' own wheels by pip."""

from __future__ import annotations

from json import dumps

from envkit.base.names import requirement_name
from envkit.base.versions import Version
from envkit.compat.conda import channel_build, compiled_by_conda_forge, last_of_channel
from envkit.documents.packages import PackageList, in_one_file

_FRAMEWORK, _PACKAGE = "pytorch", "torch"
_ALONE = (
    "# The CUDA that was asked for is that of conda-forge's own build; the next lines are about the package of pip."
)


def _compiled_by_conda_forge(packages: PackageList) -> list[str]:
    """That conda-forge has builds of its own, by CUDA, which hold code for other GPUs than the wheels."""
    lines = [line for line, _ in packages.requirements if requirement_name(line) == _PACKAGE]
    release = Version.find(lines[0].partition("==")[2]) if lines else None
    if release is None:
        return []
    told = _of_channel(release, packages)
    rows = [row for row in compiled_by_conda_forge(_FRAMEWORK, release) if str(row.cuda) in packages.conda_cudas]
    *others, newest = [str(row.cuda) for row in rows] or [""]
    if not newest:
        return told
    beside = f" (or {', '.join(others)})" if others else ""
    build = newest.replace(".", "")
    return [
        *told,
        f"# conda-forge has its own builds: pytorch-gpu with cuda-version={newest}{beside}.",
        f"# By its build string: conda install -c conda-forge 'pytorch={release}=cuda{build}*'",
        f"# If conda sees no GPU, it installs the CPU build unless CONDA_OVERRIDE_CUDA={newest} is set.",
    ]


def _of_channel(release: Version, packages: PackageList) -> list[str]:
    """The command for PyTorch's own channel, or where it ended."""
    last = last_of_channel(_FRAMEWORK)
    if last is not None and release > last:
        return [f"# The pytorch channel ended with {last}: newer releases come from pip or conda-forge."]
    row = channel_build(_FRAMEWORK, release, packages.cuda)
    if row is None:
        return []
    channels = " ".join(f"-c {channel}" for channel in row.channels)
    what = "it too" if row.version == release else f"{row.version} of its line"
    return [f"# The pytorch channel has {what}: conda install {' '.join(row.requirements)} {channels}"]


def written(packages: PackageList) -> str:
    """The file. Raises EnvkitError for packages of different indexes."""
    python = f"={packages.release}" if packages.release else ""
    comments = [_ALONE, *packages.comments[1:]] if packages.conda_alone else packages.comments
    lines = [
        *comments,
        *_compiled_by_conda_forge(packages),
        f"name: {packages.name}",
        "channels:",
        "  - conda-forge",
        "dependencies:",
        f"  - python{python}",
    ]
    if packages.conda_alone:
        return "\n".join([*lines, *(f"  - {line}" for line in packages.conda_alone)]) + "\n"
    lines.append("  - pip")
    required = [f"      - {dumps(line)}" for line in in_one_file(packages, "conda")]
    return "\n".join([*lines, *(["  - pip:"] if required else []), *required]) + "\n"
