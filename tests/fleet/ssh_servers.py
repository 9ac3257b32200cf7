"""The hosts of the table as servers: processes of this machine, or containers of real distributions."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.engine.engine import Engine, start_engine
from tests.fleet.ssh_hosts import DEBIAN, HOSTS, MUTE, RACK, REFUSED, SshHost
from tests.install.machine import image
from tests.programs import require

_OPTIONS = "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o IdentitiesOnly=yes"
_HOMES = {"full": ["--tmpfs", "/root:size=64k"], "read-only": ["--tmpfs", "/root:ro"]}
_LISTENS = "import socket, time; s = socket.create_server(('', 22)); time.sleep(3600)"


@dataclass(frozen=True)
class Fleet:
    """Running servers: their inventory, what a run has left on a host, and whether each is a system of its own."""

    inventory: Path
    left_on: Callable[[str], list[str]]
    own_systems: bool


@contextmanager
def processes(folder: Path) -> Iterator[Fleet]:
    """Servers on ports of this machine; its own system is every host's."""
    require("sshd")
    key = _keys(folder)
    os.makedirs("/run/sshd", exist_ok=True)
    with ExitStack() as stack:
        lines = [f"{name} {_process(folder, name, host, stack)}" for name, host in HOSTS.items()]
        mute = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        lines += [f"{REFUSED} ansible_port={_free_port()}", f"{MUTE} ansible_port={mute.getsockname()[1]}"]
        lines = [f"{line} ansible_host=127.0.0.1" for line in lines]
        yield Fleet(_inventory(folder, lines, key), lambda name: _files_below(folder / name / "remote"), False)


def _files_below(folder: Path) -> list[str]:
    return [str(path) for path in folder.rglob("*") if path.is_file()]


def _process(folder: Path, name: str, host: SshHost, stack: ExitStack) -> str:
    """The variables of the inventory for a server that runs."""
    programs = folder / name
    programs.mkdir()
    path = f"{programs}:/usr/local/bin:/usr/bin:/bin"
    if host.python is None:
        (programs / "python3").symlink_to(sys.executable)
    elif host.python:
        _program(programs / "python3", host.python)
    else:
        path = str(programs)
        for program in {*os.listdir("/usr/bin"), *os.listdir("/bin")} - {"python3"}:
            (programs / program).symlink_to(shutil.which(program, path="/usr/bin:/bin") or "/bin/false")
    shell = _program(programs / "shell", f'#!/bin/sh\nPATH={path}\nexport PATH\nexec /bin/sh "$@"\n')
    port, config = _free_port(), folder / f"{name}.conf"
    config.write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/authorized\n"
        "PidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nSubsystem sftp internal-sftp\n"
    )
    process = subprocess.Popen([shutil.which("sshd") or "/usr/sbin/sshd", "-D", "-f", str(config)])
    stack.callback(process.wait, 10)
    stack.callback(process.terminate)
    _wait_for("127.0.0.1", port)
    remote = _full_disk(folder, stack) if host.disk == "full" else programs / "remote"
    remote = Path("/proc/remote") if host.disk == "read-only" else remote
    return f"ansible_port={port} ansible_shell_executable={shell} ansible_remote_tmp={remote}"


def _program(place: Path, text: str) -> Path:
    place.write_text(text)
    place.chmod(0o755)
    return place


def _full_disk(folder: Path, stack: ExitStack) -> Path:
    place = folder / "disk"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(place)], check=True)
    stack.callback(subprocess.run, ["umount", "-l", str(place)], check=True)
    (place / "tmp").mkdir()
    with open(place / "filler", "wb", buffering=0) as stream:
        try:
            while stream.write(bytes(4096)):
                pass
        except OSError:
            pass
    return place / "tmp"


@contextmanager
def containers(folder: Path) -> Iterator[Fleet]:
    """Servers in containers, each with the distribution that the table names, on addresses of the engine's bridge."""
    engine, key = start_engine(), _keys(folder)
    with ExitStack() as stack:
        ids = {name: _container(engine, folder, name, host, stack) for name, host in HOSTS.items()}
        ids[REFUSED] = _started(engine, stack, _image(engine, DEBIAN, "python3"), "sleep", "3600")
        ids[MUTE] = _started(engine, stack, _image(engine, DEBIAN, "python3"), "python3", "-c", _LISTENS)
        address = "{{.NetworkSettings.Networks.bridge.IPAddress}}"
        found = {name: engine.run("inspect", "-f", address, own).stdout.strip() for name, own in ids.items()}
        for name in found.keys() - {REFUSED}:
            _wait_for(found[name], 22)
        lines = [f"{name} ansible_host={place}" for name, place in found.items()]

        def left_on(name: str) -> list[str]:
            return engine.run("exec", ids[name], "find", "/root/.ansible", "/tmp", "-type", "f").stdout.split()

        yield Fleet(_inventory(folder, lines, key), left_on, True)


def _container(engine: Engine, folder: Path, name: str, host: SshHost, stack: ExitStack) -> str:
    options = ["--volume", f"{folder}/host:/etc/ssh/envkit_host:ro", "--volume", f"{folder}/authorized:/etc/ssh/own:ro"]
    if host.python and not host.genuine:
        script = _program(folder / f"{name}-python3", host.python)
        options += ["--volume", f"{script}:/usr/local/bin/python3:ro"]
    options += _HOMES.get(host.disk, [])
    own = _image(engine, host.system, host.packages)
    server = "exec /usr/sbin/sshd -D -e -h /etc/ssh/envkit_host -o AuthorizedKeysFile=/etc/ssh/own -o StrictModes=no"
    fill = "head -c 65536 /dev/zero >/root/filler; " if host.disk == "full" else ""
    return _started(engine, stack, own, "sh", "-c", f"mkdir -p /run/sshd; {fill}{server}", options=options)


def _image(engine: Engine, system: str, packages: str) -> str:
    """An image of the system with a server and these packages, made once."""
    name = "-".join(("envkit-test/ssh", system.replace(":", ""), *packages.split()))
    return image(engine, system, name, f"openssh-server {packages}")


def _started(engine: Engine, stack: ExitStack, *words: str, options: Sequence[str] = ()) -> str:
    container = engine.run("run", "--detach", "--init", *options, *words).stdout.strip()
    stack.callback(engine.run, "rm", "--force", container)
    return container


def _keys(folder: Path) -> Path:
    for name in ("key", "host"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    (folder / "authorized").write_text((folder / "key.pub").read_text())
    return folder / "key"


def _inventory(folder: Path, lines: Sequence[str], key: Path) -> Path:
    common = f"ansible_user=root ansible_ssh_private_key_file={key} ansible_ssh_common_args='{_OPTIONS}'"
    place = folder / "hosts.ini"
    place.write_text("\n".join(["[all]", *(f"{line} {common}" for line in lines), "[rack]", *RACK, ""]))
    return place


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def _wait_for(address: str, port: int) -> None:
    for _ in range(300):
        with socket.socket() as probe:
            probe.settimeout(1)
            if probe.connect_ex((address, port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError(f"{address}:{port} does not listen")
