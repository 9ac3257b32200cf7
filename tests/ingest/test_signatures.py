"""The table of error messages: each pattern is specific, fast, and finds its own example however it was wrapped."""

from __future__ import annotations

import re
import textwrap

import pytest

from envkit.checks.engine.registry import all_checks
from envkit.ingest import parse_text
from envkit.ingest.cleaning import clean
from envkit.ingest.signatures import messages_in, spaced
from envkit.tables.findings import Signature
from envkit.tables.loader import read
from tests.processor_time import least_seconds
from tests.sweeps import turn

ALL = read(Signature)


def ids(text: str) -> set[str]:
    return {message.signature for message in messages_in(clean(text))}


# One test for all of them: there are so many that starting a test for each would take longer than the tests do.
def test_some_signatures_find_their_examples() -> None:
    some = ALL[turn(8) :: 8]
    assert [one.signature for one in some if one.signature not in ids(one.example)] == []


@pytest.mark.thorough
def test_every_signature_finds_its_example() -> None:
    assert [one.signature for one in ALL if one.signature not in ids(one.example)] == []


def test_every_anchor_is_in_lower_case() -> None:
    assert [one.signature for one in ALL if one.anchor != one.anchor.lower()] == []


ONE_LINE = [signature for signature in ALL if "\n" not in signature.example and not signature.pattern.endswith("$")]


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 60, break_long_words=False, break_on_hyphens=False)


@pytest.mark.thorough
def test_every_signature_finds_its_example_after_a_line_wrap() -> None:
    found = {one.signature: ids(f"12:00 start\n{_wrapped(one.example)}\nend") for one in ONE_LINE}
    assert [signature for signature, those in found.items() if signature not in those] == []


def test_every_signature_names_a_check_and_says_where_it_comes_from() -> None:
    assert [one.signature for one in ALL if one.signature.split("/")[0] not in all_checks()] == []
    assert [one.signature for one in ALL if not one.reference.strip()] == []


def test_the_anchor_is_part_of_every_match() -> None:
    for signature in ALL:
        flat = signature.example.lower().replace("\n", " ")
        assert signature.anchor in flat, signature.signature


def test_words_next_to_a_message_are_separated_as_every_list_is() -> None:
    for signature in ALL:
        assert not any("|" in words for words in signature.unless), signature.signature
        assert not any("&" in words for words in signature.also), signature.signature


def test_words_next_to_a_message_are_lower_case_as_the_text_is_that_is_asked_for_them() -> None:
    for signature in ALL:
        words = (*signature.unless, *signature.also)
        assert [word.lower() for word in words] == list(words), signature.signature


def test_nouveau_is_no_fault_in_a_log_where_the_driver_took_over() -> None:
    line = next(row.example for row in ALL if row.signature == "nouveau-loaded/kernel-log")
    assert ids(line) == {"nouveau-loaded/kernel-log"}
    assert ids(f"{line}\nNVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.183.01") == set()


def test_no_pattern_repeats_without_bound() -> None:
    # unbounded gaps are what makes a search slow on hostile text; `[^\n]*` and `.*` are not needed
    for signature in ALL:
        outside = re.sub(r"\[(?!\^)(?:\\.|[^\]\\])*\]", "c", signature.pattern)
        assert not re.search(r"(?<!\\)\.[*+]|\[\^[^\]]*\][*+]|\\[sS][*+]", outside), signature.signature


def test_a_blank_stands_for_a_line_break_of_the_kernel_log() -> None:
    pattern = re.compile(spaced("invalid: BAR"))
    assert pattern.search("invalid:\n[   15.0] NVRM: BAR")
    assert pattern.search("invalid:   BAR")
    assert not pattern.search("invalid:BAR")


def test_the_values_of_a_message_are_kept() -> None:
    message = messages_in(clean("modprobe: FATAL: Module nvidia not found in directory /lib/modules/6.8.0-45-generic"))[
        0
    ]
    assert (message.signature, message.line) == ("module-missing-for-running-kernel/modprobe", 1)
    assert message.values == {"kernel": "6.8.0-45-generic"}


