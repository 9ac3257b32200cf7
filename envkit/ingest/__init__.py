"""Pasted text in any mix becomes the same facts as a machine's own, and the known error messages in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.ingest.clues import Clue

_LATER = 15  # readers that take about as long as what follows them


def parse_text(text: str) -> Environment:
    """The facts and error signatures that `text` tells; what it does not tell stays not probed. Judges nothing."""
    return parse_texts([("", text)])


def parse_texts(named: Sequence[tuple[str, str]], progress: Callable[[float], None] = lambda done: None) -> Environment:
    """The same of several texts about one machine, each with the name of its file; of two words the first counts.

    `progress` is told now and then how far the work is, from 0 to 1.
    """
    from envkit._startup.records import replace
    from envkit.ingest.cleaning import clean, together
    from envkit.ingest.clues import all_readers
    from envkit.ingest.combine import combine
    from envkit.ingest.complaints import complaints
    from envkit.ingest.makers import other_makers
    from envkit.ingest.resemblance import resemblance
    from envkit.ingest.signatures import messages_in, set_aside
    from envkit.privacy.names import learned
    from envkit.privacy.walk import without_secret_facts

    cleaned = together([(name, clean(text)) for name, text in named])
    readers = all_readers()
    clues: list[tuple[str, Clue]] = []
    for number, reader in enumerate(readers, 1):
        progress(number / (len(readers) + _LATER))
        clues += ((reader.name, clue) for clue in reader.read(cleaned))
    complained = complaints(cleaned)
    known = messages_in(cleaned)
    alike = resemblance(cleaned, complained)
    if alike and set_aside(cleaned, known):
        alike = ()
    messages = (*known, *complained, *other_makers(cleaned), *alike)
    progress(1 - 1 / (len(readers) + _LATER))
    environment = combine(cleaned, clues, messages)
    return without_secret_facts(replace(environment, identity=learned(cleaned)))
