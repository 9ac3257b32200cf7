"""What belongs to others stays: files, packages and links that the script has not made, whenever it is stopped."""

from __future__ import annotations

from pathlib import Path

import pytest

from envkit.install.options import ScriptOptions
from tests.engine.engine import Engine
from tests.install.conftest import Job
from tests.install.machine import FUNCTIONS, machine
from tests.install.standins import SLOW

pytestmark = pytest.mark.docker

# Made by others after a kill; the names of the last four are such as NVIDIA's installers make too.
_OTHERS = (
    "/usr/local/go/bin/go",
    "/usr/local/cuda-99.0/bin/nvcc",
    "/usr/local/bin/backup.sh",
    "/var/log/syslog.1",
    "/tmp/tmux-1000/default",
    "/etc/profile.d/company.sh",
    "/etc/ld.so.conf.d/cuda-99-0.conf",
    "/usr/local/bin/cuda-helper",
    "/usr/share/applications/nsight-other.desktop",
    "/tmp/cuda_install_4711.log",
)
_MAKE_OTHERS = "; ".join(f"mkdir -p {Path(path).parent}; echo /usr/local/cuda-99.0/ >{path}" for path in _OTHERS)

# Builds a package source out of lines `name depends conflicts` and makes it the only one.
_PACKAGES = """\
mkdir -p /repo; cd /repo; : >Packages
while IFS='|' read -r name depends conflicts; do
  rm -rf /deb; mkdir -p /deb/DEBIAN; chmod 0755 /deb/DEBIAN
  printf 'Package: %s\\nVersion: 1\\nArchitecture: all\\nMaintainer: test\\nDescription: test\\n' "$name" \
    >/deb/DEBIAN/control
  [ -z "$depends" ] || echo "Depends: $depends" >>/deb/DEBIAN/control
  [ -z "$conflicts" ] || echo "Conflicts: $conflicts" >>/deb/DEBIAN/control
  dpkg-deb -b /deb "$name.deb" >/dev/null
  { dpkg-deb -f "$name.deb"; printf 'Filename: ./%s.deb\\nSize: %s\\nSHA256: %s\\n\\n' "$name" \
    "$(stat -c %s "$name.deb")" "$(sha256sum <"$name.deb" | cut -d' ' -f1)"; } >>Packages
done <<'LIST'
tool|ground, part|rival
part||
ground||
rival||
mine||
user|part|
LIST
rm -f /etc/apt/sources.list /etc/apt/sources.list.d/*
echo 'deb [trusted=yes] file:/repo ./' >/etc/apt/sources.list; apt-get update >/dev/null
"""


@pytest.mark.parametrize("options", [("--rollback",), ("--resume", "--rollback")])
def test_what_others_make_after_a_kill_stays(
    engine: Engine, target_image: str, styled: Job, options: tuple[str, ...], tmp_path: Path
) -> None:
    with machine(engine, target_image, tmp_path) as target:
        target.put(styled.script())
        target.kill_in_the_installer()
        journal = target.sh("cat /var/lib/envkit/*/journal")
        assert "\ttoolkit\tstarted" in journal and "\ttoolkit\tdone" not in journal
        target.sh(_MAKE_OTHERS)
        for option in options:
            done = target.install(option)
            assert done.exit_code == 0, done.stderr
            assert target.sh(f"ls {' '.join(_OTHERS)} | wc -l") == f"{len(_OTHERS)}\n"
        assert "gone" in target.sh("ls -d /usr/local/cuda-[1-9]*.[0-9] | grep -v 99 || echo gone")
        assert target.sh("ls /tmp/cuda_install_*.log") == "/tmp/cuda_install_4711.log\n"  # the killed one's is gone


def test_what_others_make_while_it_runs_stays(engine: Engine, target_image: str, styled: Job, tmp_path: Path) -> None:
    others = "/usr/local/bin/backup.sh /var/log/syslog.1 /tmp/session /usr/local/go"
    with machine(engine, target_image, tmp_path) as target:
        target.put(styled.script())
        target.sh(f"touch {SLOW}")
        assert target.disturb_at("] CUDA ", f"touch {others}", 0.8).exit_code == 0
        assert target.install("--rollback").exit_code == 0
        target.sh(f"ls {others}")


def test_a_file_that_was_changed_since_the_installer_made_it_stays(
    engine: Engine, target_image: str, styled: Job, tmp_path: Path
) -> None:
    with machine(engine, target_image, tmp_path) as target:
        target.put(styled.script(ScriptOptions(toolkit_path="/opt/cuda")))
        legacy = styled.plan.choice.toolkit is not None and styled.plan.choice.toolkit.installer_style == "legacy"
        made = "/usr/share/applications/nsight.desktop" if legacy else "/var/log/cuda-installer.log"
        assert target.install().exit_code == 0
        target.sh(f"echo of another toolkit >>{made}")
        done = target.install("--rollback")
        assert done.exit_code == 0
        assert f"{made} stays: it has changed" in done.stderr
        assert "of another toolkit" in target.sh(f"cat {made}")


def test_packages_of_others_stay_and_those_that_others_need(
    engine: Engine, target_image: str, new: Job, tmp_path: Path
) -> None:
    with machine(engine, target_image, tmp_path, network=False) as target:
        target.put(new.script())
        target.sh(_PACKAGES + "apt-get install -y rival >/dev/null")
        said = target.sh(FUNCTIONS + "install_packages tool 2>&1")
        assert "removed these packages: rival" in said
        target.sh("apt-get install -y mine user >/dev/null")  # weeks later, by the administrator
        said = target.sh(FUNCTIONS + "undo_changes 2>&1")
        assert "packages stay, because others need them by now: part" in said
        assert "not brought back: rival" in said
        here = target.sh("dpkg-query -W -f '${db:Status-Abbrev} ${Package}\\n' | sed -n 's/^ii *//p'").split()
        assert {"mine", "user", "part", "gcc"} <= set(here)
        assert not {"tool", "ground"} & set(here)


