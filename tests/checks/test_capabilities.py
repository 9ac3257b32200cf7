"""What a container lacks of the driver is named, and asked for in the words of what starts it."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Finding
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.ingest import parse_text
from tests.checks.software import matrix

DOCKER = "$ docker run --rm --gpus all -e NVIDIA_DRIVER_CAPABILITIES={set} stream\n"
NVENC = "[h264_nvenc @ 0x55f7] Cannot load libnvidia-encode.so.1\n"
VULKAN = "ERROR: vkCreateInstance failed with VK_ERROR_INCOMPATIBLE_DRIVER in the nvidia container\n"


def found(text: str) -> Finding:
    (finding,) = run_checks(parse_text(text), matrix(), [all_checks()["driver-capabilities-missing"]])
    assert finding.remedy is not None
    return finding


@pytest.mark.parametrize(
    ("printed", "already", "expected", "named"),
    [
        (NVENC, "compute,utility", "compute,video,utility", "for video"),
        (VULKAN, "utility", "compute,graphics,utility", "for graphics"),
        (NVENC, "graphics", "compute,graphics,video,utility", "for video"),
        ("libcuda.so.1: cannot open shared object file\n", "utility", "compute,utility", "the driver's libraries"),
    ],
)
def test_what_is_missing_is_added_to_what_is_set(printed: str, already: str, expected: str, named: str) -> None:
    finding = found(f"NVIDIA_DRIVER_CAPABILITIES={already}\n" + DOCKER.format(set=already) + printed)
    assert finding.title.endswith(named)
    assert finding.remedy is not None
    assert finding.remedy.commands == (
        f"docker run -e NVIDIA_DRIVER_CAPABILITIES={expected} --rm --gpus all stream",  # its own, with the option
    )


@pytest.mark.parametrize(
    ("start", "command"),
    [
        ("$ docker compose up\nservices:\n  stream:\n    image: stream\n", "docker compose up -d"),
        ("$ kubectl logs stream-0\n", "kubectl replace --force -f FILE"),
    ],
)
def test_the_words_are_those_of_what_starts_the_container(start: str, command: str) -> None:
    finding = found(start + NVENC)
    assert finding.remedy is not None
    assert finding.remedy.commands == (command,) and "compute,video,utility" in finding.remedy.advice


def test_what_the_host_refuses_is_not_asked_for_again() -> None:
    line = "unsupported capabilities found in 'compute,video,utility' (allowed 'compute,utility')\n"
    finding = found(DOCKER.format(set="compute,video,utility") + line)
    assert finding.remedy is not None and not any("docker run" in command for command in finding.remedy.commands)
