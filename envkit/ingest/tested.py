"""Whether a message was provoked by a test of a suite that passed: `should panic ... ok`, `0 failed`."""

from __future__ import annotations

from envkit._startup.regex import regex
from envkit.ingest.answers import PROMPT
from envkit.ingest.text import Text

_SUMMARY = regex(
    r"test result: (?:ok|FAILED)\. \d{1,6} passed; (?P<cargo>\d{1,6}) failed;"
    r"|\d{1,3}% tests passed, (?P<ctest>\d{1,6}) tests failed out of \d"
    r"|={2,80} (?:(?P<pytest>\d{1,6}) failed, )?\d{1,6} passed\b[^\n]{0,80} in \d[\d.:]{0,12}s?\b"
    r"|ok\s{1,8}[\w./-]{2,120}\s{1,8}(?:\d[\d.]{0,8}s|\(cached\))|(?P<go>FAIL)\s{1,8}[\w./-]{2,120}\s"
    r"|\[  PASSED  \] \d{1,6} tests?\.|\[  FAILED  \] (?P<gtest>\d{1,6}) tests?,"
)
_WORDS = ("test result: ", "tests passed, ", " passed", "[  PASSED  ]", "ok  ")
_LONGEST = 400  # lines of one answer


def in_passed_tests(text: Text, offset: int) -> bool:
    """Whether the first summary below `offset`, before the next command, counts no test that failed."""
    if not any(map(text.holds, _WORDS)):
        return False
    first = text.index(offset) + 1
    for index in range(first, min(first + _LONGEST, len(text.lines))):
        line = text.lines[index]
        if PROMPT.match(line):
            return False
        if summary := _SUMMARY.match(line):
            below = text.lines[index + 1] if index + 1 < len(text.lines) else ""
            failed = [*summary.groupdict().values(), *(("1",) if "[  FAILED  ]" in below else ())]
            return not any(number and number.strip("0") for number in failed)
    return False
