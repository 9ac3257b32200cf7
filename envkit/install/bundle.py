"""What an installation without a network has to bring along."""

from __future__ import annotations

from collections.abc import Mapping

from envkit.errors import EnvkitError
from envkit.install.lore import WheelTagRow, lore
from envkit.install.model import CreatePython, Download, Installation, InstallFramework
from envkit.records import record


@record
class FetchedFile:
    """A file of a bundle as it lies on disk; `sha256` is computed where none was published."""

    download: Download
    size: int
    sha256: str


def wheel_commands(work: Installation, folder: str) -> tuple[tuple[str, ...], ...]:
    """The arguments of `pip` that fetch each framework's wheels for the target's Python and C library."""
    python = next((step for step in work.steps if isinstance(step, CreatePython)), None)
    if python is None:
        return ()
    glibc = work.os.glibc if work.os else None
    tags = [row.tag for row in lore(WheelTagRow) if glibc is None or row.glibc <= glibc]
    target = ["--only-binary=:all:", "--implementation", "cp", "--python-version", str(python.version)]
    for tag in reversed(tags):
        target += ["--platform", f"{tag}_{work.architecture}"]
    return tuple(
        (
            "download", "--dest", folder, *target, *_plain_tag(step, work.architecture), *step.source,
            step.pip_requirement, *step.requirements,
        )
        for step in work.steps
        if isinstance(step, InstallFramework)
    )  # fmt: skip


def check_bundle(work: Installation) -> None:
    """Raises EnvkitError for a plan whose Python no bundle can bring along."""
    python = next((step for step in work.steps if isinstance(step, CreatePython)), None)
    if python is not None and python.way == "conda":
        raise EnvkitError(
            f"--bundle: Python {python.version} comes from conda-forge here, as packages that a bundle does not hold.",
            "Choose another --python or --os, or bundle the toolkit alone: --cuda without --framework.",
        )


def _plain_tag(step: InstallFramework, architecture: str) -> tuple[str, ...]:
    """The platform of wheels outside the default index: often the plain one, which that index does not take."""
    by_address = any(" @ " in requirement for requirement in step.requirements)
    return ("--platform", f"linux_{architecture}") if by_address or step.source else ()


def bundle_document(work: Installation, files: tuple[FetchedFile, ...], wheels: Mapping[str, int]) -> dict[str, object]:
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
        "wheels": [{"name": name, "size": size} for name, size in sorted(wheels.items())],
    }
