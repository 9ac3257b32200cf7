"""Heavy libraries are loaded only by the commands that need them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = ("docker", "rich", "jinja2", "pynvml", "elftools", "requests", "hypothesis", "packaging", "platformdirs")
_SOURCE = """
import json, sys
from envkit.cli.boundary import run
try:
    run(sys.argv[1:])
except SystemExit:
    pass
print("\\n@@" + json.dumps(sorted({name.split('.')[0] for name in sys.modules})))
"""


def loaded(*words: str) -> set[str]:
    """The top-level modules that a command has loaded when it ends."""
    done = subprocess.run([sys.executable, "-c", _SOURCE, *words], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.rsplit("@@", 1)[1]))


@pytest.mark.parametrize(
    ("words", "allowed"),
    [
        (["--version"], set()),
        (["doctor", "--help"], set()),
        (["matrix", "toolkits"], set()),
        (["explain", "no-gpu-on-pci"], set()),
        (["doctor", "--list-checks"], set()),
        (["resolve", "--framework", "pytorch", "--target", "any"], set()),
        (["doctor", "--from", "docs/examples/cpu-only-wheel.txt"], set()),
        (["doctor", "--format", "html", "--from", "docs/examples/cpu-only-wheel.txt"], {"jinja2"}),
        (["install", "--cuda", "12.4", "--os", "ubuntu22.04", "--target", "any"], {"jinja2", "platformdirs"}),
        (["dockerfile", "--framework", "pytorch", "--target", "any"], {"jinja2", "platformdirs"}),
    ],
    ids=lambda value: "-".join(value).replace("/", "_") if isinstance(value, list) else "",
)
def test_a_command_loads_no_heavy_library_that_it_does_not_need(words: list[str], allowed: set[str]) -> None:
    assert loaded(*words) & set(HEAVY) <= allowed
