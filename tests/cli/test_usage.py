"""What a user meets first: help, mistyped words, bad values, unwritable output, exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from envkit.base.errors import did_you_mean
from envkit.checks.engine.registry import all_checks
from envkit.cli.main import COMMANDS
from envkit.cli.main import envkit as program
from envkit.cli.terminal import text_width
from envkit.model.paths import fact_paths
from envkit.solver.not_covered import unknown_gpu
from envkit.tables import Matrix
from tests.cli.run import envkit
from tools.docs.pages import commands


def test_alone_says_what_to_do_next() -> None:
    done = envkit()
    assert done.returncode == 0
    assert "envkit doctor" in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_fits_and_shows_an_example(command: str) -> None:
    done = envkit(command, "--help")
    assert done.returncode == 0
    assert "Example" in done.stdout and f"envkit {command}" in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines() if "envkit" not in line)


def test_mistyped_command_names_the_nearest() -> None:
    done = envkit("doktor")
    assert done.returncode == 2
    assert "doctor" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["resolve", "--framework", "pytroch"], "pytorch"),
        (["resolve", "--framework", "pytorch==99.1"], "--framework pytorch"),
        (["resolve", "--cuda", "9.7"], "9.2"),
        (["resolve", "--cuda", "99.1"], "99.1 is newer than any release this version of envkit knows"),
        (["resolve", "--cuda", "nine"], "--cuda"),
        (["resolve", "--os", "ubunto22.04"], "ubuntu22.04"),
        (["resolve", "--gpu", "GeForce GTX 1080 Tie"], "1080 Ti"),
        (["resolve", "--gpu", "sm_99"], "9.0"),
        (["resolve", "--gpu", "RTX 5099"], "mean NVIDIA GeForce RTX 5090"),
        (["resolve", "--gpu", "GTX 1085"], "mean NVIDIA GeForce GTX 10"),
        (["resolve", "--gpu", "sm_999"], "--gpu"),
        (["resolve", "--python", "99"], "99 is newer than any release this version of envkit knows"),
        (["resolve", "--python", ">=3.8,<3.8"], "--python"),
        (["resolve", "--python", "py310"], "--python 3.10"),
        (["resolve", "--cuda", ""], "Omit --cuda"),
        (["resolve", "--driver", ""], "--driver"),
        (["resolve", "--os", ""], "--os"),
        (["resolve", "--framework", "torch==2.1.0+cu118"], "--framework torch==2.1.0 --cuda"),
        (["resolve", "--framework", "torch==2.1", "--framework", "pytorch==2.2"], "pytorch==2.1 and as pytorch==2.2"),
        (["matrix", "gpus", "--sort", ""], "--sort"),
        (["matrix", "gpus", "--columns", ""], "--columns"),
        (["resolve", "--driver", "new"], "384.81"),
        (["resolve", "--python", "three"], "--python"),
        (["resolve", "--mirror", "nonsense", "--framework", "pytorch"], "HOST=URL"),
        (["doctor", "--check", "driver-libary-mismatch"], "driver-library-mismatch"),
        (["doctor", "--check", "driver"], "mean driver-"),
        (["doctor", "--check", "qqq"], "Run `envkit doctor --list-checks` to list the valid values"),
        (["doctor", "report.txt"], "envkit doctor --from report.txt"),
        (
            ["dockerfile", "--framework", "deepspeed"],
            ("DeepSpeed). Request the framework that it runs on: --framework pytorch"),
        ),
        (["dockerfile", "--framework", "flash-attn"], "--framework pytorch"),
        (["resolve", "--framework", "openvino"], "software for Intel GPUs"),
        (["resolve", "--framework", "qqq"], "Run `envkit matrix frameworks` to list the valid values"),
        (["resolve", "--gpu", "MI300X"], "'MI300X' is not an NVIDIA GPU (AMD)"),
        (["resolve", "--gpu", "Radeon RX 7900 XTX"], "is not an NVIDIA GPU (AMD)"),
        (["resolve", "--gpu", "Arc A770"], "is not an NVIDIA GPU (Intel)"),
        (["doctor", "--assume", "driver.kernel_modul=1.2"], "driver.kernel_module"),
        (["explain", "no-gpu-on-pc"], "no-gpu-on-pci"),
        (["explain", "GPU has fallen off"], "envkit doctor --from -"),
        (["doctor", "--from", "a.txt", "--root", "/"], "--root"),
        (["doctor", "--from", ""], "--from is empty"),
        (["install", "--cuda", "12.4", "--toolkit-path", "/usr/local/"], "a system directory"),
        (["install", "--framework", "pytorch", "--env", "/opt"], "a system directory"),
        (["install", "--cuda", "12.4", "--modules", "/etc/profile.d"], "a system directory"),
        (["install", "--cuda", "12.4", "--modules", "/etc/modulefiles/../cron.d"], "a system directory"),
        (["install", "--cuda", "12.4", "--toolkit-path", "/usr/bin/cuda"], "a system directory"),
        (["install", "--framework", "pytorch", "--yes"], "--run"),
        (["doctor", "--root", ""], "--root is empty"),
        (["doctor", "--json", "--format", "html"], "--format html"),
        (["matrix", "--json", "--format", "csv"], "--format csv"),
        (["resolve", "--index-url", "a b; rm -rf /"], "--index-url"),
        (["resolve", "--index-url", "https://x.lan/'$(id)'"], "--index-url"),
        (["resolve", "--mirror", "apt=https://x/\nRUN id"], "HOST=URL"),
        (["resolve", "--mirror", "apt=https://x/#|e"], "HOST=URL"),
        (["resolve", "--mirror", "a b=https://x/"], "HOST=URL"),
    ],
)
def test_bad_values_are_answered_in_one_line_with_the_nearest(words: list[str], expected: str) -> None:
    done = envkit(*words)
    assert done.returncode == 2, done.stderr
    assert expected in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""


@pytest.mark.parametrize(
    "words",
    [
        ["doctor", "--from", "/nonexistent/report.txt"],
        ["doctor", "--root", "/nonexistent"],
        ["resolve", "--framework", "pytorch", "--target", "/nonexistent"],
        ["resolve", "--framework", "pytorch", "--target", "any", "-o", "/nonexistent/plan"],
    ],
)
def test_unreadable_and_unwritable_places_give_one_line_and_1(words: list[str]) -> None:
    done = envkit(*words)
    assert done.returncode == 1, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "/nonexistent" in done.stderr


def test_a_part_of_a_gpu_name_is_enough_where_it_is_clear() -> None:
    done = envkit("resolve", "--framework", "pytorch", "--gpu", "H100", "--target", "any")
    assert done.returncode == 0, done.stderr
    assert "sm_90" in done.stdout
    assert envkit("resolve", "--gpu", "GeForce", "--target", "any").returncode == 2


def test_an_output_file_is_written_whole_and_with_usual_rights(tmp_path: Path) -> None:
    target = tmp_path / "plan.json"
    done = envkit("resolve", "--framework", "pytorch", "--target", "any", "--json", "-o", str(target))
    assert done.returncode == 0 and done.stdout == ""
    assert target.read_text().startswith("{")
    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]


def test_an_output_file_keeps_the_rights_that_it_had(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    target.touch(mode=0o600)
    assert envkit("matrix", "cuda", "--json", "-o", str(target)).returncode == 0
    assert target.stat().st_mode & 0o777 == 0o600 and target.stat().st_size


def test_an_output_that_names_a_folder_is_refused(tmp_path: Path) -> None:
    done = envkit("matrix", "cuda", "-o", f"{tmp_path}/new/")
    assert done.returncode == 1 and "is not a file name" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [["matrix", "gpus"], ["resolve", "--framework", "pytorch", "--target", "any"]])
def test_a_closed_stdout_is_said_in_one_line(words: list[str]) -> None:
    command = 'exec "$0" -m envkit "$@" >&-'
    done = subprocess.run(
        ["bash", "-c", command, sys.executable, *words], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 1
    assert done.stderr.strip() == "envkit: stdout is closed. Pass a file with --output."


def test_a_capture_without_a_name_is_refused() -> None:
    done = envkit("capture", "")
    assert done.returncode == 1 and "empty" in done.stderr


def test_the_list_of_checks_goes_where_it_is_asked_to(tmp_path: Path) -> None:
    done = envkit("doctor", "--list-checks", "--json", "-o", str(tmp_path / "checks.json"))
    assert done.returncode == 0 and done.stdout == ""
    listed = json.loads((tmp_path / "checks.json").read_text())
    assert "driver-library-mismatch" in {check["id"] for check in listed}


def test_empty_text_is_refused_in_words() -> None:
    done = envkit("doctor", "--from", "-", text="  \n")
    assert done.returncode == 1
    assert "empty" in done.stderr


MISMATCH = ["doctor", "--from", "tests/machines/ubuntu22.04-rtx3090-mismatch"]


@pytest.mark.parametrize(
    ("variables", "colored"),
    [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
)
def test_color_in_a_pipe_only_where_it_is_asked_for(
    variables: dict[str, str], colored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert ("\x1b[" in CliRunner().invoke(program, MISMATCH, color=True).stdout) is colored


@pytest.mark.parametrize(("columns", "width"), [("20", 40), ("60", 60), ("90", 90), ("200", 120), ("", 80)])
def test_the_report_is_as_wide_as_the_terminal_within_limits(
    columns: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert columns or text_width() == width  # tests have no terminal
    if columns:
        monkeypatch.setattr("envkit.cli.terminal.at_terminal", lambda stream: True)
        monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("NO_COLOR", "1")
    assert text_width() == width
    lines = CliRunner().invoke(program, MISMATCH).stdout.splitlines()
    prose = [
        line for line in lines if line.strip() and not line.startswith((" " * 14, "  See also", " " * 12 + "http"))
    ]
    assert all(len(line) <= width for line in prose)
    assert max(map(len, prose)) > width - 12


@pytest.mark.parametrize(
    ("words", "same"),
    [(["help"], ["--help"]), (["help", "doctor"], ["doctor", "--help"]), (["version"], ["--version"])],
)
def test_help_and_version_are_also_commands(words: list[str], same: list[str]) -> None:
    said, meant = (CliRunner().invoke(program, given, prog_name="envkit") for given in (words, same))
    assert said.exit_code == 0 and said.stdout and said.stdout == meant.stdout
    assert envkit("help", "doktor").returncode == 2


@pytest.mark.thorough
def test_no_line_suggests_more_than_two_words() -> None:
    for valid in (COMMANDS, all_checks(), fact_paths(), [row.name for row in Matrix.load().gpus]):
        for word in valid:
            told = did_you_mean(word[:-1], valid)
            assert told.startswith("Did you mean ") and told.count(" or ") <= 1
    assert did_you_mean("driver", all_checks()).startswith("Did you mean driver-")
    assert did_you_mean("qqq", all_checks()) == ""


@pytest.mark.thorough
def test_no_gpu_of_nvidia_is_taken_for_one_of_another_vendor() -> None:
    names = [row.name for row in Matrix.load().gpus]
    for name in names:
        for other in (f"{name} X", f"{name.split(' ', 1)[-1]}5 "):
            assert "is not an NVIDIA GPU" not in str(unknown_gpu(other, names)), name


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"[mirrors\n", "line 1"),
        (b"mirrors = 3\n", "mirrors is not a table"),
        (b"[[mirrors]]\n", "mirrors is not a table"),
        (b"[mirrors]\nhosts = 'x'\n", "hosts is not a table"),
        (b"[mirrors]\nindex-url = 5\n", "index-url = 5"),
        (b"[mirrors]\napt = ['a']\n", "apt = ['a']"),
        (b"[mirrors]\nindx-url = 'https://a.lan'\n", "Did you mean index-url?"),
        (b"[mirrrs]\n", "Did you mean mirrors?"),
        (b"[mirrors.hosts]\n'a b' = 'https://a.lan'\n", "'a b' is not a host name"),
        (b"[mirrors.hosts]\n'a.lan' = 'https://b.lan/$x'\n", "is not a URL"),
        (b"\xff\xfe", "UTF-8"),
    ],
)
def test_broken_config_names_the_file_and_the_fault(tmp_path: Path, content: bytes, told: str) -> None:
    config = tmp_path / "envkit.toml"
    config.write_bytes(content)
    done = envkit(
        "install", "--framework", "pytorch", "--target", "any", "--os", "ubuntu22.04",
        variables={"ENVKIT_CONFIG": str(config)},
    )  # fmt: skip
    assert done.returncode == 1
    assert "envkit.toml" in done.stderr and told in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("name", ["gtx1080ti", "GTX 1080Ti", "NVIDIA GeForce GTX 1080 Ti"])
def test_a_gpu_is_known_however_its_name_is_spaced(name: str) -> None:
    done = envkit("resolve", "--framework", "pytorch", "--gpu", name, "--target", "any")
    assert "GeForce GTX 1080 Ti" in " ".join(done.stdout.split())


def test_a_framework_asked_for_twice_is_one() -> None:
    done = envkit("resolve", "--framework", "torch", "--framework", "pytorch==2.6.0", "--target", "any")
    assert done.returncode == 0
    assert done.stdout.count("torch==2.6.0 from ") == 1


def test_a_target_that_is_missing_or_says_nothing_is_said_so(tmp_path: Path) -> None:
    empty = tmp_path / "notes.txt"
    empty.write_text("nothing about computers\n")
    for target, told in ((str(tmp_path / "none"), "cannot read"), (str(empty), "does not describe a system")):
        done = envkit("resolve", "--framework", "pytorch", "--target", target)
        assert done.returncode == 1
        assert done.stderr.startswith("envkit: --target: ") and told in done.stderr


def test_output_leaves_links_and_pipes_what_they_are(tmp_path: Path) -> None:
    plan, link, pipe = tmp_path / "plan.txt", tmp_path / "link", tmp_path / "pipe"
    plan.write_text("old")
    link.symlink_to("plan.txt")
    os.mkfifo(pipe)
    words = ["resolve", "--framework", "pytorch", "--target", "any", "-o"]
    assert envkit(*words, str(link)).returncode == 0
    assert link.is_symlink() and plan.read_text().startswith("Plan")
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:
        assert envkit(*words, str(pipe)).returncode == 0
        assert reader.communicate(timeout=20)[0] == plan.read_text()
    assert pipe.is_fifo()
    assert envkit(*words, "/dev/null").returncode == 0
    assert Path("/dev/null").is_char_device()


def _options_of_one_value() -> list[tuple[str, str]]:
    """Every option that takes one value, with the words of its command."""
    return [
        (name, param.opts[-1])
        for name, command in commands()
        for param in command.params
        if isinstance(param, click.Option) and not (param.multiple or param.is_flag or param.count)
    ]


@pytest.mark.parametrize(("name", "option"), _options_of_one_value(), ids=lambda word: word.replace(" ", "-"))
def test_an_option_for_one_value_is_refused_when_it_is_given_twice(name: str, option: str) -> None:
    done = CliRunner().invoke(program, [*name.split(), option, "1", f"{option}=2"], prog_name="envkit")
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"{option} was given more than once. Use it once." in done.stderr


def test_every_kind_of_command_has_options_of_one_value() -> None:
    assert {len(name.split()) for name, _ in _options_of_one_value()} == {1, 2}
    assert {"recommend", "recommend machine", "fleet report"} <= {name for name, _ in _options_of_one_value()}
    done = envkit("resolve", "--framework", "pytorch", "--cuda", "12.6", "--cuda=11.8", "--target", "any")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[0] == (
        "envkit: --cuda was given more than once. Use it once. Run `envkit resolve --help` to list the options."
    )


@pytest.mark.parametrize(
    ("word", "expected"),
    [("Xid 79", "gpu-fallen-off-bus"), ("xid31", "xid-other"), ("XID: 999", "not in envkit's table")],
)
def test_an_xid_is_explained_by_its_number(word: str, expected: str) -> None:
    done = envkit("explain", word)
    assert done.returncode == 0 and expected in done.stdout, done.stderr
