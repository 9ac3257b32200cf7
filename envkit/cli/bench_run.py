"""Runs the measurements of `envkit bench`: device by device, environment by environment, never two at once."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from envkit._startup.records import record, replace
from envkit.advice.cards import Card, all_cards
from envkit.base.errors import RequestError
from envkit.bench.jobs import OF_GPUS, PRECISIONS, Job, jobs_for
from envkit.bench.measurement import Measurement, measured
from envkit.bench.verdicts import Device, Verdict, judged, left_to_driver, not_measured
from envkit.cli.environment import chosen_pythons, target_environment
from envkit.cli.output import say
from envkit.host.bench import BenchChild, modules_of, run_measuring
from envkit.host.local import LocalHost
from envkit.model import Environment, Gpu
from envkit.probe.cpu import Cpu, cpu_of, near_processors
from envkit.probe.interpreters import interpreter_of, interpreters
from envkit.tables import Matrix
from envkit.tables.bench import runner

_MODULES = {"pytorch": "torch", "tensorflow": "tensorflow", "mxnet": "mxnet", "numpy": "numpy"}
_MOST_THREADS, _MOST_BATCH = 1024, 65536


@record
class BenchOptions:
    """The options that say what is measured, and how."""

    workloads: tuple[str, ...]
    device: str
    frameworks: tuple[str, ...]
    pythons: tuple[str, ...]
    batch: str | None
    threads: str | None
    precision: str | None
    seconds: float
    limit: float


@record
class _Found:
    """A framework in an environment."""

    framework: str
    python: str


class Bench:
    """One run of the command: what is there, what is measured, and the notes for whoever waits."""

    def __init__(self, options: BenchOptions, baseline: Mapping[str, float] | None) -> None:
        self.notes: list[str] = []
        self._options = options
        self._baseline = baseline
        self._host = LocalHost()
        self._matrix = Matrix.load()
        self._threads = _numbers(options.threads, "--threads", _MOST_THREADS)
        self._batches = _numbers(options.batch, "--batch", _MOST_BATCH)
        self._precisions = _precisions(options.precision)
        jobs_for(options.workloads, "gpu", self._batches, self._precisions)  # refused before anything is asked

    @cached_property
    def cpu(self) -> Cpu:
        """The processor."""
        return cpu_of(self._host)

    @cached_property
    def _environment(self) -> Environment:
        return target_environment("this", self._matrix)

    def verdicts(self) -> tuple[Verdict, ...]:
        """Everything measured and judged; nothing, and a note, for a device that is not there."""
        devices = self._devices()
        if not devices:
            return ()
        self._note_processor(devices)
        found = self._found()
        if not found:
            self.notes.append(
                "no PyTorch, TensorFlow, MXNet, or NumPy was found, and the driver alone can only measure copies: "
                "specify an environment with --python, or install a framework (`envkit resolve --framework pytorch` "
                "prints the command)"
            )
        rows: list[Verdict] = []
        for device in devices:
            here = [row for one in found for row in self._on(device, one)]
            here += self._through_driver(device, here)
            rows += [*here, *not_measured(here, device, self._jobs(device))]
        gpus = [device for device in devices if device.gpu]
        if len(gpus) > 1:
            rows += self._together(gpus, found)
        return tuple(rows)

    def _note_processor(self, devices: Sequence[Device]) -> None:
        """What was asked of the processor that does not fit it."""
        if all(device.gpu for device in devices):
            return
        if OF_GPUS in self._precisions:
            self.notes.append(f"{OF_GPUS} is a precision for GPUs only, so the CPU was not measured with it")
        if max(self._threads, default=0) > self.cpu.threads:
            self.notes.append(
                f"{max(self._threads)} threads on {self.cpu.threads} cores are slower than {self.cpu.threads} threads"
            )

    def _devices(self) -> list[Device]:
        wanted = self._options.device
        gpus = self._environment.gpus.value or ()
        processor = Device(f"{self.cpu.name}, {self.cpu.threads} cores")
        if wanted == "cpu" or (not wanted and not gpus):
            return [processor]
        cards = [self._device(gpu) for gpu in gpus if not gpu.error]
        if wanted.isdecimal():
            cards = [device for device in cards if device.gpu and str(device.gpu.index) == wanted]
        elif wanted not in ("", "all", "gpu"):
            raise RequestError(
                f"--device: {wanted!r} is not a device.", "Choose all, cpu, gpu, or the number of a GPU."
            )
        if not cards and wanted != "all":
            missing = f"there is no GPU {wanted}" if gpus and wanted.isdecimal() else "no working GPU was found"
            self.notes.append(f"--device {wanted}: {missing}; `envkit doctor` shows why")
        return [*cards, processor] if wanted == "all" else cards

    def _device(self, gpu: Gpu) -> Device:
        model = self._matrix.gpu_by_name(gpu.name)
        card: Card | None = next((card for card in all_cards(self._matrix) if card.model is model), None)
        kind = self._environment.system.machine_kind.value
        excuse = ""
        if gpu.mig_mode:
            excuse = "MIG is on: the limits of a slice are unknown"
        elif kind is not None and "wsl" in str(kind).lower():
            excuse = "WSL: copies are slower there, and no limit is known"
        elif card is not None and card.form == "laptop":
            excuse = "a laptop GPU: the laptop's manufacturer sets its power limit, and with it its speed"
        driver = self._environment.driver.user_space.value
        return Device(f"GPU {gpu.index}: {gpu.name}", gpu, card, excuse, str(driver or ""))

    def _found(self) -> list[_Found]:
        """Each framework in the environments, once; where none measures copies and products, NumPy."""
        found: dict[str, _Found] = {}
        for python in self._pythons():
            for name in self._installed(python):
                found.setdefault(name, _Found(name, python))
        wanted = self._options.frameworks or tuple(_MODULES)
        for name in self._options.frameworks:
            if name not in found:
                self.notes.append(f"{name} is not installed in any of the environments that were searched")
        numpy = found.pop("numpy", None)
        chosen = [one for name, one in found.items() if name in wanted]
        plain = numpy is not None and "pytorch" not in {one.framework for one in chosen}
        return [*chosen, numpy] if plain and numpy else chosen

    def _pythons(self) -> list[str]:
        named = []
        for path in chosen_pythons(self._options.pythons):
            interpreter = interpreter_of(self._host, path)
            if interpreter is None or not self._host.status(path).known:
                raise RequestError(
                    f"--python: {path} is not a Python interpreter.", "Pass the Python interpreter of an environment."
                )
            named.append(path)
        return named or [one.executable for one in interpreters(self._host)]

    def _installed(self, python: str) -> list[str]:
        names, problem = modules_of(python, tuple(_MODULES.values()), self._host.variables())
        if problem:
            self.notes.append(f"{python} was not used: {problem}")
        return [name for name, module in _MODULES.items() if module in names]

    def _on(self, device: Device, found: _Found) -> list[Verdict]:
        jobs = self._jobs(device)
        if found.framework in ("tensorflow", "mxnet"):
            jobs = tuple(job for job in jobs if job.kind == "train")
        elif found.framework == "numpy":
            jobs = () if device.gpu else tuple(job for job in jobs if job.kind != "train")
        rows = []
        for threads in (None,) if device.gpu else self._threads or (self.cpu.threads,):
            rows += [
                judged(one, device, threads, self._baseline) for one in self._measured(jobs, device, found, threads, 1)
            ]
        return rows

    def _through_driver(self, device: Device, rows: Sequence[Verdict]) -> list[Verdict]:
        """Copies of a GPU that no framework made: libcuda can, in a child of this program's own Python."""
        if device.gpu is None:
            return []
        jobs = left_to_driver(rows, self._jobs(device))
        made = self._measured(jobs, device, _Found("driver", sys.executable), None, 1)
        return [judged(one, device, None, self._baseline) for one in made]

    def _jobs(self, device: Device) -> tuple[Job, ...]:
        kind = "gpu" if device.gpu else "cpu"
        return jobs_for(self._options.workloads, kind, self._batches, self._precisions)

    def _together(self, devices: list[Device], found: Sequence[_Found]) -> list[Verdict]:
        """The networks once more with the batch split among all GPUs, where PyTorch does that."""
        torch = next((one for one in found if one.framework == "pytorch"), None)
        jobs = jobs_for(self._options.workloads, "gpu", self._batches, self._precisions)
        count = len(devices)
        split = tuple(replace(job, id=f"{job.id}.x{count}") for job in jobs if job.kind == "train")
        if torch is None or not split:
            return []
        every = replace(devices[0], name=f"{count} GPUs, data parallel", card=None)
        return [judged(one, every, None, self._baseline) for one in self._measured(split, every, torch, None, count)]

    def _measured(
        self, jobs: Sequence[Job], device: Device, found: _Found, threads: int | None, gpus: int
    ) -> tuple[Measurement, ...]:
        if not jobs:
            return ()
        code = runner(found.framework)
        settings: dict[str, Any] = {
            "framework": found.framework,
            "device": "gpu" if device.gpu else "cpu",
            "seconds": self._options.seconds,
            "threads": threads,
            "gpus": gpus,
            "pci": device.gpu.pci_address.lower() if device.gpu else "",
            "near": near_processors(self._host, device.gpu.pci_address) if device.gpu else (),
        }
        variables = dict(self._host.variables())
        if device.gpu and gpus == 1:
            variables |= {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": str(device.gpu.index)}

        def start(pending: Sequence[Job]) -> BenchChild:
            say(f"{device.name}: {found.framework}, {', '.join(job.id for job in pending)} …")
            wanted = {**settings, "jobs": [job.settings for job in pending]}
            return run_measuring(found.python, code, wanted, variables, self._options.limit)

        return measured(jobs, found.framework, start)


def _numbers(text: str | None, option: str, most: int) -> tuple[int, ...]:
    """The whole numbers of a list such as 1,2,4. Raises RequestError."""
    words = [word.strip() for word in text.split(",")] if text is not None else []
    if not all(word.isdecimal() and word.isascii() and len(word) < 8 and 0 < int(word) <= most for word in words):
        raise RequestError(
            f"{option}: {text!r} is not a list of whole numbers from 1 to {most:,}.", "Write it as 1,2,4."
        )
    return tuple(dict.fromkeys(map(int, words)))


def _precisions(text: str | None) -> tuple[str, ...]:
    """The precisions of a list such as fp32,bf16. Raises RequestError."""
    words = tuple(word.strip().lower() for word in text.split(",")) if text is not None else ()
    for word in words:
        if word not in PRECISIONS:
            raise RequestError.unknown_value("--precision", word, PRECISIONS, "envkit bench --help")
    return words
