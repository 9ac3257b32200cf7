"""Child processes with a time limit: killed with their group when late, never waited for without end."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence

from envkit._startup.records import record
from envkit.host.base import CommandResult
from envkit.host.guardian import GUARDIAN
from envkit.model import Observed, Problem, found, missing

_MAX_OUTPUT = 16_000_000  # bytes of one stream; a program that never stops writing must not fill the memory
_DEATH_S = 0.2  # how long a killed child may take to be gone before it is left behind


Patience = Callable[[bytes | bytearray], float]  # seconds until the next output must come, by what was written so far


@record
class Followed:
    """What a child wrote until it ended; `silent`: it was given up, as it wrote nothing for too long."""

    result: CommandResult
    silent: bool


def run_child(
    command: Sequence[str], environment: Mapping[str, str], limit_s: float, folder: str = "/"
) -> Observed[CommandResult]:
    """The finished command, or ABSENT, DENIED, UNPARSABLE (cannot be executed), TIMED_OUT."""
    deadline = time.monotonic() + limit_s
    followed = follow_child(command, environment, lambda written: deadline - time.monotonic(), folder)
    if followed.value is None:
        return missing(followed.problem or Problem.UNPARSABLE, followed.source, followed.detail)
    if followed.value.silent:
        return missing(Problem.TIMED_OUT, followed.source, f"no answer within {limit_s:g} s")
    return found(followed.value.result, followed.source)


def follow_child(
    command: Sequence[str],
    environment: Mapping[str, str],
    patience: Patience,
    folder: str = "/",
    given: int = subprocess.DEVNULL,
) -> Observed[Followed]:
    """The command's output as far as it came, or ABSENT, DENIED, UNPARSABLE (cannot be executed).

    It does not start in the working folder, whose files may be a stranger's. It reads the open file `given`.
    """
    source = " ".join(command)
    try:
        process = subprocess.Popen(
            list(command),
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=GUARDIAN.marked(environment),
            cwd=folder,
            start_new_session=True,
        )
    except (FileNotFoundError, NotADirectoryError):
        return missing(Problem.ABSENT, source, "no such program")
    except PermissionError:
        return missing(Problem.DENIED, source, "may not be executed")
    except (OSError, ValueError) as error:
        return missing(Problem.UNPARSABLE, source, f"cannot be executed: {error}")
    GUARDIAN.watch(process.pid)
    stdout, stderr, ended = _read(process, patience)
    if not ended:
        _kill(process)
    GUARDIAN.forget(process.pid)
    texts = (output.decode("utf-8", "replace") for output in (stdout, stderr))
    return found(Followed(CommandResult(process.returncode, *texts), not ended), source)


def ending(result: CommandResult) -> str:
    """How a child ended, in words: the signal that killed it, otherwise its last words, otherwise its status."""
    if result.exit_code < 0:
        try:
            return f"the child died of {signal.Signals(-result.exit_code).name}"
        except ValueError:
            return f"the child died of signal {-result.exit_code}"
    words = result.stderr.strip().splitlines()
    return words[-1][:300] if words else f"the child ended with status {result.exit_code}"


def _read(process: subprocess.Popen[bytes], patience: Patience) -> tuple[bytes, bytes, bool]:
    """What the child wrote on both streams, and whether it ended; not when it kept silent for too long."""
    written, errors = bytearray(), bytearray()
    outputs = {process.stdout: written, process.stderr: errors}
    until = time.monotonic() + patience(b"")
    with selectors.DefaultSelector() as selector:
        for stream in outputs:
            if stream is not None:
                os.set_blocking(stream.fileno(), False)
                selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            left = until - time.monotonic()
            ready = selector.select(left) if left > 0 else []
            if not ready:
                return bytes(written), bytes(errors), False
            for key, _ in ready:
                block = os.read(key.fd, 65536)
                kept = outputs[key.fileobj]  # type: ignore[index]
                kept += block[: _MAX_OUTPUT - len(kept)]
                if not block:
                    selector.unregister(key.fileobj)
                elif kept is written:
                    until = time.monotonic() + patience(written)
    try:
        process.wait(max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        return bytes(written), bytes(errors), False
    _close(process)
    return bytes(written), bytes(errors), True


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the child's whole group; one that hangs in the kernel (state D) is left behind and not waited for."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    _close(process)
    try:
        process.wait(_DEATH_S)
    except subprocess.TimeoutExpired:
        process.returncode = -signal.SIGKILL


def _close(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
