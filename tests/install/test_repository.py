"""NVIDIA's own package repository: added by a package whose checksum is known, its key checked, and taken back."""

from __future__ import annotations

import subprocess
import textwrap
from pathlib import Path

import pytest

from envkit._startup.records import replace
from envkit.base.settings import Mirrors
from envkit.install.model import AddRepository, FetchFile, InstallDriver
from envkit.install.options import ScriptOptions
from envkit.install.steps import installation
from envkit.render.script import render_script
from envkit.tables.installer import RepositoryRow
from envkit.tables.loader import read
from tests.cli.run import envkit
from tests.engine.engine import Engine
from tests.engine.tools import need
from tests.install.drivers import machine as made_up
from tests.install.machine import Machine, machine
from tests.install.plans import mirrors_to, plan
from tests.install.server import Behavior
from tests.install.shell import call
from tests.install.standins import described

OPTIONS = ScriptOptions(with_driver=True, nvidia_repository=True)
WORDS = ("install", "--with-driver", "--no-toolkit", "--gpu", "8.6", "--target", "any", "--nvidia-repository", "--os")
ROOT = {"ENVKIT_SYSROOT": "/fake"}


def script(mirrors: Mirrors | None = None, file: Path | None = None, os_id: str = "debian12") -> str:
    """The script for the driver alone; `file` stands in for the package that adds the repository."""
    found = plan("12.4.1", os_id=os_id, gpus=("8.6",), with_driver=True)
    found = replace(found, choice=replace(found.choice, needs_toolkit=False, cudnn=None))
    work = installation(found, OPTIONS, mirrors or Mirrors())
    if file is not None:
        [step] = [step for step in work.steps if isinstance(step, AddRepository)]
        download = replace(step.file, checksum=described(file).sha256)
        steps = {
            step: replace(step, file=download),
            FetchFile(step.file, "repository"): FetchFile(download, "repository"),
        }
        work = replace(work, steps=tuple(steps.get(one, one) for one in work.steps))
    return render_script(work, OPTIONS)


def test_its_package_is_fetched_with_a_checksum_and_its_names_come_first() -> None:
    text = script()
    [row] = [row for row in read(RepositoryRow) if row.os_id == "debian12"]
    assert f"sha256 {row.sha256}" in text and text.index(" repository '") < text.index(" nouveau '")
    for os_id in ("ubuntu24.04", "debian12"):
        found = plan("12.4.1", os_id=os_id, gpus=("6.1",), with_driver=True)
        [driver] = [step for step in installation(found, OPTIONS, Mirrors()).steps if isinstance(step, InstallDriver)]
        names = [package.names[0] for package in driver.packages]
        own = [name for name in names if name.startswith(row.first)]
        assert own and names[: len(own)] == own and len(own) < len(names), names


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("debian12", "--driver-runfile", "/d.run"), "another source of the driver"),
        (("rockylinux9",), "is not available for"),
        (("ubuntu24.04", "--arch", "aarch64"), "is not available for"),
        (("debian12", "--bundle", "/nowhere/bundle"), "it does not include packages"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(words: tuple[str, ...], said: str) -> None:
    done = envkit(*WORDS, *words)
    assert done.returncode in (1, 2) and done.stdout == "", done
    assert said in done.stderr.splitlines()[-1] and not Path("/nowhere").exists()


def test_without_a_driver_it_is_wrong_usage() -> None:
    done = envkit("install", "--cuda", "12.4", "--os", "debian12", "--target", "any", "--nvidia-repository")
    assert done.returncode == 2 and "needs --with-driver" in done.stderr


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("runfile_driver() { return 0; }", "came from a runfile"),
        ("OFFLINE_DIR=/media", "--offline allows no network"),
    ],
)
def test_what_the_machine_rules_out_is_told_before_anything_is_changed(state: str, words: str, tmp_path: Path) -> None:
    made_up(tmp_path)
    done = call(script(), f"{state}\ncheck_for_driver", tmp_path)
    assert done.returncode == 11 and words in done.stderr, done


def test_where_it_is_known_and_not_asked_for_it_is_named(tmp_path: Path) -> None:
    made_up(tmp_path)
    text = envkit(
        "install", "--with-driver", "--no-toolkit", "--gpu", "8.6", "--os", "debian12", "--target", "any"
    ).stdout
    body = "os_value() { echo debian; }\ncheck_for_driver"
    assert "which a script created with --nvidia-repository adds" in call(text, body, tmp_path).stderr


