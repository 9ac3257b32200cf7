"""A whole run over real ssh: every host ends in its state, and a killed run goes on where it was."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.ansible import ansible
from tests.programs import require

__all__ = ["ansible"]

pytestmark = [pytest.mark.network, pytest.mark.thorough]
PYTHONS = {  # what `python3` is on a host
    "sleeping": "#!/bin/sh\nexec sleep 300\n",
    "deaf": "#!/bin/sh\ntrap '' TERM\nwhile :; do sleep 1; done\n",
    "rubbish": "#!/bin/sh\nhead -c 3000000 /dev/urandom\n",
    "half": '#!/bin/sh\nprintf \'{"schema": 1, "system": {"os"\'\n',
    "silent": "#!/bin/sh\nexit 0\n",
    "dying": "#!/bin/sh\nkill -9 $$\n",
    "old": "#!/bin/sh\necho 'envkit needs Python 3.10' >&2\nexit 2\n",
    "none": "",
}
STATES = {
    "well1": "collected", "well2": "collected", "well3": "collected", "old": "text", "none": "text",
    "sleeping": "timed-out", "deaf": "hung", "rubbish": "unreadable", "half": "unreadable", "silent": "unreadable",
    "dying": "crashed", "refused": "unreachable", "mute": "unreachable", "full": "no-space",
}  # fmt: skip
OPTIONS = "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o IdentitiesOnly=yes"


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def inventory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Servers on this machine, each with another `python3`, and what does not answer."""
    require("sshd")
    folder = tmp_path_factory.mktemp("ssh")
    key = folder / "key"
    for name in ("key", "host"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    (folder / "authorized").write_text((folder / "key.pub").read_text())
    os.makedirs("/run/sshd", exist_ok=True)
    with ExitStack() as stack:
        lines = []
        for name in ("well1", "well2", "well3", *PYTHONS, "full"):
            port = _server(folder, name, stack)
            lines.append(f"{name} ansible_port={port} ansible_shell_executable={folder}/{name}/shell")
        full = _full_disk(folder, stack)
        lines[-1] += f" ansible_remote_tmp={full}/tmp"
        lines.append(f"refused ansible_port={_free_port()}")
        mute = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        lines.append(f"mute ansible_port={mute.getsockname()[1]}")
        common = f"ansible_host=127.0.0.1 ansible_ssh_private_key_file={key} ansible_ssh_common_args='{OPTIONS}'"
        place = folder / "hosts.ini"
        place.write_text("[all]\n" + "\n".join(f"{line} {common}" for line in lines) + "\n")
        yield place


def _server(folder: Path, name: str, stack: ExitStack) -> int:
    programs = folder / name
    programs.mkdir()
    path = "/usr/local/bin:/usr/bin:/bin"
    if name in PYTHONS:
        path = str(programs)
        for program in {*os.listdir("/usr/bin"), *os.listdir("/bin")} - {"python3"}:
            (programs / program).symlink_to(shutil.which(program, path="/usr/bin:/bin") or "/bin/false")
        if PYTHONS[name]:
            (programs / "python3").write_text(PYTHONS[name])
            (programs / "python3").chmod(0o755)
    else:
        (programs / "python3").symlink_to(sys.executable)
        path = f"{programs}:{path}"
    shell = programs / "shell"
    shell.write_text(f'#!/bin/sh\nPATH={path}\nexport PATH\nexec /bin/sh "$@"\n')
    shell.chmod(0o755)
    port = _free_port()
    config = folder / f"{name}.conf"
    config.write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/authorized\n"
        "PidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nSubsystem sftp internal-sftp\n"
    )
    process = subprocess.Popen([shutil.which("sshd") or "/usr/sbin/sshd", "-D", "-f", str(config)])
    stack.callback(process.wait, 10)
    stack.callback(process.terminate)
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return port
        time.sleep(0.1)
    raise AssertionError(f"sshd for {name} does not listen")


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
    return place


def _command(inventory: Path, out: Path, *words: str) -> list[str]:
    return [
        sys.executable, "-m", "envkit", "fleet", "doctor", "-i", str(inventory), "--out", str(out),
        "--host-limit", "20", "--json", "-o", f"{out}.json", *words,
    ]  # fmt: skip


def _run(command: list[str], variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300, check=False)


def _ended(out: Path) -> dict[str, str]:
    documents = [json.loads(path.read_text()) for path in (out / "hosts").glob("*.json")]
    return {item["host"]: item.get("state") or ("collected" if "environment" in item else "text") for item in documents}


def test_every_host_ends_in_its_state(inventory: Path, ansible: str, tmp_path: Path) -> None:
    out, variables = tmp_path / "run", {**os.environ, "PATH": f"{ansible}:{os.environ['PATH']}"}
    done = _run(_command(inventory, out), variables)
    assert done.returncode == 1, done.stderr
    assert _ended(out) == STATES, done.stderr
    report = json.loads(Path(f"{out}.json").read_text())
    assert {item["host"] for item in report["hosts"]} == set(STATES)
    assert list((out / "arrived").iterdir()) == []
    assert set(json.loads((out / "run.json").read_text())["asked"].values()) == set(STATES)


def test_a_killed_run_goes_on_where_it_was(inventory: Path, ansible: str, tmp_path: Path) -> None:
    out, variables = tmp_path / "run", {**os.environ, "PATH": f"{ansible}:{os.environ['PATH']}"}
    some = ["--limit", "well1,well2,sleeping"]
    first = subprocess.Popen(_command(inventory, out, *some), env=variables, start_new_session=True)
    deadline = time.monotonic() + 60
    while len(list((out / "hosts").glob("*.json")) if (out / "hosts").is_dir() else []) < 2:
        assert time.monotonic() < deadline and first.poll() is None
        time.sleep(0.2)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    before = {path.name: path.stat().st_mtime_ns for path in (out / "hosts").glob("*.json")}
    again = _run(_command(inventory, out, *some), variables)
    assert again.returncode == 1 and "--resume" in again.stderr
    again = _run([*_command(inventory, out, *some), "--resume"], variables)
    assert _ended(out) == {"well1": "collected", "well2": "collected", "sleeping": "timed-out"}, again.stderr
    assert {name: (out / "hosts" / name).stat().st_mtime_ns for name in before} == before
    assert "well1" not in again.stderr
