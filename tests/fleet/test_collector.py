"""The shell collector tells what the probes find on the same machine, but for what only libraries can tell."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from envkit.capture.collected import CollectedHost
from envkit.capture.collector import GROUPS
from envkit.capture.recording import RecordingHost
from envkit.capture.replay import CaptureHost
from envkit.host.local import LocalHost
from envkit.ingest.arrived import kept
from envkit.ingest.collected import from_collector
from envkit.model import Environment, Problem
from envkit.model.facts_json import environment_from_json
from envkit.model.paths import fact, fact_paths
from envkit.probe.collect import collect
from envkit.render.fleet_files import collector
from tests.cli.run import envkit
from tests.fleet.furnished import MACHINES, VARIABLES, facts_inside, furnish
from tests.programs import require

RECORDED = sorted(path.parent.name for path in MACHINES.glob("*/files.json"))
BY_LIBRARIES = {
    "gpus", "driver.nvml", "driver.driver_cuda_version", "driver.cuda_init", "driver.cuda_device_count",
    "driver.cuda_visible_count",
}  # fmt: skip
CHANGING = {"system.free_bytes", "system.shm_bytes", "containers.docker", "network_interfaces", "kernel.log"}
OF_BINARIES = (
    "library_uses", "owners_clash", "cudnn_sublibraries", "build_tools", "ptxas_version", "glibc_needed",
    "glibcxx_needed", "libstdcxx", "libstdcxx_version", "unresolved_symbols", "shadowing_modules",
)  # fmt: skip


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("collector") / "collect.sh"
    place.write_text(collector())
    return place


def test_it_is_plain_posix_shell(script: Path) -> None:
    assert "@" not in re.sub(r"\$@", "", script.read_text())
    # SC2231: patterns are expanded on purpose, and IFS is empty; SC2015: both halves are wanted
    done = subprocess.run(
        [Path(sys.executable).with_name("shellcheck"), "--shell=sh", "--exclude=SC2231,SC2015", str(script)],
        capture_output=True,
        text=True,
    )
    assert done.stdout == ""


def _values(environment: Environment, path: str) -> object:
    """The value or the problem; of Python environments what files tell."""
    observed = fact(environment, path)
    if path != "pythons" or observed.value is None:
        return observed.value if observed.known else observed.problem
    return [
        {name: value for name, value in python.__dict__.items() if name not in OF_BINARIES}
        | {"frameworks": [(each.name, each.version, each.cuda, each.cudnn) for each in python.frameworks]}
        for python in observed.value
    ]


def _different(one: Environment, other: Environment, left_out: set[str]) -> dict[str, tuple[object, object]]:
    pairs = {path: (_values(one, path), _values(other, path)) for path in fact_paths() if path not in left_out}
    return {path: pair for path, pair in pairs.items() if pair[0] != pair[1]}


@pytest.mark.thorough
def test_on_this_machine_it_tells_what_the_probes_find(script: Path, tmp_path: Path) -> None:
    variables = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    printed = subprocess.run(["sh", str(script)], env=variables, cwd=tmp_path, capture_output=True, text=True)
    assert printed.returncode == 0 and printed.stderr == "" and printed.stdout.endswith("\nend\n")
    identity = {**LocalHost().identity(), "cwd": str(tmp_path), "python": "", "prefix": ""}
    found = collect(LocalHost(variables, identity), 60)
    assert _different(from_collector(printed.stdout, "x"), found, BY_LIBRARIES | CHANGING) == {}


def _questions(host: RecordingHost) -> Iterator[tuple[str, str]]:
    yield from (("content", path) for path in (*host.texts, *host.contents))
    yield from (("there", path) for path in (*host.globs, *host.statuses, *host.real_paths, *host.links))
    yield from (("folder", path) for path in host.lists)
    yield from (("space", path) for path in (*host.free, *host.sizes))


_ANSWERS = {
    "content": ("text", "bytes", "words", "tail"),
    "there": ("names", "paths", "text", "bytes", "words", "tail", "folder"),
    "folder": ("folder",),
    "space": ("space",),
}
ELSEWHERE = (  # what the collector's own lines ask
    r"/dev/kmsg", r"/sys/bus/pci/devices(/[^/]*/vendor)?", r"/proc/\d+",
    r"/(?:usr/)?s?bin/(?:sh|env|bash|ldconfig)",  # the machine's type, which uname tells
    r"\S*/lib(cuda|nvidia-ml|nvidia-ptxjitcompiler)\.so\.1",  # of LD_LIBRARY_PATH and the loader's cache
    r"/usr/local/bin/\w+|/usr/bin/\w+",  # programs by their place
    r"/opt/envkit(/.*)?",  # the Python that ran envkit there
)  # fmt: skip


@pytest.mark.thorough
def test_every_place_that_a_probe_reads_is_asked() -> None:
    asks = [ask for group in GROUPS.values() for ask in group]
    rows = {
        kind: re.compile("|".join(_as_regex(place) for ask in asks if ask.how in hows for place in ask.where))
        for kind, hows in _ANSWERS.items()
    }
    elsewhere = re.compile("|".join(ELSEWHERE))
    missing = set()
    for name in RECORDED:
        host = RecordingHost(CaptureHost(str(MACHINES / name)), lambda path, content: content)
        collect(host, 60, skip=("pythons", "managed_by"))
        for kind, path in _questions(host):
            if not rows[kind].fullmatch(path) and not elsewhere.fullmatch(path):
                missing.add((kind, path))
    assert not missing, sorted(missing)


def _as_regex(place: str) -> str:
    """What a row's place holds: a variable of the collector stands for any path, `*` for any name or pattern."""
    parts = re.split(r"(\$\w+|\*|\[0-9\])", place)
    wild = {"*": "[^/]*", "[0-9]": r"(?:\[0-9\]|[0-9])"}
    return "".join(wild.get(part) or (r"[^\s]+" if part.startswith("$") else re.escape(part)) for part in parts)


