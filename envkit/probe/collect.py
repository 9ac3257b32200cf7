"""Asks everything at once: probes side by side, each with its own limit, and a total limit that always gives facts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

from envkit._startup.records import record
from envkit.host.base import STAND_IN, Host, started
from envkit.model import Environment, Observed, Problem, missing
from envkit.model.facts_json import environment_from_json
from envkit.model.paths import fact, fact_paths, with_facts
from envkit.privacy.names import identity_of
from envkit.privacy.walk import without_secret_facts
from envkit.probe.pci import DeviceTable, Known
from envkit.probe.starting import sleeping, starts_slowly
from envkit.probe.text import Facts

Progress = Callable[[str], None]
_KEPT_AS_FACTS = ("pythons", "managed_by")  # their evidence is too big to record, or describes a person's folders
_CHILD_SHARE = 0.8  # of the total limit: a child must be given up, and its probe ended, before that
_DRIVER_LIMIT_S = 45.0  # eight GPUs that nothing keeps started take half a minute
_DEEP_LIMIT_S = 300.0
_MOST_ITEMS = 10_000  # of one fact: the largest machines have hundreds
_THREAD_BYTES = 72 << 20  # of address space: 8 MiB of stack, and 64 MiB that the C library sets aside for its heap
# what a mistake of a probe raises: it costs the facts of that probe, not the report
_BROKEN = (ArithmeticError, AttributeError, LookupError, OSError, RuntimeError, TypeError, ValueError)
_VERSION_BY_NVML, _VERSION_BY_CUDA = "driver.driver_cuda_version", "cuda"


@record
class Task:
    """One probe: what it is called in words, the facts it owns, and how it is run."""

    name: str
    paths: tuple[str, ...]
    run: Callable[[Host], Facts]
    limit_s: float


def collect(
    host: Host,
    total_limit_s: float = 5.0,
    progress: Progress | None = None,
    deep: bool = False,
    device_table: DeviceTable | None = None,
    skip: Collection[str] = (),
    driver_limit_s: float | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> Environment:
    """Everything that can be observed on `host` within `total_limit_s` seconds; late facts are TIMED_OUT.

    A driver that has to start the GPUs first may take longer; `driver_limit_s` says how long in any case. `progress`
    is told the name of each probe that ends, `tell` in a line what the user should know meanwhile. `deep` also imports
    frameworks and runs kernels in a child, with a limit of its own. Probes that own a fact in `skip` are left out.
    """
    recorded = _recorded(host)
    left_out = {*skip, *(_KEPT_AS_FACTS if recorded else ())}
    asleep = sleeping(host)
    for address, state in asleep.items():
        tell(f"GPU {address} is asleep ({state}); querying the driver wakes it.")
    if driver_limit_s is None:
        driver_limit_s = _DRIVER_LIMIT_S if asleep or starts_slowly(host) else total_limit_s
    driver_s = max(driver_limit_s, total_limit_s)
    tasks = _tasks(total_limit_s, device_table or known_device, driver_s, asleep)
    wanted = tuple(task for task in tasks if left_out.isdisjoint(task.paths))
    facts = _run_all(wanted, host, progress, tell)
    environment = with_facts(_empty(host), _merged(facts))
    if deep:
        from envkit.probe.deep import measurements

        environment = with_facts(environment, {"measurements": measurements(host, _DEEP_LIMIT_S)})
    return without_secret_facts(_with_recorded(environment, recorded, _standing_in(host)))


def known_device(device_id: str) -> Known | None:
    """Name and compute capability of a PCI device id, as the GPU table has them."""
    from envkit.tables import Matrix

    models = Matrix.load().gpus_by_device_id(device_id)
    capabilities = {model.compute_capability for model in models}
    if not models:
        return None
    return models[0].name, capabilities.pop() if len(capabilities) == 1 else None


def _empty(host: Host) -> Environment:
    from datetime import datetime, timezone

    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    about = host.identity()
    return Environment(host.origin, about.get("recorded_at", now), identity_of(about, host.variables()))


def _tasks(
    limit_s: float, table: DeviceTable, driver_s: float | None = None, asleep: Mapping[str, str] | None = None
) -> tuple[Task, ...]:
    """Every probe; those that wait for the driver have `driver_s` seconds. `asleep` was read before they woke GPUs."""
    from envkit.probe import (
        compilers,
        containers,
        cuda,
        cuda_driver,
        cudnn,
        driver,
        kernel,
        kernel_log,
        machine,
        managers,
        nvml,
        os_release,
        packages,
        pci,
        pythons,
        variables,
    )

    within = limit_s * _CHILD_SHARE
    of_driver = driver_s or limit_s
    child = of_driver * _CHILD_SHARE
    by_driver: tuple[tuple[str, Callable[[Host], Facts], tuple[str, ...]], ...] = (
        ("NVML", lambda host: nvml.probe(host, child), ("gpus", "driver.nvml", _VERSION_BY_NVML)),
        ("CUDA driver", lambda host: cuda_driver.probe(host, child), (*cuda_driver.PATHS, _VERSION_BY_CUDA)),
        ("driver programs", lambda host: driver.services(host, child), driver.SERVICE_PATHS),
        ("device nodes", lambda host: driver.nodes(host, child), ("driver.device_nodes",)),
        ("driver files", driver.probe, driver.PATHS),
    )
    others: tuple[tuple[str, Callable[[Host], Facts], tuple[str, ...]], ...] = (
        ("Docker", lambda host: containers.engine(host, within), ("containers.docker",)),
        ("Python", lambda host: {"pythons": pythons.pythons(host, within)}, ("pythons",)),
        ("kernel log", kernel_log.probe, ("kernel.log", "system.last_resume")),
        ("containers", containers.probe, containers.PATHS),
        ("operating system", os_release.probe, os_release.PATHS),
        ("kernel", kernel.probe, kernel.PATHS),
        ("PCI", lambda host: pci.probe(host, table, asleep or {}), pci.PATHS),
        ("CUDA toolkits", cuda.probe, ("cuda_toolkits", "nvcc", "cuda_link", "cuda_home")),
        ("cuDNN", lambda host: {"cudnns": cudnn.cudnns(host)}, ("cudnns",)),
        ("compilers", lambda host: {"host_compilers": compilers.host_compilers(host)}, ("host_compilers",)),
        ("packages", packages.probe, packages.PATHS),
        ("machine", machine.probe, machine.PATHS),
        ("variables", lambda host: {"variables": variables.variables(host)}, ("variables",)),
        ("managers", lambda host: {"managed_by": managers.managed_by(host)}, ("managed_by",)),
    )
    return (
        *(Task(name, paths, run, of_driver) for name, run, paths in by_driver),
        *(Task(name, paths, run, limit_s) for name, run, paths in others),
    )


def _run_all(
    tasks: tuple[Task, ...], host: Host, progress: Progress | None, tell: Callable[[str], None]
) -> dict[str, Observed[Any]]:
    """The facts of every task that ended in time. The threads are daemons: one that never ends keeps nobody."""
    done: dict[str, Facts] = {}
    changed = threading.Condition()

    def work(task: Task) -> None:
        facts = _facts_of(task, host)
        if progress:
            progress(task.name)
        with changed:
            done[task.name] = facts
            changed.notify()

    began = time.monotonic()
    side_by_side = _room_for_threads(len(tasks))
    for task in tasks:
        thread = threading.Thread(target=work, args=(task,), name=f"envkit {task.name}", daemon=True)
        if not (side_by_side and started(thread)) and time.monotonic() - began < task.limit_s:
            work(task)
    facts: dict[str, Observed[Any]] = {}
    for limit_s in sorted({task.limit_s for task in tasks}):
        due = [task for task in tasks if task.limit_s == limit_s]
        with changed:
            if facts and not _all_done(due, done):
                tell(f"Waiting for the driver to start the GPUs, at most {limit_s:g} s.")
            changed.wait_for(partial(_all_done, due, done), began + limit_s - time.monotonic())
            ended = dict(done)
        late: Observed[Any] = missing(Problem.TIMED_OUT, "", f"no answer within {limit_s:g} s")
        for task in due:
            facts |= ended.get(task.name) or dict.fromkeys(task.paths, late)
    return facts


def _room_for_threads(count: int) -> bool:
    """False where the limit of the address space (`ulimit -v`) leaves no room for a stack and a heap per thread.

    Threads that do start there take from the others, and reading a file fails at random.
    """
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return limit == resource.RLIM_INFINITY or limit > count * _THREAD_BYTES


def _all_done(tasks: Collection[Task], done: Mapping[str, Facts]) -> bool:
    return all(task.name in done for task in tasks)


def _facts_of(task: Task, host: Host) -> Facts:
    """What the probe finds; what a broken one owns is UNPARSABLE, and the report comes all the same."""
    try:
        return {path: _of_a_machine(fact) for path, fact in task.run(host).items()}
    except _BROKEN as error:
        told = f"the {task.name} probe of envkit is broken: {type(error).__name__}: {error}"
        broken: Observed[Any] = missing(Problem.UNPARSABLE, task.name, told)
        return dict.fromkeys(task.paths, broken)


def _of_a_machine(fact: Observed[Any]) -> Observed[Any]:
    """The fact, no longer than that of any machine: anybody may have filled the folder that it was read from."""
    if not isinstance(fact.value, tuple) or len(fact.value) <= _MOST_ITEMS:
        return fact
    return Observed(fact.value[:_MOST_ITEMS], fact.source, None, f"the first {_MOST_ITEMS} of {len(fact.value)}")


def _merged(facts: Mapping[str, Observed[Any]]) -> dict[str, Observed[Any]]:
    """The facts with one CUDA version of the driver: NVML's word, otherwise libcuda's."""
    merged = dict(facts)
    by_cuda = merged.pop(_VERSION_BY_CUDA)
    if by_cuda.known and not merged[_VERSION_BY_NVML].known:
        merged[_VERSION_BY_NVML] = by_cuda
    return merged


def _recorded(host: Host) -> Environment | None:
    """The facts that a recording kept next to its evidence."""
    kept = host.query("facts")
    return None if kept.value is None else environment_from_json(kept.value)


def _standing_in(host: Host) -> Collection[str]:
    """The facts that a recording knows its replay not to find again."""
    answer = host.query(STAND_IN).value or {}
    names = answer.get("facts")
    return names if isinstance(names, list) else ()


def _with_recorded(environment: Environment, recorded: Environment | None, always: Collection[str]) -> Environment:
    """The environment with the recorded facts where the replay has none, and those of `always`."""
    if recorded is None:
        return environment
    fill: dict[str, Observed[Any]] = {}
    for path in fact_paths():
        then = fact(recorded, path)
        unseen = fact(environment, path).problem is Problem.NOT_LOOKED
        if path in always or unseen and then.problem is not Problem.NOT_LOOKED:
            fill[path] = then
    return with_facts(environment, fill)
