"""The Python of an image: the distribution's own, deadsnakes', a standalone build or conda-forge's, in one place."""

from __future__ import annotations

from envkit._startup.records import record
from envkit.base.errors import EnvkitError
from envkit.base.settings import Mirrors, trusting
from envkit.base.versions import Version
from envkit.image.download import BUILD_ARGUMENTS, FROM_DOWNLOAD, fetch
from envkit.image.parts import Copy, Environment, Run, Stage, Step
from envkit.solver.model import Choice
from envkit.tables import images as data
from envkit.tables.installer import PythonFileRow, last_pip, python_file, venv_major
from envkit.tables.rows import OperatingSystem, PythonSource

VENV = "/opt/venv"
STANDALONE = "/opt/python"
PIP_CACHE = "/root/.cache/pip"
SECRETS = {"ca": None, "pip": "/etc/pip.conf"}
_PACKAGED = ("system", "deadsnakes")  # the ways to a Python whose headers are a package of their own
_DEADSNAKES_KEYRING = "/etc/apt/keyrings/deadsnakes.asc"


@record
class PythonSetup:
    """How Python gets into an image: packages of the final stage, a stage of its own, and the environment's steps."""

    packages: tuple[str, ...]
    first: tuple[str, ...]  # commands before the packages are installed
    early: tuple[str, ...]  # packages that those commands need
    stages: tuple[Stage, ...]
    steps: tuple[Step, ...]
    conda: bool = False


def python_setup(choice: Choice, system: OperatingSystem, mirrors: Mirrors) -> PythonSetup:
    """The steps that give the plan's Python an environment in /opt/venv. Raises EnvkitError where there is no way."""
    if choice.python is None:
        return _system(system, system.default_python, mirrors)
    source = choice.python_source
    if source is None:
        raise EnvkitError(
            f"envkit has no way to get Python {choice.python} on {system.os_id}.",
            "Choose another --os or --python.",
        )
    version = source.python
    if source.way == "system":
        return _system(system, version, mirrors)
    if source.way == "deadsnakes":
        return _deadsnakes(system, version, mirrors)
    if source.way == "standalone":
        return _standalone(version, choice.architecture, mirrors)
    return _conda(version, choice.architecture, mirrors)


def _system(system: OperatingSystem, version: Version | None, mirrors: Mirrors) -> PythonSetup:
    if version is None or (system.default_python and system.default_python.release(2) == version.release(2)):
        packages = data.packages("python-default", system)
        interpreter = "python3"
    elif version.major < venv_major():
        return PythonSetup(
            data.packages("python-two", system),
            (),
            (),
            (),
            _steps(f"virtualenv --python=python{version}", version, mirrors),
        )
    else:
        packages = data.packages("python-other", system, version=str(version), compact=str(version).replace(".", ""))
        interpreter = f"python{version}"
    return PythonSetup(packages, (), (), (), _steps(f"{interpreter} -m venv", version, mirrors))


def _deadsnakes(system: OperatingSystem, version: Version, mirrors: Mirrors) -> PythonSetup:
    key, archive = data.repository("deadsnakes")
    first = (
        f"install -d {_DEADSNAKES_KEYRING.rpartition('/')[0]}",
        f"curl -fsSL -o {_DEADSNAKES_KEYRING} '{mirrors.rewrite(key)}'",
        f'. /etc/os-release && echo "deb [signed-by={_DEADSNAKES_KEYRING}] {mirrors.rewrite(archive)}'
        ' ${VERSION_CODENAME} main" > /etc/apt/sources.list.d/deadsnakes.list',
    )
    packages = data.packages("python-other", system, version=str(version), compact="")
    early = (*data.packages("certificates", system), *data.packages("fetch", system))
    return PythonSetup(packages, first, early, (), _steps(f"python{version} -m venv", version, mirrors))


