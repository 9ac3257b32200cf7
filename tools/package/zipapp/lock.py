"""Renews `zipapp.lock`: one wheel for each package that the zipped application carries, by version and hash.

They are those that the oldest supported Python takes on one platform, so that every builder gets the same files.
Compiled parts are left out when it is packed, and each of these packages works without.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import metadata, requires
from pathlib import Path

LOCK = Path(__file__).with_name("zipapp.lock")
NOT_CARRIED = ("markdown-it-py", "mdurl", "pygments")  # rich shows Markdown and program text with them, envkit neither
HEAD = "# Packages in the zipapp. Update it with: python -m tools.package.zipapp.lock\n"


def oldest_python() -> str:
    """The oldest Python that envkit runs on, `3.10`."""
    return metadata("envkit")["Requires-Python"].removeprefix(">=")


def same_wheels() -> list[str]:
    """The options that make pip choose the same wheels on every machine."""
    return ["--only-binary=:all:", "--platform=manylinux2014_x86_64", f"--python-version={oldest_python()}"]


def locked() -> str:
    """The lock for what the installed envkit requires; what only some Pythons need is carried for all."""
    wanted = [line.partition(";")[0] for line in requires("envkit") or () if "extra ==" not in line]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--report=-"]
    done = subprocess.run(
        [*command, *same_wheels(), "--target=unused", *wanted], check=True, capture_output=True, text=True
    )
    lines = []
    for item in json.loads(done.stdout)["install"]:
        name, version = item["metadata"]["name"].lower(), item["metadata"]["version"]
        digest = item["download_info"]["archive_info"]["hashes"]["sha256"]
        if name not in NOT_CARRIED:
            lines.append(f"{name}=={version} --hash=sha256:{digest}\n")
    return HEAD + "".join(sorted(lines))


if __name__ == "__main__":
    LOCK.write_text(locked(), encoding="utf-8")
