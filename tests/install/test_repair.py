"""A damaged installation is made whole by the next run, also by one after a kill; space is judged by what is open."""

from __future__ import annotations

from pathlib import Path

import pytest

from envkit.install.options import ScriptOptions
from tests.engine.engine import Engine
from tests.install.conftest import Job
from tests.install.machine import FUNCTIONS, SMALLER, machine
from tests.install.plans import mirrors_to, plan, scripted

pytestmark = pytest.mark.docker

# A disk of a made-up size, all folders on it; everything is fetched already, in /job/files.
_SPACE = """
SPACE_CHECK=1; MODE=install; OFFLINE_DIR=/job; CURRENT_STEP=
df() {{ printf 'x\\nfs 0 0 %s 0%% /\\n' $(({free} / 1024)); }}
check_space && echo enough
"""


def _folder(job: Job) -> str:
    assert job.plan.choice.toolkit is not None
    return f"/usr/local/cuda-{job.plan.choice.toolkit.release}"


def test_a_deleted_toolkit_comes_back_with_its_patches(
    engine: Engine, target_image: str, styled: Job, tmp_path: Path
) -> None:
    with machine(engine, target_image, tmp_path) as target:
        target.put(styled.script())
        before = target.tree()
        assert target.install().exit_code == 0
        wanted = target.sh(f"cd {_folder(styled)}; find . | sort")
        target.sh(f"rm -r {_folder(styled)}")
        again = target.install()
        assert again.exit_code == 0, again.stderr
        assert target.sh(f"cd {_folder(styled)}; find . | sort") == wanted
        assert target.install("--verify-only").verdicts["files"] == "ok"
        assert target.install("--rollback").exit_code == 0
        assert target.tree() == before


def test_a_repair_that_is_killed_goes_on(engine: Engine, target_image: str, styled: Job, tmp_path: Path) -> None:
    with machine(engine, target_image, tmp_path) as target:
        target.put(styled.script())
        before = target.tree()
        assert target.install().exit_code == 0
        target.sh(f"rm -r {_folder(styled)}")
        target.kill_in_the_installer()
        target.sh(f"rm -f {_folder(styled)}/include/cuda_runtime.h")
        again = target.install()
        assert again.exit_code == 0, again.stderr
        assert target.install("--rollback").exit_code == 0
        assert target.tree() == before


def test_what_somebody_put_in_the_place_of_a_deleted_toolkit_stays(
    engine: Engine, target_image: str, styled: Job, tmp_path: Path
) -> None:
    with machine(engine, target_image, tmp_path) as target:
        target.put(styled.script())
        assert target.install().exit_code == 0
        target.sh(f"rm -r {_folder(styled)}; mkdir {_folder(styled)}; echo precious >{_folder(styled)}/data")
        for _ in range(3):
            done = target.install()
            assert done.exit_code == 3
            assert "contains something that is not a complete CUDA" in done.stderr
        assert target.sh(f"cat {_folder(styled)}/data") == "precious\n"


@pytest.mark.parametrize(
    ("free", "half", "enough"),
    [
        (15_000_000_000, 0, True),  # the toolkit, and more than its work needs: the file is not fetched again
        (13_000_000_000, 0, False),  # the toolkit and its work do not fit side by side
        (8_000_000_000, 7_000_000_000, True),  # most of the toolkit lies there half installed and goes first
    ],
)
def test_space_is_counted_for_what_is_still_to_be_done(
    engine: Engine, target_image: str, new: Job, free: int, half: int, enough: bool, tmp_path: Path
) -> None:
    with machine(engine, target_image, tmp_path) as target:
        target.put(new.script())
        du = ""
        if half:
            target.sh(f"mkdir -p {_folder(new)}")
            du = f"du() {{ echo {half // SMALLER // 1024}; }}; journal toolkit started;"
        said = target.sh(FUNCTIONS + du + "(" + _SPACE.format(free=free // SMALLER) + ") 2>&1 || true")
        assert ("enough\n" in said) is enough, said
        assert enough or "not enough space on /" in said


def test_without_root_ldconfig_is_found_and_home_may_be_missing(
    engine: Engine, target_image: str, new: Job, tmp_path: Path
) -> None:
    with machine(engine, target_image, tmp_path) as target:
        target.sh("useradd --create-home person")
        target.put(new.script(ScriptOptions(toolkit_path="/home/person/cuda", symlink=False)))
        target.sh("cp /job/install.sh /opt/install.sh")

        def run(*words: str) -> tuple[int, str]:
            start = ("exec", "--user", "person", target.container, "env", *words)
            done = engine.run(*start, check=False)
            return done.returncode, done.stderr

        assert run("-u", "HOME", "bash", "/opt/install.sh", "--help")[0] == 0
        code, said = run("-u", "HOME", "bash", "/opt/install.sh")
        assert code == 3 and "HOME is not set" in said
        code, said = run("HOME=/home/person", "PATH=/usr/bin:/bin", "bash", "/opt/install.sh", "--dry-run")
        assert code == 0, said
        assert "already done" in said.split("] Packages")[1].split("[")[0]


def test_passwords_in_addresses_are_not_shown(engine: Engine, target_image: str, tmp_path: Path) -> None:
    script = scripted(plan("12.4.1"), ScriptOptions(), mirrors_to("http://bob:hunter2@127.0.0.1:9"))
    assert "hunter2" not in "".join(line for line in script.splitlines() if line.startswith("#"))
    with machine(engine, target_image, tmp_path) as target:
        target.put(script)
        done = target.install("--no-space-check", "--accept-unverified")
        assert done.exit_code == 5
        assert "://***@127.0.0.1:9" in done.result["message"]
        assert "hunter2" not in done.stdout + done.stderr
        assert "hunter2" not in target.sh("cat /var/log/envkit/*.log")
        assert target.sh("stat -c %a /var/log/envkit/*.log") == "600\n"


def test_a_file_that_holds_the_driver_too_is_fetched_for_either() -> None:
    found = plan("12.4.1", gpus=("8.6",), with_driver=True)
    script = scripted(found, ScriptOptions(with_driver=True), mirrors_to("http://127.0.0.1:9"))
    assert "fetch-toolkit) { step_is_done toolkit && step_is_done driver; } || have_file" in script
    assert "step_is_done driver; }" not in scripted(plan("12.4.1"), ScriptOptions(), mirrors_to("http://127.0.0.1:9"))
