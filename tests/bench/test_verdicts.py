"""The verdict table as a pure function."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envkit.bench.jobs import Job
from envkit.bench.measurement import Measurement
from envkit.bench.verdicts import Device, judged, key_of, not_measured, share_verdict
from envkit.bench.work import least_time, tflops_of
from envkit.model import Gpu
from envkit.render.bench_report import bench_html, bench_markdown, bench_text
from envkit.tables.bench import Reference, runner, shares
from envkit.tables.loader import read
from tests.advice.judging import card, cards

GPU: dict[str, Any] = {"index": 0, "name": "NVIDIA GeForce GTX 1080 Ti", "link_generation_max": 3, "link_width_max": 16}
ORDER = {"low": 0, "unknown": 1, "ok": 2}


def _device(**more: Any) -> Device:
    return Device("GPU 0: NVIDIA GeForce GTX 1080 Ti", Gpu(**{**GPU, **more}), card("GeForce GTX 1080 Ti"))


def _measurement(kind: str, *samples: float, **job: Any) -> Measurement:
    unit = {"train": "s", "gemm": "TFLOPS"}.get(kind, "GB/s")
    return Measurement(Job(kind, kind, **job), "pytorch", "2.13", samples, unit)


def test_what_nothing_could_measure_is_named_with_what_would() -> None:
    jobs = [Job("membw", "membw"), Job("gemm.fp32", "gemm"), Job("resnet-50.b16.fp32", "train")]
    processor = Device("a processor")
    every = not_measured((), processor, jobs)
    assert [row.measurement.job.id for row in every] == [job.id for job in jobs]
    assert bench_text(every, 80).splitlines() == [
        "a processor",
        "  not measured: membw, gemm.fp32: needs PyTorch or NumPy",
        "  not measured: resnet-50.b16.fp32: needs PyTorch, TensorFlow, or MXNet",
    ]
    some = judged(_measurement("membw", 30.0, 30.0), processor, 2, {})
    assert [row.measurement.job.id for row in not_measured([some], processor, jobs)] == [job.id for job in jobs[1:]]
    assert bench_text([some, *every[1:]], 80).count("a processor") == 1


@pytest.mark.parametrize(
    ("kind", "value", "status"),
    [
        ("copy", 12.4, "ok"), ("copy", 11.1, "ok"), ("copy", 9.5, "unknown"), ("copy", 8.5, "low"),
        ("gemm", 10.4, "ok"), ("gemm", 5.0, "unknown"), ("gemm", 4.0, "low"),
        ("membw", 430, "ok"), ("membw", 330, "unknown"), ("membw", 200, "low"),
    ],
)  # fmt: skip
def test_shares_of_a_limit(kind: str, value: float, status: str) -> None:
    assert judged(_measurement(kind, value, value, value), _device(), None).status == status


@given(st.sampled_from(["copy", "gemm", "membw"]), st.floats(0.001, 2), st.floats(1, 10))
def test_more_never_turns_ok_into_low(kind: str, share: float, factor: float) -> None:
    assert ORDER[share_verdict(kind, share * factor)] >= ORDER[share_verdict(kind, share)]


@given(st.lists(st.floats(0.5, 20), min_size=1, max_size=10))
def test_no_verdict_where_times_vary(samples: list[float]) -> None:
    verdict = judged(_measurement("copy", *samples), _device(), None)
    spread = verdict.measurement.spread
    if spread is None or spread > 0.10:
        assert verdict.status == "unknown" and "too noisy" in verdict.because
    else:
        assert verdict.status in ("ok", "low", "unknown")


def test_what_is_low_in_its_best_sample_is_low_however_much_it_varies() -> None:
    noisy = _measurement("train", 40.0, 50.0, 60.0, network="resnet-50", batch=16)
    key = key_of(noisy, _device(), None)
    assert judged(noisy, _device(), None, {key: 10.0}).status == "low"
    assert judged(noisy, _device(), None, {key: 45.0}).status == "unknown"


def test_a_network_is_never_low_without_a_baseline() -> None:
    slow = _measurement("train", 50.0, 50.0, 50.0, network="resnet-50", batch=16)
    assert judged(slow, _device(), None).status == ""
    before = {key_of(slow, _device(), None): 40.0}
    assert judged(slow, _device(), None, before).status == "low"
    assert judged(slow, _device(), None, {key_of(slow, _device(), None): 46.0}).status == "ok"


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"processes": (42,), "throttle_reasons": 0x40}, "other processes"), ({"throttle_reasons": 0x40}, "heat"),
        ({"throttle_reasons": 0x1}, "no cause"),
        ({"power_limit_w": 150.0, "power_limit_default_w": 250.0}, "150 W of 250"),
        ({"link_width_current": 8}, "pcie-width-degraded"), ({}, "no cause"),
    ],
)  # fmt: skip
def test_the_reason_of_a_low_value(facts: dict[str, Any], told: str) -> None:
    verdict = judged(_measurement("copy", 5.0, 5.0, 5.0), _device(**facts), None)
    assert verdict.status == "low" and told in verdict.because


def test_the_link_counts_as_it_was_while_the_copy_ran() -> None:
    link = (("current_link_speed", "8.0 GT/s PCIe"), ("current_link_width", "8"))
    one = Measurement(Job("copy", "copy"), "pytorch", "2", (6.1, 6.1, 6.1), "GB/s", None, link)
    verdict = judged(one, _device(), None)
    assert verdict.limit and verdict.limit.value == pytest.approx(7.88) and verdict.status == "ok"


def test_what_excuses_a_device_allows_no_verdict() -> None:
    device = Device("GPU 0", Gpu(**GPU), card("GeForce GTX 1080 Ti"), "WSL")
    assert judged(_measurement("copy", 5.0, 5.0, 5.0), device, None).status == "unknown"


def test_pageable_copies_unknown_cards_and_processors_have_no_limit() -> None:
    assert judged(_measurement("copy", 1.0, 1.0, 1.0, pinned=False), _device(), None).status == ""
    assert judged(_measurement("gemm", 1.0, 1.0, 1.0), Device("GPU 1", Gpu(1, "Voodoo")), None).status == ""
    assert judged(_measurement("membw", 1.0, 1.0, 1.0), Device("CPU"), 2).status == ""


def test_published_figures_of_the_same_card_stand_alongside() -> None:
    one = _measurement("train", 0.07, 0.07, 0.07, network="resnet-50", batch=16)
    device = Device("NVIDIA GeForce GTX 1080 Ti", Gpu(**GPU))
    assert [row.seconds for row in judged(one, device, None).references] == [0.10121]
    cpu = judged(one, Device("some processor"), 2)
    assert [row.seconds for row in cpu.references] == [6.62725]
    lower = _measurement("train", 0.07, 0.07, 0.07, network="resnet-50", batch=16, precision="fp16")
    assert not judged(lower, device, None).references


def test_figures_that_nobody_read_stay_empty() -> None:
    unread = [row for row in read(Reference) if row.status == "not read"]
    assert unread and all(row.seconds is None for row in unread)
    assert all(rule.low <= rule.ok for rule in shares().values())


def test_reports_hold_all_three_and_no_markup_of_a_device() -> None:
    one = _measurement("train", 0.07, 0.071, 0.069, network="resnet-50", batch=16)
    rows = [
        judged(one, Device("<script>GTX", Gpu(**GPU)), None),
        judged(_measurement("copy", 6.0, 6.0, 6.0), _device(), None),
    ]
    for text in (bench_text(rows, 80), bench_markdown(rows), bench_html(rows)):
        assert "0.07 s" in text and "15.76" in text and "low" in text
    page = bench_html(rows)
    assert "<script" not in page and page.count("<svg") == 2 and "published" in page
    assert max(map(len, bench_text(rows, 80).splitlines())) <= 80


def test_bars_that_differ_have_labels_that_differ_where_they_are_cut() -> None:
    processor = Device("AMD EPYC, 2 cores")
    rows = [
        judged(
            Measurement(Job("x", "train", precision, "fcn-5", batch), framework, "2.15.0+cu132", (0.5, 0.5), "s"),
            processor,
            threads,
        )
        for framework in ("pytorch", "tensorflow", "mxnet")
        for precision in ("fp32", "bf16")
        for batch in (16, 4096)
        for threads in (1, 2, 16)
    ]
    labels = re.findall(r'text-anchor="end">([^<]*)<', bench_html(rows))
    assert len(labels) == len(set(labels)) == len(rows)


@pytest.mark.parametrize("framework", ["pytorch", "tensorflow", "mxnet", "numpy", "driver"])
def test_runners_are_python_3_6(framework: str) -> None:
    import ast

    ast.parse(runner(framework), feature_version=(3, 6))


def test_a_network_has_its_rate_and_the_least_time_of_the_card() -> None:
    slow = _measurement("train", 0.1, 0.1, 0.1, network="fcn-s", batch=64)
    least = least_time(slow, card("GeForce GTX 1080 Ti"))
    assert tflops_of(slow) == pytest.approx(0.469, rel=0.01)  # 46.9 GFLOP in a tenth of a second
    assert least and least.bound == "bandwidth"  # its weights alone are read and written for 5 ms
    assert least.seconds == pytest.approx(5 * 4 * 122194048 / 484e9, rel=0.1)
    told = bench_text([judged(slow, _device(), None)], 120)
    assert "0.469 TFLOPS" in told and "at best 0.005" in told and "(bandwidth bound)" in told
    deep = least_time(_measurement("train", 1.0, network="resnet-50", batch=16), card("GeForce GTX 1080 Ti"))
    assert deep and deep.seconds >= 0.393 / 11.4
    for one in cards():  # nothing that is measured is told to be faster than is possible for a reason that is not known
        found = least_time(slow, one)
        assert found is None or found.rate_known
    assert tflops_of(_measurement("copy", 5.0)) is None and least_time(slow, None) is None


def test_the_gpu_is_next_to_the_processor() -> None:
    words = {"network": "resnet-50", "batch": 16}
    fast, slow = (_measurement("train", value, value, value, **words) for value in (0.07, 2.87))
    rows = [judged(fast, _device(), None), judged(slow, Device("a processor"), 2)]
    told = bench_text(rows, 120)
    assert "the GPU is 41 x as fast" in told and "as fast" not in bench_text(rows[1:], 120)
