"""Wrong results, and toolkit folders: what is installed, what is kept, what was killed."""

from __future__ import annotations

import time
from signal import SIGKILL

from envkit.install.options import ScriptOptions
from tests.install.reported.bench import Bench, Outcome, Trial, codes
from tests.install.standins import SLOW

UPDATES = (("12.4.0", "12.4.1"), ("10.1.105", "10.1.243"), ("11.2.0", "11.2.2"))


def update_release(bench: Bench) -> Outcome:
    told = []
    for old, new in UPDATES:
        with bench.machine() as target:
            target.put(bench.job(old).script(), "old.sh")
            target.put(bench.job(new).script())
            first, dry = target.install(name="old.sh"), None
            before = target.tree()
            dry, refused = target.install("--dry-run"), target.install()
            assert f"CUDA {old} is in /usr/local/cuda-" in refused.stderr and "--upgrade" in refused.stderr
            assert dry.exit_code == refused.exit_code == 3
            upgraded = target.install("--upgrade")
            here = target.sh("cat /usr/local/cuda-*/version.txt")
            assert new in here, here
            back = target.install("--rollback")
            assert target.tree() == before
            told.append(codes(first, dry, refused, upgraded, back))
    assert set(told) == {"0, 3, 3, 0, 0"}, told
    return Outcome(
        "the older release, then the newer one's script (dry run, run, `--upgrade`, `--rollback`): "
        + "; ".join(f"{old} and {new}" for old, new in UPDATES),
        '"CUDA 12.4.0 is in /usr/local/cuda-12.4 …: pass --upgrade"; after it version.txt names the newer one; rolled '
        'back '
        "to the older one, tree equal",
        f"{told[0]} each",
        "test_another_update_release_is_refused_then_replaced_and_brought_back",
    )  # fmt: skip


def patches_of_others(bench: Bench) -> Outcome:
    with bench.machine() as target:
        target.put(bench.job("9.0.176").script())
        first = target.install()
        target.sh("rm -r /var/lib/envkit; rm /usr/local/cuda-9.0/lib64/patch-*.txt")
        again = target.install()
        states = {state for step, state in again.states.items() if step.startswith("patch-")}
        assert states == {"left"} and "version.txt does not name the patch" in again.stderr, again
    return Outcome(
        "9.0.176 whose records and patches are gone, its script again",
        'four times "not changed: envkit did not install this toolkit"; no patch is called applied',
        codes(first, again),
        "test_somebodys_toolkit_keeps_its_patches_until_an_upgrade",
    )


def own_disk(bench: Bench) -> Outcome:
    told = []
    for path in ("/disk", "/opt/cuda"):
        with bench.machine("--tmpfs", "/disk:size=100m,exec") as target:
            target.sh("ln -s /disk /opt/cuda")
            before = target.tree()
            target.put(bench.job("12.4.1").script(ScriptOptions(toolkit_path=path)))
            runs = [target.install("--no-space-check", *words) for words in ((), (), ("--rollback",))]
            assert runs[1].changed_nothing and target.tree() == before
            told.append(codes(*runs))
    return Outcome(
        "`--toolkit-path` at a tmpfs, and at a link to it: run, run again, `--rollback`",
        "installed, unchanged, tree equal",
        "; ".join(told),
        "test_a_toolkit_on_a_disk_of_its_own",
    )


def before_the_download(bench: Bench) -> Outcome:
    job = bench.job("12.4.1")
    runs = []
    for options, state, words in (
        (ScriptOptions(), "mkdir -p /usr/local/cuda-12.4; : >/usr/local/cuda-12.4/mine", "something that is not"),
        (ScriptOptions(accept_eula=False), ":", "the EULA has not been accepted"),
    ):
        with bench.machine() as target:
            target.sh(state)
            target.put(job.script(options))
            for mode in (("--dry-run",), ()):
                done = target.install(*mode)
                assert done.exit_code == 3 and words in done.stderr, done
                runs.append(done)
    assert not job.behavior.requests
    return Outcome(
        "a toolkit folder with somebody's file; an EULA that nobody can accept: dry run and run of each",
        "refused in one line, 0 requests to the server",
        codes(*runs),
        "test_an_occupied_folder_is_refused_by_a_dry_run_too, "
        "test_an_eula_that_nobody_can_accept_is_refused_by_a_dry_run_too",
    )


def legacy_log(bench: Bench) -> Outcome:
    told = []
    with bench.machine() as target:
        target.put(bench.job("9.0.176").script())
        for words in (("--rollback",), ("--resume", "--rollback")):
            target.sh(f"touch {SLOW}")
            target.stop_at("] CUDA ", SIGKILL, 0.8)
            target.wait_until_idle()
            target.sh(f"rm {SLOW}; ls /tmp/cuda_install_*.log")
            runs = [target.install(word) for word in words]
            told.append(codes(*runs))
            assert target.sh("ls /tmp/cuda_install_*.log 2>/dev/null || echo none") == "none\n"
    return Outcome(
        "9.0.176 killed with -9 in its installer; then `--rollback`, or `--resume` and `--rollback`",
        "/tmp/cuda_install_PID.log was there, and is gone: its text names the toolkit's folder. One that does not "
        "stays",
        "; ".join(told),
        "test_what_others_make_after_a_kill_stays",
    )


def held_lock(bench: Bench) -> Outcome:
    hold = "import fcntl,time; f=open('/var/lib/dpkg/lock-frontend','w'); fcntl.lockf(f,fcntl.LOCK_EX); time.sleep(20)"
    with bench.machine() as target:
        target.sh("dpkg --purge --force-depends make >/dev/null 2>&1")
        target.put(bench.job("12.4.1").script())
        target.sh(f'python3 -c "{hold}" >/dev/null 2>&1 & sleep 1')
        began = time.monotonic()
        done = target.install()
        seconds = time.monotonic() - began
        assert done.exit_code == 0 and "waiting for up to 10 minutes" in done.stderr and seconds > 15, done.stderr
        target.sh("command -v make")
    return Outcome(
        "12.4.1 without make, dpkg's lock held for 20 s by another program",
        f'"another program is using the package manager: waiting for up to 10 minutes"; installed after {seconds:.0f} '
        's',
        codes(done),
        "test_a_held_lock_is_waited_for",
    )  # fmt: skip


TRIALS: dict[str, Trial] = {
    "F1 an update release counts as another": update_release,
    "F1 patches of a toolkit that is not ours": patches_of_others,
    "F8 held package lock": held_lock,
    "F9 toolkit folder is a mount or a link": own_disk,
    "F10 refusals after the download": before_the_download,
    "small: log of a killed legacy installer": legacy_log,
}
