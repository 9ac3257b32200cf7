"""The edge of the program: bugs, interrupts and a reader that goes away."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time

import pytest


def _program(body: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs the boundary over a group whose command does what `body` says."""
    source = textwrap.dedent(
        f"""
        import sys, click
        import envkit.cli.main as main
        @click.command()
        def work():
            {body}
        main.LazyGroup.get_command = lambda self, ctx, name: work
        main.COMMANDS["work"] = "works"
        from envkit.cli.boundary import exit_code
        sys.exit(exit_code(["work", *sys.argv[1:]]))
        """
    )
    return subprocess.run([sys.executable, "-c", source, *words], capture_output=True, text=True, check=False)


def test_a_bug_gives_three_and_text_to_paste() -> None:
    done = _program("raise ZeroDivisionError('x')")
    assert done.returncode == 3
    assert "bug in envkit" in done.stderr and "ZeroDivisionError: x" in done.stderr
    assert "Traceback" not in done.stderr


def test_debug_shows_the_traceback() -> None:
    done = _program("raise ZeroDivisionError('x')", "--debug")
    assert "Traceback" in done.stderr


def test_an_interrupt_gives_130() -> None:
    assert _program("raise KeyboardInterrupt").returncode == 130


def test_expected_errors_are_one_line() -> None:
    done = _program("from envkit.base.errors import SourceError; raise SourceError('a is broken.', 'Fix it.')")
    assert (done.returncode, done.stderr) == (1, "envkit: a is broken. Fix it.\n")


@pytest.mark.thorough
def test_control_c_ends_a_real_run_at_once() -> None:
    program = subprocess.Popen(
        [sys.executable, "-m", "envkit", "doctor", "--from", "-"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        # A test run in the background has the signal switched off, and its children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    time.sleep(2)
    program.send_signal(signal.SIGINT)
    _, said = program.communicate(timeout=30)
    assert program.returncode == 130
    assert "Traceback" not in said


def test_a_reader_that_goes_away_is_no_error() -> None:
    line = f"{sys.executable} -m envkit doctor --list-checks | head -n 1 >/dev/null; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert done.stderr == ""
