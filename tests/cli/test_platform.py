"""Platforms other than Linux with its own driver: `--os windows`, `--os wsl`, and a Jetson."""

from __future__ import annotations

import json

import pytest

from tests.cli.run import envkit


def test_tensorflow_2_10_on_windows() -> None:
    done = envkit("resolve", "--framework", "tensorflow==2.10", "--os", "windows", "--target", "any", "--json")
    assert done.returncode == 0, done.stderr
    choice = json.loads(done.stdout)["choice"]
    assert choice["os"] == "windows" and choice["frameworks"][0]["version"] == "2.10.1"
    refused = envkit("resolve", "--framework", "tensorflow==2.11", "--os", "windows", "--target", "any")
    assert refused.returncode == 1 and "no package for Windows" in " ".join(refused.stdout.split())


@pytest.mark.parametrize("os_id", ["windows", "wsl"])
def test_a_windows_driver_is_judged_by_its_own_numbers(os_id: str) -> None:
    # NVIDIA vGPU software 19.1: R580 is 580.82.07 for Linux and 581.15 for Windows; R580 is the last for Pascal
    done = envkit(
        "resolve", "--framework", "pytorch", "--gpu", "GTX 1080", "--driver", "581.15", "--os", os_id, "--target", "any"
    )
    assert done.returncode == 0, done.stdout
    title = {"windows": "Windows", "wsl": "WSL"}[os_id]
    assert "driver branch 580 supports" in done.stdout and f"System      {title} (x86_64)" in done.stdout


@pytest.mark.parametrize(("driver", "code"), [("528.33", 0), ("527.41", 1)])
def test_minor_version_compatibility_has_its_own_floor_on_windows(driver: str, code: int) -> None:
    # CUDA Toolkit Release Notes: CUDA 12.x needs >=525.60.13 on Linux and >=528.33 on Windows
    assert (
        envkit("resolve", "--cuda", "12.4", "--driver", driver, "--os", "windows", "--target", "any").returncode == code
    )


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["install", "--framework", "jax", "--os", "windows"], 1, "wsl --install"),
        (["dockerfile", "--framework", "pytorch", "--os", "windows"], 2, "not Windows"),
        (["resolve", "--gpu", "Jetson Nano", "--os", "wsl"], 2, "does not run wsl"),
        (["resolve", "--os", "windoes"], 2, "Did you mean windows?"),
        (["resolve", "--gpu", "Jetson Orin", "--framework", "pytorch"], 1, "those built for JetPack are at"),
        (["install", "--gpu", "Jetson Nano", "--framework", "pytorch"], 1, "nvidia-jetpack"),
        (["dockerfile", "--gpu", "Jetson AGX Orin 32 GB", "--framework", "pytorch"], 1, "nvidia-jetpack"),
    ],
)
def test_where_a_platform_is_unavailable_it_is_said(words: list[str], code: int, told: str) -> None:
    done = envkit(*words, "--target", "any")
    assert done.returncode == code and told in " ".join((done.stderr + done.stdout).split())
