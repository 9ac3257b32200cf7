"""What the shell collector printed becomes the facts of a machine."""

from __future__ import annotations

from envkit._startup.records import replace
from envkit.capture.collected import CollectedHost
from envkit.ingest import parse_text
from envkit.model import Environment, Problem, PythonEnvironment
from envkit.model.paths import fact, fact_paths, with_facts
from envkit.probe.collect import collect

_LIMIT_S = 60.0  # everything is in memory, and a busy machine must not make a fact late


def from_collector(text: str, name: str) -> Environment:
    """The machine's facts: those of files by the probes, those of GPUs from `nvidia-smi -q -x`.

    What only the binaries of a Python environment tell is left out.
    """
    host = CollectedHost(text, name)
    environment = collect(host, _LIMIT_S)
    pythons = environment.pythons
    if pythons.value is not None:
        told = replace(pythons, value=tuple(map(_told_by_files, pythons.value)))
        environment = with_facts(environment, {"pythons": told})
    xml = host.smi_xml()
    if not xml:
        return environment
    printed = parse_text(xml)
    unseen = (path for path in fact_paths() if fact(environment, path).problem is Problem.NOT_LOOKED)
    return with_facts(environment, {path: fact(printed, path) for path in unseen if fact(printed, path).known})


def _told_by_files(python: PythonEnvironment) -> PythonEnvironment:
    return PythonEnvironment(
        prefix=python.prefix,
        version=python.version,
        executable=python.executable,
        kind=python.kind,
        active=python.active,
        distributions=python.distributions,
        frameworks=python.frameworks,
        pip_python=python.pip_python,
    )
