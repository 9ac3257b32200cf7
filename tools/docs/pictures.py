"""The pictures and the table of times in the documentation, drawn by the program from its tables and a recorded run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from envkit.advice.cards import all_cards
from envkit.advice.named_cards import cards_named
from envkit.advice.rank import Judge, Limits
from envkit.advice.workload import WorkloadWords, workload_of
from envkit.base.versions import Version
from envkit.render.plots import Bar, bar_plot
from envkit.render.recommend_text import step_bars
from envkit.render.rows import markdown_table
from envkit.tables import Matrix
from envkit.tables.bench import Reference
from envkit.tables.loader import read

ROOT = Path(__file__).resolve().parents[2]
_TIMES = ROOT / "docs" / "pictures" / "cpu-times.json"
_TABLE = re.compile(r"(<!-- From cpu-times\.json, written by `make docs`\. -->\n).*?\n(?=\n)", re.DOTALL)
_CARDS = (
    "GTX 1080 Ti", "RTX 2080 Ti", "RTX 3060 12GB", "RTX 3090", "RTX 4060 Ti 16GB", "RTX 4090", "RTX 5070", "RTX 5090",
)  # fmt: skip


def cards_picture() -> str:
    """How long a training step of ResNet-50 takes at best on cards that many people have."""
    matrix = Matrix.load()
    cards = all_cards(matrix)
    named = [card for name in _CARDS for card in cards_named(name, cards, "the picture")]
    judge = Judge(
        workload_of(WorkloadWords(network="resnet-50", batch=64)),
        Limits(year=max(card.model.launch_year or 0 for card in named)),
        matrix,
    )
    return bar_plot("Milliseconds of a step at best", step_bars(judge.ranking(named, named=True).offers)) + "\n"


def times_picture() -> str:
    """The recorded times of the newest release of each framework as bars."""
    newest: dict[str, Version] = {}
    for row in _recorded():
        newest[row["framework"]] = max(_version(row), newest.get(row["framework"], _version(row)))
    bars = [
        Bar(f"{_network(row)} {row['framework']}, {_threads(row)}", median(row["samples"]), "measured")
        for row in _recorded()
        if _version(row) == newest[row["framework"]]
    ]
    return bar_plot("Seconds per mini-batch", bars) + "\n"


def with_times(page: Path) -> str:
    """A page with the table of the recorded times, each framework next to what was published on a CPU."""
    cells: dict[tuple[str, str], dict[int, str]] = {}
    for row in _recorded():
        own = cells.setdefault((_network(row), f"{row['framework']} {row['version']}"), {})
        own[row["threads"]] = _told(row["samples"])
    lines = [
        (network, framework, own.get(1, ""), own.get(2, ""), _published(network))
        for (network, framework), own in cells.items()
    ]
    table = markdown_table(("network", "framework", "1 thread", "2 threads", "published on a CPU"), lines)
    return _TABLE.sub(lambda match: f"{match[1]}\n{table}\n", page.read_text(encoding="utf-8"))


def _recorded() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(_TIMES.read_text(encoding="utf-8"))["times"]
    return rows


def _version(row: dict[str, Any]) -> Version:
    return Version.parse(row["version"])


def _network(row: dict[str, Any]) -> str:
    return str(row["id"]).removesuffix(".fp32")


def _threads(row: dict[str, Any]) -> str:
    return f"{row['threads']} thread{'s' if row['threads'] > 1 else ''}"


def _told(samples: list[float]) -> str:
    low, _, high = quantiles(samples, n=4, method="inclusive")
    return f"{median(samples):.3g} s ({(high - low) / median(samples):.0%}, n {len(samples)})"


def _published(network: str) -> str:
    name, _, batch = network.partition(".b")
    rows = [row for row in read(Reference) if (row.network, str(row.batch), row.device_kind) == (name, batch, "cpu")]
    return "; ".join(
        f"{row.seconds:g} s ({row.device}, {row.framework}, {row.published})" for row in rows if row.seconds
    )
