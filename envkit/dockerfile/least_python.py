"""The Python that an image of a framework has at least, where its own is not told and nothing brings another."""

from __future__ import annotations

import re

from envkit.base.versions import Version
from envkit.dockerfile.base import Base
from envkit.dockerfile.base_replaced import is_confined
from envkit.dockerfile.ground import Ground, Step
from envkit.dockerfile.packages import Package
from envkit.tables.build_stops import MovingPython
from envkit.tables.loader import read
from envkit.tables.rows import FrameworkImage

_LATEST = "latest"


def python_for(package: Package, step: Step, ground: Ground) -> Version | None:
    """The Python that a step installs a package for, or at least that of the base; None where neither is certain."""
    return ground.pythons.of(package.caller, step.place) or least_python(ground)


def least_python(ground: Ground) -> Version | None:
    """The oldest Python that images with the tag of the base have; None where the file may bring another."""
    own, base = ground.base.own, ground.base
    if is_confined(ground) or ground.tells & {"python", "environment", "deadsnakes"}:
        return None
    if own is None:
        return least_of_tag(base) if ground.of_python else None
    return own.python or python_of_tag(own)


def least_of_tag(base: Base) -> Version | None:
    """The oldest Python that images with the tag of a base have, whatever the file brings."""
    return _of_tag(base.repository, base.tag or _LATEST)


def python_of_tag(own: FrameworkImage) -> Version | None:
    """The oldest Python that images with such a tag have."""
    return _of_tag(own.repository, own.tag)


def _of_tag(repository: str, tag: str) -> Version | None:
    rows = (row for row in read(MovingPython) if row.repository == repository and re.fullmatch(row.tags, tag))
    return next((row.python for row in rows), None)
