"""A real Docker engine for tests: started when none runs, with stand-in base images under the names they replace."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.engine.roots import os_of, root_archive
from tests.engine.settings import ca_bundle
from tests.engine.tools import CACHE, alone, need, run
from tools.data.index import pip_index_url

SOCKET = Path("/var/run/docker.sock")
_STANDIN_LABEL = "envkit.stand-in"
_NETWORK_FAILED = re.compile(
    "Temporary failure|Could not (?:resolve|connect)|Name or service not known|Network is unreachable"
    "|Connection (?:timed out|reset)|Read timed out"
)
_PAUSES = (15, 45)  # seconds before what the network failed is tried again


@dataclass(frozen=True)
class Build:
    """A finished `docker build`: its whole log and what it took."""

    exit_code: int
    log: str
    seconds: float

    @property
    def steps(self) -> int:
        """Steps of the Dockerfile that BuildKit shows, FROM lines included."""
        return len(set(re.findall(r"^#\d+ (\[[^\]]*\d+/\d+\].*)$", self.log, re.M)))

    @property
    def ran(self) -> tuple[str, ...]:
        """RUN and COPY steps that were executed and not taken from the cache."""
        names = dict(re.findall(r"^#(\d+) \[[^\]]*\d+/\d+\] (.*)$", self.log, re.M))
        cached = set(re.findall(r"^#(\d+) CACHED$", self.log, re.M))
        return tuple(
            name for number, name in names.items() if number not in cached and name.startswith(("RUN", "COPY", "ADD"))
        )


@dataclass(frozen=True)
class Engine:
    """A running engine and the client that reaches its BuildKit."""

    docker: str

    def run(self, *arguments: str, check: bool = True, limit_s: float = 900) -> subprocess.CompletedProcess[str]:
        """`docker ARGUMENTS…`."""
        return run([self.docker, *arguments], check=check, limit_s=limit_s)

    def has_image(self, name: str) -> bool:
        """True when the engine holds an image of that name."""
        return self.run("image", "inspect", name, check=False).returncode == 0

    def size_mb(self, name: str) -> int:
        """The image's size in MB (10**6 bytes), all layers."""
        return int(self.run("image", "inspect", "--format", "{{.Size}}", name).stdout) // 10**6

    def stand_in(self, name: str) -> str:
        """Makes a minimal distribution root answer to `name`, unless an image of that name is there; gives the name."""
        os_id = os_of(name)
        with alone(f"root-{os_id}"):
            if not self.has_image(name):
                archive, label = root_archive(os_id), f"LABEL {_STANDIN_LABEL}=1"
                self.run("import", "--change", label, "--change", 'CMD ["/bin/bash"]', str(archive), name)
        return name

    def build(
        self,
        dockerfile: str,
        tag: str,
        *,
        arguments: Mapping[str, str] | None = None,
        context: Path | None = None,
        target: str | None = None,
        limit_s: float = 1200,
        again: bool = True,
    ) -> Build:
        """Builds the text with BuildKit, this host's CA bundle and pip settings carried in; every FROM must be there.

        `again`: what fails for the network's sake is built again from the steps that worked; the last log is given.
        The `# syntax` line is left out: it names a frontend image in a registry that a test machine may not reach.
        """
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            file = Path(folder) / "Dockerfile"
            file.write_text(without_syntax(dockerfile))
            command = [self.docker, "build", "--progress=plain", "--tag", tag, "--file", str(file)]
            for key, value in {**host_arguments(), **(arguments or {})}.items():
                command += ["--build-arg", f"{key}={value}"]
            command += [*host_secrets(), *(["--target", target] if target else []), str(context or folder)]
            for pause in (*(_PAUSES if again else ()), None):
                started = time.monotonic()
                done = subprocess.run(
                    command,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    timeout=limit_s,
                    env={**os.environ, "DOCKER_BUILDKIT": "1"},
                    check=False,
                )
                if done.returncode == 0 or pause is None or not _NETWORK_FAILED.search(done.stdout):
                    break
                time.sleep(pause)
            return Build(done.returncode, done.stdout, time.monotonic() - started)


def without_syntax(dockerfile: str) -> str:
    """The Dockerfile without its `# syntax=` line."""
    return re.sub(r"\A#\s*syntax\s*=.*\n", "", dockerfile)


def bases(dockerfile: str) -> tuple[str, ...]:
    """The images that its FROM lines name, stages left out."""
    names = re.findall(r"^FROM\s+(?:--\S+\s+)?(\S+)", dockerfile, re.M)
    stages = set(re.findall(r"^FROM\s.*\sAS\s+(\S+)\s*$", dockerfile, re.M | re.I))
    return tuple(dict.fromkeys(name for name in names if name not in stages))


def host_arguments() -> dict[str, str]:
    """Build arguments that carry this host's index and CA settings into a build."""
    found = {"PIP_CERT": "/run/secrets/ca", "SSL_CERT_FILE": "/run/secrets/ca"} if ca_bundle() else {}
    names = ("PIP_DEFAULT_TIMEOUT", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
    found.update({name: os.environ[name] for name in names if os.environ.get(name)})
    # named even when nothing is configured: pips of old distributions ask the index at a former address
    found["PIP_INDEX_URL"] = pip_index_url()
    return found


def host_secrets() -> list[str]:
    """The `--secret` options that go with `host_arguments`."""
    bundle = ca_bundle()
    return ["--secret", f"id=ca,src={bundle}"] if bundle else []


def host_mounts() -> list[str]:
    """Options of `docker run` that carry the same settings into a container: CA bundle, index, proxies."""
    bundle = ca_bundle()
    options = [] if bundle is None else ["--volume", f"{bundle}:/run/secrets/ca:ro"]
    for key, value in host_arguments().items():
        options += ["--env", f"{key}={value}"]
    return options


def buildkit_client() -> str:
    """The first `docker` on PATH that can use BuildKit: one with buildx, or one old enough not to need it."""
    for folder in os.environ["PATH"].split(os.pathsep):
        client = shutil.which("docker", path=folder)
        if client is None:
            continue
        answer = subprocess.run(
            [client, "build", "--help"],
            capture_output=True,
            text=True,
            env={**os.environ, "DOCKER_BUILDKIT": "1"},
            check=False,
        )
        if "--secret" in answer.stdout:
            return client
    raise AssertionError("no docker client with BuildKit on PATH")


def start_engine() -> Engine:
    """The engine after the default socket, started (about 3 s) when nothing answers there; needs root to start it."""
    need("dockerd")
    engine = Engine(buildkit_client())
    with alone("dockerd"):
        if engine.run("version", check=False).returncode != 0:
            _start(engine)
    return engine


def _start(engine: Engine) -> None:
    with (CACHE / "dockerd.log").open("ab") as log:
        # forked off, as it outlives the tests: a child that still runs when its handle goes is a warning, so a failure
        subprocess.run(["setsid", "--fork", "dockerd"], stdout=log, stderr=log, stdin=subprocess.DEVNULL, check=True)
    for _ in range(120):
        if SOCKET.exists() and engine.run("version", check=False).returncode == 0:
            return
        time.sleep(0.5)
    raise AssertionError(f"dockerd did not start: {(CACHE / 'dockerd.log').read_text()[-2000:]}")


def one_off(engine: Engine, image: str, script: str, options: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    """Runs a shell script in a new container of `image` with this host's settings, and removes the container."""
    return engine.run("run", "--rm", *host_mounts(), *options, image, "sh", "-ec", script, check=False)
