"""What makes a program slow on a machine that is sound: too many threads, too few data workers, kernels never tried."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.base.sentences import series
from envkit.base.versions import whole_number
from envkit.checks.engine.command import export, run
from envkit.checks.engine.evidence import known, unseen
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, Status, ok, unknown
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.frameworks.variables import variables
from envkit.checks.programs.told import told_by_program
from envkit.model import Environment, Observed

if TYPE_CHECKING:
    from envkit.tables import Matrix

_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
_AUTOTUNE = ("TF_CUDNN_USE_AUTOTUNE", "MXNET_CUDNN_AUTOTUNE_DEFAULT")
_COUNTS = ("system.usable_processors", "system.processors")

_TOO_MANY = Fault(
    "more-threads-than-processors",
    "A program starts more threads or workers than it has processors",
    impact="The threads compete for the CPUs, so CPU steps and data loading are slower than with fewer threads.",
    remedy="Use no more than the CPUs available to the process: lower the data loader's num_workers and the number of "
    "threads. nproc prints how many processors are allowed; a container's CPU limit counts as well.",
    status=Status.WARN,
)
_NEVER_TRIED = Fault(
    "cudnn-autotune-off",
    "An environment variable disables cuDNN autotuning",
    impact="Convolutions use the algorithm that cuDNN's heuristics choose, which can be slower than the best one.",
    remedy="Unset it, unless results must be identical in every run, or input shapes change all the time.",
    status=Status.WARN,
)
told_by_program(
    Fault(
        "data-loader-starves",
        "The data loader has few workers and may keep the GPU waiting",
        impact="While the next batch is being read and prepared, the GPU is idle.",
        remedy="Raise the data loader's num_workers toward the number of processors, and check whether nvidia-smi "
        "shows a busy GPU. If a batch takes longer to compute than to load, nothing needs to change.",
        status=Status.WARN,
    ),
    doc="""A data loader has as many workers as it takes to prepare a batch while the GPU computes on another.

    PyTorch Lightning warns when a data loader has fewer workers than the machine's CPU cores allow.
    """,
    rank=40,
    references=threads("kuleshov-group/caduceus#29", "EveryVoiceTTS/EveryVoice#173"),
)


@check(
    _TOO_MANY,
    layer=Layer.PROGRAM,
    rank=41,
    any_of=("variables", "messages"),
    references=threads("embeddings-benchmark/mteb#1331", "AILab-CVC/YOLO-World#413"),
)
def more_threads_than_processors(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """No program is configured to start more threads than the number of CPU cores available to it.

    The smallest of these is the limit: the machine's CPU cores, those in the process's affinity mask, and the
    container's CPU limit.
    """
    if not environment.variables.known:
        return
    counts = [(path, count.get()) for path, count in _counts(environment) if count.known]
    here = variables(environment)
    asked = {name: whole_number(here.get(name, "").split(",")[0].strip()) for name in _THREADS if name in here}
    if not counts:
        yield unknown(unseen(environment, "the processors"))
        return
    path, most = min(counts, key=lambda pair: pair[1])
    too_many = {name: number for name, number in asked.items() if number is not None and number > most}
    evidence = [
        known(environment, path),
        *(Evidence(f"variables[{name}]", here[name], environment.variables.source) for name in asked),
    ]
    if not too_many:
        if reported := _TOO_MANY.reported(environment):
            yield reported
        else:
            yield ok(f"no variable asks for more threads than the {most} processors", evidence=evidence)
        return
    told = ", ".join(f"{name}={number}" for name, number in too_many.items())
    yield _TOO_MANY.found(
        evidence,
        title=f"{told}, and the process may use {most} processor{'s' if most != 1 else ''}",
        remedy=Remedy(
            "Set the variable to no more threads than the process may use.",
            tuple(export(name, str(most)) for name in too_many),
        ),
    )


def _counts(environment: Environment) -> tuple[tuple[str, Observed[int]], ...]:
    system = environment.system
    return tuple(zip(_COUNTS, (system.usable_processors, system.processors), strict=True))


@check(
    _NEVER_TRIED,
    layer=Layer.PROGRAM,
    rank=42,
    needs=("variables",),
    references=("https://mxnet.apache.org/versions/1.9.1/api/faq/env_var",),
)
def cudnn_autotune_off(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """No variable disables cuDNN autotuning, which TensorFlow and MXNet do by default.

    For each new shape, they time cuDNN's algorithms and keep the fastest.
    """
    here = variables(environment)
    off = [name for name in _AUTOTUNE if here.get(name, "").strip() == "0"]
    if not off:
        yield ok("cuDNN autotuning is not disabled", evidence=[known(environment, "variables", "none of them")])
        return
    yield _NEVER_TRIED.found(
        [Evidence(f"variables[{name}]", here[name], environment.variables.source) for name in off],
        title=f"{series(off)} {'is' if len(off) == 1 else 'are'} 0",
        remedy=Remedy(str(_NEVER_TRIED.remedy), (run("unset", *off),)),
    )
