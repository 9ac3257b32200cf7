"""A fleet's report as one self-contained page with a table of hosts to filter and sort."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from hashlib import sha256

from envkit.fleet.model import FleetReport
from envkit.fleet.names import listed
from envkit.fleet.report import headline, not_judged
from envkit.render.fleet_words import COLUMNS, compared, expectation, explained, gap_words, shared_words
from envkit.render.reports import Look
from envkit.render.templating import template

_SCRIPT = "fleet.js"  # no template language in it: the page's policy lets exactly these bytes run


def report(fleet: FleetReport, look: Look) -> str:
    """The page; it fetches nothing, and runs the one script whose checksum its policy names."""
    from markupsafe import Markup

    script = template("reports", _SCRIPT).render()
    hosts = [(host, host.state.value) for host in fleet.hosts]
    states = Counter(state for _, state in hosts)
    return template("reports", "fleet.html.j2").render(
        headline=headline(fleet),
        worst="fail" if states["fail"] else "ok",
        states=sorted(states.items()),
        causes=fleet.causes,
        drift=fleet.drift,
        compared=compared(fleet),
        gaps=[(gap_words(fleet, gap), gap.hosts) for gap in fleet.gaps],
        not_judged=not_judged(fleet),
        columns=COLUMNS,
        hosts=hosts,
        folded=listed,
        shared_words=shared_words,
        expectation=expectation,
        explained=explained,
        script=Markup(script),
        checksum=b64encode(sha256(script.encode()).digest()).decode("ascii"),
    )
