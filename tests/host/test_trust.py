"""Who could have put a program where it is: honest places pass, those that others can change do not."""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from envkit.base.errors import EnvkitError
from envkit.host import trust
from envkit.host.ansible import ansible_playbook
from envkit.host.docker_build import client as docker_client
from envkit.host.programs import Programs, library_folders
from envkit.host.repairs import Work, carry_out
from envkit.host.run_script import run_script
from envkit.model import Problem

ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give files away")
SOMEBODY, NOBODY = 4321, 4322


@pytest.fixture
def tool(tmp_path: Path) -> Path:
    """A tool in a folder of its own, and both closed to others."""
    folder = tmp_path / "tools"
    folder.mkdir(mode=0o755)
    path = folder / "nvcc"
    path.write_text("#!/bin/sh\necho release 12.4, V12.4.131\n")
    path.chmod(0o755)
    return path


def _started(path: Path, *, on_path: bool = True) -> bool:
    variables = {"PATH": f"{path.parent if on_path else '/usr/bin'}:/bin"}
    return Programs(variables).startable(str(path)).known


def test_the_systems_own_programs_are_started() -> None:
    programs = Programs({"PATH": "/usr/bin:/bin"})
    assert programs.startable("cat").known
    assert programs.trusted_folders


def test_a_callers_own_tool_is_started_from_path_alone(tool: Path) -> None:
    """A toolkit in a home folder, conda's, a module's: on PATH by the user's will. Elsewhere it may be a stranger's."""
    assert _started(tool)
    assert not _started(tool, on_path=False)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda tool: tool.chmod(0o757),
        lambda tool: tool.parent.chmod(0o757),
        lambda tool: tool.parent.parent.chmod(0o707),
        lambda tool: tool.rename(tool.with_name("helper")),
    ],
    ids=["file-writable", "folder-writable", "folder-above-writable", "gone"],
)
def test_what_others_can_change_is_not_started(tool: Path, spoil: Callable[[Path], object]) -> None:
    spoil(tool)
    assert not _started(tool)


def test_a_folder_with_the_sticky_bit_protects_what_is_in_it(tool: Path) -> None:
    tool.parent.parent.chmod(0o1777)
    assert _started(tool)


def test_only_tools_on_the_list_are_started(tool: Path) -> None:
    for name in ("python3", "ptxas", "sh", "nvcc.bak", "pip", "sudo"):
        other = tool.with_name(name)
        tool.rename(other)
        answer = Programs({"PATH": str(tool.parent)}).startable(str(other))
        assert (answer.problem, "among the programs" in answer.detail) == (Problem.DENIED, True), name
        other.rename(tool)


@ROOT
@pytest.mark.parametrize("what", ["file", "folder", "link"])
def test_root_starts_nothing_that_a_user_owns(tool: Path, what: str) -> None:
    real = tool.with_name("real")
    if what == "link":
        tool.rename(real)
        tool.symlink_to(real)
    os.chown(tool.parent if what == "folder" else tool, SOMEBODY, SOMEBODY, follow_symlinks=False)
    assert not _started(tool)
    assert library_folders({"LD_LIBRARY_PATH": str(tool.parent)}) == (() if what == "folder" else (str(tool.parent),))


@ROOT
@pytest.mark.parametrize(
    ("owner", "group", "mode", "accepted"),
    [
        (0, "staff", 0o2775, True),  # Debian's /usr/local
        (0, "root", 0o775, True),
        (0, "users", 0o775, False),
        (SOMEBODY, "root", 0o755, True),
        (SOMEBODY, "users", 0o775, False),
        (NOBODY, "root", 0o755, False),
    ],
)
def test_a_user_accepts_what_is_roots_or_his(
    tool: Path, owner: int, group: str, mode: int, accepted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trust, "_accepted", lambda: frozenset({0, SOMEBODY}))
    os.chown(tool.parent, owner, grp.getgrnam(group).gr_gid)
    tool.parent.chmod(mode)
    assert _started(tool) is accepted


