"""Commands for the place that a text names: its image, its program's Python, its cluster's kubectl and modules."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from envkit._startup.records import replace
from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.checks.engine.command import IMAGE, MODULE, PATH, PYTHON, Command, fixed, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managed_by, managers
from envkit.checks.engine.own_run import in_own_words
from envkit.checks.engine.remedies import on_windows
from envkit.model import Environment

_PYTHON = regex(r"(?:^|\$\()python(?= -[cm] )")
_CONDA_PREFIX = regex(r"(?P<prefix>/.{1,200}/envs/[\w.-]{1,60})/bin/python[\d.]*")
_BLANK = "IMAGE"  # where a command starts an image that the text may name
_KUBECTLS = {"microk8s": ("microk8s",), "k3s": ("sudo", "k3s")}  # what is before kubectl there
_MICROK8S_HELM = ("microk8s", "helm3")
_CLUSTERS = frozenset(("slurm", "pbs", "modules"))
_OWN_PYTHONS = {  # of programs that provide one, in their folder: on Windows, elsewhere
    "comfyui-portable": (".\\python_embeded\\python.exe", ""),
    "runtime-folder": (".\\runtime\\python.exe", ""),
    "forge-package": (".\\system\\python\\python.exe", ""),
    "one-click": (".\\installer_files\\env\\python.exe", "installer_files/env/bin/python"),
    "webui": (".\\venv\\Scripts\\python.exe", "venv/bin/python"),
}
_TOOLKIT = ("envkit", "install", "--cuda")
_SET_BY_MODULE = "/usr/local/cuda"  # of variables that a module sets itself
_MODULES = (
    "On this cluster, the toolkit is an environment module: in the job script, load it before the program starts, "
    "with the matching cuDNN module if the program needs cuDNN (the first command lists both). If there is no module "
    "for this release, ask the administrators for one."
)

_OF_THE_LANDLORD = regex(
    r"--gpu-reset|\bsudo reboot\b|\bmodprobe\b|\bdkms\b|\bnvidia-driver|\bsystemctl\b|\brmmod\b|\bdmesg\b"
    r"|/etc/modprobe\.d"
)
_OF_A_DRIVER = regex(r"\bnvidia-driver|\bcuda-drivers\b|\bubuntu-drivers\b")
_TO_KEEP = "To keep the driver, "
_HOSTED = "The driver of a hosted notebook is its provider's: nothing that is installed in it changes that."
_FOR_WHOM = " These commands are for "
_RENTED = (
    "This needs the host, which you cannot change from a rented pod, and restarting the pod keeps the same machine: "
    "save your results, terminate the pod, and start a new one on another machine (a network volume keeps the data). "
    "Send the provider the message and the GPU's UUID, which the command prints. What helps on the host:"
)


def in_place(environment: Environment, given: Remedy) -> Remedy:
    """The remedy with what the text names of its place put into the commands."""
    names = managers(environment)
    if not _CLUSTERS.isdisjoint(names):
        given = _by_modules(given)
    steps = (own for step in given.steps for own in in_own_words(environment, step))
    return replace(given, steps=tuple(_placed(environment, names, step) for step in steps))


def _placed(environment: Environment, names: tuple[str, ...], step: Command) -> Command:
    if step.words[:1] == ("kubectl",):
        prefix = next((words for name, words in _KUBECTLS.items() if name in names), ())
        return replace(step, words=(*prefix, *step.words))
    if step.words[:2] == ("docker", "compose") and "compose-v1" in names:
        return replace(step, words=("docker-compose", *step.words[2:]))
    if step.words[:1] == ("helm",) and "microk8s" in names:
        return replace(step, words=(*_MICROK8S_HELM, *step.words[1:]))
    if step.shell.startswith("kubectl "):
        prefix = next((words for name, words in _KUBECTLS.items() if name in names), ())
        return replace(step, shell=" ".join((*prefix, step.shell)))
    step = _by_traceback(environment, _by_its_conda(environment, names, step))
    image = IMAGE(environment.containers.image.value) if environment.containers.image.known else None
    if isinstance(image, str):
        words = tuple(image if word == _BLANK else word for word in step.words)
        return replace(step, words=words, shell=step.shell.replace(_BLANK, image))
    return step


def _by_its_conda(environment: Environment, names: tuple[str, ...], step: Command) -> Command:
    """In the words of the program that manages these environments, for the one that the tracebacks run in."""
    words = step.words or (tuple(shlex.split(step.shell)) if step.shell.startswith("conda ") else ())
    if words[:1] != ("conda",) or "$" in step.line:
        return step
    told = environment.traceback_python.value if environment.traceback_python.known else ""
    prefix = _CONDA_PREFIX.fullmatch(told or "")
    root = PATH(prefix["prefix"]) if prefix else None
    if words[1] in ("install", "remove") and isinstance(root, str) and not {"-p", "-n"} & set(words):
        words = (*words[:2], "-p", root, *words[2:])
    program = next((name for name in ("micromamba", "mamba") if name in names), "conda")
    return replace(step, words=(program, *words[1:]), shell="")


def _by_traceback(environment: Environment, step: Command) -> Command:
    """With the Python that the tracebacks run in place of whichever is first on PATH."""
    told = PYTHON(environment.traceback_python.value) if environment.traceback_python.known else None
    if not isinstance(told, str):
        return step
    if step.words[:1] == ("python",):
        return replace(step, words=(told, *step.words[1:]))
    word = told if on_windows(environment) else shlex.quote(told)  # it has no blank
    return replace(step, shell=_PYTHON.sub(lambda match: match[0][:-6] + word, step.shell))


def _by_modules(given: Remedy) -> Remedy:
    """A toolkit is loaded there, not installed: nobody has root, and nodes share no /usr/local."""
    wanted = [Version.find(step.words[3]) for step in given.steps if step.words[:3] == _TOOLKIT]
    versions = [version for version in wanted if version is not None]
    if not versions:
        return given
    kept = (step for step in given.steps if step.words[:3] != _TOOLKIT and _SET_BY_MODULE not in step.line)
    steps = (*_module(versions[0]), *(step for step in kept if "CUDA_HOME" not in step.line))
    return Remedy(f"{given.advice} {_MODULES}", steps)


def _module(version: Version) -> Iterator[Command]:
    yield fixed("module avail cuda cudnn")
    yield run("module", "load", MODULE(f"cuda/{version.release(2)}"))


def by_own_python(environment: Environment, given: Remedy) -> Remedy:
    """With the Python of the program where a command would take whichever is first on PATH."""
    programs = managers(environment)
    of_windows, elsewhere = next((places for name, places in _OWN_PYTHONS.items() if name in programs), ("", ""))
    own = of_windows if on_windows(environment) else elsewhere if environment.system.os.known else ""
    steps = tuple(_called_by(own, step) for step in given.steps) if own else given.steps
    if steps == given.steps and "bundled-python" in programs and any(map(is_pip, given.steps)):
        return Remedy(
            f"{given.advice} Replace python with the path of the program's own python.exe, which is where its packages "
            "are (in the program's directory, dir /s /b python.exe prints it). What another Python has is of no use.",
            given.steps,
        )
    if steps == given.steps:
        return given
    return Remedy(
        f"{given.advice} Run it in the program's directory, because the command names the Python there.", steps
    )


def _called_by(own: str, step: Command) -> Command:
    """The command with this Python, also where a shell line asks Python for a folder."""
    if is_pip(step) or step.words[:2] == ("python", "-c"):
        return replace(step, words=(own, *step.words[1:]))
    return replace(step, shell=step.shell.replace("$(python -c ", f"$({own} -c ")) if step.shell else step


def is_pip(step: Command) -> bool:
    """True for a call of pip by whichever python is first on PATH."""
    return step.words[:3] == ("python", "-m", "pip")


def by_notebook_host(environment: Environment, given: Remedy) -> Remedy:
    """Without a driver's installation, where the provider of a notebook alone installs drivers."""
    if not managed_by(environment, "colab", "kaggle") or not any(_OF_A_DRIVER.search(one.line) for one in given.steps):
        return given
    kept = given.advice.partition(_TO_KEEP)[2]
    other = f"{kept[0].upper()}{kept[1:]}" if kept else "Use a release of the program that this driver serves."
    return Remedy(f"{_HOSTED} {other}")


def by_landlord(environment: Environment, given: Remedy) -> Remedy:
    """Without what only the owner of the machine can do, for whoever rents a container on it."""
    if not managed_by(environment, "rented-pod") or not any(_OF_THE_LANDLORD.search(one.line) for one in given.steps):
        return given
    advice = given.advice.partition(_FOR_WHOM)[0]  # there are no commands for another distribution
    return Remedy(f"{_RENTED} {advice}", (fixed("nvidia-smi --query-gpu=name,serial,uuid --format=csv"),))
