"""The words that a pattern needs: never more than what its matches hold."""

from __future__ import annotations

import re

import pytest

from envkit.ingest.needed import needed
from envkit.tables.findings import Signature
from envkit.tables.loader import read
from tests.patterns.attacks import Attack


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("No CUDA GPUs", [("no",), ("cuda",), ("gpus",)]),
        (r"libcu\w+\.so", [("libcu",), (".so",)]),
        ("colou?r", [("colo",)]),
        ("colou*r", [("colo",)]),
        ("ab{0,3}cd", [("cd",)]),
        ("ab{1,3}cd", [("ab",), ("cd",)]),
        ("(?:driver )?library", [("library",)]),
        ("(?:driver )+library", [("driver",), ("library",)]),
        ("(?:not found|missing)", [("found", "missing")]),
        ("not found|is missing here", [("found", "missing")]),
        ("(?:not found|)end", [("end",)]),
        (r"(?P<name>torch|jax) and (?P=name)", [("torch", "jax"), ("and",)]),
        ("(?<!no )driver(?! library)", [("driver",)]),
        (r"Xid [48|)]9: \(PCI", [("xid",), ("9:",), ("(pci",)]),
        (r"[^\]]nvcc[]x]+", [("nvcc",)]),
        ("(?i)nvcc", [("nvcc",)]),
        (r"nvcc \x22ab\x22", [("nvcc",), ("ab",)]),
        ("(?:a(?:bc|d)?|ef)gh", [("gh",)]),
        ("a|bc", []),
        (".*", []),
    ],
)
def test_what_may_be_absent_is_not_asked_for(pattern: str, words: list[tuple[str, ...]]) -> None:
    assert list(needed(pattern)) == words


@pytest.mark.thorough
def test_every_text_that_a_signature_matches_holds_its_words() -> None:
    tried = 0
    for signature in read(Signature):
        pattern = re.compile(signature.pattern, re.IGNORECASE | re.MULTILINE)
        for text in (signature.example, *Attack(pattern).samples()):
            for match in pattern.finditer(text):
                tried += 1
                held = match.group().lower().replace("\n", " ")
                assert all(any(word in held for word in words) for words in needed(signature.pattern)), match
    assert tried > len(read(Signature))


def test_most_signatures_need_a_word_that_is_rare() -> None:
    needy = [row for row in read(Signature) if any(min(map(len, words)) > 4 for words in needed(row.pattern))]
    assert len(needy) > len(read(Signature)) * 0.6


def test_no_class_of_a_signature_holds_a_bare_bracket() -> None:
    """What splits patterns into their parts ends a class there; `\\[` stands for a bracket."""
    for signature in read(Signature):
        parsed = [part for part in re.split(r"\\.", signature.pattern) if re.search(r"\[[^][]*\[", part)]
        assert parsed == [], signature.signature
