"""The resolver alone, in one process: processor time for questions that have a plan and for some that have none.

`first` is a question to tables that are read but were never asked anything; `next` is one after all the others here,
none of which is the same. Each is the least of several runs: a busy machine does not matter.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Iterable

from envkit._startup.records import record
from envkit.solver.model import Plan
from envkit.solver.parse import parse_request
from envkit.solver.request import Request, RequestWords
from envkit.solver.solve import resolve
from envkit.tables import Matrix

RUNS = 7
PLANS = {
    "pytorch": RequestWords(frameworks=("pytorch",)),
    "tensorflow, jax": RequestWords(frameworks=("tensorflow", "jax"), cuda="12"),
    "mxnet": RequestWords(frameworks=("mxnet",)),
    "cupy": RequestWords(frameworks=("cupy",)),
    "pytorch, GTX 1080 Ti, driver 580": RequestWords(
        frameworks=("pytorch",), gpus=("GeForce GTX 1080 Ti",), driver="580.65.06"
    ),
    "pytorch, CUDA 9.0": RequestWords(frameworks=("pytorch",), cuda="9.0"),
    "CUDA alone": RequestWords(),
}
REFUSALS = {
    "pytorch, H100, CUDA 9.0": RequestWords(frameworks=("pytorch",), gpus=("H100 PCIe",), cuda="9.0"),
    "pytorch >=2, driver 384.81": RequestWords(frameworks=("pytorch>=2",), driver="384.81"),
    "pytorch 2.15, GTX 1080 Ti": RequestWords(frameworks=("pytorch==2.15",), gpus=("GeForce GTX 1080 Ti",)),
    "pytorch 2.6, RTX 5090": RequestWords(frameworks=("pytorch==2.6",), gpus=("GeForce RTX 5090",)),
    "tensorflow 1.15, RTX 3090": RequestWords(frameworks=("tensorflow==1.15",), gpus=("GeForce RTX 3090",)),
    "pytorch, K80, driver 580": RequestWords(frameworks=("pytorch",), gpus=("Tesla K80",), driver="580.65.06"),
    "mxnet 1.9.1, Python 3.12": RequestWords(frameworks=("mxnet==1.9.1",), python="3.12"),
    "pytorch 2.4, RTX 2080 Ti and B200": RequestWords(
        frameworks=("pytorch==2.4",), gpus=("GeForce RTX 2080 Ti", "B200")
    ),
    "pytorch 2.15, tensorflow 1.15": RequestWords(frameworks=("pytorch==2.15", "tensorflow==1.15")),
}
QUESTIONS = PLANS | REFUSALS


@record
class Times:
    """Processor seconds of one question; `plan` shows whether it has a plan."""

    first: float
    next: float
    plan: bool


def question(words: RequestWords, matrix: Matrix) -> Request:
    """The request that these options of `envkit resolve` make."""
    return parse_request(words, matrix, container=False)


def times(name: str, matrix: Matrix) -> Times:
    """How long the resolver takes for one of the questions."""
    asked = question(QUESTIONS[name], matrix)
    others = [question(words, matrix) for other, words in QUESTIONS.items() if other != name]
    found = resolve(asked, matrix)  # reads the tables
    return Times(
        min(_seconds(asked, copy.copy(matrix)) for _ in range(RUNS)),
        min(_seconds(asked, _questioned(matrix, others)) for _ in range(RUNS)),
        isinstance(found, Plan),
    )


def _questioned(matrix: Matrix, requests: Iterable[Request]) -> Matrix:
    """The tables with a memory of these requests alone."""
    fresh = copy.copy(matrix)
    for request in requests:
        resolve(request, fresh)
    return fresh


def _seconds(request: Request, matrix: Matrix) -> float:
    started = time.process_time()
    resolve(request, matrix)
    return time.process_time() - started


def table() -> str:
    """Markdown lines with the times of every question."""
    matrix = Matrix.load()
    lines = [
        "## The resolver alone",
        "",
        "Processor time inside one process, the least of several runs: as the first question after the tables were "
        "read, and as a later one, after all the others in this list.",
        "",
        "| question | answer | first ms | next ms |",
        "|---|---|---|---|",
    ]
    for name in QUESTIONS:
        spent = times(name, matrix)
        answer = "plan" if spent.plan else "refusal"
        lines.append(f"| {name} | {answer} | {spent.first * 1e3:.1f} | {spent.next * 1e3:.1f} |")
    return "\n".join(["", *lines, ""])


if __name__ == "__main__":
    print(table())
