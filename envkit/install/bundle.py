"""What an installation without a network has to include."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.base.errors import EnvkitError
from envkit.install.bundle_wheels import Target
from envkit.install.model import (
    AddRepository,
    CreatePython,
    Download,
    FetchParts,
    Installation,
    InstallDriver,
    InstallFramework,
    ToolkitPart,
)
from envkit.install.plan import plan_beside_conda
from envkit.tables import Matrix
from envkit.tables.installer import SourceOnlyRow, WheelTagRow
from envkit.tables.loader import read

_ARCHIVE = regex(r"[A-Za-z0-9_./-]+\.tar\.xz")
_SHA256 = regex(r"[0-9a-f]{64}")
Sums = Mapping[str, tuple[int, str]]  # of each wheel: its size and its sha256


@record
class FetchedFile:
    """A file of a bundle as it lies on disk; `sha256` is computed where none was published."""

    download: Download
    size: int
    sha256: str


def wheel_commands(work: Installation, folder: str, left_out: Sequence[str] = ()) -> tuple[tuple[str, ...], ...]:
    """The arguments of `pip` that fetch the frameworks' wheels for the target's Python and C library, all in one go.

    `left_out`: further requirements. What the index has only as sources is built into wheels before. Fetched one by
    one, each would provide the newest of what it needs, which need not suit the others.
    """
    python, frameworks = target_of(work), _frameworks(work)
    if python is None or not frameworks:
        return ()
    glibc = work.os.glibc if work.os else None
    tags = [row.tag for row in read(WheelTagRow) if glibc is None or row.glibc <= glibc]
    target = ["--only-binary=:all:", "--implementation", "cp", "--python-version", str(python.python)]
    for tag in reversed(tags):
        target += ["--platform", f"{tag}_{python.architecture}"]
    if any(map(_may_be_plain, frameworks)):
        target += ["--platform", f"linux_{work.architecture}"]
    places = _places(frameworks)
    wanted = dict.fromkeys((*wanted_wheels(work), *left_out))
    download = ("download", "--dest", folder, *target, *places)
    built = _source_only(frameworks)
    if not built:
        return ((*download, *wanted),)
    return (
        ("wheel", "--no-deps", "--wheel-dir", folder, *places, *built),
        (*download, "--find-links", folder, *wanted),
    )


def wanted_wheels(work: Installation) -> tuple[str, ...]:
    """What pip is told to fetch: the frameworks with what goes with them."""
    steps = _frameworks(work)
    return tuple(dict.fromkeys(line for step in steps for line in (step.pip_requirement, *step.requirements)))


def _frameworks(work: Installation) -> list[InstallFramework]:
    return [step for step in work.steps if isinstance(step, InstallFramework)]


def target_of(work: Installation) -> Target | None:
    """The Python that the wheels are for; None for a script without one."""
    python = next((step for step in work.steps if isinstance(step, CreatePython)), None)
    return Target(python.version, str(work.architecture)) if python is not None else None


def _source_only(frameworks: list[InstallFramework]) -> tuple[str, ...]:
    """What has to be built here, as pip fetches only wheels for another Python: plain Python runs there, too."""
    return tuple(
        row.requirement
        for row in read(SourceOnlyRow)
        if any(row.is_for(step.name, step.version) for step in frameworks)
    )


def _places(frameworks: list[InstallFramework]) -> tuple[str, ...]:
    """Where pip looks for all of them at once: one place may be the index, the default one where any needs that."""
    words = [(step.source[at], step.source[at + 1]) for step in frameworks for at in range(0, len(step.source), 2)]
    places = list(dict.fromkeys(words))
    indexes = [place for place in places if place[0] == "--index-url"]
    keep = indexes[:1] if all("--index-url" in step.source for step in frameworks) else []
    return tuple(
        word
        for place in places
        for word in (place if place in keep or place not in indexes else ("--extra-index-url", place[1]))
    )


def check_bundle(work: Installation, accept_unverified: bool = False) -> None:
    """Raises EnvkitError for a Python that no bundle can include, and for a file that nothing can verify."""
    if work.unverified and not accept_unverified:
        raise EnvkitError(
            f"--bundle: no published checksum is known for {', '.join(file.name for file in work.unverified)}.",
            "Choose another release, or accept the files without verification: --accept-unverified",
        )
    if any(isinstance(step, AddRepository) for step in work.steps):
        raise EnvkitError(
            "--bundle: it does not include packages, so a driver from NVIDIA's repository cannot be part of it.",
            "Omit --nvidia-repository, or bundle a driver's runfile: --driver-runfile",
        )
    driver = next((step for step in work.steps if isinstance(step, InstallDriver)), None)
    if driver is not None and driver.file is None and driver.chosen_path is None:
        raise EnvkitError(
            "--bundle: it does not include packages, and this driver comes only as packages.",
            "Pass the URL of the driver's runfile (--driver-runfile), or omit --bundle and give the machine a local "
            "mirror of the packages (the script's --system-packages).",
        )
    python = next((step for step in work.steps if isinstance(step, CreatePython)), None)
    if python is not None and python.way == "conda":
        other = plan_beside_conda(work.plan, Matrix.load())
        way = (
            f"Specify --python {other.choice.python}"
            if other
            else "No other Python version works here: choose a different --os"
        )
        raise EnvkitError(
            f"--bundle: Python {python.version} comes from conda-forge here, as packages that a bundle does not "
            "include.",
            f"{way}, or bundle only the toolkit: --cuda without --framework.",
        )


def _may_be_plain(step: InstallFramework) -> bool:
    """Wheels outside the default index may be for the platform linux_ARCHITECTURE, which that index does not take."""
    return bool(step.source) or any(" @ " in requirement for requirement in step.requirements)


def archives_of_parts(work: Installation, list_text: str) -> tuple[Download, ...]:
    """The archives of the plan's parts, as NVIDIA's list of them names them. Raises EnvkitError for one it lacks."""
    step = next(step for step in work.steps if isinstance(step, FetchParts))
    return tuple(_archive(step, part, json.loads(list_text)) for part in step.parts)


def _archive(step: FetchParts, part: ToolkitPart, listed: dict[str, Any]) -> Download:
    found = listed.get(part.entry, {}).get(step.platform, {})
    path, checksum = str(found.get("relative_path", "")), str(found.get("sha256", ""))
    if not _ARCHIVE.fullmatch(path) or ".." in path or not _SHA256.fullmatch(checksum):
        raise EnvkitError(
            f"--components: {step.list_file.name} has no archive of {part.name} for {step.platform}.", "Omit that part."
        )
    return Download(path.rpartition("/")[2], f"{step.folder}/{path}", "sha256", checksum)


def bundle_document(work: Installation, files: tuple[FetchedFile, ...], wheels: Sums) -> dict[str, object]:
    """The list of a bundle: every file with its address, checksum and size in bytes."""
    return {
        "schema": 1,
        "plan": work.plan_id,
        "files": [
            {
                "name": file.download.name,
                "url": file.download.url,
                "published_checksum": f"{file.download.algorithm}:{file.download.checksum}"
                if file.download.checksum
                else None,
                "sha256": file.sha256,
                "size": file.size,
            }
            for file in files
        ],
        "wheels": [{"name": name, "size": size, "sha256": sha256} for name, (size, sha256) in wheels.items()],
    }


def sums_text(wheels: Sums) -> str:
    """The list of the wheels that the script checks, as sha256sum reads it."""
    return "".join(f"{sha256}  {name}\n" for name, (_, sha256) in wheels.items())
