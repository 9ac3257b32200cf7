"""The Python environment that a text describes: distributions, and the frameworks that they and REPL lines tell of."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from envkit._startup.records import replace
from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.base.versions import Version
from envkit.ingest.clues import Clue, Framework, Package, PythonFact
from envkit.model import Cudnn, Distribution, FrameworkInstall, Observed, PythonEnvironment, found
from envkit.model.observed import is_told

_CUDA_TAG = regex(r"\+(?:cu|cuda|gpu_?cu)(\d{2,3})\b|(?:-cuda|-cu|cuda)(\d{2,3})x?$|\.post(\d{2,3})$")
_BUILD_CUDA = regex(r"(?:^|_)cuda_?(\d{1,2})\.?(\d)(?![\d.]*\d\.)")
_BUILD_CUDNN = regex(r"cudnn(\d+(?:\.\d+)+)")
_BUILD_CPU = regex(r"(?:^|_)(?:cpu|mkl|eigen)(?:_|$|py)")
_PACKAGES = {
    "torch": "pytorch",
    "pytorch": "pytorch",
    "pytorch-gpu": "pytorch",
    "pytorch-cpu": "pytorch",
    "tensorflow": "tensorflow",
    "tensorflow-gpu": "tensorflow",
    "tensorflow-cpu": "tensorflow",
    "tensorflow-intel": "tensorflow",
    "tf-nightly": "tensorflow",
    "jax": "jax",
    "jaxlib": "jax",
    "paddlepaddle": "paddlepaddle",
    "paddlepaddle-gpu": "paddlepaddle",
    "onnxruntime": "onnxruntime",
    "onnxruntime-gpu": "onnxruntime",
}
_CPU_PACKAGES = frozenset({"pytorch-cpu", "tensorflow-cpu", "tensorflow-intel"})
_CPU_IN_LISTS = frozenset({"mxnet", "paddlepaddle", "onnxruntime"})  # people say so of a GPU build too
_LAST_MINOR = 2  # of CUDA 10


def python_environment(told: Sequence[tuple[Clue, str]]) -> Observed[tuple[PythonEnvironment, ...]] | None:
    """The one environment that the text tells of, None when it tells of none."""
    packages = [(clue, source) for clue, source in told if isinstance(clue, Package)]
    facts = [(clue, source) for clue, source in told if isinstance(clue, PythonFact)]
    hints = [(clue, source) for clue, source in told if isinstance(clue, Framework)]
    if not (packages or facts or hints):
        return None
    source = min((packages + facts + hints), key=lambda pair: pair[0].offset)[1]  # type: ignore[operator]
    values: dict[str, Any] = {}
    for fact, _ in facts:
        values.setdefault(fact.name, fact.value)
    frameworks = _frameworks(packages, hints)
    environment = PythonEnvironment(
        **({"prefix": "", "version": None, "active": True} | values),
        distributions=_distributions([package for package, _ in packages]),
        frameworks=frameworks,
    )
    return found((environment,), source)


def _distributions(packages: Sequence[Package]) -> tuple[Distribution, ...]:
    known: dict[tuple[str, bool, bool], Distribution] = {}
    for package in packages:
        name = normalized(package.name)
        home = "/.local/lib/python" in package.path
        new = Distribution(name, package.version, path=package.path, installer=package.installer, user_site=home)
        by_conda = package.installer == "conda"
        known.setdefault((name, by_conda, home), new)
    return tuple(known.values())


def _frameworks(
    packages: Sequence[tuple[Package, str]], hints: Sequence[tuple[Framework, str]]
) -> tuple[FrameworkInstall, ...]:
    installs: dict[str, FrameworkInstall] = {}
    for package, source in packages:
        install = framework_of(package, source)
        if install is None:
            continue
        known = installs.get(install.name)
        if known is None:
            installs[install.name] = install
        elif not known.cuda_known and install.cuda_known and install.version == known.version:
            installs[install.name] = replace(known, cuda=install.cuda, cuda_known=True)
    if "jax" in installs:
        installs["jax"] = _jax(installs["jax"], [package for package, _ in packages])
    for hint, source in hints:
        _apply(installs, hint.name, hint.values, source)
    return tuple(_with_wheel_cuda(install, [package for package, _ in packages]) for install in installs.values())


def _jax(install: FrameworkInstall, packages: Sequence[Package]) -> FrameworkInstall:
    """JAX's CUDA is that of its plug-in, and before there were plug-ins that of jaxlib, which has releases of its own.

    A JAX whose packages are not listed is of unknown build.
    """
    for package in packages:
        name = normalized(package.name)
        plugin = re.fullmatch(r"jax-cuda(\d{2})-plugin", name)
        cuda = Version.of(int(plugin.group(1))) if plugin else _cuda_of(name, package)[0] if name == "jaxlib" else None
        if cuda is not None:
            return replace(install, cuda=cuda, cuda_known=True)
    return install


def _apply(installs: dict[str, FrameworkInstall], name: str, values: Mapping[str, object], source: str) -> None:
    known = installs.get(name) or FrameworkInstall(name, "", name, source=source)
    gaps = {key: value for key, value in values.items() if getattr(known, key) in (None, "", False)}
    if known.cuda_known:
        gaps.pop("cuda", None)
    installs[name] = replace(known, **gaps)


def framework_of(package: Package, source: str = "") -> FrameworkInstall | None:
    """The framework that a distribution installs, None when it is none.

    The CUDA it was built for is known from the version's local tag, the distribution's name or conda's build string.
    """
    name = normalized(package.name)
    framework = _PACKAGES.get(name) or next((known for known in ("mxnet", "cupy") if name.startswith(known)), None)
    if framework is None or (framework == "mxnet" and not re.fullmatch(r"mxnet(?:-cu\d+(?:mkl)?|-mkl)?", name)):
        return None
    version = package.version.split("+")[0]
    cuda, cpu = _cuda_of(name, package)
    cpu = cpu or (cuda is None and name in _CPU_IN_LISTS and not is_told(source))
    rocm = "+rocm" in package.version
    return FrameworkInstall(
        framework,
        version,
        f"{name}=={package.version}",
        cuda=cuda,
        cuda_known=cuda is not None or (cpu and not rocm),
        cudnn=_first_version(_BUILD_CUDNN, package.build),
        rocm=rocm,
        source=source,
    )


def _cuda_of(name: str, package: Package) -> tuple[Version | None, bool]:
    for text in (package.version, name.removesuffix("mkl")):
        match = _CUDA_TAG.search(text)
        if match:
            return _of_post(match[3]) if match[3] else _dotted(match[1] or match[2]), False
    match = _BUILD_CUDA.search(package.build)
    if match:
        return Version.of(int(match.group(1)), int(match.group(2))), False
    cpu = "+cpu" in package.version or name in _CPU_PACKAGES or bool(_BUILD_CPU.search(package.build))
    return None, cpu


def _dotted(digits: str) -> Version:
    """`118` is 11.8, `92` is 9.2; two digits above 10 name a whole major line (`cuda12x`)."""
    if len(digits) == 2 and int(digits) > 10 and int(digits) < 20:
        return Version.of(int(digits))
    return Version.of(int(digits[:-1]), int(digits[-1]))


def _of_post(digits: str) -> Version:
    """PaddlePaddle's tag: `post112` is CUDA 11.2; up to CUDA 10 it was a CUDA and a cuDNN, `post107` 10.0 and 7."""
    cuda = _dotted(digits)
    return Version.of(cuda.major, 0) if cuda.major <= 10 and int(digits[-1]) > _LAST_MINOR else cuda


