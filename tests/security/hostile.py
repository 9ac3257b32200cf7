"""Cloned repositories and environments that try to have their programs run: each program in them leaves a mark."""

from __future__ import annotations

import os
import random
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.programs import require

PATH = "/usr/local/bin:/usr/bin:/bin"
PROGRAMS = (
    *("nvidia-smi", "nvcc", "ptxas", "gcc", "g++", "clang", "docker", "podman", "nvidia-ctk", "systemctl", "modinfo"),
    *("journalctl", "rpm", "cat", "python", "python3", "pip", "uv", "sh", "id", "conda", "nvidia-container-cli"),
)
MODULES = ("json", "click", "rich", "docker", "subprocess", "selectors", "sitecustomize", "usercustomize", "pynvml")
SOMEBODY = 4321
_SITE = "lib/python3.11/site-packages"


@dataclass
class Hostile:
    """A working folder, the variables of a user who is in it, and the folder where marks would appear."""

    folder: Path
    marks: Path
    variables: dict[str, str]


def hostile(place: Path, generator: random.Random, library: Path) -> Hostile:
    """A repository with traps of every kind, and a user who has half of the habits that could spring them."""
    repository, marks = place / "repository", place / "marks"
    marks.mkdir(parents=True)
    marks.chmod(0o777)
    for folder in (repository, repository / "bin", repository / "cuda/bin", repository / "tools"):
        _traps(folder, marks)
    _environment(repository / "env", marks)
    for name in MODULES:
        (repository / f"{name}.py").write_text(f"open({str(marks / name)!r}, 'w').close()\n")
    for name in ("libcuda.so.1", "libnvidia-ml.so.1"):
        (repository / name).symlink_to(library)
    habits = _habits(place, repository, marks, generator)
    chosen = generator.sample(habits, len(habits) // 2)
    folders = [habit.pop("PATH") for habit in chosen if "PATH" in habit]
    variables = {name: value for habit in chosen for name, value in habit.items()}
    return Hostile(repository, marks, {"HOME": str(place), **variables, "PATH": ":".join([*folders, PATH])})


def marking_library(folder: Path, marks: Path) -> Path:
    """A library that leaves a mark when it is loaded, whatever it is taken for."""
    source = folder / "mark.c"
    source.write_text(
        "#include <stdio.h>\n#include <stdlib.h>\n__attribute__((constructor)) static void loaded(void)\n"
        f'{{ FILE *file = fopen("{marks}/library", "w"); if (file) fclose(file); }}\n'
    )
    library = folder / "libmark.so"
    require("gcc")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
    return library


def _traps(folder: Path, marks: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in PROGRAMS:
        (folder / name).write_text(f"#!/bin/sh\n: > {marks}/{name}\n")
        (folder / name).chmod(0o755)


def _environment(folder: Path, marks: Path) -> None:
    """A virtual environment, and a conda one, with packages whose compilers would be asked."""
    site = folder / _SITE
    _traps(folder / "bin", marks)
    _traps(site / "triton/backends/nvidia/bin", marks)
    _traps(site / "nvidia/cuda_nvcc/bin", marks)
    for name, version in (("triton", "3.0.0"), ("torch", "2.4.0"), ("nvidia_cuda_nvcc_cu12", "12.4.131")):
        (site / f"{name}-{version}.dist-info").mkdir(parents=True)
        (site / f"{name}-{version}.dist-info/METADATA").write_text(f"Name: {name}\nVersion: {version}\n")
    (site / "evil.pth").write_text(f"import os; open({str(marks / 'pth')!r}, 'w').close()\n")
    (folder / "conda-meta").mkdir()
    (folder / "pyvenv.cfg").write_text("version = 3.11.4\nhome = ../bin\n")


def _habits(place: Path, repository: Path, marks: Path, generator: random.Random) -> list[dict[str, str]]:
    (repository / ".python-version").write_text(
        generator.choice(
            [
                "../../../../../../../../../../proc/self/cwd/env\n",
                f"{repository}/env\n",
                "3.11.4/../../../repository/env\n",
                "../../repository/env:../repository/env\n",
            ]
        )
    )
    shims = place / "pyenv/shims"
    shims.mkdir(parents=True)
    (place / "pyenv/versions/3.11.4").mkdir(parents=True)
    for name in ("python3", "python", "pip"):
        (shims / name).write_text("#!/bin/sh\n")
        (shims / name).chmod(0o755)
    shared = place / "shared"
    _traps(shared, marks)
    if os.geteuid() == 0 and generator.random() < 0.5:
        os.chown(shared, SOMEBODY, SOMEBODY)
    else:
        shared.chmod(0o777)
    relative = generator.choice(["", ".", "bin", "./bin", "../repository/bin"])
    return [
        {"PATH": relative},
        {"PATH": f"{shims}"},
        {"PATH": f"{shared}"},
        {"VIRTUAL_ENV": f"{repository}/env"},
        {"CONDA_PREFIX": f"{repository}/env"},
        {"CUDA_HOME": f"{repository}/cuda", "CUDA_PATH": f"{repository}/cuda"},
        {"CC": generator.choice(["./gcc", f"{repository}/bin/gcc", "bin/gcc"]), "CXX": f"{repository}/bin/g++"},
        {"NVCC_CCBIN": f"{repository}/bin", "CUDAHOSTCXX": "./g++"},
        {"TRITON_PTXAS_PATH": generator.choice(["./ptxas", f"{repository}/bin/ptxas"])},
        {"LD_LIBRARY_PATH": generator.choice([":", ".", ":/usr/lib", "../repository", "/usr/lib:"])},
        {"LD_LIBRARY_PATH": f"{shared}" if os.geteuid() == 0 else ":"},
        {"PYENV_VERSION": generator.choice(["../../repository/env", f"{repository}/env"])},
        {"DOCKER_CONFIG": f"{repository}", "DOCKER_HOST": "unix://./docker.sock"},
        {"PYTHONSTARTUP": f"{repository}/json.py", "PAGER": "./sh", "SHELL": "./sh", "BASH_ENV": f"{repository}/sh"},
    ]
