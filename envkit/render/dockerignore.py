"""What the build context leaves out."""

from __future__ import annotations

from collections.abc import Iterable


def render_dockerignore(files: Iterable[str]) -> str:
    """A `.dockerignore` that sends nothing to the engine but the files that the Dockerfile reads."""
    kept = [f"!{name}" for name in files]
    return "\n".join(["# Written by envkit: the build reads nothing else from this directory.", "*", *kept]) + "\n"
