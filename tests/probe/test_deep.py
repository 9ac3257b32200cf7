"""The deep tests: run in the user's interpreter, each step reported, a crash named."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

import pytest

from envkit.host.local import LocalHost
from envkit.model import Measurement, Problem
from envkit.probe.deep import measurements
from tests.fakes.memory_host import MemoryHost
from tests.programs import require

TORCH = """
__version__ = "9.9.9"
class _Cuda:
    @staticmethod
    def is_available():
        {body}
cuda = _Cuda()
print("a library that talks on standard output")
"""


def _environment(folder: Path, body: str, more: Mapping[str, str] | None = None) -> LocalHost:
    """A virtual environment whose python finds a stand-in torch; no TensorFlow, no JAX, no libcuda."""
    (folder / "modules").mkdir()
    (folder / "modules" / "torch.py").write_text(TORCH.format(body=body))
    python = folder / "bin" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return LocalHost({**inherited, "VIRTUAL_ENV": str(folder), "PYTHONPATH": str(folder / "modules"), **(more or {})})


def _by_step(found: tuple[Measurement, ...]) -> dict[str, Measurement]:
    return {item.name: item for item in found}


def test_without_a_device_the_import_passes_and_the_rest_is_not_judged(tmp_path: Path) -> None:
    steps = _by_step(measurements(_environment(tmp_path, "return False"), 60.0).get())
    assert (steps["import"].passed, steps["import"].subject, steps["import"].detail) == (True, "torch", "9.9.9")
    assert steps["import"].unit == "s" and steps["import"].value is not None
    assert steps["device"].passed is None
    assert steps["copy"].passed is None and "libcuda" in steps["copy"].detail


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise RuntimeError('no kernel image is available')", "no kernel image is available"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "SIGSEGV"),
    ],
)
def test_a_failing_step_is_named_with_its_last_words(tmp_path: Path, body: str, words: str) -> None:
    steps = _by_step(measurements(_environment(tmp_path, body), 60.0).get())
    assert steps["import"].passed is True
    assert steps["device"].passed is False and words in steps["device"].detail


@pytest.mark.thorough
def test_a_step_that_hangs_is_given_up(tmp_path: Path) -> None:
    steps = _by_step(measurements(_environment(tmp_path, "import time; time.sleep(600)"), 4.0).get())
    assert steps["device"].passed is False and steps["device"].detail == "it timed out"


def test_a_module_in_the_working_folder_is_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "torch.py").write_text("raise SystemExit('shadowed')")
    host = _environment(tmp_path, "return False")
    monkeypatch.chdir(tmp_path / "here")
    assert _by_step(measurements(host, 60.0).get())["import"].passed is True


def test_a_recorded_machine_may_have_no_measurements() -> None:
    assert measurements(MemoryHost({}), 1.0).problem is Problem.NOT_LOOKED
    broken = MemoryHost({}, queries={"deep": {"measurements": "none"}})
    assert measurements(broken, 1.0).problem is Problem.UNPARSABLE


def test_the_code_is_read_by_old_pythons_too() -> None:
    """Frameworks of 2018 run on Python 3.6, and so must the test of them."""
    code = files("envkit.host").joinpath("deep_child.py").read_text("utf-8")
    tree = ast.parse(code, feature_version=(3, 6))
    imported = {
        alias.name.split(".")[0] for item in ast.walk(tree) if isinstance(item, ast.Import) for alias in item.names
    }
    assert imported <= {"ctypes", "importlib", "json", "os", "sys", "time"}, "it runs without envkit"


LIBCUDA = """
#include <stdlib.h>
#include <string.h>
static int number(const char *name, int device) {
  char key[64] = "CUDA_FAKE_"; const char *value; char *end;
  strcat(key, name); value = getenv(key);
  for (int i = 0; value && *value; i++) {
    int code = (int)strtol(value, &end, 10);
    if (i == device) return code;
    value = *end ? end + 1 : end;
  }
  return 0;
}
static int current;
int cuInit(unsigned flags) { return 0; }
int cuDeviceGetCount(int *count) { *count = 3; return 0; }
int cuDeviceGet(int *device, int index) { *device = current = index; return 0; }
int cuDeviceGetPCIBusId(char *text, int length, int device) {
  strcpy(text, "0000:01:00.0");
  text[6] += (char)device;
  return 0;
}
int cuDevicePrimaryCtxRetain(void **context, int device) { return number("CONTEXT", device); }
int cuDevicePrimaryCtxRelease(int device) { return 0; }
int cuCtxSetCurrent(void *context) { return 0; }
int cuMemHostAlloc(void **pinned, size_t size, unsigned flags) { *pinned = malloc(size); return 0; }
int cuMemFreeHost(void *pinned) { free(pinned); return 0; }
int cuMemAlloc_v2(unsigned long long *memory, size_t size) { *memory = 1; return number("MEMORY", current); }
int cuMemFree_v2(unsigned long long memory) { return 0; }
int cuMemcpyHtoD_v2(unsigned long long to, void *from, size_t size) { return number("COPY", current); }
int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t size) { return 0; }
"""


@pytest.fixture(scope="module")
def libcuda(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require("gcc")
    folder = tmp_path_factory.mktemp("libcuda")
    (folder / "cuda.c").write_text(LIBCUDA)
    command = ["gcc", "-shared", "-fPIC", "-o", str(folder / "libcuda.so.1"), str(folder / "cuda.c")]
    subprocess.run(command, check=True)
    return folder


SAYS_ITS_SETTINGS = """import os
        raise RuntimeError(*[os.environ.get(n) for n in (
            "CUDA_VISIBLE_DEVICES", "XLA_PYTHON_CLIENT_PREALLOCATE", "TF_FORCE_GPU_ALLOW_GROWTH")])"""


@pytest.mark.parametrize(
    ("answers", "chosen", "outcomes"),
    [
        ({}, "0", [True, True, True]),
        ({"CUDA_FAKE_MEMORY": "2,0,0"}, "1", [None, True, True]),
        ({"CUDA_FAKE_CONTEXT": "46,46,0"}, "2", [None, None, True]),
        ({"CUDA_FAKE_COPY": "0,719,0"}, "0", [True, False, True]),
        ({"CUDA_FAKE_MEMORY": "2,2,2"}, "", [None, None, None]),
        ({"CUDA_FAKE_MEMORY": "2,0,0", "CUDA_VISIBLE_DEVICES": "5, 3,1"}, "3", [None, True, True]),
    ],
    ids=["all-free", "first-is-full", "only-the-last-is-free", "one-is-broken", "all-are-full", "users-own-choice"],
)
def test_one_full_or_broken_gpu_does_not_end_the_others(
    libcuda: Path, tmp_path: Path, answers: dict[str, str], chosen: str, outcomes: list[bool | None]
) -> None:
    """Frameworks get the first GPU on which the copies went well, and little of its memory."""
    host = _environment(tmp_path, SAYS_ITS_SETTINGS, {**answers, "LD_LIBRARY_PATH": str(libcuda)})
    found = measurements(host, 60.0).get()
    copied = {item.subject: item.passed for item in found if item.name.startswith("copy")}
    assert list(copied.values()) == outcomes
    assert list(copied) == ["0000:01:00.0", "0000:02:00.0", "0000:03:00.0"]
    assert _by_step(found)["device"].detail.endswith(f"({chosen!r}, 'false', 'true')")