def _first_version(pattern: re.Pattern[str], text: str) -> Version | None:
    match = pattern.search(text)
    return Version.parse(match.group(1)) if match else None


def _with_wheel_cuda(install: FrameworkInstall, packages: Sequence[Package]) -> FrameworkInstall:
    """A plain `torch` brings its CUDA as wheels: their runtime's version is the CUDA it was built for.

    Beside the wheels of another CUDA it cannot be told which of them are this torch's.
    """
    if install.cuda_known or install.cuda is not None or install.name != "pytorch":
        return install
    runtimes = [one for one in packages if re.fullmatch(r"nvidia-cuda-runtime(?:-cu\d+)?", normalized(one.name))]
    versions = [version for one in runtimes if (version := Version.find(one.version)) is not None]
    if len({version.major for version in versions}) != 1:
        return install
    return replace(install, cuda=versions[0].release(2), cuda_known=True)


def cudnn_of(package: Package) -> Cudnn | None:
    """The cuDNN that a distribution installs, None when it installs none."""
    if "cudnn" not in package.name.lower():
        return None
    match = re.fullmatch(r"nvidia-cudnn-cu(\d+)", normalized(package.name))
    version = Version.find(package.version)
    if version is None or not (match or (package.installer == "conda" and package.name == "cudnn")):
        return None
    cuda = Version.of(int(match.group(1))) if match else _first_version(re.compile(r"cuda(\d+\.\d+)"), package.build)
    return Cudnn(version, "", "wheel" if match else "conda", cuda)
