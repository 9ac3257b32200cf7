"""A probe in a process of its own, with a deadline and a limit of memory: what it wrote until then is kept."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping

from envkit.host.base import Told
from envkit.host.children import ending, follow_child
from envkit.host.queries import own_command
from envkit.model import Observed, Problem, found, missing

_MEMORY = 300 << 20  # bytes that the child may fill; the probes of a large environment take a fifth


def ask_apart(module: str, about: Mapping[str, object], variables: Mapping[str, str], limit_s: float) -> Observed[Told]:
    """What one of our own modules says of the host that it reads about from standard input."""
    if not sys.executable:
        return missing(Problem.ABSENT, module, "this Python does not know its own interpreter")
    command = own_command(module)
    with os.fdopen(os.memfd_create("host"), "wb") as given:
        given.write(json.dumps({**about, "memory": _MEMORY}).encode())
        given.flush()
        given.seek(0)
        deadline = time.monotonic() + limit_s
        followed = follow_child(command, variables, lambda written: deadline - time.monotonic(), given=given.fileno())
    if followed.value is None:
        return missing(followed.problem or Problem.UNPARSABLE, followed.source, followed.detail)
    lines = tuple(line for line in followed.value.result.stdout.split("\n")[:-1] if line)
    if followed.value.silent:
        return found(Told(lines, f"not ended within {limit_s:g} s"), "child")
    code = followed.value.result.exit_code
    return found(Told(lines, ending(followed.value.result) if code else ""), "child")


def given_host() -> dict[str, object]:
    """In the child: what the host is, as the parent wrote it down. The memory is limited from here on."""
    import resource

    about: dict[str, object] = json.load(sys.stdin)
    limit = about.pop("memory")
    assert isinstance(limit, int)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    return about
