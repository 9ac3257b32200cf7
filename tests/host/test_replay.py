"""This machine, recorded, replays to the same facts: with a Docker engine, with a client alone, with neither."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from envkit.capture.record import record
from envkit.capture.recorded import RecordedHost
from envkit.capture.replay import CaptureHost
from envkit.host.base import Host
from envkit.host.local import LocalHost
from envkit.model import Environment, Problem, missing
from envkit.model.facts_json import environment_from_json
from envkit.model.paths import fact, fact_paths
from envkit.probe.collect import collect

VERSION = {"Version": "26.1.3", "ApiVersion": "1.45", "Os": "linux", "Arch": "amd64"}
INFO = {
    "Runtimes": {"runc": {"path": "runc"}, "nvidia": {"path": "nvidia-container-runtime"}},
    "DefaultRuntime": "runc",
    "CDISpecDirs": ["/etc/cdi", "/var/run/cdi"],
    "SecurityOptions": ["name=apparmor"],
    "OperatingSystem": "Ubuntu 24.04.1 LTS",
    "CgroupDriver": "systemd",
    "DockerRootDir": "/var/lib/docker",
}


class _Answer(BaseHTTPRequestHandler):
    """What the engine's API says."""

    def do_GET(self) -> None:
        body = json.dumps(INFO if self.path.endswith("/info") else VERSION).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self) -> str:
        return "a client"  # one of a Unix socket has no address

    def log_message(self, format: str, *args: object) -> None: ...


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


@contextmanager
def fake_engine(socket: Path) -> Iterator[None]:
    """An engine behind `socket` that says its version and what it is."""
    with _Server(str(socket), _Answer) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


def client(folder: Path) -> str:
    """A PATH that begins with a docker client."""
    program = folder / "bin/docker"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'Docker version 26.1.3, build b72abbb'\n")
    program.chmod(0o755)
    return f"{program.parent}:/usr/bin:/bin"


def recorded_and_replayed(folder: Path, host: Host | None = None) -> tuple[Environment, Environment]:
    capture = record(host or LocalHost(), str(folder / "here")).path
    recorded = environment_from_json(json.loads(Path(capture, "facts.json").read_text()), strict=True)
    return recorded, collect(CaptureHost(capture), 30.0)


def differences(recorded: Environment, replayed: Environment) -> list[str]:
    found = ((path, fact(recorded, path), fact(replayed, path)) for path in fact_paths())
    return [f"{path}: {then}, now {now}" for path, then, now in found if then != now]


def test_this_machine_replays_to_the_same_facts(tmp_path: Path) -> None:
    assert differences(*recorded_and_replayed(tmp_path)) == []


def test_with_a_home_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "carol"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    recorded, replayed = recorded_and_replayed(tmp_path)
    assert "carol" not in str(recorded.system.free_bytes.get())
    assert differences(recorded, replayed) == []


def test_with_an_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", client(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    with fake_engine(tmp_path / "docker.sock"):
        recorded, replayed = recorded_and_replayed(tmp_path)
    assert recorded.containers.docker.get().runtimes == ("nvidia", "runc")
    assert differences(recorded, replayed) == []


def _nobody(socket: Path) -> str:
    return f"unix://{socket}"


def _no_socket(socket: Path) -> str:
    socket.write_text("")
    return f"unix://{socket}"


def _no_address(socket: Path) -> str:
    return "nonsense"


@pytest.mark.thorough
@pytest.mark.parametrize("host", [_nobody, _no_socket, _no_address])
def test_with_a_client_whose_engine_does_not_answer(
    host: Callable[[Path], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", client(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", host(tmp_path / "docker.sock"))
    recorded, replayed = recorded_and_replayed(tmp_path)
    assert str(recorded.containers.docker_client.get()) == "26.1.3"
    assert recorded.containers.docker.problem is Problem.ABSENT
    assert differences(recorded, replayed) == []


def test_with_neither(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `nearest_socket` finds by itself is this machine's own engine, so only the client is taken away here."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    recorded, replayed = recorded_and_replayed(tmp_path)
    assert recorded.containers.docker_client.problem is Problem.ABSENT
    assert differences(recorded, replayed) == []


@pytest.mark.parametrize("subject", ["nvml", "cuda", "docker", "nodes"])
@pytest.mark.parametrize("problem", [Problem.ABSENT, Problem.DENIED, Problem.TIMED_OUT, Problem.UNPARSABLE])
def test_a_library_that_does_not_answer_keeps_where_and_why(subject: str, problem: Problem, tmp_path: Path) -> None:
    host = RecordedHost(queries={subject: missing(problem, "/run/its.socket", "a reason of its own")})
    assert differences(*recorded_and_replayed(tmp_path, host)) == []
