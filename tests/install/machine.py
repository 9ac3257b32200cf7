"""A container that plays the target machine, and what can be asked of it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.engine.engine import Engine, host_mounts
from tests.engine.tools import alone
from tests.install.standins import SLOW

IMAGE = "envkit-test/install-debian12"
PACKAGES = "gcc g++ make perl libxml2 curl ca-certificates xz-utils python3-venv procps"
# What changes by itself or is the script's own record, not part of the machine's state.
_NOT_STATE = "/proc /sys /dev /run /tmp /var/log/envkit /var/cache/ldconfig /slow /installer-fails /installer-lies /job"
# Rebuilt, and dated again, by every ldconfig; sums() compares it.
_CACHE = "/etc/ld.so.cache"
# Estimates of space, which are those of NVIDIA's files: of them the engine's disk need not hold even one.
_BYTES = re.compile(r'^([A-Z]+_BYTES=|  "[a-z0-9-]+\|[^|"\n]+\|)(\d+)(?="?$)', re.M)
SMALLER = 10_000
# The functions of the script in /job, without a run of it.
FUNCTIONS = """\
sed '/^main "\\$@"$/d' /job/install.sh >/functions.sh; . /functions.sh
mkdir -p "$STATE_DIR"; LOG_FILE=/job/log; : >$LOG_FILE; PACKAGE_MANAGER=apt; CURRENT_STEP=prerequisites
trap - ERR EXIT
"""


def image(engine: Engine, base: str = "debian:12", name: str = IMAGE, packages: str = PACKAGES) -> str:
    """The image of a developer's machine: the stand-in base with compilers, made once."""
    with alone("image"):
        if not engine.has_image(name):
            engine.stand_in(base)
            build = f"apt-get update && apt-get install -y --no-install-recommends {packages} && ldconfig"
            started = engine.run("run", "-d", "--network=host", *host_mounts(), base, "sleep", "900")
            container = started.stdout.strip()
            try:
                engine.run("exec", container, "sh", "-ec", build)
                engine.run("commit", container, name)
            finally:
                engine.run("rm", "-f", container)
    return name


@dataclass(frozen=True)
class Done:
    """A finished run of the script."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def result(self) -> dict[str, Any]:
        """The JSON that the script printed."""
        found: dict[str, Any] = json.loads(self.stdout)
        return found

    @property
    def states(self) -> dict[str, str]:
        """Each step's state."""
        return {step["id"]: step["state"] for step in self.result["steps"]}

    @property
    def changed_nothing(self) -> bool:
        """True when every step was done before; verify runs each time."""
        return {state for step, state in self.states.items() if step != "verify"} == {"unchanged"}

    @property
    def verdicts(self) -> dict[str, str]:
        """Each verification's status."""
        return {item["name"]: item["status"] for item in self.result["verify"]}


@dataclass(frozen=True)
class Machine:
    """A running container with the script in /job/install.sh."""

    engine: Engine
    container: str
    folder: Path

    def sh(self, command: str, check: bool = True) -> str:
        """What a shell command prints there."""
        return self.engine.run("exec", self.container, "bash", "-ec", command, check=check).stdout

    def put(self, script: str, name: str = "install.sh") -> None:
        """Lays the script into /job, with what it needs of space in the measure of the stand-ins."""
        (self.folder / name).write_text(_BYTES.sub(lambda found: f"{found[1]}{int(found[2]) // SMALLER}", script))

    def install(self, *options: str, environment: dict[str, str] | None = None, name: str = "install.sh") -> Done:
        """Runs the script to its end."""
        words = [word for key, value in (environment or {}).items() for word in ("--env", f"{key}={value}")]
        done = self.engine.run("exec", *words, self.container, "bash", f"/job/{name}", *options, check=False)
        return Done(done.returncode, done.stdout, done.stderr)

    def stop_at(self, marker: str, how: signal.Signals, delay_s: float = 0.15) -> Done:
        """Runs the script and sends it a signal shortly after it has printed `marker`."""
        return self.disturb_at(marker, f"kill -{how.value} $(cat /job/pid)", delay_s)

    def disturb_at(self, marker: str, command: str, delay_s: float) -> Done:
        """Runs the script, and a shell command next to it shortly after it has printed `marker`."""
        child = self.start()
        assert child.stderr is not None
        heard = []
        for line in child.stderr:
            heard.append(line)
            if marker in line:
                time.sleep(delay_s)
                self.sh(command, check=False)
                break
        out, rest = child.communicate(timeout=120)
        return Done(child.returncode, out, "".join(heard) + rest)

    def start(self) -> subprocess.Popen[str]:
        """The script, running; its process there is in /job/pid."""
        start = "echo $$ >/job/pid; exec bash /job/install.sh"
        command = [self.engine.docker, "exec", self.container, "bash", "-c", start]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def kill_in_the_installer(self) -> None:
        """Kills the script while the toolkit's installer, which is slow for that, is half way."""
        self.sh(f"touch {SLOW}")
        self.stop_at("] CUDA ", signal.SIGKILL, 0.8)
        self.wait_until_idle()
        self.sh(f"rm {SLOW}")

    def wait_until_idle(self) -> None:
        """Waits until nothing that a killed script has left behind still holds its lock."""
        self.sh("[ ! -f /var/lib/envkit/lock ] || flock --wait 600 /var/lib/envkit/lock true")

    def tree(self) -> dict[str, str]:
        """Every path of the machine with its type, mode, owner and content or target."""
        prune = " -o ".join(f"-path {path}" for path in _NOT_STATE.split())
        listing = self.sh(
            rf"find / -xdev \( {prune} \) -prune -o -printf '%p\t%y %m %u:%g %l\n' | sort;"
            rf"find / -xdev \( {prune} \) -prune -o -type f -newer /job/start ! -path {_CACHE} -exec md5sum {{}} +"
        )
        found: dict[str, str] = {}
        for line in listing.splitlines():
            if "\t" in line:
                path, what = line.split("\t", 1)
                found[path] = what
            else:
                digest, path = line.split(None, 1)
                found[path] = f"{found.get(path, '')} {digest}"
        return found

    def sums(self) -> str:
        """Checksums of what the installer is known to touch outside its folder."""
        return self.sh("md5sum /etc/ld.so.cache /etc/ld.so.conf.d/* /etc/profile.d/* 2>/dev/null || true")


def without_notes(tree: dict[str, str]) -> dict[str, str]:
    """A tree without the script's own notes, whose times and backups differ from run to run."""
    return {path: what for path, what in tree.items() if not path.startswith("/var/lib/envkit")}


@contextmanager
def machine(engine: Engine, name: str, folder: Path, *options: str, network: bool = True) -> Iterator[Machine]:
    """A fresh container of image `name`; `folder` appears in it as /job."""
    folder.mkdir(parents=True, exist_ok=True)
    words = (
        "run",
        "-d",
        "--rm",
        f"--network={'host' if network else 'none'}",
        *host_mounts(),
        "--volume",
        f"{folder}:/job",
        *options,
        name,
    )
    container = engine.run(*words, "sleep", "3600").stdout.strip()
    try:
        engine.run("exec", container, "sh", "-c", "mkdir -p /run/lock; touch /job/start")
        yield Machine(engine, container, folder)
    finally:
        engine.run("rm", "-f", container, check=False)
