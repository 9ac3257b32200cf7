"""Where a failure was reported: GitHub threads in their short form."""

from __future__ import annotations


def threads(*names: str) -> tuple[str, ...]:
    """The addresses of GitHub threads written as `owner/repository#number`."""
    return tuple(f"https://github.com/{name.replace('#', '/issues/')}" for name in names)
