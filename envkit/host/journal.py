"""What fixes did: one folder each, with a line before and after every step and copies of what it changed."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from envkit.base.errors import EnvkitError, OutputError

_LINES = "journal.jsonl"
_COPIES = "files"


def state_folder() -> Path:
    """Where this user's fixes are kept: ENVKIT_STATE_DIR, root's /var/lib/envkit, or the user's state folder."""
    named = os.environ.get("ENVKIT_STATE_DIR", "").strip()
    if named:
        return Path(named).absolute() / "fixes"
    if os.geteuid() == 0:
        return Path("/var/lib/envkit/fixes")
    return Path(os.environ.get("XDG_STATE_HOME", "").strip() or Path.home() / ".local/state") / "envkit" / "fixes"


class Journal:
    """One fix, as a folder that only its owner can open."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def new(cls, about: Mapping[str, object]) -> Journal:
        """A folder for a fix that begins now. Raises OutputError where none can be made."""
        parent = state_folder()
        name = f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{os.getpid()}"
        try:
            parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            (parent / name / _COPIES).mkdir(mode=0o700, parents=True)
            os.chmod(parent / name, 0o700)
        except OSError as error:
            hint = "Set ENVKIT_STATE_DIR to another directory."
            raise OutputError(f"--fix: cannot write {parent}: {error.strerror}.", hint) from error
        journal = cls(parent / name)
        journal.write({"event": "begun", **about})
        return journal

    @classmethod
    def last(cls) -> Journal:
        """The newest fix that was not undone. Raises EnvkitError where there is none."""
        parent = state_folder()
        folders = sorted((path for path in parent.glob("*") if (path / _LINES).is_file()), reverse=True)
        for folder in folders:
            journal = cls(folder)
            entries = journal.entries()
            steps = any(entry["event"] == "step" for entry in entries)
            if steps and entries[-1]["event"] != "undone":
                return journal
        raise EnvkitError(f"--undo: there is no fix to undo in {parent}.")

    def write(self, entry: Mapping[str, object]) -> None:
        """One line, on the disk before anything else happens. Raises OutputError."""
        try:
            with open(self.folder / _LINES, "a", encoding="utf-8") as stream:
                stream.write(json.dumps(entry) + "\n")
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise OutputError(f"--fix: cannot write {self.folder}: {error.strerror}.") from error

    def entries(self) -> list[dict[str, Any]]:
        """The lines; one that a crash cut off is left out."""
        found = []
        for line in (self.folder / _LINES).read_text("utf-8", "replace").splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
        return found

    def copy_place(self) -> Path:
        """A path in the folder for a copy of a file."""
        return self.folder / _COPIES / str(len(os.listdir(self.folder / _COPIES)))
