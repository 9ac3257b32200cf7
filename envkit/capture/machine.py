"""A folder that holds a recorded machine becomes its facts again: by the probes, or as they were written down."""

from __future__ import annotations

from envkit._startup.records import replace
from envkit.capture.replay import CaptureHost, holds_facts_alone, read_facts
from envkit.model import Environment
from envkit.model.facts_json import environment_from_json
from envkit.privacy.walk import without_secret_facts
from envkit.probe.collect import collect

_LIMIT_S = 60.0  # everything is in memory, and a busy machine must not make a fact late


def replay(folder: str) -> Environment:
    """The machine that `folder` holds. Raises SourceError for a folder that holds none.

    Its evidence goes through the probes. Facts without any evidence are the machine: probing a folder that lists no
    file would find everything absent.
    """
    if holds_facts_alone(folder):
        return without_secret_facts(replace(environment_from_json(read_facts(folder)), origin=folder))
    return collect(CaptureHost(folder), _LIMIT_S)