@ROOT
def test_a_users_own_group_is_nobody_else(tool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many systems make a group for each user, and let it write."""
    entry = grp.struct_group(("somebody", "x", SOMEBODY, []))
    monkeypatch.setattr(trust, "_accepted", lambda: frozenset({0, SOMEBODY}))
    monkeypatch.setattr(trust, "_name", lambda number: "somebody" if number == SOMEBODY else pwd.getpwuid(number)[0])
    trust._closed_group.cache_clear()
    monkeypatch.setattr(grp, "getgrgid", lambda number: entry)
    os.chown(tool.parent, SOMEBODY, SOMEBODY)
    tool.parent.chmod(0o775)
    assert _started(tool)
    entry = grp.struct_group(("somebody", "x", SOMEBODY, ["somebody", "friend"]))
    trust._closed_group.cache_clear()
    assert not _started(tool)
    trust._closed_group.cache_clear()


def test_path_and_loader_path_of_children_name_no_working_folder(tool: Path) -> None:
    variables = {
        "PATH": f":.:bin:{tool.parent}/../tools:/usr/bin:",
        "LD_LIBRARY_PATH": f":lib:{tool.parent};/opt/x:",
        "HF_TOKEN": "hf_secret",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "LD_PRELOAD": "/tmp/x.so",
        "CUDA_INJECTION64_PATH": "/tmp/x.so",
        "CUDA_VISIBLE_DEVICES": "1",
        "HOME": "/root",
    }
    kept = Programs(variables).child_variables
    assert kept["PATH"] == f"{tool.parent}:/usr/bin"
    assert kept["LD_LIBRARY_PATH"].split(":")[0] == str(tool.parent)
    assert {"", "lib"}.isdisjoint(kept["LD_LIBRARY_PATH"].split(":"))
    assert set(kept) == {"PATH", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "HOME", "LC_ALL"}


def test_a_program_of_the_working_folder_is_not_found(tool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tool.parent)
    programs = Programs({"PATH": ":.:./"})
    assert programs.which("nvcc").problem is Problem.ABSENT
    assert programs.startable("./nvcc").problem is Problem.DENIED
    assert programs.startable("nvcc").problem is Problem.ABSENT


class _Fakes:
    """A folder with programs that leave a mark."""

    def __init__(self, folder: Path) -> None:
        self.mark = folder / "mark"
        self.place = folder / "fakes"
        self.place.mkdir(mode=0o755)
        for name in ("ansible-playbook", "bash", "cat", "docker", "helper", "uv"):
            path = self.place / name
            path.write_text(f"#!/bin/sh\necho {name} >> {self.mark}\n")
            path.chmod(0o755)

    def run_all(self) -> None:
        """What the commands that change something do with the programs that they start."""
        run_script("helper || true\n", [], lambda line: None, sudo=False)
        with contextlib.suppress(EnvkitError):
            carry_out(Work(("cat", "/dev/null")))
        for find in (docker_client, ansible_playbook):
            with contextlib.suppress(EnvkitError):
                subprocess.run([find(), "--version"], check=False, capture_output=True)


@pytest.mark.parametrize("entry", [".", "", "fakes/..//fakes"])
def test_no_command_starts_a_program_of_the_working_folder(
    entry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fakes = _Fakes(tmp_path)
    monkeypatch.chdir(tmp_path if "/" in entry else fakes.place)
    monkeypatch.setenv("PATH", f"{entry}:{os.defpath}")
    fakes.run_all()
    assert not fakes.mark.exists(), fakes.mark.read_text()


@ROOT
@pytest.mark.parametrize("what", ["folder", "file"])
def test_no_command_starts_a_users_program_as_root(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fakes = _Fakes(tmp_path)
    for path in [fakes.place] if what == "folder" else fakes.place.iterdir():
        os.chown(path, SOMEBODY, SOMEBODY)
    monkeypatch.setenv("PATH", f"{fakes.place}:/usr/bin:/bin")
    if what == "file":  # one of root's folders, which stays on PATH
        (fakes.place / "helper").unlink()
    fakes.run_all()
    assert not fakes.mark.exists(), fakes.mark.read_text()


def test_one_that_others_can_change_is_named_where_there_is_no_other(tool: Path) -> None:
    assert Programs({"PATH": str(tool.parent)}).asked_for("nvcc") == str(tool)
    assert Programs({"PATH": str(tool.parent)}).asked_for("no-such-program") is None
    tool.chmod(0o757)
    with pytest.raises(EnvkitError, match="nvcc was not started: .*writable by others"):
        Programs({"PATH": str(tool.parent)}).asked_for("nvcc")
