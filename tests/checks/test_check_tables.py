"""The table of remedies and what names its actions, the checks and the fixes of releases: every action is used."""

from __future__ import annotations

import re
from pathlib import Path

import envkit.checks
from envkit.tables.findings import ReleaseFix, RemedyStep
from envkit.tables.loader import read


def test_every_action_is_used() -> None:
    code = "\n".join(path.read_text("utf-8") for path in Path(envkit.checks.__file__).parent.rglob("*.py"))
    quoted = set(re.findall(r'"([a-z0-9-]+)"', code))
    of_releases = {row.action for row in read(ReleaseFix)}
    assert {row.action for row in read(RemedyStep)} - quoted - of_releases == set()
