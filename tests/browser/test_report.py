"""The HTML report in a real browser: no console message, the tree drawn, readable on a phone."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from envkit.checks.engine.command import Command
from envkit.checks.engine.findings import Evidence, Finding, Remedy, Status
from envkit.model import Environment, PcieLink, PciGpu, found
from envkit.render.html import doctor_html

pytestmark = pytest.mark.browser
PHONE = 360  # CSS pixels of a small phone held upright


def _gpu(address: str, width: int) -> PciGpu:
    switch = PcieLink("0000:01:00.0", "PCIe switch", width_current=16, width_max=16)
    root = PcieLink("0000:00:01.0", "Root port", width_max=16, slot="3")
    link = PcieLink(address, speed_current=2.5, speed_max=16.0, width_current=width, width_max=16)
    return PciGpu(address, "2204", name="GeForce RTX 3090", link=link, hops=(switch, root))


def _page(folder: Path, script: str = "") -> Path:
    environment = Environment(pci_gpus=found((_gpu("0000:02:00.0", 16), _gpu("0000:03:00.0", 4)), "sysfs"))
    finding = Finding(
        "pcie-width-degraded",
        Status.FAIL,
        "The link is <narrow> & slow",
        "GPU 0000:03:00.0",
        (Evidence("pci_gpus", "x4 of x16", "/sys/bus/pci/devices/0000:03:00.0/current_link_width"),),
        "Copies run at a quarter of the rate.",
        Remedy("Reseat the card.", (Command(shell="sudo lspci -vv -s 03:00.0 | grep LnkSta " + "x" * 120),)),
        ("https://example.org/a/very/long/reference/" + "y" * 100,),
    )
    page, html = folder / "report.html", doctor_html(environment, [finding])
    if script:  # the page's own policy lets no script run, so what measures it takes the policy out
        html, removed = re.subn(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", html)
        assert removed == 1
        html = html.replace("</body>", f"{script}</body>")
    page.write_text(html)
    return page


def _chromium(page: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
            f"--user-data-dir={page.parent}/profile", f"--window-size={PHONE},1200", *options, page.as_uri(),
        ],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip


def test_no_console_message_and_the_tree_is_drawn(tmp_path: Path) -> None:
    done = _chromium(_page(tmp_path), "--dump-dom")
    assert "CONSOLE" not in done.stderr
    (drawing,) = re.findall(r'<svg id="topology".*?</svg>', done.stdout, re.DOTALL)
    assert drawing.count("<circle") == 4
    assert drawing.count('class="degraded"') == 2  # the link, and the words next to it
    assert "x4 of x16" in drawing


def test_nothing_runs_out_of_a_phone_screen(tmp_path: Path) -> None:
    script = "<script>document.title = 'width ' + document.documentElement.scrollWidth</script>"
    done = _chromium(_page(tmp_path, script), "--dump-dom")
    (width,) = re.findall(r"<title>width (\d+)</title>", done.stdout)
    # Headless windows are at least 500 wide on some builds; the page may fill the window and no more.
    (window,) = re.findall(
        r"<title>(\d+)</title>",
        _chromium(_page(tmp_path, "<script>document.title = innerWidth</script>"), "--dump-dom").stdout,
    )
    assert int(width) <= int(window)


def test_no_script_runs_in_a_report(tmp_path: Path) -> None:
    page = _page(tmp_path)
    page.write_text(page.read_text().replace("</body>", "<script>document.title = 'ran'</script></body>"))
    assert "<title>ran</title>" not in _chromium(page, "--dump-dom").stdout


def test_a_screenshot_can_be_taken(tmp_path: Path) -> None:
    _chromium(_page(tmp_path), f"--screenshot={tmp_path}/report.png")
    picture = (tmp_path / "report.png").read_bytes()
    assert picture.startswith(b"\x89PNG") and len(picture) > 10_000


def test_text_from_a_machine_cannot_become_markup() -> None:
    hostile = Environment(origin="<script>alert(1)</script>")
    page = doctor_html(hostile, [Finding("x", Status.FAIL, "<img src=x onerror=alert(1)>")])
    assert "<script>" not in page and "<img" not in page
