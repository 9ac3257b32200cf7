"""What the build context leaves out."""

from __future__ import annotations


def render_dockerignore(requirements: str | None) -> str:
    """A `.dockerignore` that sends nothing to the engine but the files that the Dockerfile reads."""
    kept = [f"!{requirements}"] if requirements else []
    return "\n".join(["# Written by envkit: the build reads nothing else of this folder.", "*", *kept]) + "\n"
