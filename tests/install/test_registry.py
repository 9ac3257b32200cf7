"""The registry of a machine, and the commands that rest on it: `installed`, `use`, `uninstall`."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest

import envkit as package
from envkit.base.errors import EnvkitError, RequestError
from envkit.cli.boundary import exit_code
from envkit.install.options import ScriptOptions
from envkit.install.registry import InstalledPlan, installed_plans, named, newest_first, script_of, toolkit_user
from envkit.render.installed_text import installed_text, removal_text
from tests.engine.engine import Engine
from tests.install.conftest import Job
from tests.install.machine import PACKAGES, Machine, image, machine


@contextmanager
def with_envkit(engine: Engine, image: str, folder: Path) -> Iterator[Machine]:
    """A machine with the command envkit, run from this checkout."""
    places = [str(Path(found).parents[1]) for found in (package.__file__, click.__file__) if found]
    volumes = [word for place in places for word in ("--volume", f"{place}:{place}:ro")]
    variables = ["--env", f"PYTHONPATH={os.pathsep.join(places)}", "--env", "PYTHONDONTWRITEBYTECODE=1"]
    with machine(engine, image, folder, *volumes, *variables) as target:
        yield target


@pytest.mark.docker
def test_what_is_installed_is_listed_used_and_removed(
    engine: Engine, target_image: str, legacy: Job, new: Job, tmp_path: Path
) -> None:
    with with_envkit(engine, target_image, tmp_path) as target:

        def envkit(words: str) -> str:
            return target.sh(f"python3 -m envkit {words} 2>&1")

        def release() -> str:
            return target.sh("bash -lc 'nvcc --version' | sed -n 's/.*release \\([0-9.]*\\),.*/\\1/p'").strip()

        before = target.tree()
        assert "not installed anything" in envkit("installed")
        for name, job in {"new.sh": new, "old.sh": legacy}.items():
            target.put(job.script(), name)
            assert target.install(name=name).exit_code == 0
        first, second = json.loads(envkit("installed --json"))["plans"]
        assert (first["state"], second["state"], release()) == ("complete", "complete", "12.4")
        assert [use["what"] for use in second["uses"] if use["kind"] == "toolkit"] == ["/usr/local/cuda-9.0"]
        assert (
            "envkit use would point it at /usr/local/cuda-9.0." in envkit("use 9.0 --dry-run") and release() == "12.4"
        )
        for wanted in ("9.0", "12.4", "9.0", "9.0"):
            told = json.loads(target.sh(f"python3 -m envkit use {wanted} --json"))
            assert told["after"] == f"/usr/local/cuda-{wanted}" and release() == wanted
        assert "Pass --yes" in envkit("uninstall cuda-12.4 </dev/null 2>&1 || true") and release() == "9.0"
        assert "Undone: the machine's files and links are as before." in envkit("uninstall cuda-12.4 --yes")
        assert target.install("--verify-only", name="old.sh").exit_code == 0 and release() == "9.0"
        done = json.loads(target.sh("python3 -m envkit uninstall --all --yes --json"))
        assert done["status"] == "removed" and len(done["plans"]) == 1
        assert target.tree() == before


@pytest.mark.docker
@pytest.mark.parametrize("managed", [False, True], ids=["a link", "alternatives"])
def test_a_link_that_was_somebodys_choice_comes_back(
    engine: Engine, target_image: str, legacy: Job, new: Job, managed: bool, tmp_path: Path
) -> None:
    """Whatever the order in which toolkits are used and removed, and none is left after a link that leads nowhere."""
    other = "/usr/local/cuda-13.0"
    choice = f"update-alternatives --install /usr/local/cuda cuda {other} 130; update-alternatives --set cuda {other}"
    with machine(engine, target_image, tmp_path) as target:
        target.sh(f"mkdir -p {other}; {choice if managed else f'ln -s {other} /usr/local/cuda'}")
        log = "/var/log/alternatives.log"  # grows whatever is done
        target.sh(f"rm -f {log}; ln -s /dev/null {log}")
        before, choices = target.tree(), target.sh("update-alternatives --query cuda || true")
        for order in (("9.0", "12.4"), ("12.4", "9.0")):
            for name, job in {"12.4": new, "9.0": legacy}.items():
                target.put(job.script(), name)
                assert target.install(name=name).exit_code == 0
            for name in ("12.4", "9.0"):
                done = target.install("--use", name=name)
                assert done.exit_code == 0, done.stderr
                assert target.sh("readlink -f /usr/local/cuda").strip() == f"/usr/local/cuda-{name}"
            for name in order:
                done = target.install("--rollback", name=name)
                assert done.exit_code == 0 and "as before" in done.result["message"], done
                assert target.sh("test -e /usr/local/cuda && echo leads") == "leads\n"
            assert target.sh("readlink -f /usr/local/cuda").strip() == other
            assert target.sh("update-alternatives --query cuda || true") == choices
            assert target.tree() == before, order


@dataclass(frozen=True)
class Written:
    """A plan's notes, as its script writes them."""

    path: str
    texts: dict[str, str]
    order: float = 0.0
    for_all: bool = True
    script: str | None = "/state/install.sh"


