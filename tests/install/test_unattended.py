"""`envkit install --format`: each file holds the whole script, is what its tool reads, and runs as it says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from envkit.base.errors import EnvkitError, RequestError
from envkit.base.settings import Mirrors
from envkit.install.model import Installation
from envkit.install.options import ScriptOptions
from envkit.install.plan import for_script
from envkit.install.steps import installation
from envkit.install.unattended import check_unattended
from envkit.render.installs import formats, formatted
from envkit.render.script import render_script
from envkit.render.yaml_text import literal
from tests.ansible import ansible
from tests.cli.run import envkit
from tests.install.plans import plan
from tests.install.unattended import READERS, cloud_config, play, playing, post_section, provisioners
from tests.programs import require

__all__ = ["ansible"]

FORMS = [form for form in formats() if form != "script"]
ODD = ScriptOptions(toolkit_path="/opt/my cuda %end @mode@ é 中文", env_dir="/opt/a=b,c@file@%x~", symlink=False)
HERE = ("--cuda", "12.4", "--os", "rockylinux9", "--target", "any")


def made(form: str, os_id: str = "rockylinux9", driver: bool = False, options: ScriptOptions | None = None) -> str:
    """The file of this format."""
    work, script = work_and_script(os_id, driver, options)
    return formatted(work, script, form, "FILE").text


def work_and_script(os_id: str, driver: bool, options: ScriptOptions | None) -> tuple[Installation, str]:
    """What is done, and the script that does it."""
    found = plan("12.4", "pytorch", os_id=os_id, gpus=("8.6",), with_driver=driver)
    options = options or ScriptOptions(with_driver=driver)
    work = installation(for_script(found), options, Mirrors())
    return work, render_script(work, options)


def test_each_format_is_read_here() -> None:
    assert set(READERS) == set(formats()) and formats()[0] == "script"


@pytest.mark.parametrize("form", READERS)
@pytest.mark.parametrize("options", [ScriptOptions(with_driver=True), ODD], ids=["driver", "odd names"])
def test_each_file_holds_the_script_to_the_byte(form: str, options: ScriptOptions) -> None:
    work, script = work_and_script("rockylinux9", options.with_driver, options)
    text = formatted(work, script, form, None).text
    assert READERS[form](text) == script
    assert formatted(work, script, form, None).text == text


def test_user_data_lay_the_script_where_only_root_comes_and_run_it_once() -> None:
    for driver in (True, False):
        found = cloud_config(made("cloud-init", driver=driver))
        (file,) = found["write_files"]
        assert file["path"].startswith("/root/envkit/") and file["permissions"] == "0700"
        assert file["owner"] == "root:root"
        private, run = found["runcmd"]
        assert private == ["chmod", "0700", "/root/envkit"]
        assert run == ["bash", file["path"], *(["--reboot"] if driver else [])]
        assert ("--reboot) REBOOT=1" in file["content"]) is driver


@pytest.mark.network
@pytest.mark.thorough
def test_cloud_init_accepts_the_user_data(tmp_path: Path) -> None:
    folder = unpacked("cloud-init", tmp_path)
    (file,) = folder.rglob("schema-cloud-config-v1.json")
    schema = json.loads(file.read_text())
    check = jsonschema.Draft4Validator(schema)
    check.validate(cloud_config(made("cloud-init", driver=True)))
    wrong = cloud_config(made("cloud-init", driver=True))
    wrong["write_files"][0]["permissions"] = 700
    assert not check.is_valid(wrong)


@pytest.mark.network
@pytest.mark.thorough
@pytest.mark.parametrize("driver", [True, False])
def test_packer_accepts_the_template(tmp_path: Path, driver: bool) -> None:
    program = shutil.which("packer") or str(unpacked("packer", tmp_path / "deb") / "usr/bin/packer")
    file = tmp_path / "gpu.pkr.json"
    text = made("packer", driver=driver)
    for broken, code in ((text, 0), (text.replace('"inline"', '"inlin"'), 1)):
        file.write_text(broken)
        variables = {**os.environ, "CHECKPOINT_DISABLE": "1", "PACKER_CONFIG_DIR": str(tmp_path), "HOME": str(tmp_path)}
        done = subprocess.run([program, "validate", str(file)], env=variables, capture_output=True, text=True)
        assert done.returncode == code, done


def unpacked(package: str, folder: Path) -> Path:
    """The files of a package of the distribution, which is not installed."""
    folder.mkdir(exist_ok=True)
    subprocess.run(["apt-get", "download", "-qq", package], cwd=folder, check=True, capture_output=True)
    (file,) = folder.glob("*.deb")
    subprocess.run(["dpkg-deb", "-x", str(file), str(folder / "files")], check=True)
    return folder / "files"


@pytest.mark.parametrize(("code", "boots"), [(0, 0), (8, 1), (5, 0)])
def test_an_image_is_built_with_one_reboot_where_one_is_asked_for(tmp_path: Path, code: int, boots: int) -> None:
    first, second = provisioners(made("packer", driver=True))
    assert first["expect_disconnect"] and "expect_disconnect" not in second
    done = provisioned(first, tmp_path, f"echo run >>{tmp_path}/runs; exit {code}")
    assert done.returncode == (0 if code == 8 else code), done
    told = tmp_path / "told"
    assert (told.read_text().split("\n").count("systemctl reboot") if told.exists() else 0) == boots
    assert provisioned(second, tmp_path, "").returncode == code
    assert (tmp_path / "runs").read_text() == "run\nrun\n"
    (file,) = (tmp_path / "scripts").iterdir()
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o700, 0o700)
    (alone,) = provisioners(made("packer"))
    assert "expect_disconnect" not in alone and not any("reboot" in line for line in alone["inline"])


def provisioned(shell: dict[str, Any], folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """The provisioner's commands on this machine: another script and directory; it neither reboots nor waits."""
    lines = [line for line in shell["inline"] if "sudo" not in line]
    for number, line in enumerate(lines):
        if line.startswith("base64"):
            lines[number] = line.split("<<")[0].replace("base64 -d", "cat") + f"<<'END'\n{script}\nEND"
    text = "\n".join(lines).replace("/root/envkit", str(folder / "scripts"))
    stubs = f'systemctl() {{ echo "systemctl $*" >>{folder}/told; }}; sleep() {{ :; }}\n'
    return subprocess.run(["sh", "-ec", stubs + text], capture_output=True, text=True)


