"""What remedies install by apt is there to be installed: simulated in a real Debian."""

from __future__ import annotations

import re

import pytest

from envkit.checks.engine.remedies import steps
from tests.checks.test_remedies import DEBIAN
from tests.engine.engine import Engine, one_off

# NVIDIA's own repository has the others; Debian's non-free section has the driver.
ACTIONS = ("compile-python", "gcc-beside", "update-libstdcxx", "driver", "driver-library", "reinstall-packages")
COMPONENTS = "sed -i 's/ main$/ main contrib non-free non-free-firmware/' /etc/apt/sources.list"


def simulated(command: str) -> str:
    """The command as apt plays it through; the container's kernel is another system's, so its headers are any."""
    words = command.removeprefix("sudo ").replace("linux-headers-$(uname -r)", "linux-headers-amd64")
    return re.sub(r"^apt-get ", "apt-get --simulate ", words)


@pytest.mark.docker
def test_apt_finds_every_package(engine: Engine) -> None:
    commands = [step.line for action in ACTIONS for step in steps(DEBIAN, action, gcc=11)]
    installs = [simulated(line) for line in commands if "apt-get" in line]
    assert len(installs) >= len(ACTIONS)
    script = "\n".join([COMPONENTS, "apt-get update -qq", *(f"{line} > /dev/null" for line in installs)])
    done = one_off(engine, engine.stand_in("debian:12"), script)
    assert done.returncode == 0, done.stderr[-800:]
