"""A remedy for the place it is given for: in the words of the tool that manages it, and with what it stops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from envkit._startup.records import record, replace
from envkit._startup.regex import regex
from envkit.base.sentences import series
from envkit.base.versions import Version
from envkit.checks.engine.command import NAME, REQUIREMENT, SCRIPT, URL, Command, Word, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.lasting import words_on_lasting
from envkit.checks.engine.managers import APPLIANCES, QUEUES, appliance, in_container, in_image, managed_by, managers
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.notebook_cells import NOTEBOOKS, in_hosted_cell, in_kernel_cell, in_one_cell, with_variables
from envkit.checks.engine.place import by_landlord, by_notebook_host, by_own_python, in_place
from envkit.checks.engine.poetry_python import by_poetry
from envkit.checks.engine.remedies import on_windows
from envkit.checks.engine.toolkit_driver import words_on_driver
from envkit.checks.engine.unverified import accepted
from envkit.checks.gpu.gpus import gpus_of
from envkit.model import Environment
from envkit.tables.loader import read
from envkit.tables.rows import ImageTag

_SYSTEM_TOOLS = regex(
    r"\b(?:apt-get|apt-mark|dnf|yum|zypper|ubuntu-drivers|update-initramfs|dracut|mokutil|dkms|grubby|envkit install)\b"
)
_TOOLKIT = ("envkit", "install", "--cuda")
_BUILD_ELSEWHERE = (
    "A toolkit cannot be installed here: build in a container, from an nvidia/cuda image with devel in its tag."
)
_DRIVER_PACKAGES = {  # appliances where all other packages are people's own
    "gpu-operator": regex(r"\b(?:dkms|apt-mark|install\b.{0,200}(?:nvidia|cuda-drivers|linux-headers|kernel-devel))"),
    "dgx": regex(r"\b(?:ubuntu-drivers|install\b.{0,200}(?:nvidia-(?:driver|headless|open|dkms)|cuda-drivers))"),
}
_FOR_IMAGES = regex(
    r"sudo apt-get install -y (?:gcc|g\+\+|build-essential|cmake|git|libgl1|python3-dev|python3-venv)\b(?!-)"
)
_PACKAGE = regex(r"[A-Za-z0-9._-]*")
_PIP_UNINSTALL = ("python", "-m", "pip", "uninstall", "-y")
_ASK_ADMINISTRATORS = (
    "If you do not administer this cluster, send its administrators the name of the node, and run your jobs on other "
    "nodes until then (Slurm: sbatch --exclude=NODE)."
)
_SIDE_EFFECTS = {  # a part of a command, and what it ends or how it is undone
    "systemctl restart docker": "Restarting Docker stops its running containers.",
    "docker restart": "Restarting the container stops everything in it.",
    "--gpu-reset": "The GPU must be idle for a reset: stop its programs first, including monitoring and "
    "nvidia-persistenced.",
    "wsl --shutdown": "wsl --shutdown stops everything in WSL, including Docker Desktop.",
    "apt-get -s install": "apt-get -s changes nothing; it only lists the packages that would be removed.",
    "apt-mark hold": "To release the hold later, run the same command with unhold instead of hold.",
}


def suited(environment: Environment, given: Remedy) -> Remedy:
    """The remedy by the tools of this place, with a word on what it stops."""
    if (owned := by_landlord(environment, given)) is not given:
        return owned
    given = by_notebook_host(environment, given)
    given = accepted(by_own_python(environment, in_place(environment, given)))
    given = _inside(environment, _by_project(environment, _by_system(environment, given)))
    return _with_words(given, _words_on_loss(environment, given))


def _with_words(given: Remedy, words: Iterable[str]) -> Remedy:
    return replace(given, advice=" ".join((given.advice, *words)))


def _inside(environment: Environment, given: Remedy) -> Remedy:
    """Compilers and libraries of an image: there is no sudo in it, and what is installed in a container is lost."""
    if not in_container(environment):
        return given
    steps = tuple(
        replace(step, shell=f"apt-get update && {step.shell.removeprefix('sudo ')}")
        if _FOR_IMAGES.match(step.shell)
        else step
        for step in given.steps
    )
    if steps == given.steps:
        return given
    lines = " && ".join(step.shell for step in steps if step not in given.steps)
    return Remedy(
        f"{given.advice} In a container, run it as root, without sudo; the change is lost with the container, so also "
        f"add it to the Dockerfile: RUN {lines}",
        steps,
    )


def _by_system(environment: Environment, given: Remedy) -> Remedy:
    """Without the commands that an appliance has no place for."""
    kind = appliance(environment)
    tools = _DRIVER_PACKAGES.get(kind, _SYSTEM_TOOLS)
    if not kind or not any(tools.search(step.line) for step in given.steps):
        return given
    toolkit = any(step.words[:3] == _TOOLKIT for step in given.steps)
    return Remedy(f"{given.advice} {_BUILD_ELSEWHERE if toolkit else APPLIANCES[kind]}")


@record
class _PipCall:
    """What a pip command of words asks for."""

    verb: str
    requirements: tuple[str, ...]
    options: tuple[str, ...]
    index: str
    links: str  # a page of wheels (-f)


def _pip_call(step: Command) -> _PipCall | None:
    words = step.words
    if words[1:3] != ("-m", "pip") or len(words) < 5 or words[3] not in ("install", "uninstall"):
        return None
    rest = list(words[4:])
    index = _taken(rest, "--index-url")
    links = _taken(rest, "-f")
    options = tuple(word for word in rest if word.startswith("-"))
    return _PipCall(words[3], tuple(word for word in rest if not word.startswith("-")), options, index, links)


def installs_of(given: Remedy | None) -> set[tuple[str, str]]:
    """The packages that the pip commands of a remedy install, each with the Python that it is for."""
    calls = [(step.words[:1], _pip_call(step)) for step in (given.steps if given is not None else ())]
    made = [(words[0], call.requirements) for words, call in calls if call and call.verb == "install"]
    return {(program, _name(line)) for program, lines in made for line in lines}


def _taken(words: list[str], option: str) -> str:
    """The value of an option, which leaves the words with it; '' where it is not there."""
    if option not in words:
        return ""
    place = words.index(option)
    value = words[place + 1]
    del words[place : place + 2]
    return value


def _by_project(environment: Environment, given: Remedy) -> Remedy:
    """With the pip commands in the words of the project's manager: it would undo what pip does after its back."""
    calls = [_pip_call(step) for step in given.steps]
    names = managers(environment)
    if "poetry" in names and (of_lock := by_poetry(given)):
        return of_lock
    if not any(calls):
        notebook = not frozenset(NOTEBOOKS).isdisjoint(names)
        return (in_one_cell(given) or with_variables(given)) if notebook else given
    for name, speak in _SPEAKERS.items():
        if name in names:
            return speak(environment, given, calls)
    return _with_words(given, _lasting(environment, names))


