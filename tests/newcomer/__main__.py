"""The README's two commands in bare distributions: `python3 -m tests.newcomer [OS…]`, as root, with debootstrap.

Each distribution has Python, make and git alone. This machine's settings for the network (proxies, package index, CA
bundle) are carried in for the time of the run; the mounts live in a namespace of their own, so they end with it.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tests.engine.roots import root_archive
from tests.engine.tools import CACHE, run
from tests.newcomer.settings import apt_settings, mounts, variables

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGES = ("python3", "python3-venv", "make", "git", "ca-certificates")
CLONE = "/srv/envkit"  # in the distribution, outside every home
COMMANDS = ("make doctor", "make test")
LIMIT_S = 300  # of one command in the gate: the environment is made, and the tests may take 120 s on two quiet cores
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Newcomer:
    """A distribution and who uses it. `guest`: no root, a home that cannot be written, Docker's client alone."""

    os_id: str
    guest: bool = False


NEWCOMERS = (Newcomer("debian12"), Newcomer("ubuntu24.04", guest=True))


class Machine:
    """One unpacked distribution with a clone of this repository."""

    def __init__(self, who: Newcomer, folder: Path) -> None:
        self.who, self.root = who, folder / "root"
        self.root.mkdir(parents=True)

    def prepare(self) -> float:
        """Unpacks, installs what a newcomer has, clones; the seconds that it took."""
        started = time.monotonic()
        run(["tar", "-C", str(self.root), "-x", "-p", "-f", str(root_archive(self.who.os_id))])
        (self.root / "etc/apt/apt.conf.d/host").write_text(apt_settings())
        self._done(f"apt-get update -qq && apt-get install -qq -y --no-install-recommends {' '.join(PACKAGES)}")
        if self.who.guest:
            self._done(
                "useradd --create-home guest && chown root:root /home/guest && chmod 555 /home/guest"
                " && cd /tmp && apt-get download -qq docker.io && dpkg-deb -x docker.io_*.deb docker"
                " && mv docker/usr/bin/docker /usr/bin/ && rm -r docker*"
            )
        self._clone()
        return time.monotonic() - started

    def _clone(self) -> None:
        target = self.root / CLONE.lstrip("/")
        trusting = self.root.parent / "gitconfig"  # a checkout may belong to another user than the gate's
        trusting.write_text("[safe]\n\tdirectory = *\n")
        command = ["git", "clone", "--quiet", "--depth=1", f"file://{REPOSITORY}", str(target)]
        subprocess.run(command, env={**os.environ, "GIT_CONFIG_GLOBAL": str(trusting)}, check=True)
        if self.who.guest:
            self._done(f"chown -R guest: {CLONE}")

    def _done(self, script: str) -> None:
        done = self.call(script, user="root", capture=True)
        assert done.returncode == 0, f"{self.who.os_id}: {script}\n{done.stdout}"

    def call(self, script: str, user: str, capture: bool = False) -> subprocess.CompletedProcess[str]:
        """Runs the script in the distribution, with its own /proc and this machine's settings for the network."""
        root, home = str(self.root), "/root" if user == "root" else f"/home/{user}"
        inner = ["mount --make-rprivate /"]
        for target, source in mounts().items():
            place = self.root / target.lstrip("/")
            (place if source.is_dir() else place.parent).mkdir(parents=True, exist_ok=True)
            if source.is_file():
                place.touch()
            inner.append(f"mount --bind -o ro {shlex.quote(str(source))} {shlex.quote(str(place))}")
        for kind, target in (("proc", "proc"), ("sysfs", "sys"), ("devpts", "dev/pts"), ("tmpfs", "dev/shm")):
            (self.root / target).mkdir(exist_ok=True)
            inner.append(f"mount -t {kind} {kind} {shlex.quote(root)}/{target}")
        environment = {"PATH": _PATH, "HOME": home, "LANG": "C.UTF-8", "TERM": "dumb", **variables()}
        as_user = f"--userspec={user}:{user}" if user != "root" else ""
        words = [f"{name}={value}" for name, value in environment.items()]
        start = shlex.join(["/usr/bin/env", "-i", *words, "sh", "-c", script])
        inner.append(f"exec chroot {as_user} {shlex.quote(root)} {start}")
        command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", "\n".join(inner)]
        out = subprocess.PIPE if capture else None
        return subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, text=True, check=False)


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
        code = machine.call(f"cd {CLONE} && {command}", user).returncode
        ran = Ran(where, command, code, time.monotonic() - started)
        yield ran
        if not ran.good:
            return


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
    for who, seconds in zip(wanted, took, strict=True):
        print(f"{who.os_id}: made in {seconds:.0f} s")
    print(*runs, sep="\n")
    return 0 if all(ran.good for ran in runs) else 1


if __name__ == "__main__":
    sys.exit(main())
