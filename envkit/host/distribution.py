"""Which distribution the release files describe, as the `distro` library reads them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping

Described = tuple[str, str, str, tuple[str, ...]]  # id, best version, pretty name, like


def describe(files: Mapping[str, str]) -> Described:
    """What `distro` makes of these files (path → text): id, most precise version, pretty name, related ids.

    The files are laid out in a temporary folder, because `distro` reads a root folder; so any host can be asked.
    """
    import distro

    with tempfile.TemporaryDirectory(prefix="envkit-") as root:
        for path, text in files.items():
            target = root + path
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "w", encoding="utf-8") as stream:
                stream.write(text)
        release = distro.LinuxDistribution(include_lsb=False, include_uname=False, root_dir=root)
        return release.id(), release.version(best=True), release.name(pretty=True), tuple(release.like().split())
