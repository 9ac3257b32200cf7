"""What a dry run and the first lines of a script refuse, before anything is changed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from envkit.base.settings import Mirrors
from envkit.install.options import ScriptOptions
from tests.cli.run import envkit
from tests.install.plans import plan, scripted
from tests.install.shell import call

SCRIPT = scripted(plan("12.4.1"), ScriptOptions(), Mirrors())
_DRY = """
check_machine() {{ :; }}; find_package_manager() {{ echo apt; }}; refuse_beforehand() {{ :; }}
run_all_steps() {{ echo "plans the steps"; }}
missing_packages() {{ {missing}; }}
free_bytes() {{ echo {free}; }}
main --dry-run {options}
"""


@pytest.mark.parametrize(
    ("missing", "free", "options", "code"),
    [
        (":", 10**12, "", 0),
        (":", 3 * 10**9, "", 4),
        (":", 3 * 10**9, "--no-space-check", 0),
        ("echo gcc", 10**12, "", 0),
        ("echo gcc", 10**12, "--offline /tmp", 3),
        ("echo gcc", 10**12, "--offline /tmp --system-packages", 0),
    ],
)
def test_a_dry_run_refuses_what_a_run_would_refuse(
    missing: str, free: int, options: str, code: int, tmp_path: Path
) -> None:
    body = f"SPACE_CHECK=1\n{_DRY.format(missing=missing, free=free, options=options)}"
    done = call(SCRIPT, body, tmp_path)
    assert done.returncode == code and ("plans the steps" in done.stdout) is (code == 0), done
    assert code != 3 or "these packages are missing and --offline allows no network: gcc" in done.stderr


def test_places_without_space_are_named_once(tmp_path: Path) -> None:
    done = call(
        SCRIPT, "SPACE_CHECK=1; free_bytes() { echo 3000000000; }\nTMPDIR=/tmp find_work_dir 5900000000", tmp_path
    )
    assert done.returncode == 4 and done.stderr.count(" /tmp has ") == 1, done


@pytest.mark.parametrize("shell", [("sh",), ("bash", "--posix")])
def test_started_with_sh_it_goes_on_in_bash(shell: tuple[str, ...], tmp_path: Path) -> None:
    script = tmp_path / "install.sh"
    script.write_text(SCRIPT)
    done = subprocess.run([*shell, str(script), "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "Run without options to install" in done.stdout and not done.stderr, done


def test_piped_into_another_shell_it_says_what_to_do() -> None:
    done = subprocess.run(["sh"], input=SCRIPT, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stderr.splitlines() == [
        "envkit: this script needs bash: run bash install.sh, or pipe it into bash."
    ]


def test_user_data_that_clouds_refuse_is_told() -> None:
    done = envkit(
        "install", "--framework", "pytorch", "--os", "ubuntu22.04", "--target", "any", "--format", "cloud-init"
    )
    assert (
        done.returncode == 0
        and "Amazon EC2 accepts at most 16 kB" in done.stderr
        and done.stdout.startswith("#cloud-config")
    )
    other = envkit("install", "--framework", "pytorch", "--os", "ubuntu22.04", "--target", "any", "--format", "ansible")
    assert "EC2" not in other.stderr


def test_a_bundle_replaces_no_script_of_somebody_else(tmp_path: Path) -> None:
    (tmp_path / "install.sh").write_text("echo mine\n")
    done = envkit("install", "--cuda", "12.4", "--os", "debian12", "--target", "any", "--bundle", str(tmp_path))
    assert done.returncode == 1 and "is not part of a bundle" in done.stderr
    assert (tmp_path / "install.sh").read_text() == "echo mine\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--cuda", "12.4", "--os", "mint22"), "ubuntu24.04 for Linux Mint 22"),
        (("--framework", "pytorch", "--no-toolkit", "--toolkit-path", "/opt/x"), "--no-toolkit installs no toolkit"),
        (("--cuda", "12.4", "--toolkit-path", "/x"), "a system directory or directly below one"),
        (("--framework", "tensorflow==2.15", "--os", "windows"), "envkit install --framework tensorflow==2.15"),
    ],
)
def test_refusals_say_what_to_do(words: tuple[str, ...], told: str) -> None:
    done = envkit("install", *words, "--target", "any", *(() if "--os" in words else ("--os", "debian12")))
    assert done.returncode in (1, 2) and told in " ".join(done.stderr.split()), done.stderr