def written(name: str, uses: str, changes: str = "", journal: str = "d all done", **more: Any) -> Written:
    """The notes with blanks for tabs, a `+` in place of a line's end."""
    texts = {"uses": uses, "changes": changes, "journal": journal, "packages.1": more.pop("packages", "")}
    lines = {file: text.replace(" ", "\t").replace("+", "\n") + "\n" for file, text in texts.items()}
    return Written(f"/state/{name}", lines, **more)


TOOLKIT, ENVIRONMENT = "toolkit /usr/local/cuda-12.4 12.4.1+link /usr/local/cuda -", "environment /opt/e 3.12"
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="the machine's own installations are root's")
FIRST = written(
    "cuda-12.4.1-a",
    f"{TOOLKIT}+package make -+package perl -",
    "toolkit begin - -+toolkit absent /usr/local/cuda-12.4 -+link link /usr/local/cuda -+environment made /etc/p.sh",
    packages="make:amd64",
)
SECOND = written(
    "cuda-12.4.1-pytorch-2.6.0-b", f"{TOOLKIT}+{ENVIRONMENT}", "toolkit begin - -+python absent /opt/e -", order=1.0
)


def plans(*notes: Written) -> tuple[InstalledPlan, ...]:
    """Their plans, on a machine where all of it is still there."""
    return installed_plans(notes, lambda _: True)


def test_each_thing_has_an_owner_and_its_users() -> None:
    first, second = plans(SECOND, FIRST)  # in the order of their registration, not of their names
    [toolkit] = second.of("toolkit")
    assert (toolkit.installed_by, toolkit.used_by) == ("cuda-12.4.1-a", ("cuda-12.4.1-a",))
    assert {use.what: use.installed_by for use in first.of("package")} == {"make": first.name, "perl": None}
    assert (first.packages, first.files, first.shared) == (("make",), ("/etc/p.sh",), first.of("toolkit"))
    assert [plan.name for plan in newest_first((first, second, first))] == [second.name, first.name]
    text = installed_text((first, second), "/usr/local/cuda-12.4", ["/usr/local/cuda-11.8"], 80, verbose=True)
    assert "installed by cuda-12.4.1-a" in " ".join(text.split()) and max(map(len, text.splitlines())) <= 80
    alone, both = (" ".join(removal_text(chosen, 80).split()) for chosen in ((first,), (second, first)))
    assert "Keeps /usr/local/cuda-12.4 (used by cuda-12.4.1-pytorch-2.6.0-b)" in alone and "Keeps" not in both


def test_what_was_interrupted_is_not_said_to_be_gone() -> None:
    """A folder that is missing may not have been made yet."""
    begun = written("cuda-12.4.1-a", TOOLKIT, journal="d all started+d toolkit started")
    text = installed_text(installed_plans([begun], lambda _: False), None, [], 80, verbose=False)
    told = " ".join(text.split())
    assert "incomplete" in told and "in /usr/local/cuda-12.4, which does not exist" in told, told


