"""Long texts are read once: 10 MB in seconds, whatever they hold, and no short one that takes as long."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable

import pytest

from envkit.ingest import parse_text
from envkit.ingest.cleaning import clean
from envkit.ingest.sources import from_text
from tests.processor_time import least_seconds

SHORT = 0.25  # seconds of processor time for any short text below
LONG = 8.0  # for 10 MB, which take two to three; a search that begins anew at every line takes minutes


def seconds(text: str, limit: float) -> float:
    return least_seconds(lambda: from_text(text, "a text"), limit)


@pytest.mark.parametrize(
    "text",
    [
        "C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\v12.1\n",
        "F:\\ " + "a b" * 3000,
        "libcudnn_" * 3000,
        "nvidia-" * 6500,
        "depends on" * 3600,
        "a" * 40_000 + "\n",
        "a" * 40_000 + "\n\r\n",
        "index, name" + "." * 3000 + "!",
        "Package Version\n" * 3000,
        ("|" + " " * 70 + "+\n") * 1000 + "x|\n" * 1000,
        base64.b64encode(bytes(range(256)) * 150).decode(),
        "\n".join([base64.b64encode(bytes(range(57))).decode()] * 600),
        "drwxr-xr-x 3 root root 4096 Mar  3 10:12 cuda-12.1\n" * 800,
        "ImportError: libcudart.so.11.0: cannot open shared object file: No such file or directory\n" * 600,
    ],
    ids=lambda text: text[:24].strip(),
)
def test_a_short_text_is_read_at_once(text: str) -> None:
    parse_text("")  # the readers' import is not what is measured
    assert seconds(text, SHORT) < SHORT


def training(number: int) -> str:
    return f"2026-05-12 19:00:{number % 60:02d},{number % 1000:03d} INFO step {number} loss={number / 7:.4f} eta 1:02\n"


def kernel(number: int) -> str:
    stamp = f"May 12 19:00:{number % 60:02d} node17 kernel: [{number}.{number % 1000000:06d}]"
    return f"{stamp} NVRM: Xid (PCI:0000:41:00): 31, pid={number}, name=python, Ch 00000008\n"


def error(number: int) -> str:
    return f"{number} ImportError: libcudart.so.11.{number % 10}: cannot open shared object file: No such file\n"


def words(number: int) -> str:
    source = random.Random(number)
    return " ".join("".join(source.choices("abcdefghijklmnop", k=7)) for _ in range(9)) + "\n"


@pytest.mark.thorough
@pytest.mark.parametrize("line", [training, kernel, error, words], ids=lambda line: line.__name__)
def test_ten_megabytes_take_seconds(line: Callable[[int], str]) -> None:
    lines = [line(number) for number in range(20_000)]
    log = "".join(lines * (10_000_000 // sum(map(len, lines)) + 1))[:10_000_000]
    assert seconds(log, LONG) < LONG


@pytest.mark.thorough
def test_the_last_error_of_a_long_log_is_found() -> None:
    log = "".join(kernel(number) for number in range(20_000))
    last = "May 12 20:00:00 node17 kernel: [9.1] NVRM: Xid (PCI:0000:41:00): 79, pid=1, GPU has fallen off the bus.\n"
    messages = {message.signature for message in parse_text(log + last).messages.get()}
    assert "gpu-fallen-off-bus/xid-79" in messages


def test_line_numbers_of_a_long_log_are_those_of_the_text() -> None:
    text = clean("".join(training(number) for number in range(5000)) + "RuntimeError: No CUDA GPUs are available\n")
    assert text.place(text.whole.index("No CUDA")) == ("", 5001)
