"""The live machine: files, commands and children with limits."""

from __future__ import annotations

import os
import signal
import stat
import time
from pathlib import Path

import pytest

from envkit.host.children import run_child
from envkit.host.local import LocalHost
from envkit.model import Problem


def _script(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_files_answer_with_a_value_or_the_reason(tmp_path: Path) -> None:
    host = LocalHost()
    (tmp_path / "text").write_bytes(b"caf\xff\n")
    assert host.read_text(str(tmp_path / "text")).get() == "caf�\n"
    assert host.read_bytes(str(tmp_path / "text"), 3).get() == b"caf"
    assert host.read_range(str(tmp_path / "text"), 1, 2).get() == b"af"
    assert host.read_text(str(tmp_path / "nothing")).problem is Problem.ABSENT
    assert host.read_text(str(tmp_path / "text" / "below")).problem is Problem.ABSENT
    assert host.read_text(str(tmp_path)).problem is Problem.UNPARSABLE
    assert host.read_text("/bad\0path").problem is Problem.ABSENT


def test_a_named_pipe_does_not_keep_the_reader(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    began = time.monotonic()
    assert LocalHost().read_text(str(tmp_path / "pipe")).problem is Problem.UNPARSABLE
    assert time.monotonic() - began < 5.0


def test_links_nodes_and_folders(tmp_path: Path) -> None:
    host = LocalHost()
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "file").touch()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "circle").symlink_to("circle")
    assert host.real_path(str(tmp_path / "link" / "file")).get() == str(tmp_path / "real" / "file")
    assert host.real_path(str(tmp_path / "dangling")).problem is Problem.ABSENT
    assert host.real_path(str(tmp_path / "circle")).problem is Problem.ABSENT
    assert host.read_link(str(tmp_path / "dangling")).get() == "nowhere"
    assert host.read_link(str(tmp_path / "real")).problem is Problem.ABSENT
    assert host.glob(f"{tmp_path}/*/file") == (f"{tmp_path}/link/file", f"{tmp_path}/real/file")
    assert host.list_dir(str(tmp_path)).get() == ("circle", "dangling", "link", "real")
    assert host.status(str(tmp_path / "link"), follow=False).get().kind == "link"
    null = host.status("/dev/null").get()
    assert (null.kind, null.device, null.accessible) == ("char", "1:3", True)
    assert host.size_bytes("/").get() >= host.free_bytes("/").get() > 0


def test_names_that_are_no_text_do_not_spoil_a_report(tmp_path: Path) -> None:
    strange = os.fsdecode(b"bad\xff")
    (tmp_path / strange).touch()
    (tmp_path / "link").symlink_to(strange)
    host = LocalHost({**os.environ, "CUDA_HOME": f"/opt/{strange}"})
    variables = {"PATH": os.defpath, "CUDA_HOME": f"/opt/{strange}"}
    assert host.list_dir(str(tmp_path)).get() == ("link",)
    for text in (host.real_path(str(tmp_path / "link")).get(), host.variables()["CUDA_HOME"]):
        assert text.encode("utf-8").decode() == text and "�" in text
    assert run_child(["/bin/sh", "-c", "printf %s $CUDA_HOME"], variables, 5.0).get().stdout == "/opt/bad�"


def test_a_command_gives_status_and_both_streams(tmp_path: Path) -> None:
    program = _script(tmp_path / "nvcc", "#!/bin/sh\necho out $LC_ALL $PWD\necho err >&2\nexit 7\n")
    result = LocalHost({"PATH": f"{tmp_path}:/bin"}).run([str(program)]).get()
    assert (result.exit_code, result.stdout, result.stderr) == (7, "out C /\n", "err\n")


def test_programs_that_cannot_run_say_why(tmp_path: Path) -> None:
    host = LocalHost({"PATH": str(tmp_path)})
    assert host.run(["podman"]).problem is Problem.ABSENT
    assert host.run([str(tmp_path / "nvcc")]).problem is Problem.ABSENT
    assert host.run(["no-such-program"]).problem is Problem.DENIED
    assert host.which("no-such-program").problem is Problem.ABSENT
    (tmp_path / "nvcc").write_bytes(b"\x7fELFnonsense")
    (tmp_path / "nvcc").chmod(0o755)
    assert host.run([str(tmp_path / "nvcc")]).problem is Problem.UNPARSABLE
    (tmp_path / "gcc").write_text("text")
    assert host.run([str(tmp_path / "gcc")]).problem is Problem.DENIED


def test_a_command_past_its_limit_is_killed_with_its_children(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    program = _script(tmp_path / "slow", f"#!/bin/sh\ntrap '' TERM\nsleep 60 &\necho $$ $! > {pids}\nwait\n")
    began = time.monotonic()
    result = run_child([str(program)], os.environ, 0.5)
    assert result.problem is Problem.TIMED_OUT
    assert time.monotonic() - began < 10.0
    for pid in map(int, pids.read_text().split()):
        assert _gone(pid)


def test_a_child_that_writes_without_end_does_not_fill_the_memory() -> None:
    result = run_child(["sh", "-c", "yes | head -c 40000000"], os.environ, 20.0).get()
    assert len(result.stdout) == 16_000_000


def test_a_grandchild_that_keeps_the_pipe_open_counts_as_late(tmp_path: Path) -> None:
    program = _script(tmp_path / "daemon", "#!/bin/sh\n(sleep 30) &\necho started\n")
    began = time.monotonic()
    assert run_child([str(program)], os.environ, 0.5).problem is Problem.TIMED_OUT
    assert time.monotonic() - began < 10.0


def test_variables_are_those_given() -> None:
    host = LocalHost({"PATH": "/usr/bin:/bin", "CUDA_VISIBLE_DEVICES": "2"})
    assert host.variables()["CUDA_VISIBLE_DEVICES"] == "2"


def test_the_identity_names_kernel_and_libc() -> None:
    identity = LocalHost().identity()
    assert identity["kernel"] == os.uname().release
    assert identity["user_id"] == str(os.geteuid())
    assert identity["glibc"][0].isdigit()


def test_an_unknown_query_is_not_looked_for() -> None:
    assert LocalHost().query("weather").problem is Problem.NOT_LOOKED


def test_docker_without_a_socket_is_absent_and_a_dead_one_answers_nothing(tmp_path: Path) -> None:
    import socket

    dead = tmp_path / "docker.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(dead))
    host = LocalHost({**os.environ, "DOCKER_HOST": f"unix://{dead}"})
    answer = host.query("docker").get()
    assert answer["url"] == f"unix://{dead}"
    assert answer["error"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make a device node")
def test_nodes_are_opened_and_the_error_is_named(tmp_path: Path) -> None:
    """A node whose major number no driver owns: opening it fails although the mode allows it."""
    from envkit.host import nodes_child

    node = tmp_path / "nvidia0"
    os.mknod(node, 0o666 | stat.S_IFCHR, os.makedev(195, 250))
    assert nodes_child._is_node(str(node))
    assert nodes_child._error(str(node)) in ("ENXIO", "ENODEV", "EPERM", "EACCES")


def _gone(pid: int) -> bool:
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline:
        try:
            os.kill(pid, signal.SIG_DFL)
            if Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
                return True
        except (ProcessLookupError, FileNotFoundError):  # it may go between the two
            return True
        time.sleep(0.02)
    return False
