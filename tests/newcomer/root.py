"""A bare distribution in a folder: its own tree, /proc and processes, and this machine's network settings."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

from tests.engine.roots import root_archive
from tests.engine.tools import run
from tests.newcomer.settings import apt_settings, mounts, variables

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Root:
    """One unpacked distribution; the mounts of a call live in a namespace of their own, so they end with it."""

    def __init__(self, os_id: str, folder: Path) -> None:
        self.os_id, self.path = os_id, folder / "root"
        self.path.mkdir(parents=True)

    def unpack(self, *packages: str) -> None:
        """Fills the folder, and installs these packages of the distribution."""
        run(["tar", "-C", str(self.path), "-x", "-p", "-f", str(root_archive(self.os_id))])
        (self.path / "etc/apt/apt.conf.d/host").write_text(apt_settings())
        self.done(f"apt-get update -qq && apt-get install -qq -y --no-install-recommends {' '.join(packages)}")

    def done(self, script: str) -> None:
        """Runs the script as root; an AssertionError that shows its output where it failed."""
        ended = self.call(script, stderr=subprocess.STDOUT)
        assert ended.returncode == 0, f"{self.os_id}: {script}\n{ended.stdout}"

    def call(
        self,
        script: str,
        user: str = "root",
        stdout: int | None = subprocess.PIPE,
        stderr: int | None = subprocess.PIPE,
        network: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """Runs the script there, with its own /proc and this machine's settings for the network, or with no network."""
        root, home = str(self.path), "/root" if user == "root" else f"/home/{user}"
        inner = ["mount --make-rprivate /"]
        for target, source in mounts().items():
            place = self.path / target.lstrip("/")
            (place if source.is_dir() else place.parent).mkdir(parents=True, exist_ok=True)
            if source.is_file():
                place.touch()
            inner.append(f"mount --bind -o ro {shlex.quote(str(source))} {shlex.quote(str(place))}")
        for kind, target in (("proc", "proc"), ("sysfs", "sys"), ("devpts", "dev/pts"), ("tmpfs", "dev/shm")):
            (self.path / target).mkdir(exist_ok=True)
            inner.append(f"mount -t {kind} {kind} {shlex.quote(root)}/{target}")
        environment = {"PATH": _PATH, "HOME": home, "LANG": "C.UTF-8", "TERM": "dumb", **variables()}
        as_user = f"--userspec={user}:{user}" if user != "root" else ""
        words = [f"{name}={value}" for name, value in environment.items()]
        start = shlex.join(["/usr/bin/env", "-i", *words, "sh", "-c", script])
        inner.append(f"exec chroot {as_user} {shlex.quote(root)} {start}")
        apart = ["--mount", "--pid", *([] if network else ["--net"])]
        command = ["unshare", *apart, "--fork", "--kill-child", "sh", "-ec", "\n".join(inner)]
        return subprocess.run(command, stdout=stdout, stderr=stderr, text=True, check=False)
