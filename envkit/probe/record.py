"""Records a machine for replay: every question of the probes with its answer, and the facts."""

from __future__ import annotations

from collections.abc import Callable

from envkit.assume import with_facts
from envkit.host.base import Host
from envkit.host.recording import RecordingHost, write_recording
from envkit.probe import kernel_log, packages
from envkit.probe.collect import collect

_LIMIT_S = 20.0  # a recording may take its time: a slow answer is worth more than none
_PARTS = {kernel_log.LOG: kernel_log.relevant_records, packages.DPKG_STATUS: packages.relevant_stanzas}


def record(
    host: Host,
    directory: str,
    driver_limit_s: float | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> str:
    """Write a masked recording of `host` into `directory`, which must not hold anything yet, and return its path.

    Python environments are kept as facts alone: their files are too many. Raises OutputError.
    """
    from envkit.probe.python_env import pythons

    recorder = RecordingHost(host)
    environment = collect(recorder, _LIMIT_S, skip=("pythons",), driver_limit_s=driver_limit_s, tell=tell)
    environment = with_facts(environment, {"pythons": pythons(host)})
    write_recording(recorder, environment, directory, _PARTS)
    return directory