@pytest.mark.parametrize(
    ("journal", "state"),
    [
        ("d toolkit started+d toolkit done", "complete"),  # from before the whole was noted
        ("d toolkit started", "incomplete"),
        ("d all started+d toolkit started+d toolkit done", "incomplete"),  # killed between two steps
        ("d toolkit failed+d toolkit done+d all done", "complete"),
        ("d all started+d nouveau reboot", "waiting-for-reboot"),
        ("d all done+d all undone", "partly-removed"),
        ("d all done+d toolk", "complete"),  # a line that a stop cut off
    ],
)
def test_the_state_of_a_plan_is_its_journals(journal: str, state: str) -> None:
    assert plans(written("p", TOOLKIT, journal=journal))[0].state == state


@pytest.mark.parametrize("word", ["cuda-12.4.1-a", "cuda-12.4.1-pytorch", "/opt/e", "/opt/e/"])
def test_a_plan_is_named_by_its_beginning_or_its_directory(word: str) -> None:
    assert named(word, plans(FIRST, SECOND)).name.startswith(word if word[0] != "/" else "cuda-12.4.1-pytorch")


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("12.4", "any of cuda-12.4.1-a, cuda-12.4.1-pytorch"),
        ("12", "any of"),
        ("1", "not installed anything"),
        ("cuda-12.4.1-c", "Did you"),
    ],
)
def test_a_name_that_is_none_or_several_is_refused_in_one_line(word: str, told: str) -> None:
    with pytest.raises(RequestError, match=told) as refused:
        named(word, plans(FIRST, SECOND))
    assert "\n" not in str(refused.value)


