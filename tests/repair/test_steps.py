"""Which commands envkit would run: those whose every word it knows. The rest is for the user, with the reason."""

from __future__ import annotations

import subprocess

import pytest
from click.testing import CliRunner

from envkit.checks.engine.command import Command, fixed
from envkit.cli.main import envkit
from envkit.repair.profile import changed_profiles
from envkit.repair.steps import Kind, step_of
from envkit.tables.findings import RemedyStep
from envkit.tables.loader import read
from tests.fakes.machines import MACHINES

RUNS = {
    "/home/user/venv/bin/python -m pip install torch==2.6.0 --index-url https://example.org/cu124": Kind.PACKAGES,
    "python -m pip uninstall -y torch": Kind.PACKAGES,
    "python -m pip install 'numpy<2'": Kind.PACKAGES,
    "sudo ln -sfn /usr/local/cuda-12.4 /usr/local/cuda": Kind.LINK,
    "sudo ldconfig": Kind.LOADER,
    "sudo nvidia-ctk runtime configure --runtime=docker": Kind.FILE,
    "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml": Kind.FILE,
    "sudo systemctl enable --now nvidia-persistenced": Kind.SERVICE,
    "sudo systemctl restart docker": Kind.SERVICE,
    "unset LD_LIBRARY_PATH": Kind.VARIABLE,
    "export CUDA_DEVICE_ORDER=PCI_BUS_ID": Kind.VARIABLE,
    "nvidia-smi -L": Kind.LOOK,
    "nvidia-ctk cdi list": Kind.LOOK,
    "python -m pip list": Kind.LOOK,
}
NEVER = (
    "sudo reboot",
    "sudo apt-get install -y nvidia-driver-550",
    "sudo modprobe nvidia",
    "sudo nvidia-smi --gpu-reset -i 0",
    "sudo rm -rf /",
    "mv /home/user/torch.py /home/user/torch_mine.py",
    "python -m pip install --target /etc torch",
    "python -m pip install --config-settings=x=y torch",
    "python -m pip install …",
    "python -m pip install PACKAGE",
    "python -c 'import os'",
    "sudo ln -sfn ../x /usr/local/cuda",
    "sudo ln -s /etc/shadow /usr/local/cuda",
    "sudo nvidia-ctk cdi generate --output=/etc/passwd",
    "sudo nvidia-ctk runtime configure --runtime=docker --config=/etc/passwd",
    "sudo systemctl stop sshd",
    "sudo systemctl enable --now ../x",
    "export ld_library_path=/x",
    "conda remove -y pytorch",
    "sudo nvidia-uninstall",
    "sudo tee /etc/passwd",
)


@pytest.mark.parametrize("line", RUNS)
def test_a_known_command_is_its_kind(line: str) -> None:
    step = step_of(fixed(line))
    assert (step.kind, step.line, step.root) == (RUNS[line], fixed(line).line, line.startswith("sudo "))
    assert step.runs == (step.kind is not Kind.LOOK) and "sudo" not in step.words


@pytest.mark.parametrize("line", NEVER)
def test_any_other_command_is_for_the_person(line: str) -> None:
    step = step_of(fixed(line))
    assert step.kind is Kind.BY_HAND and step.reason and not step.runs


@pytest.mark.parametrize(
    "line",
    [
        "sudo ldconfig; reboot",
        "sudo ldconfig && reboot",
        "sudo ldconfig `reboot`",
        "sudo systemctl restart $(reboot)",
        "echo /x | sudo tee /etc/passwd",
        "echo /x | sudo tee /etc/ld.so.conf.d/../passwd.conf",
        "echo x | sudo tee /etc/ld.so.conf.d/x.conf",
        "echo /x; reboot | sudo tee /etc/ld.so.conf.d/x.conf",
        "sudo ldconfig > /etc/passwd",
    ],
)
def test_no_line_of_shell_is_run_but_a_plain_one(line: str) -> None:
    assert step_of(Command(shell=line)).kind is Kind.BY_HAND


def test_a_line_for_the_loader_is_written() -> None:
    step = step_of(Command(shell="echo /opt/lib | sudo tee /etc/ld.so.conf.d/opt.conf"))
    assert (step.kind, step.words, step.text, step.root) == (
        Kind.FILE,
        ("tee", "/etc/ld.so.conf.d/opt.conf"),
        "/opt/lib\n",
        True,
    )


def test_of_the_remedies_in_the_tables_only_services_and_packages_are_run() -> None:
    runs = {row.command for row in read(RemedyStep) if step_of(Command(shell=row.command.replace("{", ""))).runs}
    known = ("systemctl", "export", "-m pip", "ldconfig", "unset", "nvidia-ctk cdi generate")
    assert all(any(word in line for word in known) for line in runs), runs


@pytest.mark.parametrize(
    ("line", "gone"),
    [
        ("export LD_LIBRARY_PATH=/opt/lib:$LD_LIBRARY_PATH\n", True),
        ("  LD_LIBRARY_PATH=/opt/lib # old\n", True),
        ('export LD_LIBRARY_PATH="/a b"\n', True),
        ("export LD_LIBRARY_PATH", False),
        ("export LD_LIBRARY_PATH_64=/x\n", False),
        ("LD_LIBRARY_PATH=/x program\n", False),
        ("export LD_LIBRARY_PATH=/x;source more\n", False),
        ("export LD_LIBRARY_PATH=/x&&source more\n", False),
        ("export LD_LIBRARY_PATH=$(cat more)\n", False),
        ("if [ -d /x ]; then export LD_LIBRARY_PATH=/x; fi\n", False),
        ("export LD_LIBRARY_PATH=/x; source more\n", False),
        ("export LD_LIBRARY_PATH=/x && source more\n", False),
        ("export LD_LIBRARY_PATH=/x \\\n", False),
        ("export LD_LIBRARY_PATH='/x\n", False),
    ],
)
def test_a_line_that_only_sets_the_variable_becomes_a_comment_and_bash_agrees(line: str, gone: bool) -> None:
    changed = changed_profiles({"/p": f"A=1\n{line}"}, ["LD_LIBRARY_PATH"], "/p")
    assert bool(changed) is gone
    if gone:
        told = subprocess.run(["bash", "-c", changed["/p"] + "echo $A$LD_LIBRARY_PATH"], capture_output=True, text=True)
        assert told.stdout == "1\n" and not told.stderr


def test_a_variable_is_set_in_the_shells_own_profile() -> None:
    changed = changed_profiles({"/p": "CUDA_HOME=/old"}, ["CUDA_HOME=/a b"], "/q")
    assert changed == {"/p": "# envkit: CUDA_HOME=/old", "/q": "export CUDA_HOME='/a b'  # envkit:\n"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--yes",), "--yes requires --fix"),
        (("--dry-run",), "--dry-run requires --fix"),
        (("--undo",), "--undo requires --fix"),
        (("--fix", "--from", str(MACHINES)), "cannot be combined with --from"),
        (("--fix", "--root", "/"), "cannot be combined with --root"),
        (("--fix", "--json"), "cannot be combined with --json"),
        (("--fix", "-o", "x"), "cannot be combined with --output"),
        (("--fix", "--assume", "gpus=1"), "cannot be combined with --assume"),
        (("--fix", "--dry-run", "--yes"), "cannot be used together"),
    ],
)
def test_options_that_make_no_sense_together_are_refused(words: tuple[str, ...], said: str) -> None:
    error = CliRunner().invoke(envkit, ["doctor", *words], standalone_mode=False).exception
    assert said in str(error) and getattr(error, "exit_code", 0) == 2
