"""Every answer to a missing or broken engine, each shown by really causing the fault."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from envkit.host.docker_build import failure, host_settings
from tests.engine.engine import Engine
from tests.engine.tools import CACHE

pytestmark = pytest.mark.docker

ENVKIT = Path(sys.executable).with_name("envkit")
SMALL = "FROM ubuntu:22.04\n"


def answer(*arguments: str, path: str | None = None, **variables: str) -> str:
    """The last line on stderr of `envkit dockerfile … --build`, which must fail with exit code 1."""
    command = [str(ENVKIT), "dockerfile", "--framework", "onnxruntime", "--target", "any", "--build", *arguments]
    environment = {**os.environ, **variables, "PATH": path or os.environ["PATH"]}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr.rstrip().splitlines()[-1]


def client_folder(folder: Path, text: str) -> str:
    """A folder for PATH whose docker is this script."""
    folder.mkdir(exist_ok=True)
    script = folder / "docker"
    script.write_text(text)
    script.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def test_no_client(tmp_path: Path) -> None:
    assert "No docker client on PATH" in answer(path=str(tmp_path))


def test_no_engine(engine: Engine) -> None:
    path = f"{Path(engine.docker).parent}{os.pathsep}{os.environ['PATH']}"
    told = answer(path=path, DOCKER_HOST=f"unix://{CACHE}/none.sock")
    assert "The Docker engine does not respond" in told
    assert "systemctl start docker" in told


def test_no_permission_on_the_socket(engine: Engine, tmp_path: Path) -> None:
    """The real client as another user, who may read files and nothing more."""
    drop = "setpriv --reuid=65534 --regid=65534 --clear-groups"
    read = "--inh-caps=+dac_read_search --ambient-caps=+dac_read_search"
    path = client_folder(tmp_path / "bin", f'#!/bin/sh\nexec {drop} {read} {engine.docker} "$@"\n')
    told = answer(path=path)
    assert "is not allowed to talk to the Docker engine" in told
    assert "usermod -aG docker" in told


def without_buildx() -> str | None:
    """The folder of a client on PATH that is too new to build without buildx and has none."""
    for folder in os.environ["PATH"].split(os.pathsep):
        client = shutil.which("docker", path=folder)
        if client is None:
            continue
        variables = {**os.environ, "DOCKER_BUILDKIT": "1"}
        done = subprocess.run([client, "build", "--help"], capture_output=True, text=True, env=variables, check=False)
        if "buildx component is missing" in done.stderr + done.stdout:
            return folder
    return None


def test_no_buildx(engine: Engine) -> None:
    folder = without_buildx()
    if folder is None:
        pytest.skip("every docker client on PATH can build with BuildKit")
    told = answer(path=f"{folder}{os.pathsep}{os.environ['PATH']}")
    assert "has no buildx" in told
    assert "docker-buildx" in told


@pytest.fixture(scope="module")
def lonely(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An engine on a disk of 400 MB and in a network namespace of its own, which leads nowhere. Gives its address.

    Without the namespace it would take the bridge of the first engine away.
    """
    folder = tmp_path_factory.mktemp("lonely")
    disk = folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400m", "tmpfs", str(disk)], check=True)
    address = f"unix://{folder}/docker.sock"
    command = [
        "unshare",
        "--net",
        "dockerd",
        "--host",
        address,
        "--data-root",
        str(disk / "data"),
        "--exec-root",
        str(folder / "exec"),
    ]
    command += ["--pidfile", str(folder / "pid"), "--bridge=none", "--iptables=false"]
    with (folder / "log").open("wb") as log:
        daemon = subprocess.Popen(command, stdout=log, stderr=log)
    for _ in range(60):
        if (
            subprocess.run([engine.docker, "--host", address, "version"], capture_output=True, check=False).returncode
            == 0
        ):
            break
        time.sleep(0.5)
    yield address
    daemon.terminate()
    daemon.wait(timeout=60)
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def test_no_network_to_the_registry(engine: Engine, lonely: str) -> None:
    path = f"{Path(engine.docker).parent}{os.pathsep}{os.environ['PATH']}"
    told = answer("--no-syntax", path=path, DOCKER_HOST=lonely)
    assert "cannot reach the registry of the base image" in told


def test_no_network_to_the_frontend(engine: Engine, lonely: str) -> None:
    path = f"{Path(engine.docker).parent}{os.pathsep}{os.environ['PATH']}"
    told = answer(path=path, DOCKER_HOST=lonely)
    assert "Dockerfile frontend" in told
    assert "--no-syntax" in told


def test_no_space(engine: Engine, lonely: str, tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM scratch\nCOPY big /big\nCOPY big /again\n")
    with (tmp_path / "big").open("wb") as big:
        big.write(os.urandom(250_000_000))
    command = [engine.docker, "--host", lonely, "build", "--progress=plain", str(tmp_path)]
    variables = {**os.environ, "DOCKER_BUILDKIT": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=variables, check=False)
    assert done.returncode != 0
    told = failure("docker build", done.returncode, done.stdout + done.stderr)
    assert "Docker engine's disk is full" in str(told)


def test_no_network_inside_the_build(engine: Engine, tmp_path: Path) -> None:
    engine.stand_in("ubuntu:22.04")
    built = engine.build(
        f"{SMALL}RUN apt-get update && apt-get install -y --no-install-recommends curl\n"
        "RUN curl -fsS https://no-such-host.invalid/\n",
        "envkit-test-offline",
        again=False,
    )
    assert built.exit_code != 0
    assert "cannot reach the network" in str(failure("docker build", built.exit_code, built.log))


def test_no_nvidia_runtime(engine: Engine) -> None:
    engine.stand_in("ubuntu:22.04")
    done = engine.run("run", "--rm", "--gpus", "all", "ubuntu:22.04", "true", check=False)
    if done.returncode == 0:
        pytest.skip("this engine hands GPUs to containers")
    told = str(failure("docker run", done.returncode, done.stdout + done.stderr))
    assert "NVIDIA Container Toolkit is not set up" in told
    assert "nvidia-ctk runtime configure" in told


def test_an_untrusted_certificate_inside_the_build(engine: Engine) -> None:
    """As behind a proxy with a CA of its own: the one authority that pip trusts has not signed the index."""
    engine.stand_in("ubuntu:22.04")
    built = engine.build(
        f"{SMALL}RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates python3-pip\n"
        "RUN PIP_CERT=/etc/ssl/certs/ACCVRAIZ1.pem pip download --no-deps six==1.16.0\n",
        "envkit-test-untrusted",
    )
    assert built.exit_code != 0
    assert "certificate" in str(failure("docker build", built.exit_code, built.log))


def test_an_unknown_failure_gives_its_last_line() -> None:
    told = failure("docker build", 7, "#5 0.300 first\n#5 0.345 something odd happened\n")
    assert str(told) == "docker build failed (exit 7): something odd happened"


def test_settings_of_the_host_are_carried_in(tmp_path: Path) -> None:
    bundle = tmp_path / "ca.pem"
    bundle.write_text("x")
    options = host_settings({"SSL_CERT_FILE": str(bundle), "PIP_INDEX_URL": "https://index.example/simple"})
    assert f"id=ca,src={bundle}" in options
    assert "PIP_CERT=/run/secrets/ca" in options
    assert "PIP_INDEX_URL=https://index.example/simple" in options
