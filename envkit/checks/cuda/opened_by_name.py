"""The CUDA libraries that TensorFlow and JAX open by name while they start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.base.sentences import series
from envkit.base.versions import Version
from envkit.checks.cuda.cudnn_wheels import of_module
from envkit.checks.cuda.dll_folders import not_searched
from envkit.checks.cuda.libraries import is_jax, is_tensorflow, taken_from_path, use_evidence, uses
from envkit.checks.cuda.older_tensorflow import of_system
from envkit.checks.cuda.plain_cudnn import by_plain_name, in_conda
from envkit.checks.engine.command import PATH, REQUIREMENT
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, Status, ok
from envkit.checks.engine.loader_path import dropping
from envkit.checks.engine.messages import message_evidence, named, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import on_windows, remedy, steps
from envkit.checks.frameworks.builds import bring, fresh
from envkit.checks.frameworks.installs import (
    Installed,
    build_of,
    distribution,
    installs,
    judged,
    named_python,
    nothing_to_judge,
    pip,
    release,
)
from envkit.model import Environment, LibraryUse, PythonEnvironment
from envkit.probe.sonames import spans_of
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix

_PLAIN_CUDNN = "libcudnn.so"  # the name that TensorFlow opened before it had wheels
_WHEELS = "Install the libraries as wheels."
_KEEP_COLAB_S = (
    "Colab's CUDA libraries match the TensorFlow that comes with Colab, and the older release finds none that it can "
    "use: keep Colab's (Runtime > Disconnect and delete runtime brings it back), with a release of the other package "
    "that accepts it. Releases this old have no wheels with CUDA libraries either: to use one of them, run it in its "
    "own container image (tensorflow/tensorflow:VERSION-gpu) on your own machine."
)
_CONDA_TOOLKITS = ("cudatoolkit", "cuda-toolkit", "cuda-runtime", "cuda-cudart")
_SYMPTOM = "told-cpu-only"  # says that no GPU is used, and not why


def _wheels_of_tensorflow(environment: Environment, matrix: Matrix) -> Remedy:
    plain = named(seen(environment, "tf-cannot-dlopen", "old-log"), "library") == _PLAIN_CUDNN
    if plain or seen(environment, "tf-cannot-dlopen", "detail-plain-cudnn"):
        return by_plain_name(environment, matrix)
    if "cudnn" in (named(seen(environment, "tf-cannot-dlopen"), "library") or "") and (
        there := of_module(environment) or in_conda(environment)
    ):
        return there
    if unsearched := not_searched(environment) if on_windows(environment) else _in_conda(environment):
        return unsearched
    item = next(installs(environment, "tensorflow"), None)
    printed = named(
        seen(environment, "tf-cannot-dlopen", "detail-printed", "detail-form", "detail-old-form"), "version"
    )
    own = Version.find(item.framework.version if item is not None else printed or "")
    told = named(seen(environment, "tf-cannot-dlopen", "told-older-on-colab"), "version")
    if told and (older := Version.find(told)) and older.release(2) < limit("tensorflow-with-wheels"):
        return Remedy(_KEEP_COLAB_S)
    wheels = next((python for python in judged(environment) if distribution(python, "nvidia-cudnn-cu12")), None)
    blind = own is not None and own.release(2) == limit("tensorflow-blind-to-wheels")
    if blind and (wheels is not None or seen(environment, "tf-cannot-dlopen", "detail-and-cuda")):
        return remedy(
            environment,
            f"The libraries are installed as wheels, but TensorFlow {own} does not look for them there: put their "
            "directories on the loader's path, in each shell (in a conda environment: in etc/conda/activate.d). The "
            "next release finds them by itself.",
            "wheel-libraries",
            python=(wheels.executable if wheels is not None else "") or "python",
        )
    if other := _of_other_cuda(environment, matrix):
        return other
    messages = seen(environment, "tf-cannot-dlopen")
    if item is None and own is not None:
        given = fresh(environment, matrix, "tensorflow", _WHEELS, messages, version=own)
    else:
        given = bring(environment, matrix, "tensorflow", _WHEELS, messages=messages)
    if own is not None and (by_system := of_system(environment, matrix, own, given)):
        return by_system
    if not blind or on_windows(environment):
        return given
    python = item.python.executable if item is not None else ""
    return Remedy(
        f"{given.advice} TensorFlow {own} does not look for them there: the last two lines put their directories on "
        "the loader's path, in each shell. The next release finds them by itself.",
        (*given.steps, *steps(environment, "wheel-libraries", python=python or "python")),
    )


def _in_conda(environment: Environment) -> Remedy | None:
    """Where the text lists the library in the conda environment's own lib directory; otherwise None."""
    library = named(seen(environment, "tf-cannot-dlopen"), "library")
    listed = seen(environment, "tf-cannot-dlopen", "detail-listed")
    folder = next((one.values["folder"] for one in listed if one.values["found"] == library), "")
    if not folder or not isinstance(PATH(folder), str):
        return None
    return remedy(
        environment,
        f"{library} is in {folder}, the conda environment's own directory, so nothing has to be installed: the loader "
        "does not look there (PATH is for programs; libraries are found by LD_LIBRARY_PATH). Set it in each shell, "
        "after the environment is activated (to make this permanent: conda env config vars set "
        f"LD_LIBRARY_PATH={folder}), and start the program again.",
        "load-folder",
        root=folder,
    )


