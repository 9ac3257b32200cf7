"""What the commands print to a question, their lines joined."""

from __future__ import annotations

from pathlib import Path

from tests.cli.run import envkit


def printed(*words: str) -> str:
    """All that a command prints."""
    ran = envkit(*words)
    return " ".join(f"{ran.stdout} {ran.stderr}".split())


def resolved(*words: str) -> str:
    """What `resolve` prints for any machine."""
    return printed("resolve", *words, "--target", "any")


def checked(text: str, folder: Path, *words: str, name: str = "requirements.txt") -> str:
    """What `check` prints of a project's file with this text, for any machine."""
    (folder / name).write_text(text, encoding="utf-8")
    return printed("check", str(folder / name), *words, "--target", "any")


def only_file(folder: Path) -> Path:
    """The one file of a question."""
    (file,) = folder.iterdir()
    return file