def test_after_a_kill_only_the_wanted_packages_go(engine: Engine, target_image: str, new: Job, tmp_path: Path) -> None:
    with machine(engine, target_image, tmp_path, network=False) as target:
        target.put(new.script())
        target.sh(_PACKAGES)
        target.sh(FUNCTIONS + "refresh_packages() { kill -9 $BASHPID; }; install_packages gcc tool", check=False)
        target.sh("apt-get install -y tool mine >/dev/null")
        target.sh(FUNCTIONS + "undo_changes")
        here = target.sh("dpkg-query -W -f '${db:Status-Abbrev} ${Package}\\n' | sed -n 's/^ii *//p'").split()
        assert {"mine", "ground", "part", "gcc"} <= set(here)
        assert "tool" not in here


def test_the_toolkit_may_be_usr_local_cuda_itself(engine: Engine, target_image: str, new: Job, tmp_path: Path) -> None:
    with machine(engine, target_image, tmp_path) as target:
        before = target.tree()
        target.put(new.script(ScriptOptions(toolkit_path="/usr/local/cuda")))
        done = target.install()
        assert done.exit_code == 0, done.stderr
        assert "release 12.4" in target.sh("/usr/local/cuda/bin/nvcc --version")
        assert target.install().changed_nothing
        assert target.install("--rollback").exit_code == 0
        assert target.tree() == before


def test_a_real_folder_usr_local_cuda_is_neither_copied_nor_touched(
    engine: Engine, target_image: str, styled: Job, tmp_path: Path
) -> None:
    with machine(engine, target_image, tmp_path) as target:
        target.sh("mkdir -p /usr/local/cuda/bin; echo precious >/usr/local/cuda/data")
        inode = target.sh("stat -c %i /usr/local/cuda /usr/local/cuda/data")
        target.put(styled.script())
        done = target.install()
        assert done.exit_code == 0, done.stderr
        assert target.sh("find /var/lib/envkit -name data") == ""
        assert target.install("--rollback").exit_code == 0
        assert target.sh("stat -c %i /usr/local/cuda /usr/local/cuda/data") == inode


def test_a_link_that_was_turned_elsewhere_since_stays(
    engine: Engine, target_image: str, new: Job, tmp_path: Path
) -> None:
    with machine(engine, target_image, tmp_path) as target:
        target.put(new.script())
        assert target.install().exit_code == 0
        target.sh("mkdir /usr/local/cuda-99.0; ln -sfn /usr/local/cuda-99.0 /usr/local/cuda")
        assert target.install("--rollback").exit_code == 0
        assert target.sh("readlink /usr/local/cuda") == "/usr/local/cuda-99.0\n"


def test_a_link_that_leads_nowhere_is_replaced_and_comes_back(
    engine: Engine, target_image: str, styled: Job, tmp_path: Path
) -> None:
    with machine(engine, target_image, tmp_path) as target:
        target.sh("ln -s /usr/local/cuda-1.0 /usr/local/cuda")
        before = target.tree()
        target.put(styled.script())
        done = target.install()
        assert done.exit_code == 0, done.stderr
        assert done.verdicts["link"] == "ok"
        assert target.install().states["link"] == "unchanged"
        assert target.install("--rollback").exit_code == 0
        assert target.tree() == before


def test_red_hats_alternatives_get_the_toolkit_once(
    engine: Engine, target_image: str, new: Job, tmp_path: Path
) -> None:
    wrapper = (
        "#!/bin/sh\n[ \"$1 $#\" != '--list 2' ] || { echo 'alternatives version 1.24' >&2; exit 2; }\n"
        'exec /usr/bin/update-alternatives.debian "$@"\n'
    )
    with machine(engine, target_image, tmp_path) as target:
        (tmp_path / "wrapper").write_text(wrapper)
        target.sh(
            "mv /usr/bin/update-alternatives /usr/bin/update-alternatives.debian;"
            "cp /job/wrapper /usr/bin/update-alternatives; chmod +x /usr/bin/update-alternatives;"
            "mkdir /usr/local/cuda-13.0; update-alternatives --install /usr/local/cuda cuda /usr/local/cuda-13.0 130"
        )
        target.put(new.script())
        done = target.install()
        assert done.exit_code == 0, done.stderr
        assert done.states["link"] == "done"
        assert target.install().states["link"] == "unchanged"


def test_the_loader_still_knows_a_toolkit_that_came_later(
    engine: Engine, target_image: str, legacy: Job, new: Job, tmp_path: Path
) -> None:
    with machine(engine, target_image, tmp_path) as target:
        target.put(legacy.script(), "old.sh")
        target.put(new.script(), "new.sh")
        assert target.install(name="old.sh").exit_code == 0
        assert target.install(name="new.sh").exit_code == 0
        assert target.install("--rollback", name="old.sh").exit_code == 0
        known = target.sh("ldconfig -p")
        assert "cuda-12.4/lib64/libcudart" in known and "cuda-9.0" not in known
        assert target.install("--rollback", name="new.sh").exit_code == 0
        assert target.sh("ls -d /usr/local/cuda* || true") == ""  # not a link to the one that is gone
