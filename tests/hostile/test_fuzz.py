"""A minute of damaged input of every format through the program: the exit codes 0, 1 and 2 alone, and inert words.

`ENVKIT_FUZZ_SECONDS=600 ENVKIT_FUZZ_SEED=7` looks longer and elsewhere. A failure names its seed and its case.
"""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path

import pytest

from envkit.cli.boundary import exit_code
from envkit.model.facts_json import to_json
from tests.fakes.machines import MACHINES, machine_names
from tests.hostile.mutations import changed_bytes, changed_json
from tests.hostile.places import known
from tests.hostile.rules import RULES, plain
from tests.hostile.test_outputs import FORMATS
from tests.ingest.texts import FOLDER
from tests.security.test_project_files import SIGNED

SECONDS = float(os.environ.get("ENVKIT_FUZZ_SECONDS", "60"))  # for all of the formats
SEED = os.environ.get("ENVKIT_FUZZ_SEED", "0")
LONGEST_S = 20  # one case may take, on a busy machine
DOCKERFILES = FOLDER.parent / "image" / "dockerfiles"
Words = list[str]
Make = Callable[[Path, random.Random], Words]
Forms = Sequence[tuple[str, Sequence[str]]]


@cache
def _facts(name: str) -> str:
    return json.dumps(to_json(known(name)))


@cache
def _bytes(path: Path) -> bytes:
    return path.read_bytes()


def _dumped(document: object, chance: random.Random) -> bytes:
    return json.dumps(document, ensure_ascii=chance.random() < 0.5).encode("utf-8", "surrogatepass")


def text(folder: Path, chance: random.Random) -> Words:
    """What a person pasted."""
    file = folder / "pasted.txt"
    file.write_bytes(changed_bytes(_bytes(chance.choice(sorted(FOLDER.glob("*.txt")))), chance))
    return ["doctor", "--from", str(file)]


def facts(folder: Path, chance: random.Random) -> Words:
    """What `probe --json` wrote."""
    file, written = folder / "facts.json", _facts(chance.choice(machine_names()))
    whole = chance.random() < 0.8
    changed = changed_json(json.loads(written), chance)
    file.write_bytes(_dumped(changed, chance) if whole else changed_bytes(written.encode(), chance))
    return ["doctor", "--from", str(file)]


def capture(folder: Path, chance: random.Random) -> Words:
    """What `capture` wrote."""
    copy = folder / "capture"
    shutil.copytree(MACHINES / chance.choice(machine_names()), copy, symlinks=True)
    for file in chance.sample(files := sorted(path for path in copy.rglob("*") if path.is_file()), min(2, len(files))):
        data = file.read_bytes()
        if file.suffix == ".json" and file.parent == copy and chance.random() < 0.7:
            file.write_bytes(_dumped(changed_json(json.loads(data), chance), chance))
        else:
            file.write_bytes(changed_bytes(data, chance))
    return ["doctor", "--from", str(copy)]


def dockerfile(folder: Path, chance: random.Random) -> Words:
    """What somebody builds."""
    file = folder / "Dockerfile"
    file.write_bytes(changed_bytes(_bytes(chance.choice(sorted(DOCKERFILES.glob("*.Dockerfile")))), chance))
    return ["dockerfile", "--check", str(file), "--target", "any"]


CONFIG = b"""[mirrors]
index-url = "https://mirror.lan/simple"
apt = "https://mirror.lan/debian"
yum = "https://mirror.lan/rocky"
[mirrors.hosts]
"developer.download.nvidia.com" = "https://mirror.lan/nvidia"
"""


def config(folder: Path, chance: random.Random) -> Words:
    """The user's own settings."""
    file = folder / "envkit.toml"
    file.write_bytes(changed_bytes(CONFIG, chance))
    os.environ["ENVKIT_CONFIG"] = str(file)
    return ["dockerfile", "--framework", "pytorch", "--target", "any", "-o", os.devnull]


TREE = {
    "etc/os-release": 'ID=ubuntu\nVERSION_ID="22.04"\nPRETTY_NAME="Ubuntu 22.04.4 LTS"\nID_LIKE=debian\n',
    "etc/apt/sources.list": "deb https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2204/x86_64 /\n" * 9,
    "etc/modprobe.d/x.conf": "blacklist nouveau\noptions nvidia NVreg_EnableGpuFirmware=0\n",
    "etc/docker/daemon.json": '{"runtimes": {"nvidia": {"path": "nvidia-container-runtime"}}, "default-runtime": "x"}',
    "etc/ld.so.conf": "/usr/local/cuda/lib64\ninclude /etc/ld.so.conf.d/*.conf\n",
    "usr/local/cuda-12.4/version.json": '{"cuda": {"name": "CUDA SDK", "version": "12.4.1"}}',
    "usr/local/cuda-12.4/include/cudnn_version.h": "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 1\n",
    "usr/local/cuda-12.4/include/crt/host_config.h": "#if __GNUC__ > 13\n#error\n",
    "usr/bin/python3.10": "",
    "usr/lib/python3/dist-packages/torch/version.py": "__version__ = '2.6.0+cu124'\ncuda: str = '12.4'\n",
    "usr/lib/python3/dist-packages/torch-2.6.0.dist-info/METADATA": "Name: torch\nVersion: 2.6.0\nRequires-Dist: x\n",
    "usr/lib/python3/dist-packages/torch-2.6.0.dist-info/RECORD": "torch/version.py,sha256=x,12\n" * 9,
    "var/lib/dpkg/status": "Package: nvidia-driver-550\nStatus: install ok installed\nVersion: 550.120-0ubuntu1\n\n"
    * 9,
    "lib/modules/5.15.0-119-generic/updates/dkms/nvidia.ko": "version=550.120\0license=NVIDIA\0",
    "usr/lib/x86_64-linux-gnu/libcuda.so.550.120": "\x7fELF" + "\0" * 300,
}


