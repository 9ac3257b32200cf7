"""Plans side by side, and what a rollback takes and leaves."""

from __future__ import annotations

from tests.install.reported.bench import Bench, Outcome, Trial, codes


def newer_on_top(bench: Bench) -> Outcome:
    with bench.machine() as target:
        target.put(bench.job("12.4.0").script(), "old.sh")
        target.put(bench.job("12.4.1").script())
        runs = [target.install(name="old.sh"), target.install("--upgrade"), target.install("--rollback", name="old.sh")]
        verified = target.install("--verify-only")
        assert verified.exit_code == 0 and "release 12.4" in target.sh("bash -lc 'nvcc --version'"), verified
        assert "as before" not in runs[-1].stderr and "12.4.1" in runs[-1].stderr, runs[-1].stderr
    return Outcome(
        "12.4.0, 12.4.1 on top with `--upgrade`, 12.4.0 rolled back, 12.4.1 verified",
        "the folder stays, and the last line says whose it is now; a login shell finds nvcc",
        codes(*runs, verified),
        "test_pairs_of_plans_installed_and_taken_back_in_either_order",
    )


def link_of_the_first(bench: Bench) -> Outcome:
    with bench.machine() as target:
        target.put(bench.job("12.4.1").script(), "first.sh")
        target.put(bench.job("11.8.0").script())
        runs = [target.install(name="first.sh"), target.install(), target.install("--rollback", name="first.sh")]
        verified = target.install("--verify-only")
        assert target.sh("readlink /usr/local/cuda") == "/usr/local/cuda-11.8\n"
        assert verified.exit_code == 0 and "release 11.8" in target.sh("bash -lc 'nvcc --version'"), verified
    return Outcome(
        "12.4.1, 11.8.0, 12.4.1 rolled back, 11.8.0 verified",
        "/usr/local/cuda points to 11.8, a login shell finds its nvcc",
        codes(*runs, verified),
        "test_pairs_of_plans_installed_and_taken_back_in_either_order",
    )


def what_stays(bench: Bench) -> Outcome:
    with bench.machine() as target:
        target.sh("dpkg --purge --force-depends make >/dev/null 2>&1")
        target.put(bench.job("12.4.1").script())
        first = target.install()
        target.sh("echo mine >/usr/local/cuda-12.4/thesis.txt; apt-get install -qq -y --no-install-recommends dpkg-dev")
        back = target.install("--rollback")
        said = back.result["message"]
        assert back.exit_code == 0 and said.startswith("Undone, except for this:"), said
        assert "thesis.txt" in said and "make" in said and "as before" not in said, said
        assert target.sh("cat /usr/local/cuda-12.4/thesis.txt; command -v make") == "mine\n/usr/bin/make\n"
    return Outcome(
        "12.4.1, which installed make; thesis.txt into its folder; dpkg-dev, which needs make; `--rollback`",
        '"Undone, except for this: …" names thesis.txt and make; both are there. A runfile driver from before: by the '
        'test',
        codes(first, back),
        "test_files_of_others_stay_and_are_listed, test_rollback_removes_only_a_driver_that_the_script_brought",
    )  # fmt: skip


TRIALS: dict[str, Trial] = {
    "F5 rollback of the older release": newer_on_top,
    "F5 rollback of the plan that set the link": link_of_the_first,
    'F6 unconditional "as before"': what_stays,
}
