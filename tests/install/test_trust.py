"""What a script takes from elsewhere and from its options: verified, never started to be checked, never run unasked."""

from __future__ import annotations

import shlex
import subprocess
from itertools import chain
from pathlib import Path

import pytest

from envkit.base.errors import RequestError
from envkit.base.settings import Mirrors
from envkit.install.model import InstallFramework
from envkit.install.options import ScriptOptions, check_options
from envkit.install.plan import for_script
from envkit.install.steps import installation
from tests.cli.run import envkit
from tests.install.plans import plan, scripted
from tests.install.shell import call, dry_run

pytestmark = pytest.mark.usefixtures("home")

_PLAN = ("--cuda", "12.4.1", "--os", "debian12", "--target", "any")
_BARE = ("--cuda", "11.0.1", "--os", "ubuntu18.04", "--target", "any")  # a release candidate without a checksum
HOSTILE = [
    f"/opt/a{sign}b"
    for sign in (
        *"\n\r\t\0\x1b\x7f\u202e\u2028\u200b'\"`$&|;<>()[]{}*?!#\\:^",
        *("$(touch /x)", "`touch /x`", "\ntouch /x\n", "'; touch /x; '", '"; touch /x; "', "${IFS}", "&& x", "\u0000x"),
    )
]
TRIED = [
    *HOSTILE[::5],
    *(pytest.param(path, marks=pytest.mark.thorough) for path in HOSTILE if path not in HOSTILE[::5]),
]


@pytest.mark.parametrize("path", TRIED, ids=ascii)
def test_a_path_with_signs_of_a_shell_is_refused_in_one_line(path: str) -> None:
    with pytest.raises(RequestError) as raised:
        check_options(ScriptOptions(toolkit_path=path))
    for options in (ScriptOptions(env_dir=path), ScriptOptions(modules=path)):
        with pytest.raises(RequestError):
            check_options(options)
    assert len(str(raised.value).splitlines()) == 1 and str(raised.value).isprintable()


@pytest.mark.parametrize("path", TRIED, ids=ascii)
def test_so_is_such_a_driver_file(path: str) -> None:
    with pytest.raises(RequestError):
        check_options(ScriptOptions(with_driver=True, driver_runfile=path))


@pytest.mark.parametrize("path", ["/opt/cuda 12", "/data/~user/cuda@12+x", "/opt/größe/中文", "/opt/a=b,c%d"])
def test_other_paths_stay_whole_in_a_shell(path: str, tmp_path: Path) -> None:
    check_options(ScriptOptions(toolkit_path=path, env_dir=path))
    script = scripted(plan("12.4.1"), ScriptOptions(toolkit_path=path), Mirrors())
    assert call(script, 'printf "%s" "$TOOLKIT_DIR"', tmp_path).stdout == path
    settings = call(script, 'profile_text "$TOOLKIT_DIR"', tmp_path).stdout
    there = subprocess.run(["sh", "-c", f'{settings}\necho "$CUDA_HOME"'], capture_output=True, text=True, check=True)
    assert there.stdout == f"{path}\n"
    assert f". {shlex.quote(path + '/envkit.sh')}" in call(script, "finish", tmp_path).stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--mirror", "developer.download.nvidia.com=http://mirror.lan"), "over plain HTTP"),
        (("--index-url", "http://mirror.lan/simple"), "over plain HTTP"),
        (("--with-driver", "--gpu", "8.6", "--driver-runfile", "http://a.lan/d.run"), "over plain HTTP"),
        (("--index-url", "https://bob:hunter2@mirror.lan/simple"), "~/.netrc"),
        (("--mirror", "developer.download.nvidia.com=https://bob:hunter2@mirror.lan"), "~/.netrc"),
    ],
)
def test_plain_http_and_passwords_are_refused(options: tuple[str, ...], words: str, tmp_path: Path) -> None:
    done = envkit("install", *_PLAN, *options, "-o", str(tmp_path / "install.sh"))
    assert done.returncode in (1, 2) and words in done.stderr and "hunter2" not in done.stderr, done.stderr
    assert not (tmp_path / "install.sh").exists()


def test_plain_http_can_be_allowed_for_files_with_a_checksum() -> None:
    mirror = ("--allow-http", "--mirror", "developer.download.nvidia.com=http://mirror.lan")
    assert "http://mirror.lan/compute" in envkit("install", *_PLAN, *mirror).stdout
    done = envkit("install", *_BARE, *mirror, "--accept-unverified")
    assert done.returncode != 0 and "its checksum is unknown" in done.stderr and done.stdout == ""


