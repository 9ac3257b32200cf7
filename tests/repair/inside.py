"""Breaks, fixes and restores files of the system, in a mount namespace where /etc and /usr/local are copies.

Run as `unshare --mount python -m tests.repair.inside CASE FOLDER`; it prints `restored` at the end, or fails.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from envkit.api.report import Report
from envkit.checks.containers.container_engines import _configure
from envkit.checks.engine.command import Command, fixed
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.checks.engine.registry import all_checks
from envkit.cli import fix
from envkit.documents.verdict import verdict
from envkit.model import found
from envkit.model.paths import with_facts
from tests.checks.software import matrix
from tests.fakes.machines import load_machine
from tests.repair import machine
from tests.repair.terminal import Terminal

NVIDIA_CTK = """#!/bin/sh
case "$1 $2" in
  "runtime configure") echo '{"runtimes": {"nvidia": {"path": "nvidia-runtime"}}}' > /etc/docker/daemon.json ;;
  "cdi generate") printf 'kind: nvidia.com/gpu\\nhostPath: /etc/os-release\\n' > "${3#--output=}" ;;
  *) echo "NVIDIA Container Toolkit CLI version 1.17.4" ;;
esac
"""
SYSTEMCTL = """#!/bin/sh
at=/etc/units
case "$1" in
  is-enabled) test -e $at/enabled ;;
  is-active) test -e $at/active ;;
  enable) touch $at/enabled $at/active ;;
  disable) rm -f $at/enabled ;;
  start|restart) touch $at/active ;;
  stop) rm -f $at/active ;;
esac
"""
DAEMON, SPEC, LINK = Path("/etc/docker/daemon.json"), Path("/etc/cdi/nvidia.yaml"), Path("/usr/local/cuda")
LIBRARIES, CONF = Path("/usr/local/probe/lib"), Path("/etc/ld.so.conf.d/probe.conf")
UNITS = Path("/etc/units")


def _declared(broken: Callable[[], bool], remedy: Remedy) -> Report:
    """The report of a machine that has this one thing to look at."""
    environment = load_machine(machine.HEALTHY)
    status = Status.FAIL if broken() else Status.OK
    finding = Finding("probe", status, "It is broken" if broken() else "It works", remedy=remedy)
    return Report(environment, (finding,), verdict(environment, (finding,)))


def link() -> tuple[Callable[[], Report], Callable[[], object]]:
    """The default link of CUDA points to a toolkit that is not there."""
    root = Path("/usr/local/cuda-12.4")
    (root / "lib64").mkdir(parents=True)
    (root / "lib64" / "libcudart.so.12.4.127").write_bytes(b"")
    (root / "version.json").write_text('{"cuda": {"name": "CUDA SDK", "version": "12.4.1"}}')
    LINK.symlink_to("/usr/local/cuda-12.1")
    return lambda: machine.look("cuda-symlink-wrong"), lambda: os.readlink(LINK)


def cdi() -> tuple[Callable[[], Report], Callable[[], object]]:
    """The CDI file names a library of the driver that was."""
    SPEC.parent.mkdir()
    SPEC.write_text('cdiVersion: "0.5.0"\nkind: nvidia.com/gpu\nhostPath: /usr/lib/libcuda.so.535.0\n')
    return lambda: machine.look("cdi-unresolvable"), SPEC.read_text


def runtime() -> tuple[Callable[[], Report], Callable[[], object]]:
    """Docker's configuration has no runtime for GPUs."""
    DAEMON.parent.mkdir(exist_ok=True)
    DAEMON.write_text('{"log-driver": "local"}\n')
    toolkit = with_facts(
        load_machine(machine.HEALTHY), {"containers.container_toolkit": found(matrix().toolkits[0].version, "a test")}
    )
    remedy = _configure(toolkit, matrix())
    return lambda: _declared(lambda: "nvidia" not in json.loads(DAEMON.read_text()).get("runtimes", {}), remedy), (
        lambda: (DAEMON.read_text(), sorted(os.listdir(UNITS)))
    )


def loader() -> tuple[Callable[[], Report], Callable[[], object]]:
    """A folder of libraries is not in the loader's index."""
    LIBRARIES.mkdir(parents=True)
    [library] = list(Path("/").glob("lib*/x86_64-linux-gnu/libdl.so.2"))[:1]
    shutil.copy(library, LIBRARIES / "libprobe.so.1")
    entry = Command(shell=f"echo {LIBRARIES} | sudo tee {CONF}")

    def listed() -> bool:
        return str(LIBRARIES) in subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True).stdout

    remedy = Remedy("Tell the loader.", (entry, fixed("sudo ldconfig")))
    return lambda: _declared(lambda: not listed(), remedy), lambda: (CONF.exists(), listed())


def service() -> tuple[Callable[[], Report], Callable[[], object]]:
    """A daemon neither runs nor is started at boot."""
    remedy = Remedy("Start it.", (fixed("sudo systemctl enable --now nvidia-persistenced"),))
    return lambda: _declared(lambda: not os.listdir(UNITS), remedy), lambda: sorted(os.listdir(UNITS))


CASES = {"link": link, "cdi": cdi, "runtime": runtime, "loader": loader, "service": service}


def _namespace(folder: Path) -> None:
    """Copies in the places of the system's folders, with programs that do what theirs would."""
    subprocess.run(["cp", "-a", "/etc", str(folder / "etc")], check=False, capture_output=True)
    (folder / "local" / "bin").mkdir(parents=True)
    for name, text in (("nvidia-ctk", NVIDIA_CTK), ("systemctl", SYSTEMCTL)):
        program = folder / "local" / "bin" / name
        program.write_text(text)
        program.chmod(0o755)
    for source, target in (("etc", "/etc"), ("local", "/usr/local")):
        subprocess.run(["mount", "--bind", str(folder / source), target], check=True)
    UNITS.mkdir()


def main(case: str, folder: str) -> None:
    """The case from broken to restored."""
    _namespace(Path(folder))
    os.environ.update(PATH="/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", ENVKIT_STATE_DIR=f"{folder}/state")
    look, state = CASES[case]()
    before = state()
    assert look().verdict.status is Status.FAIL, look().verdict
    Terminal(pytest.MonkeyPatch())
    after = fix.fix_here(look, all_checks(), dry_run=False, yes=False)
    assert after.verdict.status is Status.OK and state() != before, (after.verdict, state())
    assert fix.undo_here(dry_run=False, yes=True) == 0
    assert state() == before, (state(), before)
    assert look().verdict.status is Status.FAIL
    print("restored")


if __name__ == "__main__":
    main(*sys.argv[1:])
