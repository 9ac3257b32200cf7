"""The README's two commands in bare distributions: `python3 -m tests.newcomer [OS…]`, as root, with debootstrap.

Each distribution has Python, make and git alone. This machine's settings for the network (proxies, package index, CA
bundle) are carried in for the time of the run; the mounts live in a namespace of their own, so they end with it.
Where ENVKIT_TESTS_NOTED names a file, it gets the tests that passed for root.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tests.engine.tools import CACHE
from tests.gate import NOTED
from tests.newcomer.root import Root

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGES = ("python3", "python3-venv", "make", "git", "ca-certificates")
CLONE = "/srv/envkit"  # in the distribution, outside every home
PASSED = "/srv/passed"  # the tests that passed there
COMMANDS = ("make doctor", "make test")
LIMIT_S = 300  # of one command in the gate: the environment is made, and the tests may take 120 s on two quiet cores


@dataclass(frozen=True)
class Newcomer:
    """A distribution and who uses it. `guest`: no root, a home that cannot be written, Docker's client alone."""

    os_id: str
    guest: bool = False


NEWCOMERS = (Newcomer("debian12"), Newcomer("ubuntu24.04", guest=True))


class Machine:
    """One bare distribution with a clone of this repository."""

    def __init__(self, who: Newcomer, folder: Path) -> None:
        self.who, self.root = who, Root(who.os_id, folder)

    def prepare(self) -> float:
        """Unpacks, installs what a newcomer has, clones; the seconds that it took."""
        started = time.monotonic()
        self.root.unpack(*PACKAGES)
        if self.who.guest:
            self.root.done(
                "useradd --create-home guest && chown root:root /home/guest && chmod 555 /home/guest"
                " && cd /tmp && apt-get download -qq docker.io && dpkg-deb -x docker.io_*.deb docker"
                " && mv docker/usr/bin/docker /usr/bin/ && rm -r docker*"
            )
        self._clone()
        return time.monotonic() - started

    def _clone(self) -> None:
        target = self.root.path / CLONE.lstrip("/")
        trusting = self.root.path.parent / "gitconfig"  # a checkout may belong to another user than the gate's
        trusting.write_text("[safe]\n\tdirectory = *\n")
        command = ["git", "clone", "--quiet", "--depth=1", f"file://{REPOSITORY}", str(target)]
        subprocess.run(command, env={**os.environ, "GIT_CONFIG_GLOBAL": str(trusting)}, check=True)
        if self.who.guest:
            self.root.done(f"chown -R guest: {CLONE}")

    def call(self, script: str, user: str) -> int:
        """The exit status of a script, whose output is shown."""
        return self.root.call(script, user, stdout=None, stderr=subprocess.STDOUT).returncode


@dataclass(frozen=True)
class Ran:
    """One of the README's commands on a machine, with its exit status and the seconds that it took."""

    where: str
    command: str
    code: int
    seconds: float

    @property
    def good(self) -> bool:
        """True when it worked, and in the gate, where nothing else runs, also in time."""
        return self.code == 0 and (self.seconds <= LIMIT_S or not os.environ.get("CI"))

    def __str__(self) -> str:
        late = f", more than {LIMIT_S}: slow tests get the marker `thorough`" if self.seconds > LIMIT_S else ""
        return f"{self.where}: {self.command}: exit {self.code}, {self.seconds:.0f} s{late}"


def try_out(machine: Machine) -> Iterator[Ran]:
    """Runs the README's commands on the machine, until one fails."""
    user = "guest" if machine.who.guest else "root"
    where = f"{machine.who.os_id} as {user}"
    for command in COMMANDS:
        print(f"--- {where}: {command}", flush=True)
        started = time.monotonic()
        noted = f"{NOTED}={PASSED} " if user == "root" else ""
        code = machine.call(f"cd {CLONE} && {noted}{command}", user)
        ran = Ran(where, command, code, time.monotonic() - started)
        yield ran
        if not ran.good:
            return


def _hand_out(machines: Iterable[Machine]) -> None:
    """Copies the notes of the tests that passed to the file that this machine's gate names."""
    if wanted := os.environ.get(NOTED):
        notes = [machine.root.path / PASSED.lstrip("/") for machine in machines]
        Path(wanted).write_text("".join(path.read_text("utf-8") for path in notes if path.exists()), "utf-8")


def main() -> int:
    """Exit status 0 when every command worked on every machine."""
    wanted = [who for who in NEWCOMERS if who.os_id in sys.argv[1:] or len(sys.argv) == 1]
    CACHE.mkdir(exist_ok=True)
    # The folder below goes in any case; and the tests get a SIGINT that works, even when this runs in the background.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="newcomer-", dir=CACHE))
        stack.callback(shutil.rmtree, folder)
        machines = [Machine(who, folder / who.os_id) for who in wanted]
        with ThreadPoolExecutor() as pool:
            took = list(pool.map(Machine.prepare, machines))
        runs = [ran for machine in machines for ran in try_out(machine)]
        _hand_out(machines)
    for who, seconds in zip(wanted, took, strict=True):
        print(f"{who.os_id}: made in {seconds:.0f} s")
    print(*runs, sep="\n")
    return 0 if all(ran.good for ran in runs) else 1


if __name__ == "__main__":
    sys.exit(main())
