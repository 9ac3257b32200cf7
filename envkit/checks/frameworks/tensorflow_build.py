"""TensorFlow without a driver and on Windows: two messages that are easily misread."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.cuda.cuda_versions import NO_DRIVER
from envkit.checks.engine.command import fixed
from envkit.checks.engine.evidence import known
from envkit.checks.engine.findings import Outcome, Remedy, fail, ok, skip, unknown, warn
from envkit.checks.engine.messages import message_evidence, seen, told
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import steps
from envkit.checks.frameworks.installs import (
    gpu_present,
    installs,
    release,
)
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix


@check(
    "tf-finds-no-driver",
    title="TensorFlow says that it found no CUDA drivers",
    layer=Layer.FRAMEWORK_BUILD,
    rank=90,
    explained_by=("cpu-only-wheel", "tf-cannot-dlopen", *NO_DRIVER),
    fix="A symptom: look at the driver, the container, or whether the wheel is a CPU build.",
    references=threads("tensorflow/tensorflow#66750", "tensorflow/tensorflow#62328"),
)
def tf_finds_no_driver(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """TensorFlow's "Could not find cuda drivers on your machine" is a symptom, printed on every machine without a GPU.

    It means that libcuda could not be opened: no driver, a container without the GPU, or a CPU build.
    """
    messages = seen(environment, "tf-finds-no-driver")
    silent = [item for item in installs(environment, "tensorflow") if item.framework.cuda is not None]
    if not messages and silent and environment.messages.known:
        yield ok("TensorFlow did not say so", subject=silent[0].subject)
    elif not messages:
        yield skip("TensorFlow was not heard to say so")
    elif gpu_present(environment):
        yield warn(
            "TensorFlow found no CUDA driver although a GPU is there",
            evidence=message_evidence(environment, messages),
            impact="TensorFlow runs on the CPU.",
            remedy=Remedy(
                "Find out whether libcuda.so.1 is there and which build is installed.",
                steps(environment, "find-libcuda"),
            ),
        )
    else:
        yield skip(
            "TensorFlow found no CUDA driver, as on every machine without a GPU",
            evidence=message_evidence(environment, messages),
        )


@check(
    "tf-native-windows",
    title="TensorFlow on native Windows has no GPU support",
    layer=Layer.FRAMEWORK_BUILD,
    rank=14,
    any_of=("system.os", "messages"),
    fix="Use WSL 2, or the last release with native support.",
    references=("https://www.tensorflow.org/install/pip",),
)
def tf_native_windows(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """TensorFlow on Windows is a release that still had native GPU support, or runs in WSL 2."""
    windows = environment.system.os.known and environment.system.os.get().id == "windows"
    native = (
        [row.version for row in matrix.builds("tensorflow") if "windows" in row.platforms and row.cuda is not None]
        if windows
        else []
    )
    last = max(native, default=None)
    fix = Remedy(
        f"Use WSL 2, or TensorFlow {last}, the last with native support." if last else "Use WSL 2.",
        (fixed("wsl --install"),),
    )
    messages = told(
        environment,
        "tf-native-windows",
        "TensorFlow on native Windows has no GPU support",
        impact="TensorFlow runs on the CPU.",
        remedy=fix,
    )
    late = [
        item
        for item in installs(environment, "tensorflow")
        if last is not None
        and (own := release(item.framework.version)) is not None
        and own.release(2) > last.release(2)
    ]
    if messages:
        yield from messages
    elif not environment.system.os.known:
        yield unknown("the operating system is not known")
    elif not windows:
        yield skip("not Windows", evidence=[known(environment, "system.os", environment.system.os.get().os_id)])
    elif late:
        yield fail(
            f"{late[0].framework.package} has no GPU support on native Windows",
            subject=late[0].subject,
            evidence=[late[0].evidence("version", late[0].framework.version)],
            impact="TensorFlow runs on the CPU.",
            remedy=fix,
        )
    else:
        yield ok("no late TensorFlow on native Windows")