def test_a_kickstart_file_leaves_the_script_and_a_unit_for_the_first_boot(tmp_path: Path) -> None:
    work, script = work_and_script("rockylinux9", True, None)
    section = post_section(formatted(work, script, "kickstart", None).text)
    for place in ("/root/envkit", "/etc/systemd/system"):
        (tmp_path / place.strip("/")).parent.mkdir(parents=True, exist_ok=True)
        section = section.replace(f">{place}", f">{tmp_path}{place}").replace(f" {place}", f" {tmp_path}{place}")
    (tmp_path / "etc/systemd/system").mkdir()
    stub = f'systemctl() {{ echo "$*" >>{tmp_path}/told; }}\n'
    done = subprocess.run(["bash"], input=stub + section, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "", done
    (file,) = (tmp_path / "root/envkit").iterdir()
    assert file.read_text() == script
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o700, 0o700)
    (unit,) = (tmp_path / "etc/systemd/system").iterdir()
    assert (tmp_path / "told").read_text() == f"enable {unit.name}\n"
    lines = unit.read_text().splitlines()
    before, start = (line for line in lines if line.startswith("ExecStart"))
    assert before == f"ExecStartPre=/usr/bin/systemctl --no-reload disable {unit.name}"
    assert start.replace(str(tmp_path), "") == f"ExecStart=/bin/bash /root/envkit/{file.name} --reboot"
    assert "After=network-online.target" in lines
    require("systemd-analyze")
    verified = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True)
    assert unit.name not in verified.stderr, verified.stderr


def test_a_kickstart_file_is_for_systems_that_are_installed_with_one() -> None:
    with pytest.raises(RequestError, match="ubuntu22.04 does not install from kickstart files"):
        made("kickstart", "ubuntu22.04")


STAND_IN = """\
#!/usr/bin/env bash
# {{ nothing }} {% is %} {# filled in #} here: ${#array[@]}
HERE=@here@
echo "$*" >>"$HERE/calls"
echo "words for people" >&2
IFS='|' read -r code status step <"$HERE/says"
printf '{"status": "%s",\\n "steps": [{"id": "toolkit", "state": "%s"}, ' "$status" "$step"
echo '{"id": "verify", "state": "done"}]}'
[[ $* != --resume ]] || exit 0
exit "$code"
"""


