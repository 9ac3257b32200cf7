"""Heavy libraries are loaded only by the commands that need them."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

HEAVY = ("docker", "rich", "jinja2", "pynvml", "elftools", "requests", "hypothesis", "packaging", "platformdirs")
# of Python's own library, what takes milliseconds to import
SLOW = ("distro", "email", "logging", "subprocess")
_SOURCE = """
import json, sys
from envkit.cli.boundary import exit_code
exit_code(sys.argv[1:])
print("\\n@@" + json.dumps(sorted(sys.modules)))
"""


_CHECKS = re.compile(r"(envkit\.checks\.(?!engine\b)\w+)\..*")


def loaded(*words: str) -> set[str]:
    """The top-level modules that a command has loaded when it ends."""
    return {name.split(".")[0] for name in _modules(*words)}


def loaded_of_envkit(*words: str) -> int:
    """How many modules of envkit a command has loaded when it ends; the checks of one folder, of which more may come,
    are loaded together and count once.
    """
    return len({_CHECKS.sub(r"\1", name) for name in _modules(*words) if name.split(".")[0] == "envkit"})


def _modules(*words: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", _SOURCE, *words], capture_output=True, text=True, check=True)
    names: list[str] = json.loads(done.stdout.rsplit("@@", 1)[1])
    return names


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("words", "allowed"),
    [
        (["--version"], set()),
        (["doctor", "--help"], set()),
        (["matrix", "toolkits"], set()),
        (["explain", "no-gpu-on-pci"], set()),
        (["doctor", "--list-checks"], set()),
        (["resolve", "--framework", "pytorch", "--target", "any"], set()),
        (["resolve", "--framework", "pytorch"], set()),
        (["recommend", "--parameters", "7B", "--gpus", "8"], set()),
        (["bench", "--help"], set()),
        (["recommend", "machine", "--gpu", "RTX 3090"], set()),
        (["doctor", "--from", "docs/examples/cpu-only-wheel.txt"], set()),
        (["doctor", "--format", "html", "--from", "docs/examples/cpu-only-wheel.txt"], {"jinja2"}),
        (["install", "--cuda", "12.4", "--os", "ubuntu22.04", "--target", "any"], {"jinja2"}),
        (["dockerfile", "--framework", "pytorch", "--target", "any"], {"jinja2"}),
    ],
    ids=lambda value: "-".join(value).replace("/", "_") if isinstance(value, list) else "",
)
def test_a_command_loads_no_heavy_library_that_it_does_not_need(words: list[str], allowed: set[str]) -> None:
    assert {*HEAVY, *SLOW} & loaded(*words) <= allowed | ({"email", "logging"} if "jinja2" in allowed else set())


@pytest.mark.parametrize(
    ("words", "budget"),
    [
        (["--version"], 10),
        (["matrix", "toolkits"], 30),
        (["recommend"], 80),
        (["resolve", "--framework", "pytorch"], 126),
        (["install", "--cuda", "9.0", "--framework", "pytorch"], 156),
        (["dockerfile", "--framework", "tensorflow"], 159),
        (["explain", "no-gpu-on-pci"], 87),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_command_loads_only_its_part_of_envkit(words: list[str], budget: int) -> None:
    assert loaded_of_envkit(*words) <= budget
