"""The Python that an image of a framework has at least, where its own is not told and nothing brings another."""

from __future__ import annotations

import re

from envkit.base.versions import Version
from envkit.dockerfile.base_replaced import is_confined
from envkit.dockerfile.ground import Ground
from envkit.tables.build_stops import MovingPython
from envkit.tables.loader import read


def least_python(ground: Ground) -> Version | None:
    """The oldest Python that images with the tag of the base have; None where the file may bring another."""
    own = ground.base.own
    if own is None or is_confined(ground) or ground.tells & {"python", "environment", "deadsnakes"}:
        return None
    if own.python is not None:
        return own.python
    rows = (row for row in read(MovingPython) if row.repository == own.repository and re.fullmatch(row.tags, own.tag))
    return next((row.python for row in rows), None)
