"""Services by the names of their processes, and libraries that lie where the loader does not look."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from envkit.host import driver_folders
from envkit.host.queries import ask
from envkit.host.services import running_services
from tests.fakes.nvml import build, one, variables


def test_a_service_is_known_by_the_name_of_its_process(tmp_path: Path) -> None:
    program = tmp_path / "nv-fabricmanager"
    shutil.copy("/bin/sleep", program)
    assert "nv-fabricmanage" not in running_services()
    with subprocess.Popen([program, "30"]) as process:
        deadline = time.monotonic() + 5
        while not (running := running_services()) and time.monotonic() < deadline:
            time.sleep(0.01)  # the kernel names it only when the program has begun
        process.kill()
    assert running == ["nv-fabricmanage"]


@pytest.mark.usefixtures("loaded_driver")
def test_a_library_of_a_driver_that_lies_apart_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = tmp_path / "root" / "usr" / "lib" / "x86_64-linux-gnu"
    library.mkdir(parents=True)
    build(library)
    monkeypatch.setattr(driver_folders, "APART", (f"{tmp_path}/root/usr/lib/*-linux-gnu",))
    monkeypatch.setattr(driver_folders, "is_trusted", os.path.exists)
    settings = variables(library, tmp_path, one())
    del settings["LD_LIBRARY_PATH"]
    answer = ask("nvml", {**settings, "PATH": os.environ["PATH"]}, 5.0).get()
    assert answer["library"] == str(library / "libnvidia-ml.so.1")
