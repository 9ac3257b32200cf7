"""`--reboot`: one reboot, then the run goes on by itself, once, and nothing is left of the way to do so."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from envkit.base.settings import Mirrors
from envkit.install.options import ScriptOptions
from tests.install.booting import ASKS_AGAIN, ASKS_ONCE, ASKS_SOMEBODY, FAILS_THEN, Booting
from tests.install.plans import plan, scripted
from tests.programs import require


def test_the_run_goes_on_after_the_boot_and_leaves_no_unit(tmp_path: Path) -> None:
    machine = Booting(tmp_path)
    first = machine.run("--reboot", "--no-space-check", "--any-os")
    assert first.code == 8 and first.result["status"] == "rebooting", first
    assert machine.reboots == 1 and machine.armed
    second = machine.boot()
    assert second is not None and second.code == 0, second
    assert second.result["mode"] == "resume" and second.result["status"] == "ok"
    assert machine.reboots == 1 and machine.kept == []
    assert machine.boot() is None
    third = machine.run("--reboot")
    assert third.code == 0 and {step["state"] for step in third.result["steps"]} == {"unchanged"}


def test_without_the_option_nothing_reboots_and_no_unit_is_written(tmp_path: Path) -> None:
    machine = Booting(tmp_path)
    done = machine.run()
    assert done.code == 8 and done.result["status"] == "reboot-needed" and "--resume" in done.err, done
    assert machine.reboots == 0 and machine.kept == []


def test_a_driver_that_asks_again_boots_no_second_time(tmp_path: Path) -> None:
    machine = Booting(tmp_path, ASKS_AGAIN)
    machine.run("--reboot")
    again = machine.boot()
    assert again is not None and again.code == 8 and again.result["status"] == "reboot-needed", again
    by_hand = machine.run("--reboot")
    assert by_hand.code == 8 and "second reboot" in by_hand.err, by_hand
    assert machine.reboots == 1 and machine.kept == []


def test_a_reboot_that_did_not_come_about_can_be_asked_for_again(tmp_path: Path) -> None:
    machine = Booting(tmp_path)
    machine.run("--reboot")
    (tmp_path / "boot").write_text("first\n")
    assert machine.run("--reboot").result["status"] == "rebooting"
    assert machine.armed


def test_the_unit_is_gone_after_a_failure_too(tmp_path: Path) -> None:
    machine = Booting(tmp_path, FAILS_THEN)
    machine.run("--reboot")
    done = machine.boot()
    assert done is not None and done.code == 11 and machine.kept == [], done


def test_a_rollback_takes_the_unit_away(tmp_path: Path) -> None:
    machine = Booting(tmp_path)
    machine.run("--reboot")
    done = machine.run("--rollback")
    assert done.code == 0 and machine.boot() is None and machine.kept == [], done
    assert not [*tmp_path.glob("state/*")]


def test_a_machine_that_dies_while_the_run_goes_on_does_not_start_it_at_each_boot(tmp_path: Path) -> None:
    machine = Booting(tmp_path, f"{ASKS_ONCE}; [[ -f $HERE/calm ]] || kill -9 $$")
    machine.run("--reboot")
    died = machine.boot()
    assert died is not None and died.code == -9 and not machine.armed
    (tmp_path / "calm").touch()
    assert machine.run("--resume").code == 0 and machine.kept == []


def test_what_the_run_was_told_is_kept_and_passwords_are_for_root_alone(tmp_path: Path) -> None:
    machine = Booting(tmp_path)
    files = tmp_path / "my files; $(touch oops)"
    files.mkdir()
    proxy = "http://me:pass'word@proxy.example:3128"
    machine.run("--reboot", "--offline", str(files), "--progress", "json", https_proxy=proxy, PIP_CERT="/a b")
    (text,) = tmp_path.glob("state/*/continue.sh")
    assert text.stat().st_mode & 0o777 == 0o600
    told = text.read_text().replace("exec bash", 'printf \'%s\\n\' "$https_proxy" "$PIP_CERT" "$HOME"', 1)
    said = subprocess.run(["bash", "-c", told], env={}, capture_output=True, text=True, check=True).stdout.splitlines()
    assert said[:3] == [proxy, "/a b", str(tmp_path)]
    assert said[4:] == ["--resume", "--offline", str(files), "--progress", "json"]
    assert not [*tmp_path.rglob("oops")]
    for file in (machine.unit, *tmp_path.glob("log/*"), *tmp_path.glob("state/*/journal")):
        assert "word" not in file.read_text()


def test_a_key_that_somebody_has_to_enroll_comes_before_the_reboot(tmp_path: Path) -> None:
    machine = Booting(tmp_path, ASKS_SOMEBODY)
    done = machine.run("--reboot")
    assert done.code == 8 and done.result["status"] == "reboot-by-hand", done
    assert machine.reboots == 0 and machine.kept == []


def test_a_script_that_was_changed_meanwhile_is_not_started_after_the_boot(tmp_path: Path) -> None:
    machine = Booting(tmp_path, f'echo "# more" >>"$HERE/install.sh"; {ASKS_ONCE}')
    done = machine.run("--reboot")
    assert done.code == 8 and "was changed while it was running" in done.err, done
    assert machine.reboots == 0 and machine.kept == []


@pytest.mark.parametrize("mode", [(), ("--dry-run",)])
def test_what_it_needs_is_said_before_anything_changes(tmp_path: Path, mode: tuple[str, ...]) -> None:
    machine = Booting(tmp_path)
    piped = machine.run("-s", "--", "--reboot", *mode, text=machine.script.read_text())
    assert piped.code == 2 and "needs this script as a file" in piped.err, piped
    odd = machine.run("--reboot", *mode, ENVKIT_STATE_DIR=f"{tmp_path}/my state")
    assert odd.code == 2 and "ENVKIT_STATE_DIR" in odd.err, odd
    (tmp_path / "root/run/systemd/system").rmdir()
    without = machine.run("--reboot", *mode)
    assert without.code == 3 and "systemd" in without.err, without
    assert not (tmp_path / "state").exists() and not (tmp_path / "systemctl").exists()


def test_systemd_reads_the_unit(tmp_path: Path) -> None:
    require("systemd-analyze")
    machine = Booting(tmp_path)
    machine.run("--reboot")
    done = subprocess.run(["systemd-analyze", "verify", str(machine.unit)], capture_output=True, text=True)
    assert machine.unit.name not in done.stderr, done.stderr
    assert "After=network-online.target" in machine.unit.read_text()
    place = tmp_path / "etc/systemd/system" / machine.unit.name
    place.parent.mkdir(parents=True)
    place.write_text(machine.unit.read_text())
    subprocess.run(["systemctl", f"--root={tmp_path}", "enable", place.name], capture_output=True, check=True)
    assert (place.parent / "multi-user.target.wants" / place.name).is_symlink()


def test_a_script_without_a_driver_has_no_such_option() -> None:
    assert "--reboot" not in scripted(plan("12.4"), ScriptOptions(), Mirrors())