def _of_other_cuda(environment: Environment, matrix: Matrix) -> Remedy | None:
    """The TensorFlow for the CUDA that is there, where no library of that CUDA has the name which is looked for."""
    library = named(seen(environment, "tf-cannot-dlopen"), "library") or ""
    told = Version.find(named(seen(environment, "tf-cannot-dlopen", "detail-cuda"), "cuda") or "")
    toolkits = {toolkit.version.release(2) for toolkit in environment.cuda_toolkits.value or ()}
    toolkits = toolkits or ({told} if told is not None else set())
    cuda = next(iter(toolkits)) if len(toolkits) == 1 else None
    spans = spans_of(library)
    if cuda is None or not spans or any(first <= cuda <= last for first, last in spans):
        return None
    fitting = [row.version for row in matrix.builds("tensorflow") if row.cuda is not None and row.cuda == cuda]
    lines = sorted({version.release(2) for version in fitting})
    if not lines:
        return None
    wanted = max(version for version in fitting if version.release(2) == lines[0])
    packages = (f"tensorflow=={wanted}", f"protobuf<{limit('protobuf-of-new-code')}")  # which it does not bound
    ranges = series([f"{first}" if first == last else f"{first} to {last}" for first, last in spans], "or")
    return Remedy(
        f"{library} belongs to CUDA {ranges}, and CUDA {cuda} has no file with that name: this TensorFlow was built "
        f"for a different CUDA release. Install one that was built for CUDA {cuda}: TensorFlow {lines[0]} to "
        f"{lines[-1]} were (the command installs the nearest; cuDNN must match, too). Or install CUDA {spans[-1][1]} "
        "next to the other one.",
        (pip(named_python(environment), "install", *map(REQUIREMENT, packages)),),
    )


_NEWER_JAX = (
    " Or use a newer JAX, which includes its libraries as wheels (pip install -U 'jax[cuda12]'), if the program "
    "accepts it. In a hosted notebook (Colab, Kaggle), where you cannot choose the CUDA release, use the current "
    "version of the notebook instead."
)


def _wheels_of_jax(environment: Environment, matrix: Matrix) -> Remedy:
    advice = f"Remove CUDA directories from LD_LIBRARY_PATH; if that does not help: {_WHEELS[0].lower()}{_WHEELS[1:]}"
    if seen(environment, "jax-library-load", "dnn-missing"):
        advice = (
            "CUDA was found, but cuDNN was not. pip install 'jax[cuda12]' brings it along; a jaxlib that uses the CUDA "
            "of the system needs the cuDNN for that CUDA, installed by NVIDIA's guide, with its directory on the "
            "loader's path. If it is there, the GPU's memory may be full. With the wheels:"
        )
    given = bring(environment, matrix, "jax", advice, messages=seen(environment, "jax-library-load"))
    if _asks(given) and seen(environment, "jax-library-load", "detail-wheels"):
        return remedy(
            environment,
            "JAX's wheels bring these libraries, and the plug-in finds them by itself unless a variable leads the "
            "loader elsewhere, such as those that a cluster's modules set (the first command lists them). Unset "
            "them in the shell or the job script that starts the program, and put the wheels' directories first; the "
            "last command has to print the GPU. If it does not, the wheels are incomplete: make a new environment, and "
            "install JAX there with its CUDA extra (envkit resolve --framework jax --target any prints how).",
            "jax-own-libraries",
            python=named_python(environment).executable or "python",
        )
    newer = _NEWER_JAX if any(step.words[:2] == ("envkit", "install") for step in given.steps) else ""
    steps_off = dropping(environment, taken_from_path(environment), "cuda")
    return Remedy(f"{given.advice}{newer}", (*steps_off, *given.steps))


def _asks(given: Remedy) -> bool:
    """Whether a remedy has no more than a question to envkit, as nothing tells the build."""
    return all(step.words[:2] == ("envkit", "resolve") for step in given.steps)


_TENSORFLOW = Fault(
    "tf-cannot-dlopen",
    "TensorFlow cannot load its CUDA libraries",
    impact="TensorFlow does not use the GPU.",
    remedy=_wheels_of_tensorflow,
)
_JAX = Fault(
    "jax-library-load",
    "JAX cannot load its CUDA libraries",
    impact="JAX does not use the GPU.",
    remedy=_wheels_of_jax,
)


