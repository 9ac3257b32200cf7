"""The one loop that follows links; who walks, decides what a link is and where its steps lead."""

from __future__ import annotations

import errno
import os
from typing import Protocol

_MAX_LINKS = 40  # as many as the kernel follows
_MAX_STEPS = 4000  # links can be made to take any number of turns


class Walker(Protocol):
    """Somebody who is in a folder of some file system."""

    def enter(self, name: str, follow: bool) -> str | None:
        """Step to `name`; where that is a link and to be followed, stay and give what it says. May raise OSError."""

    def leave(self) -> None:
        """Step to the folder above; the top stays where it is."""

    def top(self) -> None:
        """Step to the topmost folder."""


def walk(walker: Walker, path: str, follow_last: bool = True) -> None:
    """Lead the walker along `path`, through links. Raises OSError for links that go round in circles."""
    waiting = path.split("/")[::-1]
    links = steps = 0
    while waiting:
        part = waiting.pop()
        steps += 1
        if links > _MAX_LINKS or steps > _MAX_STEPS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if part in ("", "."):
            continue
        if part == "..":
            walker.leave()
            continue
        target = walker.enter(part, bool(waiting) or follow_last)
        if target is None:
            continue
        links += 1
        if target.startswith("/"):
            walker.top()
        waiting += target.split("/")[::-1]
