"""Free space as df tells it, and where it says nothing, as in a bare chroot."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from envkit.base.settings import Mirrors
from envkit.install.options import ScriptOptions
from tests.install.plans import plan, scripted
from tests.install.shell import call

SCRIPT = scripted(plan("12.4.1"), ScriptOptions(), Mirrors())
HEAD = "Filesystem 1024-blocks Used Available Capacity Mounted on"


@pytest.mark.parametrize(
    ("df", "code", "said"),
    [
        (f"printf '%s\\n' '{HEAD}' '//nas/my share 100 40 60 40% /srv/my data'", 4, "0.0 GiB free"),
        (f"printf '%s\\n' '{HEAD}' '/dev/sda1 99999999999 0 99999999999 0% /'", 0, ""),
        ("echo 'df: cannot read table of mounted file systems' >&2; return 1", 0, ""),
        (f"echo '{HEAD}'", 0, ""),
    ],
)
def test_space_is_judged_where_it_is_known(df: str, code: int, said: str, tmp_path: Path) -> None:
    body = f"df() {{ {df}; }}\nSPACE_CHECK=1; OFFLINE_DIR=; CURRENT_STEP=; MODE=install; check_space; free_bytes /"
    done = call(SCRIPT, body, tmp_path)
    assert done.returncode == code and said in done.stderr, done
    assert "line " not in done.stderr and (code or done.stdout.strip().isdigit()), done


@pytest.mark.parametrize(
    ("cuda", "framework", "environment"), [("9.0", "pytorch", 4_000_000_000), ("12.4", "pytorch", 8_000_000_000)]
)
def test_an_old_framework_asks_for_no_more_than_it_takes(cuda: str, framework: str, environment: int) -> None:
    """Its wheel holds libraries for few GPUs, and conda's work directory only Python's own packages."""
    text = scripted(
        plan(cuda, framework, os_id="ubuntu16.04" if cuda == "9.0" else "debian12"), ScriptOptions(), Mirrors()
    )
    needs = dict(re.findall(r'^  "python\|([$A-Z_]+)\|(\d+)"$', text, re.M))
    assert int(needs.pop("$ENV_DIR")) == environment
    assert needs == ({"WORK": "1000000000"} if cuda == "9.0" else {})
