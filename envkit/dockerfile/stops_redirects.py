"""Where curl gets nothing because the address sends it on to another one, and it was not told to follow."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, stop, subject_of
from envkit.dockerfile.ground import Ground
from envkit.dockerfile.shell import called
from envkit.tables.build_stops import Redirect
from envkit.tables.loader import read

_FOLLOWS = regex(r"-[A-HJM-Za-z#]{0,20}[LIK][A-Za-z#]{0,20}|--location(?:-trusted)?|--head|--config|[^$]{0,200}\$.*")
_LATEST = regex(
    r"\bcurl (?:-(?:[sSqfk]{1,5}|-silent|-show-error|-fail) ){0,4}[\"']?https?://github\.com/[\w.-]{1,60}/[\w.-]{1,100}/releases"
    r"/latest[\"']?(?= ?\| ?(?:grep|sed|cut|awk))"
)
_SETTINGS = regex(r"curlrc|alias curl")


def redirect_not_followed(ground: Ground) -> Iterator[Finding]:
    """The first such download."""
    if any(_SETTINGS.search(text) for text in ground.written):
        return
    for step in ground.steps:
        words = called(step.command)
        if not words or words[0] != "curl" or any(_FOLLOWS.fullmatch(word) for word in words if "://" not in word):
            continue
        row = next((row for row in read(Redirect) if any(re.fullmatch(row.address, word) for word in words)), None)
        if row is not None:
            yield stop(
                faults.INSTALLER_GONE,
                f"{row.title}, and curl without -L does not follow",
                command_subject(step.command),
                impact="The download is empty, or a page that says where the file is.",
                fix="Add -L to curl.",
                sources=row.sources,
            )
            return


def latest_unread(ground: Ground) -> Iterator[Finding]:
    """The first release that is read from the page which sends on to it: that has had no text for years."""
    for part in ground.instructions:
        found = _LATEST.search(part.text) if part.keyword == "RUN" else None
        if found is not None:
            line = part.body.line(found.start())
            yield stop(
                faults.INSTALLER_GONE,
                "the page that GitHub sends for releases/latest is empty, so the release that is read from it is blank",
                subject_of(line, found[0]),
                impact="The build stops at the download of a release without a number.",
                fix="Name the release, or read it from api.github.com.",
                sources=("github-docs-release-links",),
            )
            return
