"""Known error messages as evidence: what a log or a pasted text says where no fact speaks.

A message's signature is the id of the check that it points to, or `<id>/<variant>` when several texts point to one.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from envkit.base.pci import pci_address
from envkit.checks.engine.findings import Evidence
from envkit.model import Environment, Message

_SHOWN = 3  # lines quoted as evidence; the rest repeat them
_LONGEST = 240  # characters of one quoted line


def seen(environment: Environment, id: str, *variants: str) -> tuple[Message, ...]:  # noqa: A002 - as in reports
    """The messages whose signature is `id` or `id/<variant>`; with `variants`, only these. Empty when none was seen.

    They come from the pasted text and from the kernel log.
    """
    wanted = {f"{id}/{variant}" for variant in variants}
    return tuple(
        message
        for message in all_messages(environment)
        if (message.signature in wanted if wanted else message.signature.split("/", 1)[0] == id)
    )


def all_messages(environment: Environment) -> tuple[Message, ...]:
    """Every known message of the pasted text, then those of the kernel log and of failed steps that are not in it."""
    pasted = environment.messages.get() if environment.messages.known else ()
    others = [
        message for lines in (_log(environment), _last_words(environment)) if lines for message in _in_lines(lines)
    ]
    same = {(message.signature, tuple(sorted(message.values.items()))) for message in pasted}
    return (*pasted, *(new for new in others if (new.signature, tuple(sorted(new.values.items()))) not in same))


def _log(environment: Environment) -> tuple[str, ...]:
    return environment.kernel.log.get() if environment.kernel.log.known else ()


def _last_words(environment: Environment) -> tuple[str, ...]:
    """What failed steps of `--deep` ended with."""
    steps = environment.measurements.get() if environment.measurements.known else ()
    return tuple(step.detail for step in steps if step.passed is False and step.detail)


@lru_cache(maxsize=4)
def _in_lines(lines: tuple[str, ...]) -> tuple[Message, ...]:
    from envkit.ingest.cleaning import clean
    from envkit.ingest.signatures import messages_in

    return messages_in(clean("\n".join(lines)))


def message_evidence(environment: Environment, messages: Iterable[Message]) -> tuple[Evidence, ...]:
    """The first few of `messages` as evidence, each with its line number where it has one."""
    pasted = environment.messages.get() if environment.messages.known else ()
    logged = _in_lines(_log(environment)) if _log(environment) else ()
    lines = {message.text: message for message in messages}  # one line can match several signatures
    evidence = []
    for message in list(lines.values())[:_SHOWN]:
        if message in pasted:
            evidence.append(_evidence(message, "messages", environment.messages.source))
        elif message in logged:
            evidence.append(_evidence(message, "kernel.log", environment.kernel.log.source))
        else:
            evidence.append(_evidence(message, "measurements", "--deep"))
    return tuple(evidence)


def named(messages: Iterable[Message], key: str) -> str | None:
    """What the first message that names `key` (`version`, `kernel`, `pci_address` …) says it is, or None."""
    return next((message.values[key] for message in messages if message.values.get(key)), None)


def subject_of(messages: Iterable[Message]) -> str:
    """The GPU whose address the messages name, '' when none does."""
    address = pci_address(named(messages, "pci_address") or "")
    return f"GPU {address}" if address else ""


def _evidence(message: Message, fact: str, source: str) -> Evidence:
    text = message.text.strip()
    short = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    place = f"{message.file or source}, line {message.line}" if message.line and fact == "messages" else source
    return Evidence(fact, short, place.removeprefix(", "))
