"""Every expected failure is an `EnvkitError` with one line that says what to do; each kind has its exit code."""

from __future__ import annotations

from collections.abc import Iterable


class EnvkitError(Exception):
    """An expected failure: `message` says what is wrong, `hint` what to do; the program exits with `exit_code`."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class DataError(EnvkitError):
    """A compatibility table of the package cannot be trusted: names the file and the line."""


class SourceError(EnvkitError):
    """A capture, facts file, text or file that the user named cannot be read."""


class OutputError(EnvkitError):
    """The output cannot be written where the user asked for it."""


class StepFailed(EnvkitError):
    """A command that envkit was told to run failed: names the command, its exit code and what it said."""


class RequestError(EnvkitError):
    """The value of an option cannot be used: names the option and the valid values, nearest first."""

    exit_code = 2

    @classmethod
    def unknown_value(cls, option: str, value: str, valid: Iterable[str]) -> RequestError:
        """The error for a `value` that is none of `valid`, listing those nearest to it first."""
        ordered = nearest_first(value, valid)
        shown = ", ".join(ordered[:8]) + (f" … ({len(ordered)} in all)" if len(ordered) > 8 else "")
        return cls(f"{option}: {value!r} is not known.", f"Valid values, nearest first: {shown}")


def nearest_first(value: str, valid: Iterable[str]) -> list[str]:
    """The valid words: first those that hold the value, then those most like it, the rest in their given order."""
    from difflib import SequenceMatcher

    wanted = value.lower()

    def distance(word: str) -> tuple[bool, float]:
        whole = word.lower()
        end = " ".join(whole.split()[-len(wanted.split()) :])  # a GPU is asked for without its vendor
        return wanted not in whole, -max(round(SequenceMatcher(None, wanted, text).ratio(), 2) for text in (whole, end))

    return sorted(valid, key=distance)
