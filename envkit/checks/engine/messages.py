"""Known error messages as evidence: what a log or a pasted text says where no fact speaks.

A message's signature is the id of the check that it points to, or `<id>/<variant>` when several texts point to one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from envkit.base.kept import kept
from envkit.base.pci import pci_address
from envkit.base.wrap import excerpt
from envkit.checks.engine.findings import Evidence
from envkit.model import COMPLAINT, Environment, Message

_DETAIL = "detail-"  # how variants are called that only tell something of a fault which others show
_SHOWN = 3  # lines quoted as evidence; the rest repeat them
_LONGEST = 240  # characters of one quoted line
_MOST_DIGITS = 6
_FACTS = ("messages", "kernel.log")  # that hold lines of text


def seen(
    environment: Environment,
    id: str,  # noqa: A002 - as in reports
    *variants: str,
    without: str = "",
) -> tuple[Message, ...]:
    """The messages whose signature is `id` or `id/<variant>`; with `variants`, only these, and none of `without`.

    Empty when none was seen. Details, which tell what a remedy needs and show no fault, are among `variants` alone.

    They come from the pasted text and from the kernel log.
    """
    wanted = {f"{id}/{variant}" for variant in variants}
    left_out, details = f"{id}/{without}", f"{id}/{_DETAIL}"
    return tuple(
        message
        for message in _by_check(environment).get(id, ())
        if (message.signature in wanted if wanted else not message.signature.startswith(details))
        if message.signature != left_out
    )


def is_detail(signature: str) -> bool:
    """Whether a message of this signature only tells something of a fault which others show."""
    return signature.partition("/")[2].startswith(_DETAIL)


def variants_of(messages: Iterable[Message]) -> frozenset[str]:
    """The variants of messages of one check: `compose` of `docker-no-nvidia-runtime/compose`, '' of the check alone."""
    return frozenset(message.signature.partition("/")[2] for message in messages)


def said(environment: Environment, id: str) -> str:  # noqa: A002 - as in reports
    """The lines that `seen` finds, as one text."""
    return " ".join(message.text for message in seen(environment, id))


def complained(environment: Environment) -> bool:
    """Whether a pasted text states that something fails."""
    return any(message.signature == COMPLAINT for message in environment.messages.value or ())


def only_shown(environment: Environment) -> bool:
    """Whether a pasted text shows a machine and states no failure: what could go wrong there has not."""
    return environment.pasted and not complained(environment)


@kept
def all_messages(environment: Environment) -> tuple[Message, ...]:
    """Every known message of the pasted text, then those of the kernel log and of failed steps that are not in it."""
    pasted = environment.messages.get() if environment.messages.known else ()
    log = () if environment.pasted else _log(environment)  # of a text it was read with what is around it
    others = [message for lines in (log, _last_words(environment)) if lines for message in _in_lines(lines)]
    if not others:
        return pasted
    same = {(message.signature, tuple(sorted(message.values.items()))) for message in pasted}
    return (*pasted, *(new for new in others if (new.signature, tuple(sorted(new.values.items()))) not in same))


@kept
def _by_check(environment: Environment) -> Mapping[str, tuple[Message, ...]]:
    """The messages by the id of the check that they point to."""
    found: dict[str, list[Message]] = {}
    for message in all_messages(environment):
        found.setdefault(message.signature.partition("/")[0], []).append(message)
    return {id: tuple(messages) for id, messages in found.items()}  # noqa: A001 - as in reports


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
    lines = {message.text: message for message in messages}  # one line can match several signatures
    origins = _origins(environment)
    return tuple(
        _evidence(message, *origins.get(_place(message), ("measurements", "--deep")))
        for message in list(lines.values())[:_SHOWN]
    )


@kept
def _origins(environment: Environment) -> Mapping[tuple[str, str, int, str], tuple[str, str]]:
    """The fact that holds each message of the pasted text and of the kernel log, and the fact's source."""
    pasted, lines = environment.messages, _log(environment)
    logged = _in_lines(lines) if lines else ()
    found = {_place(message): ("kernel.log", environment.kernel.log.source) for message in logged}
    return found | {_place(message): ("messages", pasted.source) for message in pasted.value or ()}


def _place(message: Message) -> tuple[str, str, int, str]:
    return message.signature, message.text, message.line, message.file


def any_pasted(environment: Environment, messages: Iterable[Message]) -> bool:
    """Whether one of `messages` is in a pasted text, and not in a log that was read."""
    origins = _origins(environment)
    return any(origins.get(_place(message), ("",))[0] == "messages" for message in messages)


def by_messages(evidence: Iterable[Evidence]) -> bool:
    """True where nothing but lines of text is in `evidence`: no fact of the machine shows the same."""
    return all(item.fact in _FACTS for item in evidence)


def named(messages: Iterable[Message], key: str) -> str | None:
    """What the first message that names `key` (`version`, `kernel`, `pci_address` …) says it is, or None."""
    return next((message.values[key] for message in messages if message.values.get(key)), None)


def number_named(messages: Iterable[Message], key: str) -> int | None:
    """The number of at most six digits that the messages name, or None: the words of a facts file may be anything."""
    told = named(messages, key) or ""
    return int(told) if told.isascii() and told.isdecimal() and len(told) <= _MOST_DIGITS else None


def subject_of(messages: Iterable[Message]) -> str:
    """The GPU whose address the messages name, '' when none does."""
    address = pci_address(named(messages, "pci_address") or "")
    return f"GPU {address}" if address else ""


def _evidence(message: Message, fact: str, source: str) -> Evidence:
    text = message.text.strip()
    short, start = excerpt(text, message.start, _LONGEST)
    place = f"{message.file or source}, line {message.line}" if message.line and fact == "messages" else source
    return Evidence(fact, short, place.removeprefix(", "), start=start)