def _lasting(environment: Environment, names: tuple[str, ...]) -> Iterator[str]:
    if environment.containers.image.known:
        yield (
            "Changes made in a running container are lost when it is removed, so add the command below to your "
            "Dockerfile as a RUN instruction."
        )
    elif in_image(environment) or "container" in names:
        yield (
            "If this environment is in a container, the change is lost when the container is removed; to keep it, add "
            "the command to the Dockerfile as a RUN instruction."
        )


def _toolkit_in_image(environment: Environment, given: Remedy) -> Iterator[str]:
    """A toolkit that is installed in a container is gone with it: its image comes with one."""
    if any("envkit install --cuda" in step.line for step in given.steps) and in_container(environment):
        tag = _devel_image(environment, given)
        yield (
            "In a container, this is lost when the container is removed: it is better to start from an image that has "
            f"the toolkit ({tag or 'an nvidia/cuda or pytorch/pytorch tag with devel in its name'})."
        )


def _devel_image(environment: Environment, given: Remedy) -> str:
    """The image of CUDA itself with this toolkit, for the system that the text names; '' where that is not known."""
    named = (Version.find(step.words[3]) for step in given.steps if step.words[:3] == _TOOLKIT)
    wanted = next((version for version in named if version is not None), None)
    own = environment.system.os.get().os_id if environment.system.os.known else ""
    rows = [
        row
        for row in read(ImageTag)
        if row.flavor == "devel" and not row.cudnn and row.cuda is not None and row.state not in ("deleted", "never")
        if wanted is not None
        and row.cuda.release(2) == wanted.release(2)
        and own in ("", row.os_id)
        and "ubuntu" in row.os_id
    ]
    best = max(rows, key=lambda row: (row.cuda or Version.of(0), row.os_id), default=None)
    return f"{best.repository}:{best.tag}" if best is not None else ""


