"""A folder that appears whole or not at all, open to its owner alone."""

from __future__ import annotations

import glob
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from envkit.base.errors import OutputError


class NewFolder:
    """The folder while it is made: `path` is where it is until it is whole."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.sizes: dict[str, int] = {}  # bytes of each file by its name in the folder

    def write(self, name: str, content: bytes) -> None:
        """Write a file, and the folders above it."""
        *folders, file = name.split("/")
        place = self.path
        for folder in folders:
            place = os.path.join(place, folder)
            with suppress(FileExistsError):
                os.mkdir(place, 0o700)
        place = os.path.join(place, file)
        handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(handle, "wb") as stream:
            stream.write(content)
        self.sizes[name] = len(content)


@contextmanager
def new_folder(directory: str) -> Iterator[NewFolder]:
    """The folder `directory`, which must not hold anything yet. Raises OutputError; then nothing is left behind."""
    if not directory:
        raise OutputError("The name of the directory is empty.", "Choose a new directory.")
    target = Path(directory)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise OutputError(f"{directory} is not empty.", "Choose a new directory.")
    # Named before it is there: a signal between the two leaves nothing.
    work = target.parent / f".{target.name}-{os.getpid()}-{os.urandom(4).hex()}"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        clear_leftovers(target)
        work.mkdir(mode=0o700)
        yield NewFolder(work)
        if target.exists():
            target.rmdir()
        work.rename(target)
    except OSError as error:
        raise OutputError(
            f"{directory} cannot be written: {error.strerror}.", "Choose a directory elsewhere."
        ) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def clear_leftovers(target: Path) -> None:
    """Remove what a program that was killed while it made this folder left behind; a name tells its process."""
    for folder in target.parent.glob(f".{glob.escape(target.name)}-*-????????"):
        number = folder.name.split("-")[-2]
        status = folder.lstat()
        if not number.isdigit() or status.st_uid != os.geteuid() or not stat.S_ISDIR(status.st_mode):
            continue
        if not os.path.exists(f"/proc/{number}"):
            shutil.rmtree(folder, ignore_errors=True)
