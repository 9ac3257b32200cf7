"""A test that starts a program which a newcomer may lack says so, and the gate installs that program."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
# what runs with an engine, a browser or a network is the gate's own: it installs what it needs
REAL = {"engine", "browser"}
STARTED = re.compile(r'(?:\brun\(|Popen\(|check_output\(|\bcommand\b[^=\n]*=)\s*\[\s*"([a-z+-]+)"')
LACKING = {"cc", "gcc", "g++", "clang", "readelf", "strace", "ltrace", "zsh", "fish", "man", "curl", "docker"}
MODULES = [path for path in sorted(TESTS.rglob("*.py")) if path.relative_to(TESTS).parts[0] not in REAL]


def undeclared(text: str) -> set[str]:
    started = set(STARTED.findall(text)) & LACKING
    required = set(re.findall(r'\brequire\("([^"]+)"\)', text))
    # readelf comes with the compilers
    return started - required - ({"readelf"} if required & {"gcc", "g++"} else set())


def test_a_program_that_may_be_missing_is_required() -> None:
    for path in MODULES:
        text = path.read_text("utf-8")
        if "pytest.mark.docker" not in text and path.name != "standins.py":
            assert undeclared(text) == set(), path.relative_to(TESTS)


def test_the_gate_installs_what_tests_require() -> None:
    packages = {
        "man": "man-db",
        "xz": "xz-utils",
        "sshd": "openssh-server",
        "busybox": "busybox-static",
        "systemd-analyze": "systemd",
    }
    gate = re.search(r"^need docker\.io (.*)$", (TESTS.parent / ".ci/run").read_text("utf-8"), re.M)
    assert gate is not None
    required = {name for path in MODULES for name in re.findall(r'\brequire\("([^"]+)"\)', path.read_text("utf-8"))}
    assert {packages.get(name, name) for name in required} <= set(gate.group(1).split())


def test_the_search_finds_programs() -> None:
    assert undeclared('subprocess.run(["gcc", "-c"])') == {"gcc"}
    assert undeclared('command: list[str | Path] = ["g++", "-c"]') == {"g++"}
    assert undeclared('require("gcc")\nsubprocess.run(["gcc", "-c"])') == set()
