"""Is a framework a GPU build at all, on a machine that has a GPU?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.records import replace
from envkit._startup.regex import regex
from envkit.base.versions import Version, cuda_tag
from envkit.checks.engine.ask import framework_of
from envkit.checks.engine.command import NAME, REQUIREMENT
from envkit.checks.engine.evidence import kind, known
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Outcome, Remedy, Status, ok, skip, unknown
from envkit.checks.engine.messages import message_evidence, named, number_named, only_shown, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import on_windows
from envkit.checks.frameworks.builds import bring, replacement
from envkit.checks.frameworks.companions import vision_alone
from envkit.checks.frameworks.conda_builds import by_conda, of_forge
from envkit.checks.frameworks.cpu_programs import other_program
from envkit.checks.frameworks.installs import (
    TORCH_PACKAGES,
    Installed,
    distribution,
    distribution_evidence,
    first_python,
    gpu_present,
    idle_beside,
    installs,
    nothing_to_judge,
    pip,
    release,
)
from envkit.checks.frameworks.jax_extra import extra_for, with_cuda_extra
from envkit.checks.frameworks.jax_plugins import of_one_release
from envkit.checks.frameworks.nix_builds import of_nixpkgs
from envkit.checks.frameworks.onnxruntime import built_with_cuda, found_by_loader, one_alone
from envkit.checks.frameworks.told_conda import by_build_string
from envkit.checks.frameworks.torch_of_index import for_unknown_gpu
from envkit.checks.nvidia_driver.driver_state import cuda_works
from envkit.model import Distribution, Environment, MachineKind, Message, found
from envkit.model.observed import is_told
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix

_CPU_PACKAGES = {  # what pip takes for the wanted ones, or hides them
    "pytorch": TORCH_PACKAGES,
    "onnxruntime": ("onnxruntime",),
}
_OTHER_VENDOR = regex(r"\+(?:git\w{1,12}\.)?(xpu|rocm|musa|npu|hpu|mps|gaudi|corex|das|dtk|maca)\b")
_CPU_ONLY_TITLE = "is a CPU-only build"


def _cuda_build(environment: Environment, matrix: Matrix) -> Remedy:
    messages = (*seen(environment, "cpu-wheel-on-aarch64"), *seen(environment, "cpu-only-wheel"))
    name = framework_of(environment, matrix, messages)
    if own := other_program(environment, matrix, messages) or vision_alone(environment, matrix, messages):
        return own
    if elsewhere := of_forge(environment) or of_nixpkgs(environment) or _by_conda_alone(environment, matrix, name):
        return elsewhere
    if name == "onnxruntime" and seen(environment, "cpu-only-wheel", "detail-own-build"):
        return built_with_cuda(environment)
    if name == "onnxruntime" and seen(environment, "onnxruntime-two-packages", "detail-listed"):
        return one_alone(environment, matrix)
    if seen(environment, "cpu-only-wheel", "told-tf1"):
        return _first_tensorflow(environment, matrix)
    why = "Reinstall the CUDA build."
    if name == "mxnet" and (toolkit := _toolkit_told(environment)) is not None:  # its libraries are the system's
        told = replace(environment.driver, driver_cuda_version=found(toolkit, "cuda_toolkits"))
        environment = replace(environment, driver=told)
    family = number_named(seen(environment, "cpu-only-wheel", "detail-extra-index"), "family")  # cu118
    if family:
        chosen = Version.of(*divmod(family, 10))
        told = replace(environment.driver, driver_cuda_version=found(chosen, "message"))
        environment = replace(environment, driver=told)
        why = (
            f"{why} --extra-index-url only adds an index: pip then installs the newest release from any index, and on "
            "Windows, PyPI has only CPU builds. To keep the next pip install -r from reinstalling it, move the torch "
            "lines into a separate file, install that file with --index-url, and pin the versions."
        )
    given = found_by_loader(environment, bring(environment, matrix, name, why, messages=messages))
    if name == "pytorch" and (whole := for_unknown_gpu(environment, matrix, given)):
        return whole
    cpu, *companions = _CPU_PACKAGES.get(name, ("",))
    if cpu and given.commands and not any("uninstall" in line for line in given.commands):
        too = [each for each in companions if any(f"{each}==" in line for line in given.commands)]
        removal = pip(first_python(environment), "uninstall", "-y", *map(NAME, (cpu, *too)))
        return replace(given, steps=(removal, *given.steps))
    return given


def _toolkit_told(environment: Environment) -> Version | None:
    """The newest toolkit that is there, or that is named."""
    named_one = Version.find(named(seen(environment, "cpu-only-wheel", "detail-mxnet-cuda"), "cuda") or "")
    return max((one.version.release(2) for one in environment.cuda_toolkits.value or ()), default=named_one)


def _by_conda_alone(environment: Environment, matrix: Matrix, name: str) -> Remedy | None:
    return by_build_string(environment, matrix) if name == "pytorch" else None


def _first_tensorflow(environment: Environment, matrix: Matrix) -> Remedy:
    """Before 1.15, the package tensorflow was CPU-only, and tensorflow-gpu the one for GPUs."""
    version = Version.find(named(seen(environment, "cpu-only-wheel", "told-tf1"), "version") or "")
    rows = [row for row in matrix.builds("tensorflow") if row.cuda is not None]
    row = next((row for row in rows if row.version == version), None) or next(
        (row for row in rows if version is not None and row.version.release(2) == version.release(2)), None
    )
    cudnn = f" and cuDNN {row.cudnn}" if row is not None and row.cudnn else ""
    needs = f" It loads CUDA {row.cuda}{cudnn} from the system, and needs exactly that." if row is not None else ""
    python = first_python(environment)
    return Remedy(
        "In these releases, the tensorflow package is CPU-only: replace it with tensorflow-gpu. No Keras flag is "
        f"needed.{needs}",
        (
            pip(python, "uninstall", "-y", "tensorflow"),
            pip(python, "install", REQUIREMENT(f"tensorflow-gpu=={row.version if row is not None else version}")),
        ),
    )


def _again(environment: Environment) -> str:
    """What would bring the CPU build back: a command that lets uv choose."""
    if not seen(environment, "cpu-only-wheel", "detail-torch-backend"):
        return ""
    tag = cuda_tag(limit("cuda-of-blackwell"))
    return (
        f" In the command that installed it, write the index, such as --torch-backend={tag}, in place of auto, which "
        "chose the CPU build: the next installation would do so again."
    )


_IDLE = "a different framework uses the GPU here, and nothing shows that this one is used"
_CPU_ONLY = Fault(
    "cpu-only-wheel",
    "A CPU-only build of a framework is installed on a machine with a GPU",
    impact="The framework runs on the CPU only; the GPU stays idle.",
    remedy=_cuda_build,
)
_ON_AARCH64 = replace(
    _CPU_ONLY,
    id="cpu-wheel-on-aarch64",
    impact="On aarch64, the default wheel on the package index is CPU-only for many releases. The framework runs on "
    "the CPU only; the GPU stays idle.",
    title="The CPU-only aarch64 wheel of a framework is installed on a machine with a GPU",
)
_NO_PLUGIN = Fault(
    "jax-no-cuda-plugin",
    "JAX has no CUDA plug-in",
    impact="JAX prints only a warning and runs on the CPU.",
    remedy=with_cuda_extra,
)


@check(
    _CPU_ONLY,
    layer=Layer.FRAMEWORK_BUILD,
    rank=15,
    any_of=("pythons", "messages"),
    explained_by=(
        "no-gpu-on-pci",
        "conda-sees-no-gpu",
        "torch-replaced-by-dependency",
        "nix-package-without-cuda",
        "onnxruntime-two-packages",
        "tf-native-windows",
        "user-site-shadows-env",
    ),
    of_missing_gpu=True,
    fix="Reinstall a CUDA build that works with the driver.",
    references=threads("pytorch/pytorch#3717", "facebookresearch/detectron2#460", "conda/conda#14761"),
)
def cpu_only_wheel(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """On a machine with a GPU, the installed frameworks are GPU builds.

    The wrong index, a lock file, the package cache, or a dependency can pull in a CPU build: everything looks healthy,
    but `is_available()` returns False. ROCm and XPU builds have no CUDA either, but are not CPU builds.
    """
    if kind(environment) is MachineKind.JETSON:
        yield skip("on a Jetson, jetson-generic-wheel checks this")
        return
    if environment.system.architecture.value == "aarch64":
        yield skip("on aarch64, cpu-wheel-on-aarch64 checks this")
        return
    yield from _cpu_only(environment, matrix, _CPU_ONLY, seen(environment, _CPU_ONLY.id))


@check(
    _ON_AARCH64,
    layer=Layer.FRAMEWORK_BUILD,
    rank=16,
    any_of=("pythons", "messages"),
    explained_by=("no-gpu-on-pci",),
    fix=(
        "On a server, install from the CUDA index for aarch64; on a Jetson, install the wheels made for its L4T "
        "release."
    ),
    references=threads("pytorch/pytorch#168065", "pytorch/pytorch#134790"),
)
def cpu_wheel_on_aarch64(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """On an aarch64 machine with a GPU, the installed frameworks are GPU builds.

    For years, the default aarch64 wheels were CPU-only; those on the index are for servers, not for Jetson.
    """
    if kind(environment) is MachineKind.JETSON:
        yield skip("on a Jetson, jetson-generic-wheel checks this")
        return
    if environment.system.architecture.known and environment.system.architecture.get() != "aarch64":
        yield skip("not an aarch64 machine", evidence=[known(environment, "system.architecture")])
        return
    if not environment.system.architecture.known and not seen(environment, "cpu-wheel-on-aarch64"):
        yield unknown("cannot tell the machine's architecture")
        return
    messages = (*seen(environment, "cpu-wheel-on-aarch64"), *seen(environment, "cpu-only-wheel"))
    yield from _cpu_only(environment, matrix, _ON_AARCH64, messages)


def _gpus_told(environment: Environment) -> str | None:
    """The models of the GPUs that a CPU build leaves idle; None where there are none."""
    names = [gpu.name for gpu in environment.gpus.value or ()] or [gpu.name for gpu in environment.pci_gpus.value or ()]
    return ", ".join(dict.fromkeys(filter(None, names))) or None


def _cpu_only(environment: Environment, matrix: Matrix, fault: Fault, told: tuple[Message, ...]) -> Iterator[Outcome]:
    items = [item for item in installs(environment) if item.framework.name not in ("jax", "onnxruntime")]
    cpu = [
        item for item in items if item.framework.cuda_known and item.framework.cuda is None and not _other_gpus(item)
    ]
    present = gpu_present(environment)
    missed = told or seen(environment, "framework-sees-no-gpu")  # who misses a GPU has one
    plain = [item for item in items if missed and item not in cpu and _plain_on_arm(environment, matrix, item)]
    cpu += plain
    other_fails = not missed and len(items) > 1 and bool(seen(environment, "library-release-mismatch"))
    for item in cpu:
        evidence = [
            item.evidence("version", item.framework.version) if item in plain else item.evidence("cuda", "none"),
            *([known(environment, "system.architecture")] if fault is _ON_AARCH64 else []),
            known(environment, "gpus" if environment.gpus.known else "pci_gpus", _gpus_told(environment)),
        ]
        fix = (
            by_conda(environment, matrix, item)
            or _by_conda_alone(environment, matrix, item.framework.name)
            or replacement(environment, matrix, item, f"Replace it with a CUDA build.{_again(environment)}")
        )
        if not missed and idle_beside(environment, item):
            yield skip(f"{item.framework.package} {_CPU_ONLY_TITLE}; {_IDLE}", subject=item.subject, evidence=evidence)
        elif present or missed:
            of_index = f"The default index's aarch64 wheel of {item.framework.package} {_CPU_ONLY_TITLE}"
            yield fault.found(
                [*evidence, *message_evidence(environment, missed)],
                title=of_index if item in plain else f"{item.framework.package} {_CPU_ONLY_TITLE}",
                subject=item.subject,
                remedy=fix,
                status=Status.WARN if other_fails else None,  # it is listed beside the one whose import fails
            )
        elif present is False:
            yield ok(
                f"{item.framework.package} {_CPU_ONLY_TITLE}, and there is no GPU",
                subject=item.subject,
                evidence=evidence,
            )
        else:
            yield unknown(
                f"{item.framework.package} {_CPU_ONLY_TITLE}; whether there is a GPU is not known",
                subject=item.subject,
                evidence=evidence,
            )
    for item in items:
        if item not in cpu and (item.framework.cuda is not None or _other_gpus(item)):
            yield ok(
                f"{item.framework.package} is a GPU build",
                subject=item.subject,
                evidence=[item.evidence("cuda", item.framework.cuda or _other_gpus(item))],
            )
    if not told and not cpu and (blind := _blind_on_windows(environment, items)):
        yield fault.found(
            message_evidence(environment, blind),
            title="The CPU build of PyTorch is installed, which is what a plain pip install gives you on Windows",
        )
    elif told and not cpu and not any(map(_other_gpus, items)):
        title = "A CPU-only build of the framework is installed"
        yield fault.found(message_evidence(environment, told), title=title)
    elif not items:
        yield nothing_to_judge(environment, "framework")


def _plain_on_arm(environment: Environment, matrix: Matrix, item: Installed) -> bool:
    """Whether it is a release of PyTorch that the default index has for aarch64 without CUDA, and nothing tells of
    another index."""
    framework, version = item.framework, release(item.framework.version)
    tagged = "+" in framework.package or framework.rocm or framework.cuda_known or framework.cuda is not None
    if environment.system.architecture.value != "aarch64" or framework.name != "pytorch" or tagged:
        return False
    own = [row for row in matrix.builds(framework.name) if row.version == version]
    if not own or distribution(item.python, "torch") is None:  # conda has builds of its own
        return False
    return not any(row.on_pypi and row.cuda is not None and "aarch64" in row.architectures for row in own)


def _other_gpus(item: Installed) -> str:
    """What a build without CUDA is made for, by its version's tag: "Torch not compiled with CUDA" is no fault of it."""
    if item.framework.rocm:
        return "ROCm"
    tag = _OTHER_VENDOR.search(item.framework.package)
    return tag[1].upper() if tag else ""


