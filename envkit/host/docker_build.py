"""Builds and tries images through the docker client; every known failure is answered in one line."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from envkit.base.errors import EnvkitError, SourceError, StepFailed
from envkit.host.programs import Programs
from envkit.tables.build_errors import explain

Say = Callable[[str], None]
_SECRET = "/run/secrets/ca"
_PASSED_ON = ("PIP_INDEX_URL", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")
_GPU_NODES = ("/dev/nvidiactl", "/dev/dxg")


def build(dockerfile: str, tag: str, say: Say, files: Sequence[str] = ()) -> None:
    """Builds the text as `tag` with BuildKit, each line of its progress handed to `say` as it comes.

    The context holds nothing but `files`, which lie in the current folder. This machine's CA bundle, index and
    proxies are carried in as secrets and build arguments. Raises EnvkitError that names the cause where it is a
    known one.
    """
    docker = client()
    with tempfile.TemporaryDirectory(prefix="envkit-") as folder:
        Path(folder, "Dockerfile").write_text(dockerfile, encoding="utf-8")
        for name in files:
            _copy(name, folder)
        command = [docker, "build", "--progress=plain", "--tag", tag, *host_settings(os.environ), folder]
        code, tail = _stream(command, say)
    if code != 0:
        raise failure("docker build", code, tail)


def smoke(tag: str, wants_gpu: bool, needs_driver: bool, say: Say) -> str:
    """What the smoke test in the image said, in one line; on the GPUs where this machine has some.

    Raises EnvkitError when the test fails.
    """
    has_gpu = any(os.path.exists(node) for node in _GPU_NODES)
    if needs_driver and not has_gpu:
        return "Smoke test not run: its import loads the NVIDIA driver's library, and this machine has no driver."
    gpus = ["--gpus", "all"] if wants_gpu and has_gpu else []
    code, tail = _stream([client(), "run", "--rm", *gpus, "--entrypoint", "smoke-test", tag], say)
    if code != 0:
        raise failure("docker run … smoke-test", code, tail)
    where = "on this machine's GPUs" if gpus else "without a GPU, because this machine has none"
    return f"Smoke test passed {where}." if wants_gpu else "Smoke test passed."


def client() -> str:
    """The docker client on PATH. Raises EnvkitError when there is none."""
    docker = Programs(os.environ).asked_for("docker")
    if docker is None:
        raise EnvkitError("No docker client on PATH.", "Install Docker: https://docs.docker.com/engine/install/")
    return docker


def host_settings(variables: os._Environ[str] | dict[str, str]) -> list[str]:
    """Options that carry this machine's CA bundle, pip configuration, index and proxies into a build."""
    options: list[str] = []
    bundle = next(
        (variables[name] for name in ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE") if variables.get(name)), None
    )
    if bundle and os.path.isfile(bundle):
        options += ["--secret", f"id=ca,src={bundle}"]
        options += ["--build-arg", f"PIP_CERT={_SECRET}", "--build-arg", f"SSL_CERT_FILE={_SECRET}"]
    config = variables.get("PIP_CONFIG_FILE")
    if config and os.path.isfile(config):
        options += ["--secret", f"id=pip,src={config}"]
    for name in _PASSED_ON:
        if variables.get(name):
            options += ["--build-arg", f"{name}={variables[name]}"]
    return options


def failure(what: str, code: int, tail: str) -> EnvkitError:
    """The error for a failed docker command: its known cause, or the last line that it wrote."""
    known = explain(tail)
    if known is not None:
        return EnvkitError(*known)
    last = next((line for line in reversed(tail.splitlines()) if line.strip()), "no output")
    return StepFailed(f"{what} failed (exit {code}): {re.sub(r'^#[0-9]+ [0-9.]+ ', '', last.strip())}")


def _copy(name: str, folder: str) -> None:
    target = Path(folder, name)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(name, target)
    except OSError as error:
        raise SourceError(
            f"cannot read {name}, which the image needs: {error.strerror}.", "Use a file in this directory."
        ) from error


def _stream(command: Sequence[str], say: Say) -> tuple[int, str]:
    """Exit status and the last 200 lines of a command whose output goes to `say` line by line."""
    tail: deque[str] = deque(maxlen=200)
    environment = {**Programs(os.environ).variables_asked_for, "DOCKER_BUILDKIT": "1"}
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        errors="replace",
        env=environment,
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                tail.append(line)
                say(line.rstrip("\n"))
            return process.wait(), "".join(tail)
        finally:
            if process.poll() is None:  # interrupted, or the reader of its lines has gone: nobody waits for it
                process.terminate()
