"""Plans that share a folder, an environment, a package or /usr/local/cuda: taking one back breaks no other."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from envkit.base.settings import Mirrors
from envkit.install.options import ScriptOptions
from tests.engine.engine import Engine
from tests.install.conftest import LEGACY, NEW, OLDER, Job
from tests.install.machine import Done, Machine, machine, without_notes
from tests.install.plans import plan, scripted, small
from tests.install.shell import call
from tests.install.test_together import wheel

SCRIPT = scripted(plan("12.4.1", "pytorch"), ScriptOptions(), Mirrors())
# This plan has made a toolkit with a file, an environment, and a package; `other` is a plan next to it.
STATE = """
TOOLKIT_DIR={folder}/cuda ENV_DIR={folder}/env OTHER=$STATE_ROOT/other SYSTEM_WIDE=0
mkdir -p $TOOLKIT_DIR/bin $ENV_DIR/bin $OTHER $STATE_DIR/backup
: >$TOOLKIT_DIR/bin/nvcc; : >$ENV_DIR/bin/python; echo old >$STATE_DIR/backup/1
printf '%s\\n' make cpp:amd64 >$STATE_DIR/packages.1
note() {{ printf '%s\\t%s\\t%s\\t%s\\n' "$@" >>$STATE_DIR/changes; }}
note prerequisites packages-added $STATE_DIR/packages.1 -
note toolkit absent $TOOLKIT_DIR -
note environment saved {folder}/profile $STATE_DIR/backup/1
note python absent $ENV_DIR -
list_toolkit | cut -f 1 >$STATE_DIR/manifest; environment_names >$STATE_DIR/environment-names
remove_added_packages() {{ echo "removes packages"; }}
"""


def taken_back(folder: Path, before: str, after: str = "") -> str:
    """What is said and printed when the plan is rolled back."""
    done = call(SCRIPT, STATE.format(folder=folder) + before + "\nroll_back\n" + after, folder)
    assert done.returncode == 0, done
    return done.stdout + done.stderr


def test_alone_all_of_it_goes(tmp_path: Path) -> None:
    said = taken_back(tmp_path, "")
    assert not (tmp_path / "cuda").exists() and not (tmp_path / "env").exists() and "removes packages" in said
    assert said.endswith("Undone: the machine's files and links are as before.\n")


@pytest.mark.parametrize(
    ("kind", "what", "stays", "goes"),
    [
        ("toolkit", "{}/cuda", "cuda", "env"),
        ("environment", "{}/env", "env", "cuda"),
    ],
)
def test_a_folder_that_another_plan_uses_becomes_its_own(
    kind: str, what: str, stays: str, goes: str, tmp_path: Path
) -> None:
    uses = f": >$STATE_DIR/uses; sleep 0.1; printf '{kind}\\t{what.format(tmp_path)}\\tother\\n' >$OTHER/uses"
    said = taken_back(tmp_path, uses, "STATE_DIR=$OTHER; STAYS=; roll_back")
    first, second = said.split("Undone, except for this: ", 1)
    assert second.startswith(f"{tmp_path}/{stays} stays, because other uses it and now takes it back ({kind}).\n")
    assert second.endswith("Undone: the machine's files and links are as before.\n")
    assert not (tmp_path / stays).exists() and not (tmp_path / goes).exists()
    if kind == "toolkit":
        assert (tmp_path / "profile").read_text() == "old\n"  # the copy went along


def test_what_becomes_another_plans_is_told_without_the_toolkit_too(tmp_path: Path) -> None:
    found_here = "sed -i '/^toolkit/d' $STATE_DIR/changes; : >$STATE_DIR/uses; sleep 0.1"
    later = f"printf 'toolkit\\t{tmp_path}/cuda\\tother\\n' >$OTHER/uses"
    said = taken_back(tmp_path, f"{found_here}\n{later}", "cat $OTHER/changes")
    assert "Undone, except for this: the link and the shell settings of" in said
    assert f"environment\tsaved\t{tmp_path}/profile" in said


def test_thousands_of_files_go_at_once_around_those_of_somebody_else(tmp_path: Path) -> None:
    """The time grows with the files, and not with the folders above each and all that is kept."""
    deep, theirs = tmp_path / "cuda" / "a/b/c/d/e/f/g/h", tmp_path / "cuda" / "-my files"
    before = f"""
    mkdir -p {deep} "{theirs}"; (cd {deep} && touch -- {{1..3000}} -x 'a b')
    list_toolkit | cut -f 1 >$STATE_DIR/manifest; touch "{theirs}/"{{1..500}} $TOOLKIT_DIR/a/b/own
    """
    start = os.times().children_user
    said = taken_back(tmp_path, before)
    assert os.times().children_user - start < 5
    left = [path for path in (tmp_path / "cuda").rglob("*") if path.is_file()]
    assert {path.parent for path in left} == {theirs, tmp_path / "cuda/a/b"} and len(left) == 501
    assert "Undone, except for this: " in said


def test_packages_that_another_plan_uses_become_its_own(tmp_path: Path) -> None:
    said = taken_back(tmp_path, "printf 'package\\tcpp\\t-\\n' >$OTHER/uses", "cat $OTHER/changes $OTHER/packages.*")
    assert "packages stay, because other uses cpp and now takes them back: make cpp:amd64" in said
    assert "removes packages" not in said and said.count("cpp:amd64") == 3


def test_files_of_others_stay_and_are_listed(tmp_path: Path) -> None:
    before = "mkdir $TOOLKIT_DIR/work; echo 1 >$TOOLKIT_DIR/work/thesis.txt; echo 2 >$ENV_DIR/notes.txt"
    said = taken_back(tmp_path, before)
    assert [str(path.relative_to(tmp_path)) for path in sorted(tmp_path.glob("[ce]*/**/*")) if path.is_file()] == [
        "cuda/work/thesis.txt",
        "env/notes.txt",
    ]
    assert "Undone, except for this: " in said and "work/thesis.txt" in said and "notes.txt" in said


@pytest.mark.parametrize(("mode", "code"), [("755", 0), ("777", 3), ("1777", 3), ("775", 3)])
def test_notes_and_lock_lie_where_nobody_else_writes(mode: str, code: int, tmp_path: Path) -> None:
    """A lock or notes in a folder of all could be planted, held forever, or lead elsewhere."""
    body = f"mkdir -p $STATE_ROOT; chmod {mode} $STATE_ROOT; take_lock; echo held"
    done = call(SCRIPT, body, tmp_path)
    assert done.returncode == code and ("held" in done.stdout) is (code == 0), done
    assert code == 0 or "is writable by others" in done.stderr
    assert "/run/lock" not in SCRIPT and "/tmp/envkit-install" not in SCRIPT


@pytest.mark.parametrize(
    ("held", "code"), [("exec 8<$STATE_ROOT", 0), ("(umask 077; : >$LOCK); exec 8<$LOCK", 7)], ids=["folder", "lock"]
)
def test_only_who_may_open_the_lock_can_keep_others_out(held: str, code: int, tmp_path: Path) -> None:
    """Every user may open the folder, which `installed` reads; whoever opens a file or folder can lock it."""
    done = call(SCRIPT, f"mkdir -p $STATE_ROOT; {held}; flock 8; take_lock; stat -c 'held %a' $LOCK", tmp_path)
    assert done.returncode == code and done.stdout == ("" if code else "held 600\n"), done


def test_the_lock_goes_with_the_last_plan(tmp_path: Path) -> None:
    body = """
    rm -rf $STATE_ROOT; take_lock; mkdir $STATE_ROOT/other; remove_state_root; ls $STATE_ROOT
    rmdir $STATE_ROOT/other; remove_state_root; [[ ! -e $STATE_ROOT ]]; echo gone
    """
    assert call(SCRIPT, body, tmp_path).stdout.split() == ["lock", "other", "gone"]


@pytest.mark.parametrize("others", [":", "mkdir -p $STATE_ROOT/other"])
def test_a_refused_run_leaves_no_notes(others: str, tmp_path: Path) -> None:
    """Else something of it would stay when all plans are uninstalled."""
    body = f"""trap on_exit EXIT
    rm -rf $STATE_ROOT; {others}; take_lock; start_log; mkdir -p $STATE_DIR; fail 3 "this folder is occupied"
    """
    done = call(SCRIPT, body, tmp_path)
    assert done.returncode == 3, done
    left = [path.name for path in sorted(tmp_path.glob("state/*"))]
    kept = others != ":"
    assert left == (["lock", "other"] if kept else []) and (tmp_path / "state").exists() is kept


def verified(target: Machine, *names: str) -> None:
    """These scripts find nothing wrong."""
    for name in names:
        done = target.install("--verify-only", name=name)
        assert done.exit_code == 0, (name, done.stderr)
    if target.sh("ls /etc/profile.d/envkit-* 2>/dev/null || true"):
        assert "release" in target.sh("bash -lc 'nvcc --version'")


def in_an_environment(framework: str) -> str:
    """The script that installs a small package of this framework's name into an environment of several."""
    return scripted(small(framework, "3.11"), ScriptOptions(env_dir="/opt/lab/environment"), Mirrors())


