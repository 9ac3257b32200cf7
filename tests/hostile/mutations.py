"""Ways in which a file that envkit wrote or a person pasted goes wrong, by accident and on purpose."""

from __future__ import annotations

import json
import random
from typing import Any

from tests.hostile.payloads import PAYLOADS

_NUMBERS = (-1, 0, 1, 2**31, 2**63, 10**19, 10**400, -(10**400))
_FRACTIONS = (0.0, -0.0, -1.5, 1e-300, 1e308, 10**400)
_WORDS = ("", "0", " ", "../../etc/passwd", "/", "\x00", "9" * 5000, "1.2.3", "x" * 100_000, *PAYLOADS)
_DEEP: list[Any] = []
for _ in range(300):
    _DEEP = [_DEEP]
_ODD: tuple[Any, ...] = (
    *(None, True, _DEEP, [], {}, [[]], {"": ""}, [None], {"value": None}, {"value": []}, {"problem": "denied"}),
    *(*_NUMBERS, *_FRACTIONS, *_WORDS),
)


def changed_bytes(data: bytes, chance: random.Random) -> bytes:
    """The bytes with some of them cut, doubled, moved, replaced, or something foreign between them."""
    for _ in range(chance.randrange(1, 4)):
        start, end = sorted(chance.randrange(len(data) + 1) for _ in "ab")
        end = min(end, start + chance.choice((1, 8, 200, 10_000)))
        foreign = chance.choice(PAYLOADS).encode("utf-8", "surrogatepass")
        data = chance.choice(
            (
                lambda d, s, e, f: d[:s] + d[e:],
                lambda d, s, e, f: d[:s] + f + d[e:],
                lambda d, s, e, f: d[:s] + f + d[s:],
                lambda d, s, e, f: d[:e] + d[s:],
                lambda d, s, e, f: d[:s] + bytes(byte ^ 0x80 for byte in d[s:e]) + d[e:],
                lambda d, s, e, f: d[:s] + d[s:e] * 20 + d[e:],
                lambda d, s, e, f: d[:s],
            )
        )(data, start, end, foreign)
    return data


def changed_json(document: Any, chance: random.Random) -> Any:  # noqa: ANN401 - any JSON
    """The document with some values exchanged for odd ones of their kind, and at times one left out or doubled."""
    changed = json.loads(json.dumps(document))
    for _ in range(chance.randrange(1, 8)):
        places = _places(changed)
        if places:
            _change(*chance.choice(places), chance)
    return changed


def _change(holder: Any, key: Any, chance: random.Random) -> None:  # noqa: ANN401
    old, way = holder[key], chance.randrange(12)
    if way == 0:
        del holder[key]
    elif way == 1 and isinstance(holder, list):
        holder.insert(key, old)
    elif way == 2 and isinstance(holder, dict):
        holder[chance.choice(PAYLOADS)] = holder.pop(key)
    elif way == 3:
        holder[key] = chance.choice(_ODD)
    elif isinstance(old, bool):
        holder[key] = not old
    elif isinstance(old, (int, float)):
        holder[key] = chance.choice(_NUMBERS if isinstance(old, int) else _FRACTIONS)
    elif isinstance(old, str):
        holder[key] = chance.choice(("{}", "{} ", "{0}{1}", "{1}{0}", "{1}")).format(old, chance.choice(_WORDS))


def _places(document: Any) -> list[tuple[Any, Any]]:  # noqa: ANN401
    """Each place in the document: the object or list that holds it, and its key or index."""
    found, waiting = [], [document]
    while waiting:
        item = waiting.pop()
        if not isinstance(item, (dict, list)):
            continue
        keys: Any = item if isinstance(item, dict) else range(len(item))
        for key in keys:
            found.append((item, key))
            waiting.append(item[key])
    return found
