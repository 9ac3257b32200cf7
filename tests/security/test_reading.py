"""Reading what a stranger sent writes nothing and starts nothing, whatever it says."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from envkit.base.errors import EnvkitError
from envkit.cli.main import envkit
from tests.fakes.machines import MACHINES, machine_names
from tests.ingest.texts import FOLDER
from tests.programs import require
from tests.security.captures import mutated
from tests.security.tracing import Trace, traced

DOCKERFILES = Path(__file__).parent.parent / "image" / "dockerfiles"
SEED = 20261122
TEXTS = sorted(path.name for path in FOLDER.glob("*.txt"))
FEW, MANY = 4, 2000
SHARES = 4  # of the many, so that several processors share them
WRITING_CALL = re.compile(
    r"^\d+ +(?:open(?:at2?)?\(.*O_(?:WRONLY|RDWR|CREAT|TRUNC|APPEND)|creat\(|mkdir|rmdir|unlink|rename|link|symlink"
    r"|truncate|chmod|fchmod|chown|fchown|utime|mknod|setxattr)"
)


def _run(words: Sequence[str], trace: Trace) -> bool:
    """Run the command; True when it understood what it read."""
    try:
        envkit.main(args=list(words), prog_name="envkit", standalone_mode=False)
    except EnvkitError:
        return False
    finally:
        assert (trace.writes, trace.starts) == ([], []), words
    return True


def _every_command(source: Path) -> None:
    """Each command that reads a recording; facts alone and the Dockerfile's check are read the same way."""
    dockerfile = str(next(DOCKERFILES.glob("*")))
    for words in (
        ("doctor", "--from", str(source)),
        ("doctor", "--from", str(source), "--json", "--mask"),
        ("resolve", "--framework", "pytorch", "--target", str(source)),
        ("install", "--framework", "pytorch", "--target", str(source)),
        ("dockerfile", "--framework", "pytorch", "--target", str(source)),
        ("dockerfile", "--check", dockerfile, "--target", str(source)),
    ):
        with traced() as trace:
            _run(words, trace)


def test_a_capture_that_names_a_file_of_the_reader_leaves_it_alone(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    capture = tmp_path / "capture"
    capture.mkdir()
    path = "/../../../../../../../.." + str(victim)
    (capture / "machine.json").write_text('{"schema": 1, "complete": true}')
    (capture / "answers.json").write_text(json.dumps({"globs": {"/etc/*-release": [path, str(victim)]}}))
    (capture / "files.json").write_text(json.dumps({path: "owned", str(victim): "owned"}))
    _every_command(capture)
    assert victim.read_text() == "mine"
    assert {path.name for path in tmp_path.iterdir()} == {"victim", "capture"}


@pytest.mark.parametrize("index", range(FEW))
def test_a_changed_capture_writes_nothing(index: int, tmp_path: Path) -> None:
    generator = random.Random(SEED + index)
    name = generator.choice(machine_names())
    _every_command(mutated(name, tmp_path / "capture", tmp_path / "victim", generator))
    assert [path.name for path in tmp_path.iterdir()] == ["capture"]


@pytest.mark.thorough
@pytest.mark.parametrize("share", range(SHARES))
def test_no_changed_capture_writes_anything(share: int, tmp_path: Path) -> None:
    names = machine_names()
    read = 0
    for index in range(share, MANY, SHARES):
        folder = mutated(names[index % len(names)], tmp_path / "capture", tmp_path / "victim", random.Random(index))
        with traced() as trace:
            read += _run(("doctor", "--from", str(folder)), trace)
        shutil.rmtree(folder)
        assert not list(tmp_path.iterdir())
    assert read > MANY / SHARES / 2, "most captures must get past the parser to prove anything"


@pytest.mark.thorough
@pytest.mark.parametrize("name", machine_names())
def test_no_recorded_machine_makes_a_command_write(name: str) -> None:
    _every_command(MACHINES / name)


@pytest.mark.thorough
@pytest.mark.parametrize("name", TEXTS)
def test_no_pasted_text_makes_doctor_write(name: str) -> None:
    with traced() as trace:
        _run(("doctor", "--from", str(FOLDER / name)), trace)


@pytest.mark.thorough
def test_the_kernel_saw_no_write_either(tmp_path: Path) -> None:
    """The same of the whole program, told by the system calls that it makes."""
    require("strace")
    folder = mutated("debian12-none-none", tmp_path / "capture", tmp_path / "victim", random.Random(SEED))
    calls = tmp_path / "calls"
    program = [sys.executable, "-B", "-m", "envkit", "doctor", "--from", str(folder)]
    subprocess.run(
        ["strace", "-f", "-qq", "-e", "trace=file,desc,process", "-e", "signal=none", "-o", str(calls), *program],
        stdout=subprocess.DEVNULL,
        check=False,
        timeout=60,
    )
    lines = calls.read_text(errors="replace").splitlines()
    assert sum("openat(" in line for line in lines) > 100
    assert [line for line in lines if WRITING_CALL.match(line) and " = -1 " not in line] == []
    assert sum(" execve(" in line for line in lines) == 1
