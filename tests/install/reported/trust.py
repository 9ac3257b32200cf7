"""What runs as root: locks, files without a checksum, bundles, addresses and passwords."""

from __future__ import annotations

import subprocess

from envkit.base.settings import Mirrors
from envkit.install.options import ScriptOptions
from tests.cli.run import envkit
from tests.install.plans import plan, scripted
from tests.install.reported.bench import Bench, Outcome, Trial, codes
from tests.install.reported.environments import INDEX, INDEX_URL
from tests.install.test_neighbors import in_an_environment
from tests.install.test_together import wheel

PLAN = ("install", "--cuda", "12.4", "--os", "debian12", "--target", "any")


def lock(bench: Bench) -> Outcome:
    with bench.machine() as target:
        target.sh(
            "echo precious >/etc/victim; chmod 1777 /run/lock;"
            "for name in /run/lock /tmp; do for user in '' -0 -root; do"
            "  ln -sf /etc/victim $name/envkit-install$user.lock; ln -sf /etc/victim $name/envkit$user.lock; done; done"
        )
        target.put(bench.job("12.4.1").script())
        first = target.install()
        assert target.sh("cat /etc/victim; stat -c '%U %a' /var/lib/envkit /var/lib/envkit/lock") == (
            "precious\nroot 755\nroot 600\n"
        )
        target.sh(
            "cat >/hold.sh <<'END'\nn=20; for file in / /var/lib /var/lib/envkit /var/lib/envkit/*; do\n"
            'eval "exec $n<$file" 2>/dev/null && flock -n $n; n=$((n + 1)); done; sleep 30\nEND\n'
            "setsid setpriv --reuid 65534 --clear-groups bash /hold.sh >/dev/null 2>&1 & sleep 1"
        )
        again = target.install()
        assert first.exit_code == again.exit_code == 0 and again.changed_nothing, again.stderr
    return Outcome(
        "links of the old lock's names in /run/lock and /tmp, to a file in /etc; then a user who locks all of "
        "/var/lib/envkit that may be opened",
        "the file is untouched; the lock is root's in a folder that only root writes (600 in 755); nobody is kept out",
        codes(first, again),
        "test_notes_and_lock_lie_where_nobody_else_writes, test_only_who_may_open_the_lock_can_keep_others_out",
    )  # fmt: skip


def unverified(bench: Bench) -> Outcome:
    job = bench.job("10.2.89")
    with bench.machine() as target:
        target.sh("mkdir -p /files")
        for file in bench.made["10.2.89"][1]["10.2.89"].values():
            bench.engine.run("cp", str(file.path), f"{target.container}:/files/{file.name}")
        bare = [row.name for row in job.plan.choice.runfiles if not row.sha256 and not row.md5]
        assert bare
        for name in bare:
            target.sh(f"printf '#!/bin/sh\\ntouch /ran\\n' >/files/{name}")
        target.sh("chown -R root: /files; chmod -R go-w /files")
        target.put(scripted(job.plan, ScriptOptions(), Mirrors()))
        runs = [target.install("--offline", "/files", *words) for words in (("--dry-run",), ())]
        assert all(done.exit_code == 6 and "--accept-unverified" in done.stderr for done in runs), runs
        runs.append(target.install("--offline", "/files", "--dry-run", "--accept-unverified"))
        assert target.sh("ls /ran 2>/dev/null || echo not run") == "not run\n"
    return Outcome(
        f"10.2.89 with a hostile file as {bare[0]}, `--offline`: dry run, run, dry run with `--accept-unverified`",
        "not run, and named with the option that accepts it; no file is started to check itself",
        codes(*runs),
        "test_no_file_is_started_to_check_itself, test_a_file_without_a_checksum_stops_the_script_before_it_fetches",
    )


def others_bundle(bench: Bench) -> Outcome:
    job = bench.job("12.4.1")
    runs = []
    with bench.machine() as target:
        target.put(job.script())
        target.sh("mkdir -p /media/files")
        for file in bench.made["12.4.1"][1]["12.4.1"].values():
            bench.engine.run("cp", str(file.path), f"{target.container}:/media/files/{file.name}")
        target.sh("chown -R root: /media/files; chmod -R go-w /media/files")
        for spoil, undo in (
            ("chmod 777 /media/files", "chmod 755 /media/files"),
            ("chown nobody /media/files/cuda_*", "chown root /media/files/cuda_*"),
            ("chown nobody /media", "chown root /media"),
        ):
            target.sh(spoil)
            done = target.install("--offline", "/media/files")
            assert done.exit_code == 3 and "writable by others" in done.stderr, done.stderr
            target.sh(undo)
            runs.append(done)
        good = target.install("--offline", "/media/files")
        assert good.exit_code == 0, good.stderr
    return Outcome(
        "`--offline` with a world-writable folder, another user's file, root's folder inside another user's; then "
        "root's own",
        "refused before anything is read: nobody can swap a file after its check",
        codes(*runs, good),
        "test_what_the_offline_folder_lacks_is_reported_before_anything_changes",
    )  # fmt: skip


