"""Free space as df tells it, and where it says nothing, as in a bare chroot."""

from __future__ import annotations

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
