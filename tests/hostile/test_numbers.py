"""Numbers that no program writes, wherever a machine tells one: what they are in is unknown, and no probe breaks."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from envkit.base.errors import EnvkitError
from envkit.base.versions import Version
from envkit.capture.replay import CaptureHost
from envkit.host.base import Host
from envkit.model.facts_json import Json
from envkit.probe import collect
from envkit.probe.os_release import LIBC, LIBSTDCXX
from tests.fakes.machines import MACHINES
from tests.fakes.memory_host import MemoryHost
from tests.processor_time import least_seconds

ODD = {
    "more digits than Python converts": "9" * 5000,
    "more than a count has": "9" * 19,
    "a digit that is no ASCII": "\u0663",
    "a digit that is no decimal": "\u00b2",
    "negative": "-1",
    "infinite": "1e999",
    "none": "",
    "a line end": "\n",
    "a zero byte": "\0",
    "half a pair": "\udc80",
}
EVIDENCE = ("answers.json", "commands.json", "files.json", "tree")
RECORDED = sorted(path.name for path in MACHINES.iterdir() if any((path / name).exists() for name in EVIDENCE))
SITE = "/usr/local/lib/python3.12/dist-packages"


def _changed(data: Json, number: str, chance: random.Random) -> Json:
    """The data with a third of its numbers exchanged, those in paths too."""
    if isinstance(data, str):
        return re.sub(r"[0-9]+", lambda match: number if chance.random() < 0.3 else match[0], data)
    if isinstance(data, list):
        return [_changed(item, number, chance) for item in data]
    if isinstance(data, dict):
        keys = {key: _changed(key, number, chance) if key.startswith("/") else key for key in data}
        return {str(keys[key]): _changed(item, number, chance) for key, item in data.items()}
    return data


def _broken(host: Host) -> Iterator[str]:
    """The facts of probes that raised what nobody expected."""
    for task in collect._tasks(5.0, collect.known_device):
        for path, fact in collect._facts_of(task, host).items():
            if "is broken" in fact.detail:
                yield f"{path}: {fact.detail[:200]}"


def _bytes(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode("utf-8", "replace")


def _sees_through(name: str, folder: Path) -> None:
    for kind, number in ODD.items():
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(MACHINES / name, folder, symlinks=True)
        chance = random.Random(f"{name} {kind}")
        for path in sorted(folder.glob("*.json")):
            if path.name != "machine.json":
                path.write_text(json.dumps(_changed(json.loads(path.read_text()), number, chance)))
        try:
            host = CaptureHost(str(folder))
        except EnvkitError:  # refused in one line
            continue
        assert list(_broken(host)) == [], f"{name}: {kind}"


@pytest.mark.parametrize("name", RECORDED[:: len(RECORDED) // 5])
def test_no_number_breaks_a_probe(name: str, tmp_path: Path) -> None:
    _sees_through(name, tmp_path / "capture")


@pytest.mark.thorough
def test_no_number_of_any_machine_breaks_a_probe(tmp_path: Path) -> None:
    for name in RECORDED:
        _sees_through(name, tmp_path / "capture")


@pytest.mark.parametrize("number", ODD.values(), ids=ODD)
def test_no_number_in_a_name_or_a_file_of_a_tree_breaks_a_probe(number: str) -> None:
    """Files that no recording holds: their bytes are too many."""
    binary = f"GNU C Library (x) stable release version 2.{number}\nGLIBCXX_3.{number}\0".encode("utf-8", "replace")
    define = "".join(f"#define CUDNN_{part} {number}\n" for part in ("MAJOR", "MINOR", "PATCHLEVEL"))
    files: dict[str, str | bytes] = {
        **{path.replace("*", "x86_64-linux-gnu"): binary for path in (*LIBC, *LIBSTDCXX)},
        f"/usr/lib/x86_64-linux-gnu/libcudnn.so.{number}": "",
        f"/usr/lib/x86_64-linux-gnu/libcudnn_ops.so.9.{number}": "",
        "/usr/include/cudnn_version.h": define,
        "/usr/local/cuda/include/cuda.h": f"#define CUDA_VERSION {number}\n",
        "/usr/bin/python3.12": "",
        f"{SITE}/nvidia/cublas/lib/libcublas.so.{number}": "",
        f"{SITE}/nvidia_cublas_cu12-{number}.dist-info/RECORD": "",
        f"{SITE}/cupy_cuda{number}x-1.0.dist-info/METADATA": "",
        f"{SITE}/mxnet_cu{number}-1.0.dist-info/METADATA": "",
        f"{SITE}/jax-1.0.dist-info/METADATA": f"Requires-Dist: nvidia-cudnn-cu12=={number}.{number}\n",
        f"{SITE}/jax_cuda{number}_plugin-1.0.dist-info/METADATA": f"Requires-Dist: nvidia-cudnn-cu12>={number}\n",
        f"{SITE}/jaxlib-1.0+cuda{number}.cudnn{number}.dist-info/METADATA": "",
        f"{SITE}/torch-2.6.0.dist-info/METADATA": "",
        f"{SITE}/torch/version.py": f"__version__ = '2.{number}'\ncuda = '12.{number}'\n",
        "/proc/stat": f"btime {number}\n",
        "/var/log/apt/history.log": "Start-Date: 2024-01-01  10:00:00\n",
    }
    host = MemoryHost({path: _bytes(content) for path, content in files.items()})
    assert list(_broken(host)) == []


def test_the_longest_version_is_compared_in_linear_time() -> None:
    """The zeros at its end are counted, and not taken off one by one."""
    long = Version((1, *(0,) * 200_000))
    assert least_seconds(lambda: long == Version((1,)), 0.1) < 0.1