PAIRS: dict[str, Callable[[Callable[[str], Job]], tuple[str, ...]]] = {
    "same release": lambda job: (job(NEW).script(), job(NEW).script(ScriptOptions(samples=True))),
    "other release": lambda job: (job(NEW).script(), job(LEGACY).script()),
    "other release, same style": lambda job: (job(NEW).script(), job("10.2.89").script()),
    "update release": lambda job: (job(OLDER).script(), job(NEW).script()),
    "shared folder": lambda job: tuple(
        job(NEW).script(ScriptOptions(toolkit_path="/opt/lab/cuda", symlink=link)) for link in (True, False)
    ),
    "neighboring folders": lambda job: tuple(
        job(release).script(ScriptOptions(toolkit_path=f"/opt/lab/{release}")) for release in (NEW, LEGACY)
    ),
    "shared environment": lambda _: (in_an_environment("jax"), in_an_environment("cupy")),
}


@pytest.mark.docker
@pytest.mark.parametrize("pair", PAIRS)
def test_pairs_of_plans_installed_and_taken_back_in_either_order(
    engine: Engine, target_image: str, job_of: Callable[[str], Job], pair: str, tmp_path: Path
) -> None:
    """Installed, run again, one undone, the other one still whole, installed again, and all uninstalled."""
    for name in ("jax", "cupy"):
        wheel(tmp_path / "wheels", name, "1.0", module=True)
    places = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/job/wheels"}
    newer = "update release"
    with machine(engine, target_image, tmp_path) as target:
        before = target.tree()
        for number, script in enumerate(PAIRS[pair](job_of)):
            target.put(script, f"{number}.sh")

        def install(number: int, *options: str) -> Done:
            done = target.install(*options, environment=places, name=f"{number}.sh")
            assert done.exit_code == 0, done.stderr
            return done

        for first, last in itertools.permutations((0, 1)):
            install(0)
            install(1, *(["--upgrade"] if pair == newer else []))
            if pair == newer:
                # The older script finds its release replaced: it says so, changes nothing, and breaks nothing.
                after = without_notes(target.tree())
                refused = target.install(environment=places, name="0.sh")
                assert refused.exit_code == 3 and "pass --upgrade" in refused.stderr, refused.stderr
                assert without_notes(target.tree()) == after
                assert install(1).changed_nothing
                verified(target, "1.sh")
            else:
                assert install(0).changed_nothing and install(1).changed_nothing
                verified(target, "0.sh", "1.sh")
            install(first, "--rollback")
            verified(target, f"{last}.sh")
            if pair != newer:
                install(first)
                verified(target, "0.sh", "1.sh")
                install(first, "--rollback")
            verified(target, f"{last}.sh")
            done = json.loads(
                target.sh("bash /var/lib/envkit/*/install.sh --rollback 2>/dev/null")
            )  # as envkit uninstall
            assert done["message"] == "Undone: the machine's files and links are as before."
            assert target.tree() == before, (first, last)
