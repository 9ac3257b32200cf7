"""What Ansible brought from a host becomes the document that is kept of it: its facts, or the state it ended in."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from envkit._startup.regex import regex
from envkit.base.json_text import loads
from envkit.base.shown import shown

SCHEMA = 1
_LONGEST = 300
_MOST_GROUPS = 50
_RAN = regex(r"^envkit: ended after (\d{1,9}) s$", re.MULTILINE)  # of the playbook: without transfer and waiting
_UNREACHED = {  # words of ssh and Ansible, and what they mean
    "connection refused": "connection refused",
    "could not resolve": "host name not found",
    "name or service not known": "host name not found",
    "no route to host": "no route to the host",
    "network is unreachable": "no route to the host",
    "permission denied": "authentication failed",
    "host key verification failed": "host key verification failed",
    "timed out": "it timed out",
    "timeout": "it timed out",
    "connection reset": "connection reset",
    "connection closed": "connection closed",
}
_NO_MORE = "failed to connect to the host via ssh:"  # after which ssh itself says why it could not, if it could not
_ENDED, _KILLED, _NO_PROGRAM = 124, (137, -9), (2, 126, 127)  # by `timeout`: in time, by force; none that runs us


def kept(event: Mapping[str, Any], limit_s: float = math.inf) -> dict[str, object]:
    """The document of a host's result; a host had `limit_s` seconds."""
    about: dict[str, object] = {"schema": SCHEMA, "host": event["host"], "seconds": event.get("seconds")}
    if isinstance(event.get("groups"), list):
        about["groups"] = event["groups"]
    facts = _facts(str(event.get("stdout") or "")) if event.get("by") == "python" else None
    if facts is not None and event.get("rc") in (0, 1):
        return about | {"environment": facts}
    if event.get("by") == "shell" and event.get("rc") == 0 and str(event.get("stdout") or "").strip():
        return about | {"text": str(event["stdout"])}
    state, reason = _ended(event, limit_s)
    return about | {"state": state, "reason": shown(reason)[:_LONGEST]}


def _facts(stdout: str) -> dict[str, object] | None:
    """The facts that were printed; a shell's greeting before them does no harm."""
    try:
        document = loads(stdout[max(stdout.find("{"), 0) :])
    except ValueError:
        return None
    return document if isinstance(document, dict) and "system" in document else None


def _ended(event: Mapping[str, Any], limit_s: float) -> tuple[str, str]:
    """In which state a host without facts ended, and why."""
    said = f"{event.get('message') or ''} {_RAN.sub('', str(event.get('stderr') or ''))}"
    if "no space left on device" in said.lower() or "disk quota exceeded" in said.lower():
        return "no-space", "no space left on the host's disk"
    if "failed to create temporary directory" in said.lower():
        return "crashed", "the user cannot create a temporary directory on the host"
    if event.get("arrived") == "unreachable":
        return "unreachable", _unreached(said)
    code = event.get("rc")
    if code == _ENDED or "expected time frame" in said or "timed out" in said.lower() and code is None:
        return "timed-out", "the host was still collecting when the time limit was reached"
    if code in _KILLED and _ran_s(event) >= limit_s:
        return "hung", "the collector did not stop when asked to"
    if code in _KILLED:
        return "crashed", "the collector was killed"
    if code in _NO_PROGRAM:
        return "no-python", "neither a recent enough Python nor a POSIX shell"
    if code not in (0, 1):
        return "crashed", _last_words(said) or f"the collector ended with status {code}"
    stdout = str(event.get("stdout") or "")
    return "unreadable", f"printed {_last_words(stdout)!r} instead of facts" if stdout.strip() else "no output"


def _ran_s(event: Mapping[str, Any]) -> float:
    """How long the collector ran on the host; as long as the host took where nobody told."""
    ran = _RAN.search(str(event.get("stderr") or ""))
    return float(ran.group(1)) if ran else seconds_in(event) or 0.0


def seconds_in(document: Mapping[str, Any]) -> float | None:
    """The seconds that a document tells; None where it tells anything else."""
    given = document.get("seconds")
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        return None
    return float(given)


def groups_in(document: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The groups of the inventory that a document's host is in; None where it tells nothing of them."""
    given = document.get("groups")
    if not isinstance(given, list):
        return None
    return tuple(name for name in given if isinstance(name, str))[:_MOST_GROUPS]


def _unreached(said: str) -> str:
    lower = said.strip().lower()
    if lower.endswith(_NO_MORE):
        return "the connection was lost"
    return next((meaning for words, meaning in _UNREACHED.items() if words in lower), _last_words(said))


def _last_words(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:120] if lines else ""
