"""What remedies install by apt is there to be installed: simulated in a real Debian."""

from __future__ import annotations

import re

import pytest

from envkit.checks.engine.remedies import steps
from tests.checks.test_remedies import DEBIAN
from tests.engine.engine import Engine, one_off

# NVIDIA's own repository has the others; the driver's own remedy adds the section of Debian that has it.
ACTIONS = ("driver", "compile-python", "gcc-beside", "update-libstdcxx", "reinstall-packages")


def played(command: str) -> str:
    """The command as root of a container plays it: sources are really changed, packages only looked for.

    The kernel there is another system's, so its headers are any.
    """
    words = command.replace("sudo ", "").replace("linux-headers-$(uname -r)", "linux-headers-amd64")
    return re.sub(r"^apt-get install ", "apt-get --simulate install ", words)


@pytest.mark.docker
def test_apt_finds_every_package(engine: Engine) -> None:
    commands = [step.line for action in ACTIONS for step in steps(DEBIAN, action, gcc=11)]
    lines = [played(line) for line in commands if "apt" in line]
    assert sum("apt-get --simulate install" in line for line in lines) >= len(ACTIONS)
    script = "\n".join(["apt-get update -qq", *(f"{line} > /dev/null" for line in lines)])
    done = one_off(engine, engine.stand_in("debian:12"), script)
    assert done.returncode == 0, done.stderr[-800:]
