"""TensorFlow without a driver and on Windows: two messages that are easily misread."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.records import replace
from envkit.base.versions import Version
from envkit.checks.cuda.cuda_versions import NO_DRIVER
from envkit.checks.engine.command import CONDA_SPEC, PYTHON, REQUIREMENT, Word, fixed, run
from envkit.checks.engine.evidence import known, unseen
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Outcome, Remedy, Status, ok, skip, unknown
from envkit.checks.engine.managers import managed_by
from envkit.checks.engine.messages import message_evidence, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.frameworks.builds import fresh, replacement
from envkit.checks.frameworks.installs import executable_of, gpu_present, installs, release
from envkit.model import Environment, PythonEnvironment

if TYPE_CHECKING:
    from envkit.tables import Matrix
    from envkit.tables.rows import FrameworkBuild


def _wsl(environment: Environment, matrix: Matrix) -> Remedy:
    """The last release with native support where it is known to have wheels for this Python, otherwise WSL."""
    last = _last_native(environment, matrix)
    item = next(installs(environment, "tensorflow"), None)
    own = item.python.version if item is not None else None
    if item is not None and own is not None and last is not None and own.release(2) in last.pythons:
        why = f"TensorFlow {last.version} is the last release with native Windows GPU support; later ones need WSL 2."
        later = (release(item.framework.version) or last.version) > last.version
        given = replacement(environment, matrix, item, why, also_removed=_OF_LATER if later else ())
        return _with_libraries(environment, given, last, item.python)
    newest = max((row for row in matrix.builds("tensorflow") if _bundled(row)), key=lambda row: row.version)
    native = f", or TensorFlow {last.version} here, with Python {last.pythons[-1]} or older" if last else ""
    floor = _windows_driver(newest, matrix)
    driver = f" (it has to be {floor} or newer: update it first if nvidia-smi shows an older one)" if floor else ""
    return Remedy(
        f"Use WSL 2{native}. Run these in a Windows terminal; WSL uses the Windows driver{driver}, and the first "
        f"command may ask for a reboot. TensorFlow {newest.version} needs Python {newest.pythons[0]} to "
        f"{newest.pythons[-1]}. After that, start programs with tf/bin/python in WSL.",
        (
            fixed("wsl --install -d Ubuntu-24.04"),
            fixed("wsl sudo apt-get update"),
            fixed("wsl sudo apt-get install -y python3-venv"),
            fixed("wsl --cd ~ python3 -m venv tf"),
            run("wsl", "--cd", "~", "tf/bin/python", "-m", "pip", "install", *_packages(environment, matrix, newest)),
        ),
    )


_OF_LATER = ("tensorflow-intel",)  # which has the files of the releases after the last native one
_ASK_GPUS = "import tensorflow as tf; print(tf.config.list_physical_devices('GPU'))"


def _with_libraries(environment: Environment, given: Remedy, last: FrameworkBuild, python: PythonEnvironment) -> Remedy:
    """With the CUDA libraries, for who has none of that major release, and how to see that it worked."""
    if not any(step.words[1:3] == ("-m", "pip") for step in given.steps) or last.cuda is None or last.cudnn is None:
        return given
    major, cudnn = last.cuda.major, last.cudnn.release(2)
    specs = f"cudatoolkit={last.cuda.release(2)}", f"cudnn={cudnn}"
    conda = managed_by(environment, "conda") or python.kind == "conda"
    by_conda = (run("conda", "install", "-y", "-c", "conda-forge", *map(CONDA_SPEC, specs)),) if conda else ()
    otherwise = (
        "the first command installs them" if conda else f"conda install -c conda-forge {' '.join(specs)} has them"
    )
    return Remedy(
        f"{given.advice} Libraries of any CUDA {major}.x and cuDNN {last.cudnn.major} on PATH will do, because their "
        f"files have the same names; those of CUDA {major + 1} will not. In a conda environment, {otherwise}. The last "
        "command must list the GPU.",
        (
            *by_conda,
            *given.steps,
            run(PYTHON(executable_of(python)), "-c", _ASK_GPUS),
        ),
    )


def _windows_driver(row: FrameworkBuild, matrix: Matrix) -> Version | None:
    """The oldest Windows driver that runs it, in WSL too."""
    toolkits = [each for each in matrix.toolkits if row.cuda and each.version.release(2) == row.cuda.release(2)]
    floors = [each.minor_compatibility_windows_driver or each.minimum_windows_driver for each in toolkits]
    return min((floor for floor in floors if floor is not None), default=None)


def _packages(environment: Environment, matrix: Matrix, row: FrameworkBuild) -> Iterator[Word]:
    """What to install in WSL: with the cuDNN that this GPU needs."""
    from envkit.model import System

    elsewhere = replace(environment, system=System())
    given = fresh(elsewhere, matrix, "tensorflow", "", version=row.version)
    calls = [step.words for step in given.steps if step.words[1:4] == ("-m", "pip", "install")]
    pins = [word for words in calls for word in words[4:] if word.startswith("nvidia-cudnn")]
    yield REQUIREMENT(row.package)
    yield from map(REQUIREMENT, pins)


def _bundled(row: FrameworkBuild) -> bool:
    return bool(row.bundles_cuda) and "linux" in row.platforms and bool(row.package)


def _last_native(environment: Environment, matrix: Matrix) -> FrameworkBuild | None:
    """The last TensorFlow with GPU support on native Windows; None elsewhere."""
    if not _is_windows(environment):
        return None
    native = (row for row in matrix.builds("tensorflow") if "windows" in row.platforms and row.cuda is not None)
    return max(native, key=lambda row: row.version, default=None)


def _is_windows(environment: Environment) -> bool:
    return environment.system.os.known and environment.system.os.get().id == "windows"


_ON_CPU = "TensorFlow runs on the CPU."
_SAW_NO_DRIVER = Fault(
    "tf-finds-no-driver",
    "TensorFlow found no CUDA driver although there is a GPU",
    impact=_ON_CPU,
    remedy="Check whether libcuda.so.1 exists and which build is installed.",
    actions=("find-libcuda",),
    status=Status.WARN,
)
_NATIVE = Fault(
    "tf-native-windows",
    "TensorFlow on native Windows has no GPU support",
    impact=_ON_CPU,
    remedy=_wsl,
)


@check(
    _SAW_NO_DRIVER,
    weighs_messages=True,
    layer=Layer.FRAMEWORK_BUILD,
    rank=90,
    explained_by=("cpu-only-wheel", "tf-cannot-dlopen", *NO_DRIVER),
    fix="This is a symptom: check the driver, the container, and whether the wheel is a CPU build.",
    references=threads("tensorflow/tensorflow#66750", "tensorflow/tensorflow#62328"),
)
def tf_finds_no_driver(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """On a machine with a GPU, TensorFlow does not print "Could not find cuda drivers on your machine".

    The message is only a symptom, printed on every machine without a GPU. It means that libcuda could not be opened:
    there is no driver, the container has no GPU, or it is a CPU build.
    """
    messages = seen(environment, "tf-finds-no-driver")
    silent = [item for item in installs(environment, "tensorflow") if item.framework.cuda is not None]
    if not messages and silent and environment.messages.known:
        yield ok("TensorFlow did not report this", subject=silent[0].subject)
    elif not messages:
        yield skip("the input contains no TensorFlow error about a missing driver")
    elif gpu_present(environment):
        yield _SAW_NO_DRIVER.found(message_evidence(environment, messages))
    else:
        yield skip(
            "TensorFlow found no CUDA driver, as on every machine without a GPU",
            evidence=message_evidence(environment, messages),
        )


@check(
    _NATIVE,
    of_missing_gpu=True,
    layer=Layer.FRAMEWORK_BUILD,
    rank=14,
    any_of=("system.os", "messages"),
    fix="Use WSL 2, or the last release with native support.",
    references=("https://www.tensorflow.org/install/pip",),
)
def tf_native_windows(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """TensorFlow on Windows is a release with native GPU support, or runs in WSL 2."""
    last = _last_native(environment, matrix)
    late = [
        item
        for item in installs(environment, "tensorflow")
        if last is not None
        and (own := release(item.framework.version)) is not None
        and own.release(2) > last.version.release(2)
    ]
    if reported := _NATIVE.reported(environment):
        yield reported
    elif not environment.system.os.known:
        yield unknown(unseen(environment, "the operating system"))
    elif not _is_windows(environment):
        yield skip("not Windows", evidence=[known(environment, "system.os", environment.system.os.get().os_id)])
    elif late:
        yield _NATIVE.found(
            [late[0].evidence("version", late[0].framework.version)],
            title=f"{late[0].framework.package} has no GPU support on native Windows",
            subject=late[0].subject,
        )
    else:
        yield ok("no recent TensorFlow on native Windows")