ROOTS = ["debian12", "ubuntu18.04", "ubuntu20.04", "busybox"]
SAMPLE = RECORDED[::40]


def _unpacked(name: str, root: Path) -> None:
    root.mkdir()
    if name == "busybox":
        for folder in ("bin", "etc", "tmp", "root", "usr/bin", "usr/lib", "usr/local", "var/lib", "run", "dev"):
            (root / folder).mkdir(parents=True)
        (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
        (root / "etc/group").write_text("root:x:0:\nvideo:x:44:\n")
        shutil.copy(shutil.which("busybox") or "/bin/busybox", root / "bin/busybox")
        subprocess.run([root / "bin/busybox", "--install", "-s", root / "bin"], check=True)
        for link in (root / "bin").iterdir():
            if link.is_symlink():
                link.unlink()
                link.symlink_to("busybox")
        return
    from tests.engine.roots import root_archive

    subprocess.run(["tar", "-C", str(root), "-xp", "-f", str(root_archive(name))], check=True)


@pytest.mark.network
@pytest.mark.thorough
@pytest.mark.parametrize("distribution", ROOTS)
def test_in_bare_roots_it_tells_what_the_probes_find(distribution: str, tmp_path: Path) -> None:
    """Each root is furnished with recorded machines in turn; its own shell and tools run the collector."""
    if distribution == "busybox":
        require("busybox")
    clean = tmp_path / "clean"
    _unpacked(distribution, clean)
    left_out = BY_LIBRARIES | CHANGING | {"system.glibc"}  # the probes run on this machine's C library
    for machine in SAMPLE:
        root = tmp_path / "root"
        subprocess.run(["cp", "-al", str(clean), str(root)], check=True)
        furnish(root, machine)
        (root / "collect.sh").write_text(collector())
        command = [shutil.which("chroot") or "chroot", str(root), "sh", "/collect.sh"]
        printed = subprocess.run(command, env=VARIABLES, cwd="/", capture_output=True, text=True)
        assert printed.returncode == 0 and printed.stderr == "" and printed.stdout.endswith("\nend\n")
        told, found = from_collector(printed.stdout, "x"), environment_from_json(json.loads(facts_inside(root)))
        assert _different(told, found, left_out) == {}, machine
        shutil.rmtree(root)


TEXT = """Welcome to n1

# envkit collected 1
about kernel 5.4.0-150-generic
about architecture x86_64
asked /etc/os-release
text /etc/os-release
|ID=ubuntu
|VERSION_ID="20.04"

asked /usr/local/cuda
path /usr/local/cuda
|lrwxrwxrwx 1 root root 9 Mar  1 10:00 /usr/local/cuda -> cuda-12.4
|drwxr-xr-x 2 root root 4096 Mar  1 10:00 /usr/local/cuda
|/usr/local/cuda-12.4
asked /dev/nvidia*
path /dev/nvidia0
|crw-rw---- 1 root video 195, 0 Mar  1 10:00 /dev/nvidia0
|/dev/nvidia0
denied /etc/docker/daemon.json
asked /opt/cuda
program nvcc 
run 124 /usr/bin/nvidia-smi -L
refused /home/u/bin/podman --version
end
"""  # noqa: W291


def test_its_words_are_answers() -> None:
    host = CollectedHost(TEXT)
    assert host.read_text("/etc/os-release").get().startswith("ID=ubuntu\n")
    assert host.read_link("/usr/local/cuda").get() == "cuda-12.4"
    assert host.real_path("/usr/local/cuda").get() == "/usr/local/cuda-12.4"
    node = host.status("/dev/nvidia0").get()
    assert (node.kind, node.mode, node.group, node.device, node.accessible) == ("char", "0660", "video", "195:0", False)
    assert host.glob("/dev/nvidia*") == ("/dev/nvidia0",)
    assert host.read_text("/etc/docker/daemon.json").problem is Problem.DENIED
    assert host.status("/dev/nvidia1").problem is Problem.ABSENT
    assert host.status("/opt/cuda/bin/nvcc").problem is Problem.ABSENT
    assert host.status("/etc/passwd").problem is Problem.NOT_LOOKED
    assert host.which("nvcc").problem is Problem.ABSENT and host.which("gcc").problem is Problem.NOT_LOOKED
    assert host.run(["/usr/bin/nvidia-smi", "-L"]).problem is Problem.TIMED_OUT
    assert host.run(["/home/u/bin/podman", "--version"]).problem is Problem.DENIED


@pytest.mark.parametrize("cut", [30, 90, 200, 400, len(TEXT)])
def test_a_part_of_it_says_less_and_nothing_else(cut: int) -> None:
    environment = from_collector(TEXT[:cut], "x")
    assert environment.cuda_toolkits.problem in (Problem.NOT_LOOKED, Problem.ABSENT)
    assert environment.gpus.problem is Problem.NOT_LOOKED


def test_of_several_runs_the_newest_whole_one_counts() -> None:
    newer = TEXT.replace("5.4.0-150", "5.4.0-200")
    cut = TEXT.replace("5.4.0-150", "5.4.0-300")[:300]
    assert CollectedHost(TEXT + newer + cut).identity()["kernel"] == "5.4.0-200-generic"
    assert CollectedHost(cut).identity()["kernel"] == "5.4.0-300-generic"


HOSTILE = [
    "# envkit collected 1\npath\n|\ntext \n|x\nbytes /a\n|zz\nrun x y\nrun 99999 z\nspace /\n|\nprogram\nabout\nend",
    "# envkit collected 1\n" + "|" * 100_000 + "\nasked " + "*" * 5000 + "\nname " + "/a" * 5000,
    "# envkit collected 1\npath /x\n|-rwx" + " 1" * 50_000 + "\nspace /\n|" + "9 " * 9999,
    "# envkit collected 1\nfolder /dev\n|../../etc\n|\x00\ntext /proc/modules\n|\x1b[31mnvidia\n\ud800",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_rubbish_between_its_words_harms_nothing(text: str) -> None:
    assert from_collector(text, "x").pci_gpus.value is None


def test_what_it_printed_is_a_machine_everywhere(tmp_path: Path) -> None:
    (tmp_path / "n1.txt").write_text(TEXT)
    document = kept({"host": "n2", "arrived": "ended", "by": "shell", "rc": 0, "stdout": TEXT, "seconds": 1})
    (tmp_path / "n2.json").write_text(json.dumps(document))
    done = envkit("fleet", "report", str(tmp_path), "--json")
    hosts = json.loads(done.stdout)["hosts"]
    assert [(host["host"], host["traits"]["os"]) for host in hosts] == [("n1", "ubuntu20.04"), ("n2", "ubuntu20.04")]
    alone = envkit("doctor", "--from", str(tmp_path / "n1.txt"), "--json")
    facts = json.loads(alone.stdout)["reports"][0]["environment"] if "reports" in alone.stdout else None
    assert "5.4.0-150-generic" in alone.stdout, facts
