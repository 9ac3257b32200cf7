"""Pasted text in any mix becomes the same facts as a machine's own, and the known error messages in it."""

from __future__ import annotations

from envkit.facts import Environment


def parse_text(text: str) -> Environment:
    """The facts and error signatures that `text` tells; what it does not tell stays not looked at. Judges nothing."""
    from envkit.ingest.clues import all_readers
    from envkit.ingest.combine import combine
    from envkit.ingest.signatures import messages_in
    from envkit.ingest.text import clean

    cleaned = clean(text)
    clues = [(reader.name, clue) for reader in all_readers() for clue in reader.read(cleaned)]
    return combine(cleaned, clues, messages_in(cleaned))