@pytest.mark.network
@pytest.mark.thorough
def test_a_playbook_reports_what_the_script_does(tmp_path: Path, ansible: str) -> None:
    """Changed, then unchanged, then failed; and one reboot, after which the script continues."""
    file = tmp_path / "playbook.yml"
    text = made("ansible", driver=True)
    file.write_text(text)
    assert played(ansible, file, "--syntax-check").returncode == 0
    file.write_text(playing(text, tmp_path, STAND_IN.replace("@here@", str(tmp_path))))
    runs = []
    for code, status, step in (
        (0, "ok", "done"), (0, "ok", "unchanged"), (8, "reboot-needed", "reboot"), (8, "reboot-by-hand", "reboot"),
        (9, "failed", "unchanged"), (0, "ok", "left"),
    ):  # fmt: skip
        (tmp_path / "says").write_text(f"{code}|{status}|{step}\n")
        (tmp_path / "calls").unlink(missing_ok=True)
        done = played(ansible, file)
        recap = dict(word.split("=") for word in done.stdout.rpartition("localhost")[2].split() if "=" in word)
        runs.append((int(recap["changed"]), int(recap["failed"]), (tmp_path / "calls").read_text().splitlines()))
        if code == 8 and status == "reboot-needed":
            assert (tmp_path / "rebooted").exists()
            (tmp_path / "rebooted").unlink()
    # the first run also makes the directory and copies the script
    assert runs == [(3, 0, [""]), (0, 0, [""]), (2, 0, ["", "--resume"]), (0, 1, [""]), (0, 1, [""]), (0, 0, [""])]
    assert not (tmp_path / "rebooted").exists()
    (script,) = (tmp_path / "scripts").iterdir()
    assert "${#array[@]}" in script.read_text() and "{{ nothing }}" in script.read_text()
    assert (script.stat().st_mode & 0o777, script.parent.stat().st_mode & 0o777) == (0o700, 0o700)
    assert played(ansible, file, "--check").returncode == 0


def played(folder: str, file: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A run of ansible-playbook on this machine alone."""
    variables = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(file.parent), "LC_ALL": "C.UTF-8"}
    python = f"ansible_python_interpreter={sys.executable}"
    command = ["ansible-playbook", "-i", "localhost,", "-e", python, str(file), *words]
    return subprocess.run(command, env=variables, capture_output=True, text=True, cwd=file.parent)


def test_a_playbook_reboots_only_where_a_driver_may_ask_for_it() -> None:
    for driver in (True, False):
        tasks = [task["name"] for task in play(made("ansible", driver=driver))["tasks"]]
        assert ("Reboot" in tasks, "Continue after the reboot" in tasks) == (driver, driver)


@pytest.mark.parametrize("form", FORMS)
def test_a_question_that_nobody_would_answer_is_refused(form: str) -> None:
    asking = ScriptOptions(accept_eula=False)
    done = envkit("install", *HERE, "--format", form, "--no-accept-eula")
    assert done.returncode == 2 and done.stdout == "" and "--no-accept-eula" in done.stderr, done
    check_unattended(work_and_script("rockylinux9", False, None)[0], ScriptOptions(), form)
    with pytest.raises(RequestError, match="nobody can answer"):
        check_unattended(installation(for_script(plan("12.4")), asking, Mirrors()), asking, form)


def test_the_license_is_named_where_it_is_accepted() -> None:
    for form in FORMS:
        head = formatted(*work_and_script("rockylinux9", True, None), form, None).text.split("%post")[0][:2000]
        assert "docs.nvidia.com/cuda/eula" in head and "accepts NVIDIA's EULA" in head, form


@pytest.mark.parametrize("option", ["--json", "--run", "--bundle"])
def test_what_writes_no_such_file_is_refused_next_to_a_format(option: str, tmp_path: Path) -> None:
    target = HERE[:4] if option == "--run" else HERE
    words = (option, str(tmp_path / "there")) if option == "--bundle" else (option,)
    done = envkit("install", *target, "--format", "ansible", *words)
    assert done.returncode == 2 and done.stdout == "" and not [*tmp_path.iterdir()], done
    assert f"{option} cannot be combined with --format ansible" in done.stderr


def test_a_file_is_written_and_said_what_for(tmp_path: Path) -> None:
    file = tmp_path / "user data.yaml"
    done = envkit("install", *HERE, "--format", "cloud-init", "-o", str(file))
    assert done.returncode == 0 and done.stdout == "", done
    assert " kB after gzip -9" in done.stderr and f"Wrote {file}." in done.stderr
    assert not file.stat().st_mode & 0o111
    cloud_config(file.read_text())


@pytest.mark.parametrize("text", ["", "no end", "two ends\n\n", " blank\n", "esc \x1b\n", "mark\u2028\n", "nel\x85\n"])
def test_a_text_that_a_literal_block_would_change_is_refused(text: str) -> None:
    with pytest.raises(EnvkitError):
        literal(text, 2)