# The package that adds the repository, the repository with one driver, and the key that signs it.
_REPOSITORY = """
export GNUPGHOME=$PWD/keys; mkdir -m 700 keys
gpg --batch --quiet --passphrase '' --quick-gen-key stand-in rsa2048 sign never
package() { chmod -R go-w "$1"; chmod 755 "$1/DEBIAN"; dpkg-deb --root-owner-group -b "$1" "$2" >/dev/null; }
mkdir -p keyring/DEBIAN keyring/usr/share/keyrings keyring/etc/apt/sources.list.d driver/DEBIAN
gpg --batch --export >keyring/usr/share/keyrings/cuda-archive-keyring.gpg
echo "deb [signed-by=/usr/share/keyrings/cuda-archive-keyring.gpg] FOLDER/ ./" \
  >keyring/etc/apt/sources.list.d/cuda-debian12-x86_64.list
echo /etc/apt/sources.list.d/cuda-debian12-x86_64.list >keyring/DEBIAN/conffiles
fields() { printf '%s\\n' "Package: $1" "Version: $2" "Architecture: all" "Maintainer: -" "Description: -"; }
fields cuda-keyring 1.1-1 >keyring/DEBIAN/control
fields nvidia-open 580.65.06-1 >driver/DEBIAN/control
printf '#!/bin/sh\\nmkdir -p /fake/sys/module/nvidia; echo 580.65.06 >/fake/sys/module/nvidia/version\\n' \
  >driver/DEBIAN/postinst
chmod 755 driver/DEBIAN/postinst
package keyring KEYRING; package driver nvidia-open.deb
{ fields nvidia-open 580.65.06-1; printf 'Filename: ./nvidia-open.deb\\nSize: %s\\nSHA256: %s\\n' \
  "$(stat -c %s nvidia-open.deb)" "$(sha256sum <nvidia-open.deb | cut -d' ' -f1)"; } >Packages
printf 'Suite: stand-in\\nSHA256:\\n %s %s Packages\\n' \
  "$(sha256sum <Packages | cut -d' ' -f1)" "$(stat -c %s Packages)" >Release
gpg --batch --quiet --clearsign -o InRelease Release
"""


@pytest.fixture(scope="module")
def repository(server: tuple[str, Behavior]) -> Path:
    """The package that adds a repository on the loopback server; both are signed or verified as NVIDIA's are."""
    need("gpg")
    folder = server[1].folder
    [row] = [row for row in read(RepositoryRow) if row.os_id == "debian12"]
    where, _, name = row.url.rpartition("/")
    text = _REPOSITORY.replace("FOLDER", where).replace("KEYRING", name)
    subprocess.run(["bash", "-ec", textwrap.dedent(text)], check=True, cwd=folder, capture_output=True)
    return folder / name


def _prepared(target: Machine, text: str) -> None:
    target.put(text)
    target.sh(
        "mkdir -p /fake/sys/bus/pci/devices/0000:01:00.0; cd /fake/sys/bus/pci/devices/0000:01:00.0;"
        "echo 0x10de >vendor; echo 0x030000 >class; mkdir -p /lib/modules/$(uname -r)/build/include;"
        "rm -f /etc/apt/sources.list; rm -f /etc/apt/sources.list.d/*; rm -rf /var/lib/apt/lists/*"
    )


@pytest.mark.docker
def test_the_driver_comes_from_it_and_all_of_it_is_taken_back(
    engine: Engine, target_image: str, server: tuple[str, Behavior], repository: Path, tmp_path: Path
) -> None:
    with machine(engine, target_image, tmp_path) as target:
        _prepared(target, script(mirrors_to(server[0]), repository))
        before = target.sh("dpkg-query -W; ls /etc/apt/sources.list.d /usr/share/keyrings")
        dry = target.install("--dry-run", environment=ROOT)
        assert dry.exit_code == 0 and dry.states["repository"] == "would-be-done", dry.stderr
        done = target.install("--no-space-check", environment=ROOT)
        assert done.exit_code == 0 and "from the package sources: nvidia-open" in done.stderr, done.stderr
        assert "nvidia-open" in target.sh("dpkg-query -W") and server[0] in target.sh("cat /etc/apt/sources.list.d/*")
        assert target.install("--no-space-check", environment=ROOT).changed_nothing
        assert target.install("--rollback", environment=ROOT).exit_code == 0
        assert target.sh("dpkg-query -W; ls /etc/apt/sources.list.d /usr/share/keyrings") == before


@pytest.mark.docker
@pytest.mark.parametrize(
    ("spoiled", "code", "words"),
    [("InRelease", 3, "NVIDIA's repository cannot be used"), ("KEYRING", 6, "wrong sha256 checksum")],
)
def test_what_is_not_signed_or_not_the_known_package_is_not_used(
    engine: Engine,
    target_image: str,
    server: tuple[str, Behavior],
    repository: Path,
    tmp_path: Path,
    spoiled: str,
    code: int,
    words: str,
) -> None:
    text = script(mirrors_to(server[0]), repository)
    file = repository if spoiled == "KEYRING" else repository.parent / spoiled
    good = file.read_bytes()
    try:
        file.write_bytes(good.replace(b"stand-in", b"stolen!!", 1) if code == 3 else good + b"more")
        with machine(engine, target_image, tmp_path) as target:
            _prepared(target, text)
            done = target.install("--no-space-check", environment=ROOT)
            assert done.exit_code == code and words in done.stderr, done.stderr
            assert "nvidia-open" not in target.sh("dpkg-query -W")
            assert target.install("--rollback", environment=ROOT).exit_code == 0
            assert "cuda-keyring" not in target.sh("dpkg-query -W")
    finally:
        file.write_bytes(good)