def _blind_on_windows(environment: Environment, items: list[Installed]) -> tuple[Message, ...]:
    """The lines in which PyTorch on Windows sees no GPU, where there is one and no build is known to be for CUDA."""
    inside = kind(environment) in (MachineKind.WSL1, MachineKind.WSL2)  # a Linux, whose plain install has CUDA
    if (
        inside
        or not on_windows(environment)
        or not gpu_present(environment)
        or any(item.framework.cuda for item in items)
    ):
        return ()
    return seen(environment, "framework-sees-no-gpu", "told-available", "told-available-none", "webui", "status-line")


def _belong_together(item: Installed, plugin: Distribution, jaxlib: Distribution) -> bool:
    """Whether plug-in and jaxlib are of one release, or both of those that this release of JAX asks for."""
    from envkit.compat.pairs import allows, meeting, required

    versions = [release(plugin.version), release(jaxlib.version)]
    if versions[0] == versions[1]:
        return True
    rows = [row for row in meeting("jax", item.framework.version.__eq__) if required(row)]
    return bool(rows) and all(version is not None and allows(rows, "jaxlib", version) for version in versions)


@check(
    _NO_PLUGIN,
    layer=Layer.FRAMEWORK_BUILD,
    explained_by=(
        *("container-no-gpu-injected", "jax-library-load", "ld-library-path-shadows-wheels", "no-gpu-on-pci"),
        "nvjitlink-symbol",
    ),
    rank=17,
    of_missing_gpu=True,
    any_of=("pythons", "messages"),
    fix='Install JAX with the extra for CUDA: "jax[cuda13]" or "jax[cuda12]", depending on the driver.',
    references=("https://docs.jax.dev/en/latest/installation.html",),
)
def jax_no_cuda_plugin(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """On a machine with a GPU, JAX has a CUDA plug-in that matches jaxlib."""
    items = list(installs(environment, "jax"))
    reported = _NO_PLUGIN.reported(environment)
    if reported and not any(item.framework.cuda for item in items):
        yield reported
        return
    if not items:
        yield nothing_to_judge(environment, "JAX")
    for item in items:
        plugins = [
            each
            for each in item.python.distributions
            if each.name.startswith("jax-cuda") and each.name.endswith("-plugin")
        ]
        jaxlib = distribution(item.python, "jaxlib")
        evidence = [distribution_evidence(each) for each in (*plugins, *([jaxlib] if jaxlib else []))]
        evidence.append(item.evidence("version", item.framework.version))
        if plugins and jaxlib and not _belong_together(item, plugins[0], jaxlib):
            yield _NO_PLUGIN.found(
                evidence,
                title=f"{plugins[0].name} {plugins[0].version} does not match jaxlib {jaxlib.version}",
                subject=item.subject,
                remedy=of_one_release(item.python, plugins[0], jaxlib),
            )
        elif item.framework.cuda is not None or item.framework.rocm:
            yield ok("JAX has a GPU plug-in", subject=item.subject, evidence=evidence)
        elif gpu_present(environment) and not is_told(item.framework.source):
            fix = extra_for(environment, matrix, item)
            others = [other.framework for other in installs(environment) if other.framework.name != "jax"]
            beside = any(other.cuda or other.name == "tensorflow" for other in others)
            unasked = beside and not seen(environment, "jax-no-cuda-plugin")  # JAX came with something else
            if jaxlib is None and only_shown(environment) and cuda_works(environment):
                yield skip("JAX's own packages are not listed, and CUDA works", subject=item.subject, evidence=evidence)
                continue
            if unasked and idle_beside(environment, item):
                yield skip(f"JAX has no CUDA plug-in; {_IDLE}", subject=item.subject, evidence=evidence)
                continue
            status = Status.WARN if unasked else Status.FAIL
            yield _NO_PLUGIN.found(evidence, subject=item.subject, remedy=fix, status=status)
        else:
            yield skip("no GPU was found that JAX could use", subject=item.subject, evidence=evidence)
