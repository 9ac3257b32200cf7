"""The kernel log's lines on the driver and PCI, and the machine's last resume from sleep."""

from __future__ import annotations

from envkit._startup.regex import regex
from envkit.host.base import Host
from envkit.model import Observed, Problem, found, missing
from envkit.probe.text import Facts, derived

LOG = "/dev/kmsg"
JOURNAL = ("journalctl", "-k", "-b", "-q", "--no-pager", "-o", "short-monotonic")
# What relevant lines hold, in lower case; plain words, as a pattern of alternatives takes ten times as long.
WORDS = (
    "nvrm",
    "xid",
    "nvidia",
    "nouveau",
    "nova",
    "aer:",
    "pcie bus error",
    "pcieport",
    "pm: suspend",
    "blocked for more than",
    "lockdown",
    "key was rejected",
    "module verification",
    "api mismatch",
    "available pcie bandwidth",
)
_BAR = regex(r"bar \d")
_RECORD = regex(r"^\d+,\d+,(\d+),[^;]*;(.*)$")
_OF_JOURNAL = regex(r"^(\[ *\d+\.\d+\]) \S+ kernel: ")  # the host is between
_RESUME = regex(r"PM: suspend exit")
_KEPT = 2000  # lines: a flood of one message must not bury the report


def probe(host: Host) -> Facts:
    """`kernel.log` and `system.last_resume`."""
    log = derived(_read(host), relevant)
    return {"kernel.log": log, "system.last_resume": _resume(log)}


def _read(host: Host) -> Observed[str]:
    """The ring buffer, or the journal where the buffer is for root only; DENIED when both refuse."""
    buffer = host.read_text(LOG, 16_000_000)
    if buffer.known or buffer.problem is Problem.NOT_LOOKED:
        return buffer
    journal = host.run(JOURNAL, 3.0)
    if journal.value is not None and journal.value.exit_code == 0 and journal.value.stdout.strip():
        return found(journal.value.stdout, "journalctl -k -b")
    return missing(Problem.DENIED, LOG, "the kernel log is for root only")


def _is_relevant(line: str) -> bool:
    lowered = line.lower()
    return any([word in lowered for word in WORDS]) or ("bar " in lowered and bool(_BAR.search(lowered)))


def relevant(text: str) -> tuple[str, ...]:
    """The lines that matter, as `[seconds] message`, the newest ones when there are too many."""
    lines = (readable_line(line) for line in text.splitlines() if _is_relevant(line))
    return tuple(lines)[-_KEPT:]


def relevant_records(text: str) -> str:
    """The same lines as they stood, for a recording."""
    return "".join(f"{line}\n" for line in text.splitlines() if _is_relevant(line))


def readable_line(line: str) -> str:
    """A record of /dev/kmsg (`6,339,5140900,-;text`) or of the journal as dmesg prints it; any other line as it is."""
    match = _RECORD.match(line)
    return f"[{int(match.group(1)) / 1e6:12.6f}] {match.group(2)}" if match else _OF_JOURNAL.sub(r"\1 ", line)


def _resume(log: Observed[tuple[str, ...]]) -> Observed[str]:
    if log.value is None:
        return derived(log, lambda lines: None)
    last = next((line for line in reversed(log.value) if _RESUME.search(line)), None)
    return found(last, log.source) if last else missing(Problem.ABSENT, log.source, "the machine did not sleep")
