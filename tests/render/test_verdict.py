"""The headline: a known message is never passed over, wherever the text comes from."""

from __future__ import annotations

import csv
from functools import lru_cache
from pathlib import Path

import pytest

from envkit.checks.findings import Finding, Status
from envkit.checks.registry import all_checks
from envkit.checks.runner import run_checks
from envkit.facts import Environment
from envkit.ingest import parse_text
from envkit.matrix import Matrix
from envkit.render.verdict import healthy, verdict

DATA = Path(__file__).parents[2] / "envkit/data"
PLACES = {
    "wsl": "Linux pc 5.15.153.1-microsoft-standard-WSL2 #1 SMP x86_64 GNU/Linux\n",
    "jetson": "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic, EABI: aarch64\n",
    "container": "root@0123456789ab:/workspace# ls /.dockerenv\n/.dockerenv\n",
}
NOTHING_ALONE = ("tf-finds-no-driver", "xid-other")
# a Jetson may have no NVML (NVIDIA/nvidia-container-toolkit#1853); its own check jetson-no-nvml says so
NORMAL_ON_A_JETSON = ("driver-not-installed/nvidia-smi-not-found", "nvml-library-missing")
SMI = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that it is installed.\n"


@lru_cache(maxsize=1)
def matrix() -> Matrix:
    return Matrix.load()


def judged(text: str) -> tuple[Environment, list[Finding]]:
    environment = parse_text(text)
    return environment, run_checks(environment, matrix(), all_checks().values())


def examples() -> list[tuple[str, str]]:
    with (DATA / "signatures.csv").open(encoding="utf-8", newline="") as file:
        return [(row["signature"], row["example"]) for row in csv.DictReader(file)]


@pytest.mark.parametrize("place", PLACES)
def test_no_known_message_is_called_health_in_any_place(place: str) -> None:
    passed_over = []
    for signature, example in examples():
        environment, findings = judged(f"{PLACES[place]}{example}\n")
        normal = (*NOTHING_ALONE, *(NORMAL_ON_A_JETSON if place == "jetson" else ()))
        if verdict(environment, findings).startswith(("Nothing wrong", "Nothing in")):
            passed_over += [] if signature.startswith(normal) else [signature]
    assert passed_over == []


@pytest.mark.parametrize("line", [SMI, "RuntimeError: Found no NVIDIA driver on your system.\n"])
def test_in_wsl_a_driver_that_is_not_reached_is_the_root_cause(line: str) -> None:
    findings = judged(PLACES["wsl"] + line)[1]
    assert (findings[0].id, findings[0].status) == ("wsl-libcuda-missing", Status.FAIL)


def test_a_message_that_no_check_of_the_place_judges_is_named() -> None:
    environment, findings = judged(PLACES["container"] + SMI)
    assert verdict(environment, findings) == (
        "A known message stands here that no check of this place judges: driver-module-not-loaded."
    )


def test_nvidia_smi_without_a_driver_is_no_answer_of_the_driver() -> None:
    findings = judged(PLACES["container"] + SMI)[1]
    assert {finding.status for finding in findings if finding.id == "nvidia-smi-hangs"} == {Status.SKIP}


def test_on_a_jetson_a_missing_nvidia_smi_is_normal() -> None:
    environment, findings = judged(PLACES["jetson"] + "bash: nvidia-smi: command not found\n")
    assert healthy(environment, findings)
