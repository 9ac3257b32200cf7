"""Which expressions were tried on all their parts; `python -m tests.patterns.tried` tries and records new ones.

An expression takes the same steps on the same texts each time, so the gate tries those that are not on record, and of
the others an eighth each day.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from pathlib import Path

from tests.patterns.attacks import THOROUGH
from tests.patterns.inventory import Pattern

RECORD = Path(__file__).with_name("tried.txt")
DAYS = 8  # until an expression on record has been tried once more
_ATTACKS = Path(__file__).with_name("attacks.py").read_bytes()


def digest(pattern: Pattern) -> str:
    """Stands for the expression, how it is used, and the texts that it was tried on; 16 hexadecimal digits."""
    said = repr((pattern.text, int(pattern.flags), pattern.from_the_start, THOROUGH)).encode()
    return hashlib.sha256(said + _ATTACKS).hexdigest()[:16]


def on_record() -> frozenset[str]:
    """The digests of expressions that were not slow."""
    return frozenset(RECORD.read_text("ascii").split())


def due(patterns: Iterable[Pattern], day: date) -> list[Pattern]:
    """Those that are not on record, and those whose turn it is on this day."""
    known = on_record()
    digests = {pattern: digest(pattern) for pattern in patterns}
    today = day.toordinal() % DAYS
    return [pattern for pattern, said in digests.items() if said not in known or int(said, 16) % DAYS == today]


def _slow(pattern: Pattern) -> list[str]:
    from tests.patterns.test_linear_time import slow

    return slow([pattern], THOROUGH)


def main() -> int:
    """Exit status 1 where an expression is slow; it is shown and not recorded."""
    from tests.patterns.test_linear_time import patterns

    started = time.monotonic()
    known = on_record()
    new = [pattern for pattern in patterns() if digest(pattern) not in known]
    with ProcessPoolExecutor() as pool:
        found = dict(zip(new, pool.map(_slow, new, chunksize=4), strict=True))
    fast = {digest(pattern) for pattern, slow in found.items() if not slow}
    kept = {digest(pattern) for pattern in patterns()} & (known | fast)
    RECORD.write_text("".join(f"{each}\n" for each in sorted(kept)), "ascii")
    print(f"{len(new)} tried, {len(kept)} on record, {time.monotonic() - started:.0f} s")
    print(*(line for slow in found.values() for line in slow), sep="\n")
    return 1 if any(found.values()) else 0


if __name__ == "__main__":
    raise SystemExit(main())
