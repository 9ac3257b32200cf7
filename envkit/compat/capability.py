"""Compute capabilities as numbers that compare."""

from __future__ import annotations

from envkit.base.versions import ComputeCapability


def plain(capability: ComputeCapability) -> tuple[int, int]:
    """A capability as numbers that compare, whatever a target is specific to."""
    return capability.major, capability.minor
