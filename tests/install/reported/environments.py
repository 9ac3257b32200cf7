"""Python environments: what pip gets, from where, and what the shell around it must not change."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from zipfile import ZipFile

from envkit._startup.records import replace
from envkit.base.settings import Mirrors
from envkit.base.versions import Version
from envkit.install.options import ScriptOptions
from tests.cli.run import envkit
from tests.install.machine import Machine
from tests.install.plans import plan, scripted
from tests.install.reported.bench import Bench, Outcome, Trial, codes
from tests.install.test_neighbors import in_an_environment
from tests.install.test_together import wheel

PIP_DOWNLOAD = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps")
COMPANIONS = ("1.13.0", "1.13.1", "2.5.0", "2.5.1")
# A package index of one folder of wheels that may be cached, as PyPI says of its files, and is slow where /slow is.
INDEX = '''
import http.server, os, re, sys, time
class Index(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        names = sorted(os.listdir("/job/wheels"))
        wanted = self.path.rstrip("/").rsplit("/", 1)[-1]
        print(self.path, flush=True)
        if wanted in names:
            body, kind = open("/job/wheels/" + wanted, "rb").read(), "application/octet-stream"
        else:
            fitting = [name for name in names if name.split("-")[0].replace("_", "-") == wanted]
            body, kind = "".join('<a href="/files/%s">%s</a>' % (name, name) for name in fitting).encode(), "text/html"
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "max-age=365000000, immutable, public")
        self.end_headers()
        for at in range(0, len(body), 65536):
            self.wfile.write(body[at:at + 65536])
            if wanted in names and os.path.exists("/slow-" + wanted.split("-")[0]):
                time.sleep(0.5)
    def log_message(self, *words):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Index).serve_forever()
'''  # fmt: skip
INDEX_URL = "http://127.0.0.1:8000/simple"
# The variables of ROS, Spack and shared folders, and pip's own that lead elsewhere.
AROUND = {
    "PYTHONPATH": "/elsewhere",
    "PYTHONHOME": "/usr",
    "PYTHONUSERBASE": "/elsewhere",
    "PIP_USER": "1",
    "PIP_TARGET": "/elsewhere",
    "PIP_PREFIX": "/elsewhere",
    "PIP_CONSTRAINT": "/elsewhere/constraints.txt",
    "PIP_REQUIRE_VIRTUALENV": "1",
}


def companions(bench: Bench) -> Outcome:
    for version in COMPANIONS:
        for system in ("debian12", "ubuntu20.04"):
            python = {"1": "3.11", "2": "3.13"}[version[0]]
            words = ("--framework", f"pytorch=={version}", "--os", system, "--python", python, "--target", "any")
            made = envkit("install", *words)
            text = "\n".join(line for line in made.stdout.splitlines() if not line.startswith("#"))
            assert made.returncode == 0 and "so they are omitted" in made.stderr, made.stderr
            assert f"torch=={version}" in text and "torchvision==" not in text and "torchaudio==" not in text
    pip = [*PIP_DOWNLOAD, "--only-binary=:all:", "--python-version", "3.11", "-d", str(bench.folder)]
    lacking = subprocess.run([*pip, "torchvision==0.14.1"], capture_output=True, text=True)
    assert lacking.returncode == 1 and "No matching distribution" in lacking.stderr, lacking.stderr
    with bench.machine() as target:
        target.put(envkit("install", "--framework", "pytorch==1.13.1", "--os", "debian12", "--target", "any").stdout)
        done = target.install()
        assert done.exit_code == 0 and done.verdicts["pytorch"] == "ok", done.stderr
    return Outcome(
        "plans of torch 1.13.0 and 1.13.1 for Python 3.11, 2.5.0 and 2.5.1 for 3.13, on Debian 12 and Ubuntu 20.04; "
        "the "
        "real 1.13.1 installed on Debian 12",
        "torchvision and torchaudio are left out, and the plan says so; torch imports. The index has no torchvision "
        "0.14.1 "
        "for 3.11",
        codes(done),
        "test_a_companion_without_a_wheel_for_the_python_is_left_out_and_reported",
    )  # fmt: skip


def without_a_driver(bench: Bench) -> Outcome:
    words = ("--framework", "onnxruntime", "--python", "3.11", "--os", "debian12", "--target", "any")
    with bench.machine() as target:
        target.put(envkit("install", *words).stdout)
        runs = [target.install(), target.install(), target.install("--verify-only")]
        told = runs[-1].verdicts
        assert {run.exit_code for run in runs} == {0} and runs[1].changed_nothing, runs
        assert told["onnxruntime"] == "ok" and told["onnxruntime provider"] == "skip", told
    return Outcome(
        "the newest ONNX Runtime with its CUDA libraries, Debian 12, no driver: run, run again, `--verify-only`",
        "import ok; provider and kernel skip, as they need the driver",
        codes(*runs),
        "test_a_library_of_the_driver_is_not_missed_where_no_gpu_is",
    )


def shells_settings(bench: Bench) -> Outcome:
    with bench.machine() as target:
        _wheels(target)
        target.put(in_an_environment("jax"))
        target.sh("mkdir -p /elsewhere; python3 -m zipfile -e /job/wheels/jax-*.whl /elsewhere")
        target.sh("echo 'jax==9' >/elsewhere/constraints.txt; ls /elsewhere/jax.py")
        runs = []
        places = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/job/wheels"}
        for name, value in AROUND.items():
            done = target.install(environment={**places, name: value})
            assert done.exit_code == 0 and done.states["framework-jax"] == "done", (name, done.stderr)
            assert "jax.py" in target.sh("ls /opt/lab/environment/lib/python3*/site-packages"), name
            runs.append(done)
            target.install("--rollback")
    return Outcome(
        f"a small package as the framework, with {', '.join(AROUND)} set in turn; PYTHONPATH holds the package",
        'never "already done": installed into the environment and verified',
        codes(*runs),
        "test_an_environment_is_judged_without_what_the_shell_tells_python",
    )


def conda_in_a_bundle(bench: Bench) -> Outcome:
    runs = []
    for cuda, framework in (("9.0", "pytorch"), ("8.0", "tensorflow")):
        words = ("--cuda", cuda, "--framework", framework, "--os", "ubuntu16.04", "--target", "any")
        folder = bench.folder / framework
        done = envkit("install", *words, "--no-toolkit", "--bundle", str(folder))
        assert done.returncode == 0 and "Python 3.5 will be used" in " ".join(done.stderr.split()), done.stderr
        assert (folder / "wheels/SHA256SUMS").exists()
        runs.append(done)
    return Outcome(
        "`--bundle` of the environments for CUDA 9.0 with PyTorch and CUDA 8.0 with TensorFlow on Ubuntu 16.04",
        "**was** refused; now the bundle takes the system's Python 3.5, says so, and has every wheel, also those that "
        "pip left out for another Python and those that the index has only as sources. In a container of Ubuntu 16.04 "
        "without a network, PyTorch 1.1.0 was installed, imported, and verified; TensorFlow 1.4.1 was installed, and "
        "its import lacked only CUDA's libraries. `--offline` **refused** a mirror in its own network; now "
        "`--system-packages` allows it",
        codes(*runs),
        "test_a_bundle_takes_a_python_that_it_can_hold, test_an_old_framework_is_bundled_whole, "
        "test_with_offline_packages_come_only_from_sources_that_were_allowed",
    )  # fmt: skip


def one_index(bench: Bench) -> Outcome:
    with bench.machine(network=False) as target:
        _wheels(target)
        pip = [*PIP_DOWNLOAD, "-d", str(target.folder / "wheels"), "pip"]
        subprocess.run(pip, check=True)
        found = plan(None, "jax")
        [build] = found.choice.builds
        build = replace(build, package="jax==1.0", version=Version.parse("1.0"), companions=(), numpy=None)
        choice = replace(
            found.choice, builds=(build,), needs_toolkit=False, python=Version.parse("3.11"), python_source=None
        )
        options = ScriptOptions(allow_http=True)
        target.put(scripted(replace(found, choice=choice), options, Mirrors(index_url=INDEX_URL)))
        _serve(target)
        done = target.install()
        asked = target.sh("cat /requests").split()
        assert done.exit_code == 0 and "pip could not be upgraded" not in done.stderr, done.stderr
        assert {"/simple/pip/", "/simple/jax/"} <= set(asked), asked
    return Outcome(
        "no network but a package index on the loopback address, `--index-url` and `--allow-http`",
        "pip's upgrade and the framework came from that index; a build that only PyTorch's index has is fetched from "
        "that "
        "one alone, and a note names `--mirror download.pytorch.org=URL`",
        codes(done),
        "test_an_index_that_lacks_the_build_is_reported, test_the_wheels_of_a_bundle_are_chosen_together",
    )  # fmt: skip


def wheels_once(bench: Bench) -> Outcome:
    with bench.machine() as target:
        _wheels(target)
        large = target.folder / "wheels/payload-1.0-py3-none-any.whl"
        wheel(target.folder / "wheels", "payload", "1.0")
        _fill(large)
        wheel(target.folder / "wheels", "jax", "1.0", "first", "payload", module=True)
        wheel(target.folder / "wheels", "first", "1.0")
        _fill(target.folder / "wheels/first-1.0-py3-none-any.whl")
        target.put(in_an_environment("jax"))
        _serve(target)
        target.sh("touch /slow-payload")
        # pip keeps what it fetches from https and from hosts that it trusts
        places = {"PIP_INDEX_URL": INDEX_URL, "PIP_FIND_LINKS": "", "PIP_TRUSTED_HOST": "127.0.0.1"}
        settings = " ".join(f"{name}={value}" for name, value in places.items())
        target.sh(f"set -m; {settings} bash /job/install.sh >/out 2>&1 & echo $! >/pid")  # else it ignores Ctrl-C
        for _ in range(300):
            if "payload-1.0" in target.sh("cat /requests"):
                break
            time.sleep(0.2)
        target.sh("sleep 0.7; kill -INT -- -$(cat /pid); rm /slow-payload; sleep 2")
        first = target.sh("cat /requests")
        assert "interrupted; finished parts are kept" in target.sh("cat /out")
        done = target.install("--resume", environment=places)
        later = target.sh("cat /requests")[len(first) :]
        assert done.exit_code == 0 and "/files/first-1.0" in first and "/files/first-1.0" not in later, (first, later)
    return Outcome(
        "Ctrl-C while the second of two wheels is fetched, from an index with PyPI's cache headers; `--resume`",
        '"interrupted; finished parts are kept"; the first wheel is not fetched again',
        f"130, {codes(done)}",
        "test_a_wheel_that_was_fetched_is_not_fetched_again",
    )


def _wheels(target: Machine) -> None:
    wheel(target.folder / "wheels", "jax", "1.0", module=True)


def _fill(file: Path) -> None:
    with ZipFile(file, "a") as archive:
        archive.writestr(f"{file.name.split('-')[0]}_data.bin", bytes(400_000))


def _serve(target: Machine) -> None:
    (target.folder / "index.py").write_text(INDEX)
    target.sh("python3 /job/index.py >/requests 2>/index-errors & sleep 1")


TRIALS: dict[str, Trial] = {
    "F2 companion packages without a wheel": companions,
    "F3 ONNX Runtime without a driver": without_a_driver,
    "F4 settings of the shell": shells_settings,
    "F13 conda in a bundle": conda_in_a_bundle,
    "F14 pip's own upgrade, one index": one_index,
    "F16 wheels fetched again": wheels_once,
}
