"""Real environments of five frameworks on bare distributions: `python -m tests.install.environments [WORD…]`.

As root, with debootstrap and this machine's package index; words choose distributions, frameworks and the bundle. Each
script of `envkit install` is run, run again, verified and rolled back; then one bundle is installed where there is no
network. The lines that it prints are a table of docs/install-runs.md. Nothing but the index and the distribution's
archive is asked: the Python is the distribution's own.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from envkit.tables import Matrix
from tests.engine.tools import CACHE, run
from tests.newcomer.root import Root

SYSTEMS = ("debian12", "ubuntu22.04", "ubuntu24.04")
FRAMEWORKS = ("pytorch", "tensorflow", "mxnet", "onnxruntime", "jax")
# MXNet's wheels load CUDA from the system, which NVIDIA's own wheels can play: their folder joins the loader's.
PLAYED = (
    "nvidia-cuda-runtime-cu11 nvidia-cublas-cu11<11.11 nvidia-cudnn-cu11<9 nvidia-cufft-cu11<10.9 nvidia-curand-cu11 "
    "nvidia-cusolver-cu11 nvidia-cusparse-cu11 nvidia-cuda-nvrtc-cu11 nvidia-nccl-cu11 nvidia-nvtx-cu11"
)
# Where the index itself lacks the build that would be chosen, or the system the Python that the framework needs.
ASKED = {("ubuntu22.04", "pytorch"): ("--cuda", "13.0")}
GUESTS = {("ubuntu24.04", "mxnet"): "debian12"}  # its plan, with --any-os, next to that system's Python
BUNDLE = "bundle"  # of the smallest one, without a network
COLUMNS = ("system", "framework", "requirement", "install", "verified without a driver", "run again", "rolled back")


def main() -> int:
    """Exit status 0 when every run came to its end."""
    systems = [word for word in sys.argv[1:] if word in SYSTEMS] or list(SYSTEMS)
    trials = [word for word in sys.argv[1:] if word in (*FRAMEWORKS, BUNDLE)] or [*FRAMEWORKS, BUNDLE]
    print(_line(COLUMNS), _line(["---"] * len(COLUMNS)), sep="\n", flush=True)
    good = True
    for system in systems:
        CACHE.mkdir(exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="environments-", dir=CACHE))
        try:
            root = Root(system, folder)
            root.unpack("python3", "ca-certificates")
            for trial in trials:
                good = (_bundled(root) if trial == BUNDLE else _tried(root, trial)) and good
        finally:
            shutil.rmtree(folder)
    return 0 if good else 1


def _line(cells: Iterator[str] | list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def _asked(system: str, framework: str, *words: str) -> list[str]:
    words = (*words, *ASKED.get((system, framework), ()))
    row = Matrix.load().operating_system(system)
    assert row is not None and row.default_python is not None
    python = str(row.default_python.release(2))
    plan = ["--framework", framework, "--os", system, "--python", python, "--target", "any", "--no-toolkit"]
    return [sys.executable, "-m", "envkit", "install", *plan, *words]


def _tried(root: Root, framework: str) -> bool:
    """One framework: a line of the table, and whether all went well."""
    script, guest = root.path / "install.sh", GUESTS.get((root.os_id, framework))
    run(_asked(guest or root.os_id, framework, "-o", str(script)))
    if framework == "mxnet":
        _play_toolkit(root)
    any_os = ["--any-os"] if guest else []
    if guest:
        _lend_python(root, guest)
    text = script.read_text()
    wanted = text.partition("requirements=(")[2].partition(" ")[0].strip("'")
    before = _tree(root)
    runs = [_run(root, *words) for words in (any_os, any_os, ["--verify-only"])]
    back = _run(root, "--rollback")
    first, again, verified = (result for result, _ in runs)
    unchanged = {step["state"] for step in again.get("steps", []) if step["id"] != "verify"} == {"unchanged"}
    words = [f"{item['name']} {item['status']}" for item in verified.get("verify", [])]
    same = _tree(root) == before
    cells = (
        root.os_id, framework, wanted, _told(runs[0]), ", ".join(words) or "nothing",
        f"{_told(runs[1])}{', unchanged' if unchanged else ''}", f"{_told(back)}{', tree equal' if same else ''}",
    )  # fmt: skip
    print(_line(cells), flush=True)
    codes = {result.get("exit_code") for result in (first, again, verified, back[0])}
    if codes != {0}:
        print("    " + "\n    ".join(str(result.get("message")) for result in (first, again, verified)), flush=True)
    return codes == {0} and unchanged and same


def _bundled(root: Root) -> bool:
    """One framework from a bundle, without a network."""
    bundle = root.path / "bundle"
    run(_asked(root.os_id, "onnxruntime", "--bundle", str(bundle)), limit_s=1800)
    root.done("apt-get install -qq -y --no-install-recommends python3-venv libgomp1")  # what a bundle does not hold
    shutil.copy(bundle / "install.sh", root.path / "install.sh")
    reached = root.call("getent hosts pypi.org || cat < /dev/tcp/127.0.0.1/80", network=False).returncode == 0
    result, seconds = _run(root, "--offline", "/bundle", network=False)
    words = [f"{item['name']} {item['status']}" for item in result.get("verify", [])]
    wheels = len(list((bundle / "wheels").glob("*.whl")))
    cells = (
        root.os_id, "onnxruntime", f"bundle of {wheels} wheels, no network", _told((result, seconds)), ", ".join(words),
        "", _told(_run(root, "--rollback", network=False)),
    )  # fmt: skip
    print(_line(cells), flush=True)
    if result.get("exit_code"):
        print(f"    {result.get('message')}", flush=True)
    return result.get("exit_code") == 0 and not reached


def _run(root: Root, *options: str, network: bool = True) -> tuple[dict[str, Any], float]:
    """What the script printed, and its seconds."""
    started = time.monotonic()
    done = root.call(f"bash /install.sh {' '.join(options)}", network=network)
    seconds = time.monotonic() - started
    (root.path.parent / "last.log").write_text(done.stderr)
    try:
        found: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        found = {"exit_code": done.returncode, "message": done.stderr[-2000:]}
    return found, seconds


def _told(ran: tuple[dict[str, Any], float]) -> str:
    return f"exit {ran[0].get('exit_code')}, {ran[1]:.1f} s"


def _play_toolkit(root: Root) -> None:
    if (root.path / "opt/played").exists():
        return
    wheels = root.path.parent / "played"
    names = PLAYED.split()
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(wheels), *names]
    run([*pip, "--no-cache-dir"], limit_s=1800)
    target = root.path / "opt/played"
    target.mkdir()
    for library in wheels.glob("nvidia/*/lib/*.so*"):
        shutil.move(library, target / library.name)
    shutil.rmtree(wheels)
    (root.path / "etc/ld.so.conf.d/played.conf").write_text("/opt/played\n")
    root.done("ldconfig")


def _lend_python(root: Root, lender: str) -> None:
    """Another distribution's Python, next to the own one."""
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        other = Root(lender, Path(folder))
        other.unpack("python3-venv")
        [program] = (other.path / "usr/bin").glob("python3.[0-9][0-9]")
        shutil.copy(program, root.path / "usr/bin")
        for place in (f"usr/lib/{program.name}", "usr/share/python-wheels"):
            shutil.copytree(other.path / place, root.path / place, symlinks=True, dirs_exist_ok=True)


def _tree(root: Root) -> list[str]:
    """Every path with its type, mode and owner, without what changes by itself."""
    away = ("var/log", "var/lib/apt", "var/cache", "var/lib/dpkg", "tmp", "run", "root", "proc", "dev", "install.sh")
    prune = " -o ".join(f"-path {root.path}/{path}" for path in away)
    command = rf"find {root.path} -xdev \( {prune} \) -prune -o -printf '%P\t%y %m %U:%G %l\n' | sort"
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True).stdout.splitlines()


if __name__ == "__main__":
    sys.exit(main())