def _installed_again(calls: list[_PipCall | None]) -> set[str]:
    """The names of what is installed, whose removal beforehand is pip's need alone."""
    lines = [line for call in calls if call and call.verb == "install" for line in call.requirements]
    return {_name(line) for line in lines}


def _name(requirement: str) -> str:
    match = _PACKAGE.match(requirement)
    return match.group().lower() if match else ""


def _source(index: str) -> str:
    """A name for an index: `pytorch-cu124` of the one that ends in whl/cu124."""
    return f"pytorch-{index.rstrip('/').rpartition('/')[2]}"


def _translated(
    given: Remedy,
    calls: list[_PipCall | None],
    install: Callable[[_PipCall], Iterator[Command]],
    remove: Callable[[tuple[str, ...]], Command],
) -> tuple[Command, ...]:
    again = _installed_again(calls)
    steps: list[Command] = []
    for step, call in zip(given.steps, calls, strict=True):
        if call is None:
            steps.append(step)
        elif call.verb == "install":
            steps += install(call)
        elif gone := tuple(name for name in call.requirements if name not in again):
            steps.append(remove(gone))
    return tuple(steps)


def _words(lines: Iterable[str]) -> list[Word]:
    return [line if "://" in line else REQUIREMENT(line) for line in lines]


_NOT_ISOLATED = "--no-build-isolation"


def _uv(environment: Environment, given: Remedy, calls: list[_PipCall | None]) -> Remedy:
    def install(call: _PipCall) -> Iterator[Command]:
        index = ("--index", f"{NAME(_source(call.index))}={URL(call.index)}") if call.index else ()
        links = ("--find-links", URL(call.links)) if call.links else ()
        apart = call.requirements if _NOT_ISOLATED in call.options else ()
        alone = [word for line in apart for word in (f"{_NOT_ISOLATED}-package", NAME(_name(line)))]
        yield run("uv", "add", *alone, *_words(call.requirements), *index, *links)

    if extra := named(seen(environment, "torch-replaced-by-dependency", "detail-extra"), "extra"):
        return Remedy(
            f"uv run makes the environment anew each time: without the extra, it leaves out the build that uv sync "
            f"--extra {extra} installed, and a package that needs torch brings the plain one. Name the extra each "
            "time, or call the environment's own Python, or add --no-sync. Nothing in pyproject.toml has to be "
            "changed.",
            (run("uv", "run", "--extra", NAME(extra), "python", SCRIPT),),
        )
    steps = _translated(given, calls, install, _removal("uv", "pip", "uninstall"))
    explicit = " There, add explicit = true to the new index, so that no other package is installed from it."
    has_index = any(call and call.index for call in calls)
    if has_index and on_windows(environment):
        explicit += " A marker next to the source (sys_platform == 'linux') makes Windows use PyPI: remove it."
    return Remedy(
        f"{given.advice} uv records the choice in pyproject.toml; uv sync would undo a plain pip install."
        f"{explicit if has_index else ''}",
        steps,
    )


def _uv_pip(environment: Environment, given: Remedy, calls: list[_PipCall | None]) -> Remedy:
    """An environment of uv has no pip of its own."""

    def install(call: _PipCall) -> Iterator[Command]:
        index = ("--index-url", URL(call.index)) if call.index else ()
        links = ("--find-links", URL(call.links)) if call.links else ()
        # uv takes an installed release for the wanted one, whichever build it is
        anew = [word for line in call.requirements for word in ("--reinstall-package", NAME(_name(line)))]
        again = anew if call.index or call.links else []
        yield run("uv", "pip", "install", *call.options, *again, *_words(call.requirements), *index, *links)

    return Remedy(given.advice, _translated(given, calls, install, _removal("uv", "pip", "uninstall")))


def _poetry(environment: Environment, given: Remedy, calls: list[_PipCall | None]) -> Remedy:
    def install(call: _PipCall) -> Iterator[Command]:
        source: tuple[Word, ...] = ()
        if call.index:
            source = ("--source", NAME(_source(call.index)))
            yield run("poetry", "source", "add", "--priority=explicit", NAME(_source(call.index)), URL(call.index))
        yield run("poetry", "add", *source, *_words(call.requirements))

    remove = _removal("poetry", "run", *_PIP_UNINSTALL)
    return Remedy(
        f"{given.advice} Poetry records the choice in pyproject.toml and its lock file; poetry install would undo "
        "a plain pip install.",
        _translated(given, calls, install, remove),
    )


