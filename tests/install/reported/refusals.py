"""Small ones: what a plan, a script and its header say."""

from __future__ import annotations

import re
import subprocess

from envkit.tables import Matrix
from tests.cli.run import envkit
from tests.install.reported.bench import Bench, Outcome, Trial, by_tests, codes

PLAN = ("install", "--cuda", "12.4", "--os", "debian12", "--target", "any")
# Of the list that came with the report: releases of patches, and how their checksums begin.
KNOWN = {
    "8.0.61.2": "2d59bc245db8", "9.0.176.1": "a4bf63e08f01", "9.0.176.2": "ec345f6d17d5", "9.0.176.3": "429e2c30da80",
    "9.0.176.4": "9353d0c9a7fa", "9.1.85.1": "af9ce3d7ce4e", "9.1.85.2": "d59f07a35ba7", "9.1.85.3": "421094368e47",
}  # fmt: skip


def odd_paths(bench: Bench) -> Outcome:
    runs = []
    for option in ("--toolkit-path", "--env"):
        for path in (
            f"/opt/a\ntouch {bench.folder}/ran\n",
            f"/opt/a$(touch {bench.folder}/ran)",
            "/opt/a'b",
            '/opt/a"b',
            f"/opt/`touch {bench.folder}/ran`",
        ):
            done = envkit(*PLAN, "--framework", "jax", option, path, text="")
            assert done.returncode == 2 and done.stdout == "" and option in done.stderr, done.stderr
            runs.append(done)
    good = envkit(*PLAN, "--toolkit-path", "/opt/my tools/cuda")
    said = subprocess.run(["bash", "-n"], input=good.stdout, capture_output=True, text=True)
    assert good.returncode == said.returncode == 0 and not (bench.folder / "ran").exists()
    return Outcome(
        "`--toolkit-path` and `--env` with a newline and a command, `$(…)`, backquotes, `'` and `\"`; one with a blank",
        "refused in one line, nothing printed or run; the blank is quoted everywhere",
        f"{len(runs)} times {codes(runs[0])}; {codes(good)}",
        "test_a_path_with_signs_of_a_shell_is_refused_in_one_line, test_other_paths_stay_whole_in_a_shell",
    )


def eula(_: Bench) -> Outcome:
    told = []
    for words in ((), ("--accept-eula",), ("--no-accept-eula",)):
        done = envkit(*PLAN, *words)
        assert "told not" not in done.stdout and "was not told" not in done.stdout
        told.append(next(line for line in done.stdout.splitlines() if "EULA  " in line).split("EULA")[1].strip())
        assert ("accepts NVIDIA's EULA" in done.stderr) is (words != ("--no-accept-eula",))
    assert "Accept NVIDIA's EULA" in envkit("install", "--help").stdout
    assert "default" in told[0] and told[2].startswith("asked"), told
    return Outcome(
        "the plan, the script's header and `--help`, without an option, with `--accept-eula`, with `--no-accept-eula`",
        f'header: "{told[0]}", "{told[1]}", "{told[2]}"; plan and help say the default, too',
        "0, 0, 0",
        "test_plan_and_header_say_what_becomes_of_the_eula",
    )


def space(_: Bench) -> Outcome:
    done = envkit("install", "--cuda", "9.0", "--framework", "pytorch", "--os", "ubuntu16.04", "--target", "any")
    needs = re.findall(r'^  "python\|([$A-Z_]{1,20})\|(\d{1,20})"$', done.stdout, re.M)
    assert [int(number) for _, number in needs] == [4_000_000_000, 1_000_000_000], needs
    return Outcome(
        "the space that the script for CUDA 9.0 with PyTorch and conda's Python asks for",
        "**was** still 8 GB and 8 GB of work; now 4 GB and 1 GB (estimates)",
        codes(done),
        "test_an_old_framework_asks_for_no_more_than_it_takes",
    )


def checksums(_: Bench) -> Outcome:
    tables = Matrix.load()
    files = {row.name.removeprefix("cuda_").split("_")[0]: row.sha256 or "" for row in tables.all_runfiles}
    assert all(files[release].startswith(checksum) for release, checksum in KNOWN.items()), files
    bare = [row.name for row in tables.all_runfiles if not row.sha256 and not row.md5]
    archives = [row for row in tables.cudnns if row.archive]
    unknown = [row for row in archives if not row.sha256]
    assert len(bare) < 13 and len(unknown) <= 38
    return Outcome(
        "the eight checksums of the report in the tables; what has none",
        f"all eight are there; without one are {len(bare)} of {len(list(tables.all_runfiles))} runfiles (13 then) and "
        f"{len(unknown)} of {len(archives)} cuDNN archives (38 then): the script stops and names `--accept-unverified`",
        "0",
        "test_the_usual_plans_can_be_verified_to_the_last_file, "
        "test_a_file_without_a_checksum_stops_the_script_before_it_fetches",
    )


TRIALS: dict[str, Trial] = {
    "small, security: quotes, newlines, `$(…)` in paths": odd_paths,
    "small: words about the EULA": eula,
    "small, security: published checksums": checksums,
    "small: space of a conda environment": space,
    "small: df and blanks in its source": by_tests(
        "`df -P` of a share whose source and mount point have blanks; no line; no /proc",
        "free space and mount point are read right; unknown is no reason to stop",
        "space_functions.py::test_space_is_judged_where_it_is_known",
    ),
}