@check(
    _TENSORFLOW,
    layer=Layer.LIBRARIES,
    tier="X",
    rank=12,
    any_of=("pythons", "messages"),
    explained_by=("cpu-only-wheel", "cudnn-missing", "no-gpu-on-pci"),
    of_missing_gpu=True,
    fix="Install tensorflow[and-cuda], which includes the libraries as wheels.",
    references=threads("tensorflow/tensorflow#62994", "tensorflow/tensorflow#34287"),
)
def tf_cannot_dlopen(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """TensorFlow finds every CUDA library that it opens by name.

    A single missing library turns off GPU support, and TensorFlow does not always say which one is missing.
    """
    found = [(python, use) for python, use in uses(environment) if is_tensorflow(use)]
    told = seen(environment, _TENSORFLOW.id, without=_SYMPTOM)
    others = [] if found or told else _toolkits_of_other_release(environment, matrix)
    if not others:
        yield from _opened_by_name(environment, matrix, _TENSORFLOW, found, "tensorflow", "TensorFlow")
        return
    symptom = seen(environment, _TENSORFLOW.id, _SYMPTOM)
    for item, wanted, evidence in others:
        yield _TENSORFLOW.found(
            [item.evidence("version", item.framework.version), evidence, *message_evidence(environment, symptom)],
            title=f"TensorFlow {item.framework.version} loads the CUDA {wanted} libraries, but a different release is "
            "installed",
            subject=item.python.prefix,
            status=Status.FAIL if symptom else Status.WARN,
        )


def _toolkits_of_other_release(environment: Environment, matrix: Matrix) -> list[tuple[Installed, Version, Evidence]]:
    """Each TensorFlow that takes CUDA from the system, its CUDA, and a toolkit, where none of the toolkits fits."""
    toolkits = environment.cuda_toolkits.get() if environment.cuda_toolkits.known else ()
    if not toolkits:
        return []
    shown = Evidence("cuda_toolkits", str(toolkits[0].version), environment.cuda_toolkits.source)
    found = []
    for item in installs(environment, "tensorflow"):
        row = build_of(environment, item.framework, matrix)
        cuda = None if row is None or row.bundles_cuda else row.cuda
        there = [*(toolkit.version for toolkit in toolkits), *_of_conda(item.python)]
        if cuda is not None and not any(_same_names(cuda, version) for version in there):
            found.append((item, cuda, shown))
    return found


def _of_conda(python: PythonEnvironment) -> list[Version]:
    """The releases of CUDA whose libraries conda put into the environment."""
    packages = [each for each in python.distributions if each.name in _CONDA_TOOLKITS and each.installer == "conda"]
    return [version for each in packages if (version := release(each.version)) is not None]


def _same_names(wanted: Version, toolkit: Version) -> bool:
    """Whether a toolkit's libraries have the names that programs for CUDA `wanted` open: see cuda_sonames.csv."""
    parts = 2 if wanted < limit("one-soname-per-major") else 1
    return toolkit.release(parts) == wanted.release(parts)


@check(
    _JAX,
    layer=Layer.LIBRARIES,
    tier="X",
    rank=13,
    any_of=("pythons", "messages"),
    explained_by=(
        "ld-library-path-shadows-wheels",
        "driver-too-old-for-runtime",
        "no-gpu-on-pci",
        "cudnn-older-than-build",
    ),
    fix="Remove CUDA directories from LD_LIBRARY_PATH; reinstall jax with its CUDA extra.",
    references=threads("jax-ml/jax#30050", "jax-ml/jax#28929"),
)
def jax_library_load(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """JAX's CUDA plug-in finds the libraries that it opens by name."""
    found = [(python, use) for python, use in uses(environment) if is_jax(use)]
    yield from _opened_by_name(environment, matrix, _JAX, found, "jax", "JAX")


def _opened_by_name(
    environment: Environment,
    matrix: Matrix,
    fault: Fault,
    found: list[tuple[PythonEnvironment, LibraryUse]],
    name: str,
    title: str,
) -> Iterator[Outcome]:
    missing = [(python, use) for python, use in found if use.path is None]
    if missing:
        python = missing[0][0]
        yield fault.found(
            [use_evidence(use) for _, use in missing],
            title=f"{title} does not find {', '.join(use.soname for _, use in missing)}",
            subject=python.prefix,
            remedy=bring(environment, matrix, name, _WHEELS, python),
        )
    elif messages := seen(environment, fault.id, without=_SYMPTOM):
        library = named(messages, "library")
        said = f"{title} cannot load {library}" if library else ""
        yield fault.found(message_evidence(environment, messages), title=said)
    elif found:
        yield ok(f"{title} finds its CUDA libraries", evidence=[use_evidence(use) for _, use in found[:3]])
    else:
        yield nothing_to_judge(environment, f"CUDA build of {title}")