def test_a_message_that_repeats_counts_once() -> None:
    line = "Failed to initialize NVML: Driver/library version mismatch\n"
    assert len(messages_in(clean(line * 500))) == 1


def test_a_message_cut_at_the_terminal_edge_is_found() -> None:
    message = "torch.AcceleratorError: CUDA error: no kernel image is available for execution on the device"
    wide = "x" * 80
    assert "arch-newer-than-build/no-kernel-image" in ids(f"{wide}\n{message[:80]}\n{message[80:]}\n")


@pytest.mark.parametrize(
    "noise",
    [
        "epoch 3, error 0, 0 errors",
        "nvidia: module verification failed: signature and/or required key missing - tainting kernel",
        "I tensorflow/core/platform/cpu_feature_guard.cc:210] This TensorFlow binary is optimized to use AVX2",
        "W tensorflow/compiler/tf2tensorrt/utils/py_utils.cc:38] TF-TRT Warning: Could not find TensorRT",
        "Could not load dynamic library 'libnvinfer.so.7'; dlerror: libnvinfer.so.7: cannot open shared object file",
        "Unable to initialize backend 'tpu': INTERNAL: Failed to open libtpu.so",
        "/sbin/ldconfig.real: /usr/lib/wsl/lib/libcuda.so.1 is not a symbolic link",
        "pip install nvidia-smi-exporter; nvidia-smi works fine",
        "See https://example.org/cuda-visible-devices#empty for CUDA_VISIBLE_DEVICES",
        "drm: nouveau is blacklisted",
        "ModuleNotFoundError: No module named 'requests'",
        "ModuleNotFoundError: No module named 'mymodel.layers'",
        "ImportError: cannot import name 'train' from 'utils' (/home/me/utils.py)",
        "AttributeError: module 'mypkg' has no attribute 'foo'",
        "TypeError: MyModel.__init__() got an unexpected keyword argument 'hidden'",
        "flash-attn only supports sm80 and above, see README for older GPUs.",
        "RAPIDS needs compute capability 7.0 or higher; your GPU has 8.6, so it is supported.",
        "-- Could NOT find CUDNN (missing: CUDNN_LIBRARY), USE_CUDA=OFF",
        "nvcc warning : The -std=c++20 flag is not supported with the configured host compiler. Flag will be ignored.",
        "The installed Paddle is compiled with CUDNN 8.4, but CUDNN version in your machine is 8.9, which may cause",
        "CUDA kernels will be jit-compiled from PTX, which could take 30 minutes or longer.",
    ],
)
def test_noise_has_no_message(noise: str) -> None:
    assert ids(noise) == set()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "hostile",
    [
        "Xid (PCI:" * 100_000,
        "a" * 1_000_000,
        " " * 1_000_000,
        "nvidia-smi " * 90_000,
        "cannot open shared object file" * 33_000,
        "API mismatch: the client " * 40_000,
        'File "/x/envs/y/lib/python3.9/z", line 3\n' * 24_000,
        "| 0 NVIDIA A100 " * 60_000,
        "\n" * 1_000_000,
    ],
    ids=["xid", "letters", "blanks", "smi", "loader", "mismatch", "traceback", "table", "lines"],
)
def test_a_hostile_megabyte_is_searched_in_bounded_time(hostile: str) -> None:
    assert least_seconds(lambda: parse_text(hostile), 5.0) < 5.0


def test_a_megabyte_of_log_takes_less_than_a_second() -> None:
    lines = (
        f"2026-01-01 00:00:{n % 60:02d}.{n:06d}: I tensorflow/core/x.cc:{n}] step {n} loss {n / 7:.4f} on GPU:0\n"
        for n in range(13_000)
    )
    log = "".join(lines)
    assert len(log) > 1_000_000
    parse_text("")  # the readers' import is not what is measured
    assert least_seconds(lambda: parse_text(log), 1.0) < 1.0
