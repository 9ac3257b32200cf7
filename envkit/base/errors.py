"""Every expected failure is an `EnvkitError` with one line that says what to do; each kind has its exit code."""

from __future__ import annotations

from collections.abc import Iterable

_LIKE = 0.7  # of two words with less in common, one is hardly meant by the other
_SUGGESTED = 2  # more in one line nobody reads
_LONGEST = 120  # characters of a value that are shown, and compared: no name is as long


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


class LimitError(SourceError, ValueError):
    """What the user named holds a number, a depth or a size beyond any machine's: it is refused, not guessed at."""

    exit_code = 2


class OutputError(EnvkitError):
    """The output cannot be written where the user asked for it."""


class StepFailed(EnvkitError):
    """A command that envkit was told to run failed: names the command, its exit code and what it said."""


class RequestError(EnvkitError):
    """The value of an option cannot be used: names the option and the valid values, nearest first."""

    exit_code = 2

    @classmethod
    def unknown_value(
        cls, option: str, value: str, valid: Iterable[str], listing: str = "", *, kind: str = "value"
    ) -> RequestError:
        """The error for a `value` that is none of `valid`; `listing` is the command that lists those."""
        told = f"Run `{listing}` to list the valid values." if listing else ""
        shown = value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…"
        return cls(f"unknown {kind} {shown!r} for {option}.", f"{did_you_mean(value, valid)} {told}".strip())


class UnknownFramework(RequestError):
    """Software that the tables hold no versions of, with what allows a plan for the rest.

    `text` is how it was asked for, `runs_on` the framework that it needs; '' for none.
    """

    text: str = ""
    runs_on: str = ""


def did_you_mean(value: str, valid: Iterable[str]) -> str:
    """The two valid words that were most likely meant, as a question; '' where none is like `value`."""
    near = [word for word, likeness in _by_likeness(value, valid) if likeness >= _LIKE][:_SUGGESTED]
    return f"Did you mean {' or '.join(near)}?" if near else ""


def nearest_first(value: str, valid: Iterable[str]) -> list[str]:
    """The valid words: first those that hold the value, then those most like it, the rest in their given order."""
    return [word for word, _ in _by_likeness(value, valid)]


def _by_likeness(value: str, valid: Iterable[str]) -> list[tuple[str, float]]:
    """The words with how like they are: first those that begin with the value, then those that hold it, then others."""
    from difflib import SequenceMatcher

    wanted = value.lower()[:_LONGEST]

    def likeness(word: str) -> float:
        whole = word.lower()
        end = " ".join(whole.split()[-len(wanted.split()) :])  # a GPU is asked for without its vendor
        ratio = max(round(SequenceMatcher(None, wanted, text).ratio(), 2) for text in (whole, end))
        held = wanted in whole and len(wanted) > 1
        return ratio + held + (held and whole.startswith(wanted))

    return sorted(((word, likeness(word)) for word in valid), key=lambda pair: -pair[1])
