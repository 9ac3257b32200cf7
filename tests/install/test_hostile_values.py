"""Values with shell syntax in every option, variable and setting: refused in a line, or inert in script and settings.

Each value would leave a file behind were any part of it run: by envkit, by the script, or by the shell settings that
the script writes.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from click import ClickException
from click.testing import CliRunner

from envkit.base.errors import EnvkitError
from envkit.cli.main import envkit
from tests.install.shell import call

SIGNS = (
    "$(touch {0})", "`touch {0}`", "; touch {0};", "\ntouch {0}\n", "'; touch {0}; '", '"; touch {0}; "', "| touch {0}",
    "&& touch {0}", "$(touch${{IFS}}{0})", "\r\ntouch {0}\r\n",
    "{{{{ cycler.__init__.__globals__.os.system('touch {0}') }}}}",
)  # fmt: skip
PLAN = ("--os", "debian12", "--target", "any")
# Where each value is, as part of what the option, the variable, or the setting holds in earnest.
OPTIONS = {
    "--toolkit-path": "/opt/cuda{}",
    "--env": "/opt/env{}",
    "--modules": "/opt/modules{}",
    "--driver-runfile": "/opt/NVIDIA-Linux-x86_64-595.45.04{}.run",
    "--index-url": "https://index.example/{}/simple",
    "--mirror": "developer.download.nvidia.com=https://mirror.example/{}",
    "--framework": "pytorch{}",
    "--cuda": "12.4{}",
    "--components": "nvcc{}",
    "--cudnn": "9{}",
    "--python": "3.11{}",
    "--gpu": "8.6{}",
    "--driver": "550.54.15{}",
}
# What the script reads from the shell around it.
VARIABLES = (
    "PIP_INDEX_URL", "PIP_FIND_LINKS", "TMPDIR", "ENVKIT_STATE_DIR", "ENVKIT_LOG_DIR", "ENVKIT_SYSROOT",
    "LD_LIBRARY_PATH",
)  # fmt: skip
SETTINGS = {
    "index-url": '[mirrors]\nindex-url = "https://index.example/{}"\n',
    "mirror": '[mirrors.hosts]\n"developer.download.nvidia.com" = "https://mirror.example/{}"\n',
    "host": '[mirrors.hosts]\n"developer.download.nvidia.com{}" = "https://mirror.example/"\n',
    "apt": '[mirrors]\napt = "https://mirror.example/{}"\n',
}

TRIALS = [
    *((kind, name, sign) for kind, names in (("option", OPTIONS), ("variable", VARIABLES), ("setting", SETTINGS))
      for name in names for sign in range(len(SIGNS))),
]  # fmt: skip
SAMPLE = TRIALS[:: len(SIGNS) + 2]
MARKED = [trial if trial in SAMPLE else pytest.param(trial, marks=pytest.mark.thorough) for trial in TRIALS]


def test_there_are_two_hundred_of_them() -> None:
    assert len(set(TRIALS)) >= 200


@pytest.mark.parametrize("trial", MARKED, ids=str)
def test_no_value_is_run(trial: tuple[str, str, int], tmp_path: Path) -> None:
    kind, name, sign = trial
    canary = tmp_path / "canary"
    value = SIGNS[sign].format(canary)
    words, variables = ["install", *PLAN], {"HOME": str(tmp_path), "ENVKIT_CONFIG": str(tmp_path / "envkit.toml")}
    variables |= {"ENVKIT_STATE_DIR": str(tmp_path / "state"), "ENVKIT_LOG_DIR": str(tmp_path / "log")}
    (tmp_path / "envkit.toml").touch()
    words += [] if name == "--cuda" else ["--cuda", "12.4.1"]
    words += ["--with-driver", "--gpu", "8.6"] if name == "--driver-runfile" else []
    if kind == "option":
        words += [name, OPTIONS[name].format(value)]
    elif kind == "setting":
        (tmp_path / "envkit.toml").write_text(SETTINGS[name].format(json.dumps(value)[1:-1]))
    made = CliRunner().invoke(envkit, words, env=variables, standalone_mode=False)
    assert made.exception is None or isinstance(made.exception, (EnvkitError, ClickException)), made.exception
    assert not canary.exists()
    if kind == "variable":
        variables[name] = f"{tmp_path}/{value}"
    if made.exit_code or made.exception is not None:
        said = made.stderr + str(made.exception or "")
        assert "Traceback" not in said and not made.stdout
    else:
        _started(made.stdout, {**os.environ, **variables}, tmp_path)
        _settings_read(made.stdout, tmp_path)
    assert not canary.exists()
    assert kind != "variable" or made.exit_code == 0, made.stderr


def _started(script: str, variables: dict[str, str], folder: Path) -> None:
    """The script in every mode that changes nothing."""
    file = folder / "install.sh"
    file.write_text(script)
    for mode in ("--help", "--dry-run", "--verify-only", "--rollback"):
        subprocess.run(
            ["bash", str(file), mode, *([] if mode == "--help" else ["--any-os"])],
            env={**variables, "PATH": os.environ["PATH"]},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=60,
            cwd=folder,
        )


def _settings_read(script: str, folder: Path) -> None:
    """What a shell and the module command would read of this plan."""
    if "profile_text()" in script:
        settings = call(script, 'profile_text "$TOOLKIT_DIR"', folder).stdout
        subprocess.run(["sh", "-c", settings], capture_output=True, check=False, cwd=folder)