def _pixi(environment: Environment, given: Remedy, calls: list[_PipCall | None]) -> Remedy:
    """Its manifest names an index, which no command writes."""
    pairs = [(call.index, line) for call in calls if call and call.index for line in call.requirements]
    if pairs:
        index = pairs[0][0]
        local = f"+{index.rstrip('/').rpartition('/')[2]}"
        wanted = series(f'{_name(line)} = "=={line.rpartition("==")[2].partition("+")[0]}{local}"' for _, line in pairs)
        return Remedy(
            f"{given.advice} In pyproject.toml, add the table [tool.pixi.pypi-options] with the line "
            f"extra-index-urls = "
            f'["{index}"], and under [tool.pixi.pypi-dependencies] add a line for each of these packages that you use: '
            f"{wanted}. (In pixi.toml, drop the tool.pixi. prefix.) Then run:",
            (run("pixi", "install"),),
        )

    def install(call: _PipCall) -> Iterator[Command]:
        yield run("pixi", "add", "--pypi", *_words(call.requirements))

    return Remedy(
        f"{given.advice} pixi records the choice in its manifest.",
        _translated(given, calls, install, _removal("pixi", "run", *_PIP_UNINSTALL)),
    )


def _removal(*start: str) -> Callable[[tuple[str, ...]], Command]:
    return lambda names: run(*start, *map(NAME, names))


def _uv_tool(environment: Environment, given: Remedy, calls: list[_PipCall | None]) -> Remedy:
    """A tool of uv has an environment of its own, which is made again: sources of its project are not published."""
    tool = REQUIREMENT(named(seen(environment, "cpu-only-wheel", "detail-uv-tool"), "package") or "")
    call = next((call for call in calls if call and call.verb == "install" and call.index), None)
    if not isinstance(tool, str) or call is None:
        return given
    tag = call.index.rstrip("/").rpartition("/")[2]
    pins = [f"{line}+{tag}" for line in call.requirements if "==" in line and "+" not in line]
    beside = [word for line in pins for word in ("--with", REQUIREMENT(line))]
    return Remedy(
        f"{given.advice} [tool.uv.sources] of a project counts only in its own directory, not for a published package, "
        "whose extra therefore takes PyTorch from PyPI: name the index, and the builds on it, when you install the "
        "tool. The command replaces the installed one.",
        (
            run(
                *("uv", "tool", "install", "--force", tool, *beside),
                *("--index", URL(call.index), "--index-strategy", "unsafe-best-match"),
            ),
        ),
    )


_SPEAKERS = {
    "uv-tool": _uv_tool,
    "uv": _uv,
    "poetry": _poetry,
    "pixi": _pixi,
    "uv-pip": _uv_pip,
    "colab": in_hosted_cell,
    "kaggle": in_hosted_cell,
    "jupyter": in_kernel_cell,
}
_WITH_LOCKS = ("uv", "poetry", "pixi")


def manages_packages(environment: Environment) -> bool:
    """True where a project's manager and its lock file decide what is installed: pip's changes would be undone."""
    return managed_by(environment, *_WITH_LOCKS)


def _words_on_loss(environment: Environment, given: Remedy) -> Iterator[str]:
    """What the commands end that runs now, and how it is saved."""
    lines = [step.line for step in given.steps]
    if any("sudo reboot" in line for line in lines):
        yield _restart(environment)
    yield from (words for part, words in _SIDE_EFFECTS.items() if any(part in line for line in lines))
    yield from words_on_driver(environment, given)
    yield from words_on_lasting(environment, given)
    yield from _toolkit_in_image(environment, given)
    if any("sudo " in line for line in lines) and managed_by(environment, *QUEUES):
        yield _ASK_ADMINISTRATORS


def _restart(environment: Environment) -> str:
    names = managers(environment)
    if "kubernetes" in names:
        return "Rebooting stops every pod on the node: first run kubectl drain NODE --ignore-daemonsets."
    if "slurm" in names:
        return "Rebooting stops every job on the node: first run scontrol update nodename=NODE state=drain reason=gpu."
    if environment.system.display_server.known:
        return "Rebooting closes the desktop session: save your work first."
    gpus = gpus_of(environment)
    if len(gpus) > 1:
        which = "both" if len(gpus) == 2 else f"all {len(gpus)}"
        return f"Rebooting stops the jobs on {which} GPUs: warn their users or drain the node first."
    return "Rebooting stops everything running on the machine."
