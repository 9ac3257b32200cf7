"""The Python that an image of a framework has at least, where its own is not told and nothing brings another."""

from __future__ import annotations

import re

from envkit.base.versions import Version
from envkit.dockerfile.base_replaced import is_confined
from envkit.dockerfile.ground import Ground
from envkit.tables.build_stops import MovingPython
from envkit.tables.loader import read
from envkit.tables.rows import FrameworkImage


def least_python(ground: Ground) -> Version | None:
    """The oldest Python that images with the tag of the base have; None where the file may bring another."""
    own = ground.base.own
    if own is None or is_confined(ground) or ground.tells & {"python", "environment", "deadsnakes"}:
        return None
    return own.python or python_of_tag(own)


def python_of_tag(own: FrameworkImage) -> Version | None:
    """The oldest Python that images with such a tag have."""
    rows = (row for row in read(MovingPython) if row.repository == own.repository and re.fullmatch(row.tags, own.tag))
    return next((row.python for row in rows), None)
