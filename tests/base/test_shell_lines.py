"""A long command is read by the shell as the same words, however narrow the terminal is."""

from __future__ import annotations

import subprocess

import pytest

from envkit.base.shell_lines import continued

COMMANDS = (
    "python -m pip install torch==2.6.0 torchvision==0.21.0 --index-url https://index.example/whl/cu124",
    "echo 'one  word' \"another  one\" $(printf '%s\\n' a b  c) | tr a-z A-Z",
    """export X="$(printf %s "$HOME:/usr/lib" | tr : '\\n' | grep -v cuda | paste -sd: -)" && echo "$X" """.strip(),
)


@pytest.mark.parametrize("width", [12, 30, 66])
@pytest.mark.parametrize("command", COMMANDS)
def test_the_shell_joins_the_lines(command: str, width: int) -> None:
    def told(text: str) -> bytes:
        script = f"python() {{ printf '<%s>' \"$@\"; }}\n{text}"
        return subprocess.run(["bash", "-c", script], check=True, capture_output=True).stdout

    lines = continued(command, width)
    assert len(lines) > 1
    assert told("\n".join(lines)) == told(command)


def test_what_fits_is_left_alone() -> None:
    assert continued("sudo reboot", 11) == ["sudo reboot"]
