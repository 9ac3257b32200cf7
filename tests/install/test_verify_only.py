"""`--verify-only` finds what was broken after the installation, and changes nothing itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.engine import Engine
from tests.install.conftest import Job
from tests.install.machine import machine

pytestmark = pytest.mark.docker


FAULTS = {
    "a wrong nvcc": ("sed -i 's/12.4/11.8/g' /usr/local/cuda-12.4/bin/nvcc", "toolkit"),
    "an nvcc that is gone": ("rm /usr/local/cuda-12.4/bin/nvcc", "toolkit"),
    "a missing library": ("rm /usr/local/cuda-12.4/lib64/libcublas.so.12.4.1", "files"),
    "a broken link in the toolkit": ("rm /usr/local/cuda-12.4/lib64/libcudart.so.12.4.1", "libraries"),
    "a library that does not find another": ("rm /usr/local/cuda-12.4/lib64/libcudart.so.12.4*", "libraries"),
    "a link that leads nowhere": ("ln -sfn /usr/local/cuda-0 /usr/local/cuda", "link"),
    "a link that is gone": ("rm /usr/local/cuda", "link"),
    "an older cuDNN": ("sed -i 's/MAJOR .*/MAJOR 8/' /usr/local/cuda-12.4/include/cudnn_version.h", "cudnn"),
    "a cuDNN library that is gone": ("rm /usr/local/cuda-12.4/lib64/libcudnn.so.9*", "cudnn"),
}


def test_each_planted_fault_is_found_and_a_sound_machine_passes(
    engine: Engine, target_image: str, new: Job, tmp_path: Path
) -> None:
    with machine(engine, target_image, tmp_path) as target:
        target.put(new.script())
        assert target.install().exit_code == 0
        target.sh("cp -a /usr/local /saved")
        sound = target.install("--verify-only")
        assert sound.exit_code == 0, sound.stderr
        assert "fail" not in sound.verdicts.values()
        for name, (command, verdict) in FAULTS.items():
            target.sh(command)
            before = target.tree()
            found = target.install("--verify-only")
            assert found.exit_code == 9, name
            assert found.verdicts[verdict] == "fail", (name, found.verdicts)
            assert target.tree() == before, name
            target.sh("rm -rf /usr/local; cp -a /saved /usr/local")