def wheels(bench: Bench) -> Outcome:
    runs = []
    with bench.machine() as target:
        target.put(in_an_environment("jax"))
        for spoil in (
            "echo more >>jax-1.0-py3-none-any.whl",
            "cp jax-1.0-py3-none-any.whl jax-2.0-py3-none-any.whl",
            "rm SHA256SUMS",
            ":",
        ):
            target.sh("rm -rf /files; mkdir -p /files/wheels")
            wheel(bench.folder / "wheels", "jax", "1.0", module=True)
            bench.engine.run("cp", f"{bench.folder}/wheels/.", f"{target.container}:/files/wheels")
            target.sh(
                f"chown -R root: /files; cd /files/wheels; rm -f SHA256SUMS; sha256sum *.whl >SHA256SUMS; {spoil}"
            )
            runs.append(target.install("--offline", "/files"))
        assert [done.exit_code for done in runs] == [6, 6, 6, 0], [done.stderr for done in runs]
    return Outcome(
        "a bundle's wheels: one changed, one added, no list, as they were made",
        "refused before anything is installed; every file of a bundle is checked by the script's own checksums or the "
        "list",
        codes(*runs),
        "test_what_the_offline_folder_lacks_is_reported_before_anything_changes, "
        "test_a_bundle_lists_no_wheels_of_a_stranger",
    )  # fmt: skip


def plain_http(_: Bench) -> Outcome:
    trials = (
        ("--mirror", "developer.download.nvidia.com=http://mirror.lan"),
        ("--index-url", "http://mirror.lan/simple"),
        ("--with-driver", "--gpu", "8.6", "--driver-runfile", "http://mirror.lan/d.run"),
    )
    runs = [envkit(*PLAN, *words) for words in trials]
    assert all(done.returncode == 2 and done.stdout == "" and "--allow-http" in done.stderr for done in runs), runs
    bare = envkit(*PLAN, *trials[2], "--allow-http", "--accept-unverified")
    assert bare.returncode != 0 and "its checksum is unknown" in bare.stderr, bare.stderr
    return Outcome(
        "`--mirror`, `--index-url` and `--driver-runfile` with http://; the last one with `--allow-http`",
        "refused without `--allow-http`; with it still refused where no checksum is known",
        codes(*runs, bare),
        "test_plain_http_and_passwords_are_refused, test_plain_http_can_be_allowed_for_files_with_a_checksum",
    )


def password(bench: Bench) -> Outcome:
    refused = envkit(*PLAN, "--index-url", "https://bob:hunter2@mirror.lan/simple")
    assert refused.returncode == 2 and "hunter2" not in refused.stderr + refused.stdout and "~/.netrc" in refused.stderr
    asks = "        if not self.headers.get('Authorization'): return self.send_error(401)\n"
    with bench.machine() as target:
        wheel(target.folder / "wheels", "jax", "1.0", module=True)
        (target.folder / "index.py").write_text(
            INDEX.replace("        names = sorted", asks + "        names = sorted")
        )
        target.sh("python3 /job/index.py >/requests 2>/index-errors & sleep 1")
        target.sh("printf 'machine 127.0.0.1 login bob password hunter2\\n' >/root/.netrc; chmod 600 /root/.netrc")
        target.put(in_an_environment("jax"))
        target.sh(
            'setsid bash -c \'while sleep 0.05; do cat /proc/[0-9]*/cmdline 2>/dev/null | tr "\\0" " "; done >/seen\' '
            "& true"
        )
        places = {"PIP_INDEX_URL": INDEX_URL, "PIP_FIND_LINKS": "", "HOME": "/root"}
        done = target.install(environment=places)
        assert done.exit_code == 0, done.stderr
        told = target.sh(
            "grep -c 'pip install' /seen; grep -rl 'hunter[2]' /seen /job/install.sh /var/log/envkit /var/lib/envkit "
            "|| echo none"
        )
        assert told.split()[0] != "0" and told.split()[1] == "none", told
    return Outcome(
        "a password in `--index-url`; then an index that asks for a login, from ~/.netrc, every process's arguments "
        "noted",
        "refused, names ~/.netrc; installed, and the password is in no argument, script, log or record",
        codes(refused, done),
        "test_plain_http_and_passwords_are_refused, test_passwords_in_addresses_are_not_shown",
    )  # fmt: skip


def cut_off(bench: Bench) -> Outcome:
    text = scripted(plan("12.4.1", "jax"), ScriptOptions(), Mirrors())
    state = {
        "ENVKIT_STATE_DIR": f"{bench.folder}/half",
        "ENVKIT_LOG_DIR": f"{bench.folder}/half-log",
        "PATH": "/usr/bin:/bin",
    }
    for share in range(1, 20):
        part = text[: len(text) * share // 20]
        subprocess.run(["bash"], input=part, env=state, capture_output=True, text=True, cwd=bench.folder, timeout=60)
    assert not list(bench.folder.glob("half*"))
    with bench.machine() as target:
        target.put(bench.job("12.4.1").script())
        done = target.install()
        assert target.sh("stat -c %a /var/log/envkit/*.log") == "600\n"
    return Outcome(
        "19 beginnings of a script; a log's mode; by the test, 264 values with shell syntax in 13 options, 7 "
        "variables and 4 settings",
        "nothing runs; 600; 0 executed",
        codes(done),
        "test_no_value_is_run",
    )


TRIALS: dict[str, Trial] = {
    "security: lock in a folder of all": lock,
    "security: files that check themselves": unverified,
    "security: bundle that others may write": others_bundle,
    "security: unchecked wheels": wheels,
    "security: plain HTTP": plain_http,
    "security: password of an index": password,
    "security: what was good stays good": cut_off,
}