def _file(way: str, version: Version | None, architecture: str) -> PythonFileRow:
    row = python_file(way, version, architecture)
    if row is None:
        raise EnvkitError(
            f"No {way} build of Python {version} for {architecture} is known to envkit.",
            "Choose another --python or --os.",
        )
    return row


def _standalone(version: Version, architecture: str, mirrors: Mirrors) -> PythonSetup:
    row = _file("standalone", version.release(2), architecture)
    got = fetch(mirrors.rewrite(row.url), row.name, row.sha256, None)
    unpack = Run(
        (*got.commands, f"mkdir {STANDALONE}", f"tar -xzf {got.path} -C {STANDALONE} --strip-components=1"),
        caches=(got.folder,),
        secrets={"ca": None},
    )
    stage = Stage("python", FROM_DOWNLOAD, (unpack,))
    steps = _steps(f"{STANDALONE}/bin/python{version.release(2)} -m venv", version, mirrors)
    return PythonSetup((), (), (), (stage,), (Copy("python", STANDALONE, STANDALONE), *steps))


def _conda(version: Version, architecture: str, mirrors: Mirrors) -> PythonSetup:
    row = _file("conda", version.release(2), architecture)
    got = fetch(mirrors.rewrite(row.url), f"micromamba-{row.version}", row.sha256, None)
    channel = mirrors.rewrite(row.channel)
    create = Run(
        (
            *got.commands,
            f"install -m 755 {got.path} /usr/local/bin/micromamba",
            "micromamba create --yes --root-prefix /opt/conda --override-channels"
            f" --channel {channel} --prefix {VENV} 'python={version.release(2)}' pip",
        ),
        caches=(got.folder, "/opt/conda/pkgs"),
        secrets={"ca": None},
    )
    stage = Stage("python", FROM_DOWNLOAD, (create,))
    upgrade = tuple(pip_run((command,)) for command in _pip_upgrade(version, mirrors))
    return PythonSetup(
        (), (), (), (stage,), (Copy("python", VENV, VENV), _path(), BUILD_ARGUMENTS, *upgrade), conda=True
    )


def header_packages(source: PythonSource | None, system: OperatingSystem) -> tuple[str, ...]:
    """The packages with Python's headers; a Python from elsewhere provides them."""
    if source is None or source.way not in _PACKAGED:
        return ()
    default = system.default_python is not None and source.python.release(2) == system.default_python.release(2)
    purpose = "python-headers-default" if default else "python-headers-other"
    version = str(source.python.release(2))
    return data.packages(purpose, system, version=version, compact=version.replace(".", ""))


def _path() -> Environment:
    return Environment({"PATH": f"{VENV}/bin:$PATH", "VIRTUAL_ENV": VENV})


def _pip_upgrade(version: Version | None, mirrors: Mirrors) -> tuple[str, ...]:
    """The command that gives an old Python the last pip that runs on it; newer ones come with one that serves.

    Which index it asks is a mirror's, the build argument's, or what pip itself takes.
    """
    index = f' --index-url "${{PIP_INDEX_URL:-{mirrors.index_url}}}"' if mirrors.index_url else ""
    index += "".join(f" {option} {host}" for option, host in trusting(mirrors.index_url or ""))
    requirement = last_pip(version)
    return (f'python -m pip install{index} --upgrade "{requirement}"',) if requirement else ()


def _steps(make: str, version: Version | None, mirrors: Mirrors) -> tuple[Step, ...]:
    return (BUILD_ARGUMENTS, _path(), pip_run((f"{make} {VENV}", *_pip_upgrade(version, mirrors))))


def pip_run(commands: tuple[str, ...], bind: tuple[str, ...] = (), ignore: tuple[str, ...] = (), why: str = "") -> Run:
    """A step that uses pip, with its cache and the secrets `ca` and `pip` available."""
    return Run(commands, caches=(PIP_CACHE,), secrets=SECRETS, bind=bind, ignore=ignore, why=why)
