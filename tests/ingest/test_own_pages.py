"""A page that envkit wrote is no description of a machine, whichever command wrote it."""

from __future__ import annotations

import pytest

from envkit.ingest.own import own_report

PAGE = "<!doctype html>\n<html>\n<head>\n<title>{}</title>\n</head><body>driver 570 is needed</body></html>\n"


@pytest.mark.parametrize("title", ["envkit doctor: What is wrong", "envkit fleet · 7 hosts: 2 ok", "envkit: Cards"])
def test_a_page_of_envkit_is_refused(title: str) -> None:
    assert own_report(PAGE.format(title))


@pytest.mark.parametrize("title", ["CUDA error: no kernel image", "How I used envkit doctor"])
def test_a_page_of_others_is_read(title: str) -> None:
    assert not own_report(PAGE.format(title))


def test_the_markdown_of_a_fleet_is_refused() -> None:
    assert own_report("### envkit fleet · 7 hosts: 2 ok, 4 failed\n")
    assert not own_report("### envkit and our fleet\n")
