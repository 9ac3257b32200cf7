"""What can go wrong on a machine: each is answered with its exit code and words, and nothing is left half done."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from envkit.install.options import ScriptOptions
from tests.engine.engine import Engine
from tests.install.conftest import Job, StandIns
from tests.install.machine import machine, without_notes
from tests.install.standins import SLOW

pytestmark = pytest.mark.docker


def test_a_wrong_checksum_stops_before_anything_is_installed(
    engine: Engine, target_image: str, styled: Job, tmp_path: Path
) -> None:
    with machine(engine, target_image, tmp_path) as target:
        target.put(styled.script())
        before = target.tree()
        styled.behavior.damaged = True
        done = target.install()
        assert done.exit_code == 6
        assert "wrong sha256 checksum" in done.stderr
        assert without_notes(target.tree()) == without_notes(before)
        styled.behavior.damaged = False
        assert target.install().exit_code == 0


def test_half_a_download_is_resumed(engine: Engine, target_image: str, styled: Job, tmp_path: Path) -> None:
    with machine(engine, target_image, tmp_path) as target:
        target.put(styled.script())
        styled.behavior.cut_after = 20_000
        done = target.install()
        assert done.exit_code == 0, done.stderr
        assert any(wanted.startswith("bytes=") for _, wanted in styled.behavior.requests)


def test_a_file_system_that_is_too_small_is_named_before_the_start(
    engine: Engine, target_image: str, styled: Job, tmp_path: Path
) -> None:
    with machine(engine, target_image, tmp_path, "--tmpfs", "/small:size=300k,exec") as target:
        target.put(styled.script(ScriptOptions(toolkit_path="/small/cuda")))
        done = target.install()
        assert done.exit_code == 4
        assert "not enough space on /small" in done.stderr


def test_a_disk_that_fills_up_while_downloading_or_installing(
    engine: Engine, target_image: str, styled: Job, tmp_path: Path
) -> None:
    with machine(engine, target_image, tmp_path, "--tmpfs", "/small:size=40k,exec,mode=755") as target:
        target.put(styled.script(ScriptOptions(toolkit_path="/small/cuda")))
        done = target.install("--no-space-check")
        assert done.exit_code in (1, 4)  # the installer noticed, or the script when it copied cuDNN
        assert "a file system is full" in done.stderr or "is the file system full?" in done.stderr
        target.install("--rollback")
        target.put(styled.script())
        done = target.install("--no-space-check", environment={"ENVKIT_STATE_DIR": "/small"})
        assert done.exit_code == 4
        assert "the disk is full" in done.stderr


def test_without_a_network_the_offline_folder_serves(
    engine: Engine, target_image: str, styled: Job, stand_ins: StandIns, tmp_path: Path
) -> None:
    with machine(engine, target_image, tmp_path, network=False) as target:
        target.put(styled.script())
        done = target.install()
        assert done.exit_code == 5
        assert "check the network" in done.stderr
        (tmp_path / "files").mkdir()
        done = target.install("--offline", "/job/files")
        assert done.exit_code == 5
        assert "is not in /job/files" in done.stderr
        for file in stand_ins[0].iterdir():
            if file.is_file():
                shutil.copy(file, tmp_path / "files")
        done = target.install("--offline", "/job/files")
        assert done.exit_code == 0, done.stderr


def test_a_noexec_tmp_is_avoided(engine: Engine, target_image: str, styled: Job, tmp_path: Path) -> None:
    with machine(engine, target_image, tmp_path, "--tmpfs", "/tmp:noexec") as target:
        target.put(styled.script())
        done = target.install()
        assert done.exit_code == 0, done.stderr
        assert "/tmp is mounted noexec" in done.stderr


def test_a_read_only_target_is_named(engine: Engine, target_image: str, styled: Job, tmp_path: Path) -> None:
    (tmp_path / "fixed").mkdir()
    with machine(engine, target_image, tmp_path, "--volume", f"{tmp_path / 'fixed'}:/fixed:ro") as target:
        target.put(styled.script(ScriptOptions(toolkit_path="/fixed/cuda")))
        done = target.install()
        assert done.exit_code == 3
        assert "read-only" in done.stderr


def test_a_second_run_at_the_same_time_is_turned_away(
    engine: Engine, target_image: str, styled: Job, tmp_path: Path
) -> None:
    with machine(engine, target_image, tmp_path) as target:
        target.put(styled.script())
        target.sh(f"touch {SLOW}")
        first = target.start()
        time.sleep(1.0)
        second = target.install()
        assert second.exit_code == 7
        assert "another envkit script is still running" in second.stderr
        first.communicate(timeout=120)
        assert first.returncode == 0


def test_an_installer_that_fails_or_lies_is_not_believed(
    engine: Engine, target_image: str, styled: Job, tmp_path: Path
) -> None:
    with machine(engine, target_image, tmp_path) as target:
        target.put(styled.script())
        before = target.tree()
        for fault in ("/installer-fails", "/installer-lies"):
            target.sh(f"touch {fault}")
            done = target.install()
            assert done.exit_code == 1
            assert "did not install a complete CUDA" in done.stderr
            target.sh(f"rm {fault}")
        assert target.install("--rollback").exit_code == 0
        assert target.tree() == before


def test_a_foreign_folder_in_the_way_is_left_alone(
    engine: Engine, target_image: str, styled: Job, tmp_path: Path
) -> None:
    with machine(engine, target_image, tmp_path) as target:
        target.put(styled.script(ScriptOptions(toolkit_path="/opt/mine")))
        target.sh("mkdir /opt/mine; echo precious >/opt/mine/data")
        done = target.install()
        assert done.exit_code == 3
        assert "contains something that is not a complete CUDA" in done.stderr
        assert target.install("--rollback").exit_code == 0
        assert target.sh("cat /opt/mine/data") == "precious\n"


def test_the_eula_is_asked_for_when_that_was_chosen(
    engine: Engine, target_image: str, styled: Job, tmp_path: Path
) -> None:
    with machine(engine, target_image, tmp_path) as target:
        target.put(styled.script(ScriptOptions(accept_eula=False)))
        done = target.install()
        assert done.exit_code == 3
        assert "EULA has not been accepted" in done.stderr


def test_an_existing_link_stays_and_a_gcc_that_does_not_fit_is_reported(
    engine: Engine, target_image: str, styled: Job, tmp_path: Path
) -> None:
    with machine(engine, target_image, tmp_path) as target:
        target.put(styled.script())
        target.sh("mkdir /usr/local/cuda-1.0; ln -s cuda-1.0 /usr/local/cuda")
        target.sh(
            "printf '#!/bin/sh\\necho 4.1.2\\n' >/usr/local/bin/g++; chmod +x /usr/local/bin/g++; rm /usr/bin/g++*"
        )
        done = target.install()
        assert done.exit_code == 0, done.stderr
        assert target.sh("readlink /usr/local/cuda") == "cuda-1.0\n"
        assert done.states["link"] == "unchanged"
        toolkit = styled.plan.choice.toolkit
        if toolkit is not None and toolkit.gcc_min is not None:
            assert done.verdicts["compile"] == "skip"
            assert "installed: 4.1.2" in done.stderr


def test_two_releases_stand_side_by_side_and_leave_alone(
    engine: Engine, target_image: str, legacy: Job, new: Job, tmp_path: Path
) -> None:
    with machine(engine, target_image, tmp_path) as target:
        before = target.tree()
        target.put(legacy.script(), "old.sh")
        target.put(new.script(), "new.sh")
        assert target.install(name="old.sh").exit_code == 0
        one = target.tree()
        assert target.install(name="new.sh").exit_code == 0
        assert target.sh("readlink /usr/local/cuda") == "/usr/local/cuda-9.0\n"
        assert "cuda-12.4/lib64/libcudart" in target.sh("ldconfig -p")
        assert "LD_LIBRARY_PATH" not in target.sh("cat /etc/profile.d/envkit-cuda-*.sh /usr/local/cuda-*/envkit.sh")
        assert target.install("--rollback", name="new.sh").exit_code == 0
        assert target.tree() == one
        assert target.install("--rollback", name="old.sh").exit_code == 0
        assert target.tree() == before


def test_a_dry_run_changes_nothing_and_wrong_usage_is_reported(
    engine: Engine, target_image: str, styled: Job, tmp_path: Path
) -> None:
    with machine(engine, target_image, tmp_path) as target:
        target.put(styled.script())
        before = target.tree()
        done = target.install("--dry-run")
        assert done.exit_code == 0, done.stderr
        assert done.states["toolkit"] == "would-be-done"
        assert target.install("--wrong").exit_code == 2
        assert target.install("--resume").exit_code == 2
        assert target.tree() == before


def test_another_distribution_is_refused_unless_the_user_insists(
    engine: Engine, target_image: str, styled: Job, tmp_path: Path
) -> None:
    with machine(engine, target_image, tmp_path) as target:
        target.put(styled.script().replace("OS_VERSION=12", "OS_VERSION=99"))
        done = target.install()
        assert done.exit_code == 3
        assert "but the plan is for Debian 12" in done.stderr
        assert target.install("--any-os").exit_code == 0


def test_without_root_only_own_folders_are_touched(
    engine: Engine, target_image: str, styled: Job, tmp_path: Path
) -> None:
    with machine(engine, target_image, tmp_path) as target:
        target.sh("useradd --create-home person")
        target.put(styled.script(ScriptOptions(toolkit_path="/home/person/cuda", symlink=False)))
        before = target.sh("ls -lR /etc /usr/local | md5sum")
        target.sh("cp /job/install.sh /opt/install.sh")  # /job belongs to root alone
        words = ("exec", "--user", "person", "--env", "HOME=/home/person", target.container)
        done = engine.run(*words, "bash", "/opt/install.sh", check=False)
        assert done.returncode == 0, done.stderr
        assert target.sh("ls -lR /etc /usr/local | md5sum") == before
        assert target.sh("/home/person/cuda/bin/nvcc --version")


@pytest.mark.parametrize(("other", "priority"), [("13.0", 130), ("12.0", 120)])
def test_a_link_run_by_update_alternatives_gets_one_more_choice_and_leads_where_it_led(
    engine: Engine, target_image: str, new: Job, tmp_path: Path, other: str, priority: int
) -> None:
    there = f"/usr/local/cuda-{other}"
    with machine(engine, target_image, tmp_path) as target:
        target.sh(f"mkdir {there}")
        target.sh(f"update-alternatives --install /usr/local/cuda cuda {there} {priority}")
        target.put(new.script())
        done = target.install()
        assert done.exit_code == 0, done.stderr
        listed = target.sh("update-alternatives --list cuda")
        assert sorted(listed.split()) == sorted(["/usr/local/cuda-12.4", there])
        assert target.sh("readlink -f /usr/local/cuda") == f"{there}\n"
        assert target.install().states["link"] == "unchanged"
        assert target.install("--rollback").exit_code == 0
        assert target.sh("update-alternatives --list cuda") == f"{there}\n"
