"""What is there already is what was asked for, to the update release; otherwise that is said before anything is
fetched."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from envkit._startup.records import replace
from envkit.base.settings import Mirrors
from envkit.install.options import ScriptOptions
from tests.engine.engine import Engine
from tests.install.conftest import Job
from tests.install.machine import machine
from tests.install.plans import matrix, plan, scripted
from tests.install.shell import call, dry_run

pytestmark = pytest.mark.usefixtures("home")

_NVCC = "#!/bin/sh\necho 'Cuda compilation tools, release {line}, V{version}'\n"


def toolkit(folder: Path, nvcc: str, whole: bool = True) -> None:
    """A toolkit whose nvcc names this version of its own."""
    for part in ("bin", "include", "lib64"):
        (folder / part).mkdir(parents=True)
    (folder / "bin/nvcc").write_text(_NVCC.format(line=".".join(nvcc.split(".")[:2]), version=nvcc))
    (folder / "bin/nvcc").chmod(0o755)
    if whole:
        (folder / "include/cuda_runtime.h").touch()
        (folder / "lib64/libcudart.so").touch()


def tried(cuda: str, folder: Path, *words: str, accept_eula: bool = True) -> subprocess.CompletedProcess[str]:
    """A dry run of the script for this CUDA in this folder, here: it changes nothing."""
    options = ScriptOptions(toolkit_path=str(folder), accept_eula=accept_eula, accept_unverified=True)
    return dry_run(scripted(plan(cuda), options, Mirrors()), *words)


def test_every_toolkit_but_the_newest_has_the_version_of_its_nvcc() -> None:
    assert [str(row.version) for row in matrix().toolkits if row.nvcc is None] == []
    assert all(row.nvcc and row.nvcc.release(2) == row.release for row in matrix().toolkits)


@pytest.mark.parametrize(
    ("cuda", "nvcc", "told", "here"),
    [
        ("12.4.1", "12.4.131", None, "12.4.1"),
        ("12.4.1", "12.4.99", None, "12.4.0"),
        ("12.4.0", "12.4.131", None, "12.4.1"),
        ("12.4.1", "12.4.77", None, "12.4"),  # a build of no release in the data
        ("12.4.1", "12.4.77", '{"cuda": {"name": "CUDA SDK", "version": "12.4.0"}}', "12.4.0"),
        ("12.4.1", "11.8.89", None, "11.8"),
        ("10.1.105", "10.1.243", None, "10.1.243"),
        ("11.2.0", "11.2.152", None, "11.2.2"),
        # 11.4.3 and 11.4.4 have one nvcc: the file tells them apart, where it names a release
        ("11.4.4", "11.4.152", None, "11.4.4"),
        ("11.4.4", "11.4.152", '{"cuda": {"name": "CUDA SDK", "version": "11.4.3"}}', "11.4.3"),
        ("11.4.4", "11.4.152", '{"cuda": {"name": "CUDA SDK", "version": "11.4.20220101"}}', "11.4.4"),
    ],
)
def test_a_toolkit_is_told_to_its_update_release(
    cuda: str, nvcc: str, told: str | None, here: str, tmp_path: Path
) -> None:
    toolkit(tmp_path / "cuda", nvcc)
    if told:
        (tmp_path / "cuda/version.json").write_text(told)
    text = scripted(plan(cuda), ScriptOptions(), Mirrors())
    wanted = here in (cuda, ".".join(cuda.split(".")[:2]))
    body = f'TOOLKIT_DIR={tmp_path}/cuda; toolkit_version "$TOOLKIT_DIR"; ! toolkit_is_complete || echo wanted'
    assert call(text, body, tmp_path).stdout.split() == [here, *(["wanted"] if wanted else [])]


@pytest.mark.parametrize(
    ("nvcc", "whole", "options", "code", "words"),
    [
        ("12.4.131", True, (), 0, "already done"),
        (
            "12.4.99",
            True,
            (),
            3,
            "CUDA 12.4.0 is in {folder}, and this script installs CUDA 12.4.1 there: pass --upgrade",
        ),
        ("12.4.99", True, ("--upgrade",), 0, "would be done"),
        ("12.4.131", False, (), 3, "(nvcc says 12.4.1, but include/cuda_runtime.h or lib64/libcudart is missing)"),
        ("12.4.131", False, ("--upgrade",), 3, "Move it away"),
    ],
)
def test_an_occupied_folder_is_refused_by_a_dry_run_too(
    nvcc: str, whole: bool, options: tuple[str, ...], code: int, words: str, tmp_path: Path
) -> None:
    toolkit(tmp_path / "cuda", nvcc, whole)
    done = tried("12.4.1", tmp_path / "cuda", *options)
    assert done.returncode == code and words.format(folder=tmp_path / "cuda") in done.stderr, done.stderr


def test_an_empty_folder_and_a_link_to_one_are_free(tmp_path: Path) -> None:
    (tmp_path / "disk/lost+found").mkdir(parents=True)
    (tmp_path / "cuda").symlink_to(tmp_path / "disk")
    assert tried("12.4.1", tmp_path / "disk").returncode == tried("12.4.1", tmp_path / "cuda").returncode == 0
    (tmp_path / "cuda").unlink()
    (tmp_path / "cuda").symlink_to(tmp_path / "nowhere")
    assert tried("12.4.1", tmp_path / "cuda").returncode == 3


def test_an_eula_that_nobody_can_accept_is_refused_by_a_dry_run_too(tmp_path: Path) -> None:
    done = tried("12.4.1", tmp_path / "cuda", accept_eula=False)
    assert done.returncode == 3 and "the EULA has not been accepted" in done.stderr
    assert "Fetch" not in done.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), ["already done", "already done", "not changed", "not changed"]),
        (("--upgrade",), ["would be done"] * 4),
    ],
)
def test_a_patch_that_somebodys_toolkit_does_not_name_is_left(
    options: tuple[str, ...], words: list[str], tmp_path: Path
) -> None:
    """Each patch adds its line to version.txt; nobody knows of the others, so they are not "already done"."""
    toolkit(tmp_path / "cuda", "9.0.176")
    named = "CUDA Version 9.0.176\nCUDA Patch Version 9.0.176.1\nCUDA Patch Version 9.0.176.2\n"
    (tmp_path / "cuda/version.txt").write_text(named)
    done = tried("9.0.176", tmp_path / "cuda", *options)
    assert done.returncode == 0, done.stderr
    told = re.findall(r"\] CUDA patch \d\n  ([a-z ]+)", done.stderr)
    assert told == words, done.stderr
    assert ("Fetch cuda_9.0.176.4" in done.stderr) and done.stderr.count("would be done") >= (9 if options else 0)


@pytest.mark.thorough
def test_another_cudnn_in_somebodys_toolkit_is_refused(tmp_path: Path) -> None:
    toolkit(tmp_path / "cuda", "12.4.131")
    header = "#define CUDNN_MAJOR 8\n#define CUDNN_MINOR 9\n#define CUDNN_PATCHLEVEL 2\n"
    (tmp_path / "cuda/include/cudnn.h").write_text(header)
    done = tried("12.4.1", tmp_path / "cuda")
    assert done.returncode == 3 and f"cuDNN 8.9.2 is in {tmp_path}/cuda" in done.stderr, done.stderr
    assert tried("12.4.1", tmp_path / "cuda", "--upgrade").returncode == 0


def environment(folder: Path, *distributions: str) -> None:
    """An environment of this Python, with pip's name and these distributions."""
    subprocess.run([sys.executable, "-m", "venv", "--symlinks", "--without-pip", str(folder)], check=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    (packages / "pip.py").touch()
    for distribution in distributions:
        distribute(packages, *distribution.split("=="))


def distribute(folder: Path, name: str, version: str) -> None:
    """What an installed distribution says of itself there."""
    (folder / f"{name}-{version}.dist-info").mkdir(parents=True)
    about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: größer\n\nName: of the text\n"
    (folder / f"{name}-{version}.dist-info/METADATA").write_text(about, encoding="utf-8")


def _of_pytorch(folder: Path, body: str) -> subprocess.CompletedProcess[str]:
    found = plan(framework="pytorch")
    text = scripted(replace(found, choice=replace(found.choice, needs_toolkit=False)), ScriptOptions(), Mirrors())
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    return call(text, f"ENV_DIR={folder}/env PYTHON={version}\n{body}", folder)


@pytest.mark.parametrize(
    ("here", "upgrade", "code"), [((), 0, 0), (("torch==1.0.0",), 0, 3), (("torch==1.0.0",), 1, 0)]
)
def test_another_version_in_a_shared_environment_is_refused(
    here: tuple[str, ...], upgrade: int, code: int, tmp_path: Path
) -> None:
    environment(tmp_path / "env", *here)
    done = _of_pytorch(tmp_path, f"UPGRADE={upgrade}\nrefuse_other_pytorch")
    assert done.returncode == code and ("contains torch==1.0.0" in done.stderr) is (code == 3), done


def test_an_environment_is_judged_without_what_the_shell_tells_python(tmp_path: Path) -> None:
    """ROS, Spack and shared folders set PYTHONPATH: what lies there is not in the environment."""
    environment(tmp_path / "env")
    distribute(tmp_path / "other", "torch", "1.0.0")
    done = _of_pytorch(tmp_path, f"export PYTHONPATH={tmp_path}/other PYTHONHOME=/nowhere\ndistribution_here torch")
    assert done.stdout == "", done


@pytest.mark.parametrize(
    ("distribution", "asked", "answer"),
    [
        ("torch==2.6.0+cu124", "torch 2.6.0", "torch==2.6.0+cu124"),
        ("torch==2.6.0", "torch 2.6", ""),
        ("onnxruntime_gpu==1.31.1", "ONNXRuntime-GPU", "onnxruntime_gpu==1.31.1"),
        ("zope.interface==5.0", "zope-interface", "zope.interface==5.0"),
        ("torchvision==0.21.0", "torch", ""),
    ],
)
def test_what_an_environment_holds_is_asked_once(distribution: str, asked: str, answer: str, tmp_path: Path) -> None:
    environment(tmp_path / "env", distribution)
    counted = f"""
    eval "real_$(declare -f environment_says)"
    environment_says() {{ echo asked >>{tmp_path}/asked; real_environment_says; }}
    python_is_complete; python_is_complete; distribution_here {asked}
    """
    done = _of_pytorch(tmp_path, counted)
    assert done.stdout.strip() == answer, done
    assert (tmp_path / "asked").read_text() == "asked\n"


def test_an_environment_whose_pip_is_gone_is_none(tmp_path: Path) -> None:
    environment(tmp_path / "env")
    next(tmp_path.glob("env/lib/python*/site-packages/pip.py")).unlink()
    assert _of_pytorch(tmp_path, "if python_is_complete; then echo whole; fi").stdout == ""


@pytest.mark.parametrize("name", ["PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "PIP_TARGET", "PIP_PREFIX", "PIP_USER"])
def test_settings_that_lead_elsewhere_do_not_reach_pip(name: str, tmp_path: Path) -> None:
    text = scripted(plan(framework="pytorch"), ScriptOptions(), Mirrors())
    body = f"echo ${{{name}:-none}} $PIP_INDEX_URL"
    shell = ("env", f"{name}=/elsewhere", "PIP_INDEX_URL=https://there/simple", "bash")
    assert call(text, body, tmp_path, shell).stdout.split() == [
        "0" if name == "PIP_USER" else "none",
        "https://there/simple",
    ]


@pytest.mark.docker
def test_another_update_release_is_refused_then_replaced_and_brought_back(
    engine: Engine, target_image: str, new: Job, older: Job, tmp_path: Path
) -> None:
    with machine(engine, target_image, tmp_path) as target:
        target.put(older.script(), "older.sh")
        target.put(new.script())
        assert target.install(name="older.sh").exit_code == 0
        before = target.tree()
        requests = len(new.behavior.requests)
        done = target.install()
        assert done.exit_code == 3 and "CUDA 12.4.0 is in /usr/local/cuda-12.4" in done.stderr
        assert len(new.behavior.requests) == requests  # nothing was fetched for nothing
        done = target.install("--upgrade")
        assert done.exit_code == 0, done.stderr
        assert "V12.4.131" in target.sh("/usr/local/cuda-12.4/bin/nvcc --version")
        assert target.install("--rollback").exit_code == 0
        assert target.tree() == before
        assert target.install("--verify-only", name="older.sh").exit_code == 0


@pytest.mark.docker
def test_somebodys_toolkit_keeps_its_patches_until_an_upgrade(
    engine: Engine, target_image: str, legacy: Job, tmp_path: Path
) -> None:
    with machine(engine, target_image, tmp_path) as target:
        target.put(legacy.script())
        assert target.install().exit_code == 0
        target.sh("rm -r /var/lib/envkit; rm /usr/local/cuda-9.0/lib64/patch-*.txt")
        before = target.tree()
        done = target.install()
        assert done.exit_code == 0 and {done.states[f"patch-{order}"] for order in (1, 2, 3, 4)} == {"left"}, done
        assert done.states["toolkit"] == "unchanged" and target.sh("ls /usr/local/cuda-9.0/lib64").count("patch") == 0
        done = target.install("--upgrade")
        assert done.exit_code == 0 and {done.states[f"patch-{order}"] for order in (1, 2, 3, 4)} == {"done"}, done
        assert target.install("--upgrade").changed_nothing
        assert target.install("--rollback").exit_code == 0
        assert target.tree() == before


@pytest.mark.docker
@pytest.mark.parametrize("how", ["mount", "link"])
def test_a_toolkit_on_a_disk_of_its_own(engine: Engine, target_image: str, new: Job, tmp_path: Path, how: str) -> None:
    path = "/disk" if how == "mount" else "/opt/cuda"
    with machine(engine, target_image, tmp_path, "--tmpfs", "/disk:size=100m,exec") as target:
        if how == "link":
            target.sh("ln -s /disk /opt/cuda")
        before = target.tree()
        target.put(new.script(ScriptOptions(toolkit_path=path)))
        done = target.install("--no-space-check")
        assert done.exit_code == 0, done.stderr
        assert target.install("--no-space-check").changed_nothing
        assert target.install("--rollback").exit_code == 0
        assert target.sh("ls /disk") == "" and target.tree() == before
