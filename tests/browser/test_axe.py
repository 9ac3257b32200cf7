"""Every page that envkit writes, by an accessibility checker: wide and narrow, light and dark, all of it unfolded."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from html import escape, unescape
from pathlib import Path
from typing import Any

import pytest

from envkit.api.report import judged
from envkit.bench.verdicts import Device
from envkit.bench.verdicts import judged as bench_judged
from envkit.checks.engine.registry import all_checks
from envkit.cli.report import rendered
from envkit.render.bench_report import bench_html
from envkit.tables import Matrix
from tests.advice.judging import envkit
from tests.bench.test_verdicts import _measurement
from tests.fakes.machines import MACHINES
from tests.hostile.places import known

pytestmark = pytest.mark.browser
ROOT = Path(__file__).resolve().parents[2]
WIDTHS = (1280, 390)
RECORDED = (
    "ubuntu22.04-rtx3090-mismatch",  # a failure, its consequence and a warning
    "ubuntu22.04-8xh100-lost-gpu",  # a tree of eight
    "ubuntu22.04-rtx3090-x4",  # a degraded link
    "ubuntu22.04-8xa100-row-remap",  # a warning alone
    "ubuntu22.04-rtx4090-550-torch",  # health
    "debian12-none-none",
    "cudnn-mixed-sublibraries.txt",  # a text
)
_CHECK = """
const done = [];
async function check() {
  for (const frame of document.querySelectorAll("iframe")) {
    const page = frame.contentWindow;
    page.document.querySelectorAll("details").forEach(part => part.open = true);
    const found = await page.axe.run(page.document, {resultTypes: ["violations"]});
    const told = found.violations.map(one => `${one.id}: ${one.nodes[0].html.slice(0, 200)}`);
    const root = page.document.documentElement;
    done.push({name: frame.title, told, rules: found.passes.length, wide: root.scrollWidth > page.innerWidth,
               dark: page.matchMedia("(prefers-color-scheme: dark)").matches});
  }
}
function tell(text) { const told = document.createElement("pre"); told.id = "told"; told.textContent = text;
                      document.body.append(told); }
onload = () => check().then(() => tell(JSON.stringify(done)), error => tell(JSON.stringify(String(error))));
"""


@pytest.fixture(scope="session")
def axe() -> str:
    """The checker's script, fetched once by npm."""
    folder = ROOT / ".cache" / "axe"
    script = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not script.is_file():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("npm, which fetches axe-core, is not installed")
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(Path(__file__).with_name("package.json"), folder)
        words = [npm, "install", "--prefix", str(folder), "--ignore-scripts", "--no-audit", "--no-fund"]
        subprocess.run(words, check=True, capture_output=True, timeout=120)
    return script.read_text("utf-8")


def pages(folder: Path) -> Iterator[tuple[str, str]]:
    for name in RECORDED:
        report = judged(known(name), list(all_checks().values()), Matrix.load(), mask=False)
        yield name, rendered([report], "html", verbose=False, to_file=True)
    fleet = folder / "fleet.html"
    envkit("fleet", "report", *(str(MACHINES / name) for name in RECORDED[:3]), "-o", str(fleet))
    yield "fleet", fleet.read_text("utf-8")
    rows = [
        bench_judged(_measurement("membw", 30.0, 31.0), Device("a processor"), 2, {"membw|pytorch|a processor|2": 60})
    ]
    yield "bench", bench_html(rows)


def with_script(page: str, script: str) -> str:
    """The page's own policy lets no script run but its own, so what looks at it takes the policy out."""
    page, removed = re.subn(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    assert removed == 1
    inert = script.replace("</script", "<\\/script")
    return page.replace("</body>", f"<script>{inert}</script></body>")


def looked_at(folder: Path, held: dict[str, str], *options: str) -> list[dict[str, Any]]:
    frames = "".join(
        f'<iframe title="{name}" width="{width}" height="900" srcdoc="{escape(page)}"></iframe>'
        for name, page in held.items()
        for width in WIDTHS
    )
    file = folder / "pages.html"
    file.write_text(f'<!doctype html><meta charset="utf-8"><body>{frames}<script>{_CHECK}</script></body>')
    words = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile"]
    words += ["--window-size=1400,1000", "--virtual-time-budget=300000", *options, "--dump-dom", file.as_uri()]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=True)
    (told,) = re.findall(r'<pre id="told">(.*?)</pre>', done.stdout, re.DOTALL)
    found: list[dict[str, Any]] = json.loads(unescape(told))
    assert isinstance(found, list), found
    return found


def test_the_checker_finds_nothing_on_any_page(axe: str, tmp_path: Path) -> None:
    held = {name: with_script(page, axe) for name, page in pages(tmp_path)}
    for dark, options in ((False, ()), (True, ("--blink-settings=preferredColorScheme=0",))):
        found = looked_at(tmp_path, held, *options)
        assert len(found) == len(held) * len(WIDTHS) and {one["dark"] for one in found} == {dark}
        assert {(one["name"], told) for one in found for told in one["told"]} == set()
        assert [one["name"] for one in found if one["wide"]] == []
        assert all(one["rules"] > 15 for one in found)


def test_the_checker_sees_what_is_wrong(axe: str, tmp_path: Path) -> None:
    """A page without a language and a title, whose text nobody can read."""
    bad = '<!doctype html><html><head><meta http-equiv="Content-Security-Policy" content=""></head><body>'
    bad += '<p style="color: #eee">pale</p><img src="data:,"></body></html>'
    told = {line.partition(":")[0] for line in looked_at(tmp_path, {"bad": with_script(bad, axe)})[0]["told"]}
    assert {"color-contrast", "html-has-lang", "image-alt", "document-title"} <= told