def _link_outside(path: Path) -> None:
    path.symlink_to("/etc/hostname")


def tree(folder: Path, chance: random.Random) -> Words:
    """A mounted file system."""
    root = folder / "root"
    for name, content in TREE.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = content.encode("latin-1")
        path.write_bytes(changed_bytes(data, chance) if chance.random() < 0.4 else data)
    for name in chance.sample(sorted(TREE), chance.randrange(3)):
        (root / name).unlink()
        chance.choice((os.mkdir, os.mkfifo, _link_outside))(root / name)
    return ["doctor", "--root", str(root)]


def _facts_file(path: Path, chance: random.Random, **more: object) -> None:
    written = _facts(chance.choice(machine_names()))
    if chance.random() < 0.2:
        path.write_bytes(changed_bytes(written.encode(), chance))
    else:
        path.write_bytes(_dumped({**changed_json(json.loads(written), chance), **more}, chance))


def two(folder: Path, chance: random.Random) -> Words:
    """A machine before and after."""
    for name in ("old.json", "new.json"):
        _facts_file(folder / name, chance)
    return ["diff", str(folder / "old.json"), str(folder / "new.json")]


_OF_A_RUN = ("host", "state", "seconds")


def many(folder: Path, chance: random.Random) -> Words:
    """What a run left of some hosts."""
    (folder / "in").mkdir()
    for name in "abc":
        odd = {key: chance.choice((None, 1, 1e400, "unreachable", ["x"], "x" * 9999)) for key in _OF_A_RUN}
        _facts_file(folder / "in" / f"{name}.json", chance, **(odd if chance.random() < 0.5 else {}))
    return ["fleet", "report", str(folder / "in"), "--jobs", "1"]


def project(folder: Path, chance: random.Random) -> Words:
    """A file that says what a project installs."""
    name = chance.choice(sorted(SIGNED))
    (folder / name).write_bytes(changed_bytes(SIGNED[name].encode(), chance))
    return ["check", str(folder / name), "--target", "any", "--os", "ubuntu22.04", "--driver", "550.54.15"]


DOCTOR = tuple((form, ("--format", form)) for form in FORMATS)
CHECKED = (("plain", ()), ("json", ("--json",)))
# Each input format: what makes one, and the output formats with their options.
TARGETS: tuple[tuple[Make, Forms], ...] = (
    (text, DOCTOR),
    (facts, DOCTOR),
    (capture, DOCTOR),
    (tree, DOCTOR),
    (dockerfile, CHECKED),
    (config, (("plain", ()),)),
    (project, CHECKED),
    (two, CHECKED),
    (many, CHECKED),
)


@contextmanager
def _within(seconds: int) -> Iterator[None]:
    def late(*_: object) -> None:
        raise TimeoutError(f"not done within {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _one(words: Words, form: str) -> int:
    """The exit code of the program on one input, whose words are kept to their rules."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), _within(LONGEST_S):
        code = exit_code(words)
    assert code in (0, 1, 2), err.getvalue()
    plain(err.getvalue(), ())
    if code != 2 and out.getvalue():
        RULES.get(form, plain)(out.getvalue(), ())
    return code


@pytest.mark.thorough
@pytest.mark.parametrize(("make", "forms"), TARGETS, ids=lambda value: getattr(value, "__name__", ""))
def test_no_damaged_input_breaks_the_program(
    make: Make, forms: Forms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "none.toml").touch()
    monkeypatch.setenv("ENVKIT_CONFIG", str(tmp_path / "none.toml"))
    ends, number, begun = {0: 0, 1: 0, 2: 0}, 0, time.monotonic()
    while time.monotonic() - begun < SECONDS / len(TARGETS):
        chance, folder = random.Random(f"{make.__name__} {SEED} {number}"), tmp_path / str(number)
        folder.mkdir()
        form, options = chance.choice(forms)
        try:
            ends[_one([*make(folder, chance), *options], form)] += 1
        except BaseException as error:
            raise AssertionError(f"{make.__name__}, seed {SEED}, case {number}: {folder}, {options}") from error
        shutil.rmtree(folder)
        number += 1
    print(f"{make.__name__}: {number} inputs in {time.monotonic() - begun:.0f} s, seed {SEED}, exit codes {ends}")
    assert number > 5
