"""`envkit install --bundle DIR`: the files, the wheels, the script and the list of it all."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from envkit.base.errors import EnvkitError, StepFailed
from envkit.base.json_text import dumps
from envkit.cli.output import say, write_file
from envkit.cli.terminal import at_terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from envkit.install.bundle import FetchedFile
    from envkit.install.model import Download, Installation


def make_bundle(work: Installation, script: str, path: str, accept_unverified: bool = False) -> None:
    """Fetches everything into the folder `path`. Raises StepFailed or OutputError; a second call goes on from there.

    Raises EnvkitError, before anything is fetched, where no bundle can hold all that the script needs.
    """
    from envkit.host.run_script import make_folder, wheel_sums
    from envkit.install.bundle import archives_of_parts, bundle_document, check_bundle, sums_text

    check_bundle(work, accept_unverified)
    folder = make_folder(path)
    if not (folder / "install.sh").exists() and any((folder / "wheels").glob("*.whl")):
        raise EnvkitError(
            f"--bundle: {folder / 'wheels'} contains wheels that no bundle listed; this bundle's checksums would make "
            "them look like its own.",
            "Choose an empty directory.",
        )
    write_file(script, str(folder / "install.sh"), executable=True)
    files = _fetch_all(work.downloads, folder)
    for part_list in work.part_lists:
        listed = (folder / part_list.name).read_text(encoding="utf-8")
        files += _fetch_all(archives_of_parts(work, listed), folder)
    _fetch_wheels(work, folder)
    wheels = wheel_sums(folder / "wheels")
    if wheels:
        write_file(sums_text(wheels), str(folder / "wheels" / "SHA256SUMS"))
    write_file(dumps(bundle_document(work, files, wheels)), str(folder / "bundle.json"))
    say(f"Bundle: {folder}. On the target: sudo bash install.sh --offline .")


def _fetch_all(downloads: Sequence[Download], folder: Path) -> tuple[FetchedFile, ...]:
    from envkit.host.run_script import remote_size

    for download in downloads:
        size = remote_size(download.url)
        say(f"{_size(size):>10}  {download.url}  {download.algorithm} {download.checksum}".rstrip())
    return tuple(_fetch(download, folder) for download in downloads)


def _size(size: int | None) -> str:
    return "size ?" if size is None else f"{size / 1e6:.1f} MB"


def _fetch(download: Download, folder: Path) -> FetchedFile:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    from envkit.host.run_script import fetch
    from envkit.install.bundle import FetchedFile

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(stderr=True), disable=not at_terminal(sys.stderr)) as bar:
        task = bar.add_task(download.name, total=None)

        def progress(held: int, total: int | None) -> None:
            bar.update(task, completed=held, total=total)

        size, sha256 = fetch(download.url, folder / download.name, download.algorithm, download.checksum, progress)
    return FetchedFile(download, size, sha256)


def _fetch_wheels(work: Installation, folder: Path) -> None:
    from envkit.host.run_script import make_folder, run_pip
    from envkit.install.bundle import wheel_commands

    for arguments in wheel_commands(work, str(make_folder(str(folder / "wheels")))):
        if run_pip(arguments, say) != 0:
            raise StepFailed(
                "pip could not fetch every wheel for the target (see above).",
                "Some old packages have no wheel: fetch those on a machine like the target with pip wheel.",
            )
