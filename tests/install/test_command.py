"""`envkit install` as a user runs it."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from envkit.base.errors import EnvkitError, StepFailed
from envkit.base.settings import Mirrors
from envkit.base.versions import VersionSpec
from envkit.cli.install_bundle import make_bundle
from envkit.host.run_script import run_script
from envkit.install.bundle import check_bundle, wheel_commands
from envkit.install.options import ScriptOptions
from envkit.install.plan import for_script
from envkit.install.steps import installation
from tests.cli.run import envkit
from tests.install.plans import asked, mirrors_to, plan, planned
from tests.install.server import serving
from tests.install.shell import call

HERE = ("--target", "any", "--os", "debian12")


def test_stdout_is_a_script_and_the_plan_goes_to_stderr(tmp_path: Path) -> None:
    done = envkit("install", *HERE, "--cuda", "9.0", "--framework", "pytorch")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("#!/usr/bin/env bash\n")
    assert "torch==1.1.0" in done.stderr
    parsed = subprocess.run(["bash", "-n"], input=done.stdout, text=True, capture_output=True, check=False)
    assert parsed.returncode == 0 and parsed.stderr == ""


def test_a_gpu_that_cannot_run_it_is_refused_with_the_nearest_choices() -> None:
    done = envkit("install", *HERE, "--cuda", "9.0", "--framework", "pytorch", "--gpu", "9.0")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "No solution" in done.stderr and "Working alternatives" in done.stderr


def test_the_plan_as_json() -> None:
    done = envkit("install", *HERE, "--cuda", "9.0", "--framework", "pytorch", "--json")
    assert done.returncode == 0
    document = json.loads(done.stdout)
    assert document["status"] == "ok"
    assert document["choice"]["cuda"] == "9.0.176"


def test_an_output_file_is_executable(tmp_path: Path) -> None:
    target = tmp_path / "install.sh"
    done = envkit("install", *HERE, "--cuda", "12.4", "-o", str(target))
    assert done.returncode == 0 and done.stdout == ""
    assert target.stat().st_mode & 0o111
    assert f"sudo bash {target}" in done.stderr


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--driver-runfile", "x.run"), "--with-driver"),
        (("--with-driver", "--driver-runfile", "/x/\x1b]8;;http://192.0.2.1/x.run"), "control characters"),
        (("--run",), "--target"),
        (("--with-driver",), "--gpu"),
        (("--no-toolkit",), "--framework or --with-driver"),
    ],
)
def test_contradictions_are_wrong_usage(words: tuple[str, ...], named: str) -> None:
    done = envkit("install", *HERE, "--cuda", "12.4", *words)
    assert done.returncode == 2
    assert named in done.stderr and done.stdout == ""


def test_what_no_toolkit_leaves_out_is_said(tmp_path: Path) -> None:
    """tensorflow.org/install/source: 2.10 loads CUDA 11.2 and cuDNN 8.1 of the system."""
    words = ("--framework", "tensorflow==2.10", "--no-toolkit", "--os", "ubuntu22.04", "--target", "any")
    done = envkit("install", *words)
    assert done.returncode == 0
    assert "install_toolkit" not in done.stdout and "install_cudnn" not in done.stdout
    assert "TensorFlow 2.10.1 loads CUDA 11.2" in " ".join(done.stderr.split())
    assert "--no-toolkit: TensorFlow 2.10.1 loads" in " ".join(done.stdout.replace("\n#", " ").split())


def test_the_driver_alone(tmp_path: Path) -> None:
    words = ("--with-driver", "--no-toolkit", "--gpu", "8.6", "--os", "ubuntu22.04", "--target", "any")
    done = envkit("install", *words)
    assert done.returncode == 0, done.stderr
    steps = [line.split()[2] for line in done.stdout.splitlines() if line.startswith("  run_step")]
    assert "driver" in steps and "verify" in steps and not {"toolkit", "cudnn", "python"} & {*steps}
    assert "WORK_BYTES" not in done.stdout  # shellcheck: unused
    body = 'code=0; verify_all || code=$?; echo "$code"'
    without = call(done.stdout, body, tmp_path)
    assert without.stdout == "9\n" and "fail driver: none is loaded instead of driver 455.23 or newer" in without.stderr
    (tmp_path / "root/sys/module/nvidia").mkdir(parents=True)
    (tmp_path / "root/sys/module/nvidia/version").write_text("580.65.06\n")
    assert "ok   driver: 580.65.06 is loaded" in call(done.stdout, body, tmp_path).stderr


def test_nobody_is_there_to_be_asked(tmp_path: Path) -> None:
    done = envkit("install", "--os", "debian12", "--cuda", "12.4", "--run")
    assert done.returncode == 1
    assert "--yes" in done.stderr and "not a terminal" in done.stderr
    assert "Log: /var/log/envkit/" not in done.stderr  # no log of a run that does not begin


def test_a_bundle_holds_files_checksums_sizes_and_the_script_and_is_resumed(tmp_path: Path) -> None:
    found = plan("11.0.1")  # a release without a published checksum, so that any file will do
    found = replace(found, choice=replace(found.choice, cudnn=None))
    name = found.choice.runfiles[0].name
    (tmp_path / "server").mkdir()
    (tmp_path / "server" / name).write_bytes(b"stand-in " * 10_000)
    folder = tmp_path / "bundle"
    with serving(tmp_path / "server") as (base, behavior):
        work = installation(found, ScriptOptions(), mirrors_to(base))
        behavior.cut_after = 40_000
        with pytest.raises(StepFailed, match="run it again"):
            make_bundle(work, "#!/bin/sh\n", str(folder), accept_unverified=True)
        make_bundle(work, "#!/bin/sh\n", str(folder), accept_unverified=True)
        assert any(wanted.startswith("bytes=") for _, wanted in behavior.requests)
    assert (folder / name).read_bytes() == b"stand-in " * 10_000
    assert (folder / "install.sh").read_text() == "#!/bin/sh\n"
    (listed,) = json.loads((folder / "bundle.json").read_text())["files"]
    assert listed["size"] == 90_000
    assert listed["sha256"] == sha256(b"stand-in " * 10_000).hexdigest()


def test_a_bundle_refuses_a_file_with_the_wrong_checksum(tmp_path: Path) -> None:
    found = plan("12.4.1")
    (tmp_path / "server").mkdir()
    name = found.choice.runfiles[0].name
    (tmp_path / "server" / name).write_bytes(b"not it")
    with serving(tmp_path / "server") as (base, _):
        work = installation(found, ScriptOptions(), mirrors_to(base))
        with pytest.raises(StepFailed, match="wrong"):
            make_bundle(work, "#!/bin/sh\n", str(tmp_path / "bundle"), accept_unverified=True)
    assert not (tmp_path / "bundle" / name).exists()


def test_a_bundle_lists_no_wheels_of_a_stranger(tmp_path: Path) -> None:
    """Whoever made the folder beforehand could have put one there that is newer than what was asked for."""
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / "torch-99-py3-none-any.whl").touch()
    with pytest.raises(EnvkitError, match="contains wheels that no bundle listed"):
        make_bundle(installation(plan("12.4.1"), ScriptOptions(), Mirrors()), "x", str(tmp_path), True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["wheels"]


def test_wheels_are_fetched_for_the_targets_python_and_not_for_this_one() -> None:
    work = installation(plan("9.0", "pytorch"), ScriptOptions(), Mirrors())
    (words,) = wheel_commands(work, "/there")
    assert words[:3] == ("download", "--dest", "/there")
    assert words[words.index("--python-version") + 1] == "3.7"
    assert "manylinux1_x86_64" in words and "torch==1.1.0" in words
    assert "manylinux_2_39_x86_64" not in words


def test_wheels_of_another_index_may_have_the_plain_platform_tag() -> None:
    """download.pytorch.org/whl/cu113: torch-1.10.0+cu113-cp39-cp39-linux_x86_64.whl; pip takes no other tag for it."""
    found = plan("11.3", "pytorch", os_id="ubuntu20.04")
    assert found.choice.builds[0].index_url or found.choice.builds[0].find_links
    (words,) = wheel_commands(installation(found, ScriptOptions(), Mirrors()), "/there")
    assert words[words.index("linux_x86_64") - 1] == "--platform"
    assert words.index("linux_x86_64") > words.index("manylinux1_x86_64")  # the last choice


def test_a_bundle_that_cannot_hold_the_python_is_refused_before_anything_is_fetched(tmp_path: Path) -> None:
    work = installation(plan("9.0", "pytorch"), ScriptOptions(), Mirrors())
    with pytest.raises(EnvkitError, match="3.7 comes from conda-forge"):
        make_bundle(work, "#!/bin/sh\n", str(tmp_path / "bundle"), accept_unverified=True)
    assert not (tmp_path / "bundle").exists()


@pytest.mark.parametrize(
    ("framework", "cuda", "os_id", "advice"),
    [
        ("pytorch", "9.0", "ubuntu16.04", "Specify --python 3.5,"),
        ("tensorflow", "8.0", "ubuntu16.04", "Specify --python 3.5,"),
        ("pytorch", "9.0", "debian12", "No other Python version works here"),
    ],
)
def test_where_a_bundle_is_refused_a_python_that_it_can_hold_is_named(
    framework: str, cuda: str, os_id: str, advice: str
) -> None:
    with pytest.raises(EnvkitError) as refused:
        check_bundle(installation(plan(cuda, framework, os_id), ScriptOptions(), Mirrors()))
    assert refused.value.hint.startswith(advice)
    if "--python" in advice:
        request = replace(asked(cuda, framework, os_id), python=VersionSpec.parse(advice.split()[2].rstrip(",")))
        check_bundle(installation(for_script(planned(request)), ScriptOptions(), Mirrors()), accept_unverified=True)


def test_a_script_run_here_ends_with_its_result(tmp_path: Path) -> None:
    heard: list[str] = []
    done = run_script("echo '[1/1] step' >&2; echo '{}'; exit 9\n", [], heard.append, sudo=False)
    assert done.exit_code == 9 and done.result == "{}\n"
    assert heard == ["[1/1] step"]