@pytest.mark.parametrize(
    ("framework", "mirrors", "hosts"),
    [
        ("tensorflow", Mirrors(index_url="http://a.lan:80/simple"), {"a.lan"}),
        ("tensorflow", Mirrors(index_url="https://a.lan/simple"), set()),
        (
            "pytorch",
            Mirrors({"download.pytorch.org": "http://b.lan"}, index_url="http://a.lan/simple"),
            {"a.lan", "b.lan"},
        ),
    ],
)
def test_pip_takes_packages_over_plain_http_where_that_was_allowed(
    framework: str, mirrors: Mirrors, hosts: set[str]
) -> None:
    steps = installation(for_script(plan(cuda="11.8", framework=framework)), ScriptOptions(), mirrors).steps
    frameworks = [step for step in steps if isinstance(step, InstallFramework)]
    words = [*chain.from_iterable((*step.source, *step.pip_source) for step in frameworks)]
    assert {words[at + 1] for at, word in enumerate(words) if word == "--trusted-host"} == hosts


def test_a_mirror_that_serves_nothing_is_reported() -> None:
    mirrors = ("--mirror", "nope.example=https://m.lan", "--mirror", "apt=https://m.lan")
    good = ("--mirror", "developer.download.nvidia.com=https://m.lan")
    said = envkit("install", *_PLAN, *mirrors, *good).stderr
    assert "--mirror nope.example: nothing in this plan" in said and "--mirror apt: a script does not change" in said
    assert "developer.download.nvidia.com" in said and "--mirror developer" not in said


def test_an_index_that_lacks_the_build_is_reported() -> None:
    index = Mirrors(index_url="https://m.lan/simple")
    work = installation(for_script(plan(cuda="11.8", framework="pytorch")), ScriptOptions(), index)
    (note,) = (note for note in work.notes if "--index-url" in note)
    assert "--mirror download.pytorch.org=URL" in note
    both = Mirrors({"download.pytorch.org": "https://m.lan/torch"}, index_url="https://m.lan/simple")
    named = installation(for_script(plan(cuda="11.8", framework="pytorch")), ScriptOptions(), both)
    assert not any("--index-url" in note for note in named.notes)


@pytest.mark.thorough
def test_the_usual_plans_can_be_verified_to_the_last_file() -> None:
    done = envkit("install", *_PLAN)
    assert "so 9." in done.stderr and "#     no published checksum" not in done.stdout


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("baked", "words", "code"), [((), (), 6), (("--accept-unverified",), (), 0), ((), ("--accept-unverified",), 0)]
)
def test_a_file_without_a_checksum_stops_the_script_before_it_fetches(
    baked: tuple[str, ...], words: tuple[str, ...], code: int, tmp_path: Path
) -> None:
    text = envkit("install", *_BARE, *baked, "--toolkit-path", str(tmp_path / "cuda")).stdout
    done = dry_run(text, *words)
    assert done.returncode == code, done.stderr
    assert ("Pass --accept-unverified" in done.stderr) is (code != 0) and ("] Fetch" in done.stderr) is (code == 0)


def test_a_bundle_holds_nothing_that_was_not_verified(tmp_path: Path) -> None:
    done = envkit("install", *_BARE, "--bundle", str(tmp_path / "bundle"))
    assert done.returncode == 1 and "no published checksum" in done.stderr and not (tmp_path / "bundle").exists()


def test_no_file_is_started_to_check_itself(tmp_path: Path) -> None:
    script = scripted(plan("11.0.1", os_id="ubuntu18.04"), ScriptOptions(accept_unverified=True), Mirrors())
    (tmp_path / "evil.run").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    (tmp_path / "page.run").write_text("<html>not found</html>\n")
    body = f"for name in evil page; do checksum_is_right {tmp_path}/$name.run none '' && echo $name; done; true"
    assert call(script, body, tmp_path).stdout == "evil\n"
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(("option", "words"), [("--accept-eula", "accepted, per"), ("--no-accept-eula", "asked")])
def test_plan_and_header_say_what_becomes_of_the_eula(option: str, words: str) -> None:
    done = envkit("install", *_PLAN, option)
    assert f"  EULA         {words}" in done.stdout
    assert ("accepts NVIDIA's EULA" in done.stderr) is (option == "--accept-eula")
    for_windows = envkit("install", "--cuda", "13.0", "--os", "windows", "--target", "any", option)
    assert f"  EULA         {words}" in for_windows.stdout
    assert ("accepts NVIDIA's EULA" in for_windows.stderr) is (option == "--accept-eula")
    assert "Accept NVIDIA's EULA" in envkit("install", "--help").stdout
