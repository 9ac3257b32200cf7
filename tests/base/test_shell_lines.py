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


@pytest.mark.parametrize("width", [30, 50, 66])
def test_it_is_broken_after_a_pipe_and_never_behind_sudo(width: int) -> None:
    command = (
        "echo 'options nvidia NVreg_One=0' | sudo tee /etc/modprobe.d/nvidia-profiling.conf && sudo update-initramfs"
    )
    lines = [line.removesuffix(" \\").strip() for line in continued(command, width)]
    assert not any(line.endswith("sudo") or line.startswith(("|", "&&")) for line in lines)
    assert lines[-1] == "sudo update-initramfs"
