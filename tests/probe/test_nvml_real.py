"""Releases of pynvml from the package index and libraries of real drivers, where there are some."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.nvml import FIRST_BRANCH, build, one, variables

OLDEST, NEWEST = "nvidia-ml-py==12.535.77", "nvidia-ml-py"
# A folder with files libnvidia-ml.so.470.256.02 and so on, from any distribution's packages; none is downloaded here.
LIBRARIES = sorted(Path(os.environ.get("ENVKIT_NVML_LIBRARIES", "/nowhere")).glob("libnvidia-ml.so.*"))
needs_libraries = pytest.mark.skipif(not LIBRARIES, reason="ENVKIT_NVML_LIBRARIES names no folder with libraries")


@pytest.mark.network
@pytest.mark.parametrize("requirement", [OLDEST, NEWEST])
def test_a_release_of_the_binding_answers_everything(requirement: str, tmp_path: Path) -> None:
    target = tmp_path / "binding"
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(target), requirement]
    subprocess.run(install, check=True, capture_output=True)
    settings = one(virtualization_mode=2, licensed=1, mig_mode=1, mig_instances=1, processes="1 2 3")
    environment = {**os.environ, **variables(build(tmp_path), tmp_path, settings), "PYTHONPATH": str(target)}
    command = [sys.executable, "-m", "tests.fakes.nvml.without"]
    told = json.loads(subprocess.run(command, env=environment, check=True, capture_output=True).stdout)
    assert told["binding"].startswith(str(target))
    assert len(told["answered"]) > 35 and told["failed"] == {} and told["processes"] == [1, 2, 3]


@needs_libraries
@pytest.mark.parametrize("library", LIBRARIES, ids=lambda path: path.name)
def test_the_fake_leaves_out_what_a_real_library_lacks(library: Path) -> None:
    branch = int(library.name.split(".")[2])
    names = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    has = {line.split()[-1].partition("@")[0] for line in names.splitlines()}
    wrong = {name for name, first in FIRST_BRANCH.items() if (name in has) != (branch >= first)}
    assert wrong == set()


@needs_libraries
@pytest.mark.parametrize("library", LIBRARIES, ids=lambda path: path.name)
def test_a_real_library_without_a_driver_says_so(library: Path, tmp_path: Path) -> None:
    """With an own /dev, as these libraries create a device node when root runs them, be there a driver or not."""
    (tmp_path / "libnvidia-ml.so.1").symlink_to(library)
    code = "import sys, json; from envkit.host.nvml_child import main; main()"
    command = [sys.executable, "-c", code, "[]"]
    if os.geteuid() == 0:
        command = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /dev && exec "$@"', "sh", *command]
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}
    lines = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.splitlines()
    answer = json.loads(lines[-1])
    assert (answer["init"]["code"], answer["init"]["name"]) == (9, "NVML_ERROR_DRIVER_NOT_LOADED")
    assert answer["library"] == str(library.resolve())