def test_use_finds_a_toolkit_by_release_or_directory_and_says_what_there_is() -> None:
    for word in ("12", "12.4", "12.4.1", "/usr/local/cuda-12.4/"):
        assert toolkit_user(word, plans(FIRST, SECOND)).name == "cuda-12.4.1-pytorch-2.6.0-b"
    with pytest.raises(RequestError, match=r"It has installed 12\.4\.1 in /usr/local/cuda-12\.4"):
        toolkit_user("11.8", plans(FIRST))
    with pytest.raises(RequestError, match="--no-symlink"):
        toolkit_user("12.4", plans(written("p", "toolkit /opt/c 12.4.1")))
    with pytest.raises(EnvkitError, match="was not kept"):
        script_of(plans(written("p", TOOLKIT, script=None))[0])


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("installed",), 0, "cuda-12.4.1-a"),
        (("installed", "nothing-so"), 2, "not installed anything with this name"),
        (("uninstall",), 2, "--all"),
        (("uninstall", "x", "--all"), 2, "--all"),
        (("uninstall", "--all", "--dry-run"), 0, "Removes"),
        (("uninstall", "--all"), 1, "there is no terminal to ask"),
        pytest.param(("use", "12.4", "--dry-run"), 0, "/usr/local/cuda-12.4", marks=ROOT),
        pytest.param(("use", "3.0"), 2, "It has installed 12.4.1", marks=ROOT),
    ],
)
def test_the_commands_answer_in_one_line(
    words: tuple[str, ...],
    code: int,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    _kept(tmp_path / "cuda-12.4.1-a", "cuda-12.4.1-a")
    monkeypatch.setenv("ENVKIT_STATE_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert exit_code(words) == code and not (tmp_path / "ran").exists()
    said = capsys.readouterr()
    assert told in said.out + said.err and "Traceback" not in said.err


def _kept(folder: Path, plan: str) -> Path:
    """The folder of a plan, and the script in it."""
    folder.mkdir()
    script = f"#!/bin/bash\nPLAN_ID={plan}\necho '{{}}'; touch ran\n"
    for name, text in {**FIRST.texts, "install.sh": script}.items():
        (folder / name).write_text(text)
    (folder / "install.sh").chmod(0o700)
    return folder / "install.sh"


NOT_RUN: dict[str, Callable[[Path], object]] = {
    "writable by others": lambda folder: _kept(folder / "cuda-12.4.1-a", "cuda-12.4.1-a").chmod(0o666),
    "a copy of a plan's folder": lambda folder: _kept(folder / "cuda-12.4.1-a.bak", "cuda-12.4.1-a"),
    "another script": lambda folder: _kept(folder / "$(touch ran)", "driver\n"),
}


@pytest.mark.parametrize(
    "words",
    [("uninstall", "--all", "--yes"), ("uninstall", "--all", "--dry-run"), pytest.param(("use", "12"), marks=ROOT)],
)
@pytest.mark.parametrize("kept", NOT_RUN)
def test_a_script_that_is_not_its_plans_own_is_neither_run_nor_promised(
    kept: str,
    words: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    NOT_RUN[kept](tmp_path)
    monkeypatch.setenv("ENVKIT_STATE_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert exit_code(words) == 1 and not (tmp_path / "ran").exists()
    said = capsys.readouterr()
    assert "is not run" in said.err and not said.out


def test_notes_that_may_not_be_read_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "closed").mkdir()
    monkeypatch.setenv("ENVKIT_STATE_DIR", str(tmp_path))

    def refused(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_file", refused)
    assert exit_code(("installed",)) not in (0, 3)
    assert "cannot read" in capsys.readouterr().err


def test_nothing_in_the_notes_steers_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "p").mkdir()
    for name in ("uses", "changes", "journal"):
        (tmp_path / "p" / name).write_text("toolkit\t/a\x1b[31m\t\u202e12\nno line\n\t\t\t\n")
    monkeypatch.setenv("ENVKIT_STATE_DIR", str(tmp_path))
    for words in (("installed", "-v"), ("installed", "--json"), ("uninstall", "--all", "--dry-run"), ("use", "11")):
        exit_code(words)
        said = capsys.readouterr()
        assert not {"\x1b", "\u202e"} & {*said.out, *said.err} and "bug" not in said.err


@pytest.mark.docker
@pytest.mark.network
@pytest.mark.parametrize(
    ("system", "start"),
    [
        ("environment-modules", "/usr/share/modules/init/bash"),
        ("lmod", "/usr/share/lmod/lmod/init/bash"),
    ],
)
def test_modules_are_loaded_by_both_module_systems(
    engine: Engine, legacy: Job, new: Job, system: str, start: str, tmp_path: Path
) -> None:
    folder = "/opt/shared-modules"
    name = image(engine, name=f"envkit-test/install-{system}", packages=f"{PACKAGES} {system}")
    with machine(engine, name, tmp_path) as target:
        before = target.tree()
        for number, (job, path) in enumerate(((new, "/opt/cuda 0"), (legacy, "/opt/cuda-1"))):
            target.put(job.script(ScriptOptions(modules=folder, toolkit_path=path)), f"{number}.sh")
            done = target.install(name=f"{number}.sh")
            assert done.exit_code == 0 and done.verdicts["module"] == "ok", done.stderr
            assert target.install(name=f"{number}.sh").changed_nothing
        said = target.sh(
            f"set +eu; . {start}; module use '{folder}'; for each in 12.4.1 9.0.176; do module purge;"
            ' module load cuda/$each; nvcc --version; echo "$CUDA_HOME"; done; module unload cuda; echo end $CUDA_HOME.'
        )
        assert re.findall(r"release [\d.]+|^/opt/cuda.\d|^end \.", said, re.M) == [
            *("release 12.4", "/opt/cuda 0", "release 9.0", "/opt/cuda-1", "end ."),
        ]
        target.sh(f"echo mine >'{folder}/cuda/9.0.176'")
        assert target.install("--verify-only", name="1.sh").verdicts["module"] == "fail"
        assert "is another module" in target.install("--dry-run", name="1.sh").stderr
        for number in (0, 1):
            assert target.install("--rollback", name=f"{number}.sh").exit_code == 0
        assert target.tree() == before
