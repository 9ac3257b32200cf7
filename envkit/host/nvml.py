"""What NVML says, from as many children as it takes: a GPU that never answers costs its own answers alone."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from envkit.host.children import Followed, Patience, ending
from envkit.model import Observed, Problem, found, missing

Answer: TypeAlias = Observed[Mapping[str, object]]
Start: TypeAlias = Callable[[Sequence[str], Patience], Observed[Followed]]  # runs the child with these arguments
_SHORTEST_S = 0.2  # too little time to start one more child
_LATE = "NVML_ERROR_TIMEOUT"


def ask_nvml(start: Start, limit_s: float) -> Answer:
    """The answers of all GPUs (shape: `envkit.host.nvml_child`, with `devices` as a list) within `limit_s` seconds.

    TIMED_OUT: a call of NVML has not returned. NOT_LOOKED: the child did not come as far as calling it.
    """
    deadline = time.monotonic() + limit_s
    answers = _Answers()
    while True:
        followed = start([str(index) for index in answers.devices], lambda said: _patience(said, deadline))
        if followed.value is None:
            return missing(followed.problem or Problem.UNPARSABLE, "nvml", followed.detail)
        answers.read(followed.value.result.stdout)
        if not followed.value.silent and followed.value.result.exit_code == 0 and answers.said:
            return found(answers.whole(), "nvml")
        if not isinstance(answers.asking, int):
            return _without_gpu_to_blame(answers, followed.value, limit_s)
        answers.lose(answers.asking, _LATE if followed.value.silent else ending(followed.value.result))
        if not answers.left or deadline - time.monotonic() < _SHORTEST_S:
            return _with_the_rest_late(answers, limit_s)


class _Answers:
    """What the children have said so far."""

    def __init__(self) -> None:
        self.said: dict[str, Any] = {}
        self.devices: dict[int, dict[str, Any]] = {}
        self.asking: object = None  # the call that has not returned: its name, or the index of a GPU

    def read(self, stdout: str) -> None:
        """Take in what one child wrote."""
        self.asking = None
        for data in _objects(stdout):
            self.asking = data.get("call")
            device = data.get("device")
            if isinstance(device, dict):
                self.devices[int(device["index"])] = device
            elif self.asking is None:
                self.said |= data

    @property
    def left(self) -> list[int]:
        """The GPUs that gave no answer yet."""
        return [index for index in range(self.said.get("count") or 0) if index not in self.devices]

    def lose(self, index: int, error: str) -> None:
        """This GPU gave no answer."""
        self.devices[index] = {"index": index, "name": "", "error": error}

    def whole(self) -> Mapping[str, object]:
        """Everything in one object, as recordings keep it."""
        if "count" not in self.said:
            return dict(self.said)
        return {**self.said, "devices": [self.devices[index] for index in sorted(self.devices)]}


def _patience(said: bytes | bytearray, deadline: float) -> float:
    """Half of the time that is left for a GPU while others wait after it, all of it for anything else."""
    left = deadline - time.monotonic()
    last = next(_objects(bytes(said).rstrip().rpartition(b"\n")[2].decode("utf-8", "replace")), {})
    return left / 2 if last.get("waiting") else left


def _without_gpu_to_blame(answers: _Answers, child: Followed, limit_s: float) -> Answer:
    """The child failed in a call that is about no single GPU, so asking again would not help."""
    if not child.silent:
        return missing(Problem.UNPARSABLE, "nvml", ending(child.result))
    if answers.devices:
        return _with_the_rest_late(answers, limit_s)
    if answers.asking is None:
        return missing(Problem.NOT_LOOKED, "nvml", f"the driver could not even be queried within {limit_s:g} s")
    return missing(Problem.TIMED_OUT, "nvml", f"{answers.asking} has not returned within {limit_s:g} s")


def _with_the_rest_late(answers: _Answers, limit_s: float) -> Answer:
    for index in answers.left:
        answers.lose(index, _LATE)
    if all(device.get("error") == _LATE for device in answers.devices.values()):
        return missing(Problem.TIMED_OUT, "nvml", f"no GPU has answered within {limit_s:g} s")
    return found(answers.whole(), "nvml")


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects among the lines; the last line of a child that was ended may be cut off."""
    for line in text.splitlines():
        try:
            data = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(data, dict):
            yield data
