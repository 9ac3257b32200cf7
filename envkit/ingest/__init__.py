"""Pasted text in any mix becomes the same facts as a machine's own, and the known error messages in it."""

from __future__ import annotations

from collections.abc import Sequence

from envkit.model import Environment


def parse_text(text: str) -> Environment:
    """The facts and error signatures that `text` tells; what it does not tell stays not looked at. Judges nothing."""
    return parse_texts([("", text)])


def parse_texts(named: Sequence[tuple[str, str]]) -> Environment:
    """The same of several texts about one machine, each with the name of its file; of two words the first counts."""
    from envkit._startup.records import replace
    from envkit.ingest.cleaning import clean, together
    from envkit.ingest.clues import all_readers
    from envkit.ingest.combine import combine
    from envkit.ingest.signatures import messages_in
    from envkit.privacy.names import learned
    from envkit.privacy.walk import without_secret_facts

    cleaned = together([(name, clean(text)) for name, text in named])
    clues = [(reader.name, clue) for reader in all_readers() for clue in reader.read(cleaned)]
    environment = combine(cleaned, clues, messages_in(cleaned))
    return without_secret_facts(replace(environment, identity=learned(cleaned.whole)))
