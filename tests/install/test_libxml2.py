"""An installer that is linked against a libxml2 which newer systems no longer have: no step is stuck there."""

from __future__ import annotations

from pathlib import Path

import pytest

from envkit.base.settings import Mirrors
from envkit.install.options import ScriptOptions
from tests.install.plans import plan, scripted
from tests.install.shell import call

OLD = "\tlibxml2.so.2 (libc6,x86-64) => /lib/x86_64-linux-gnu/libxml2.so.2"
NEW = (
    "\tlibxml2.so.16 (libc6) => /lib/i386-linux-gnu/libxml2.so.16\n\tlibxml2.so.16 (libc6,x86-64) => /lib/libxml2.so.16"
)
OTHER = "\tlibxmlb.so.2 (libc6,x86-64) => /lib/x86_64-linux-gnu/libxmlb.so.2"


def script(os_id: str = "ubuntu26.04", cuda: str = "13.4") -> str:
    return scripted(plan(cuda, os_id=os_id), ScriptOptions(), Mirrors())


@pytest.mark.parametrize(
    ("known", "lent"), [(OLD, ""), (NEW, "/lib/libxml2.so.16"), (f"{OLD}\n{NEW}", ""), (OTHER, "")]
)
def test_a_newer_library_is_lent_to_the_installer_alone(tmp_path: Path, known: str, lent: str) -> None:
    installer = 'printf "%s " "$LD_LIBRARY_PATH"; readlink "${LD_LIBRARY_PATH%%:*}/libxml2.so.2"'
    (tmp_path / "installer.run").write_text(f"#!/bin/sh\n{installer} || true\n")
    body = f"""
    ldconfig() {{ cat <<'KNOWN'
{known}
KNOWN
    }}
    WORK_DIR={tmp_path}/work; mkdir $WORK_DIR
    run_installer {tmp_path}/installer.run --silent
    echo "${{LD_LIBRARY_PATH:-unset}}"
    """
    done = call(script(), "unset LD_LIBRARY_PATH\n" + body, tmp_path)
    assert done.stdout == "unset\n", done
    told = (tmp_path / "work/installer-output").read_text().split()
    assert told == [f"{tmp_path}/work/libraries", *([lent] if lent else [])]
    assert ("only the installer gets" in done.stderr) is bool(lent)


@pytest.mark.parametrize(("known", "missing"), [(OLD, False), (NEW, False), (OTHER, True)])
def test_either_name_of_the_library_will_do(tmp_path: Path, known: str, missing: bool) -> None:
    body = f"ldconfig() {{ printf '%s\\n' '{known}'; }}\nmissing_packages"
    assert ("libxml2-16" in call(script(), body, tmp_path).stdout.split()) is missing


def test_each_release_asks_for_the_package_by_its_own_name() -> None:
    assert '"libxml2-16"' in script() and '"libxml2-16"' not in script("ubuntu24.04")
    assert '"libxml2"' in script("ubuntu24.04")
