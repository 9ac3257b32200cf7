"""Somebody at a terminal, who is asked whether a step may be run."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest


class Terminal:
    """Somebody who answers each question, and keeps it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answer: Callable[[str], bool] = lambda question: True) -> None:
        self.asked: list[str] = []
        monkeypatch.setattr(sys, "stdin", self)
        monkeypatch.setattr("click.confirm", self._confirm)
        self._answer = answer

    def isatty(self) -> bool:
        return True

    def _confirm(self, question: str, **options: object) -> bool:
        self.asked.append(question)
        return self._answer(question)
