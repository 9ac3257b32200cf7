"""NVIDIA's wheels that a framework does not find: they are there, or were left out with its requirements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.base.sentences import series
from envkit.checks.engine.command import NAME, PATH, PYTHON, REQUIREMENT, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managed_by
from envkit.checks.engine.messages import seen
from envkit.checks.engine.remedies import on_windows, remedy, steps
from envkit.checks.frameworks.companions import build_of_torch
from envkit.checks.frameworks.installs import distribution, judged, named_python, pip, release
from envkit.checks.frameworks.swap import place_words
from envkit.model import Distribution, Environment, Message, PythonEnvironment

if TYPE_CHECKING:
    from envkit.tables import Matrix

_TRY = "import torch; print(torch.version.cuda, torch.cuda.is_available())"


def there_already(environment: Environment, wheel: str, library: str) -> Remedy | None:
    """The loader's path where the wheel that has the library is installed: to install it again changes nothing."""
    if on_windows(environment):
        return None
    python, item = next(_holders(environment, wheel), (None, None))
    if python is None or item is None:
        return None
    program = named_python(environment).executable or "python"
    torch = distribution(python, "torch")
    return Remedy(
        f"{item.name} {item.version} is installed and contains {library}, so nothing has to be installed: the loader "
        "does not look into the directories of these wheels, and a library that needs another one, even beside it, "
        "does not find it. Put the directories on the loader's path, in the shell that starts the program (the first "
        "two lines; for good, add them to ~/.bashrc or to the activate script of the environment, in an image as ENV "
        "LD_LIBRARY_PATH). Newer releases of the framework find them on their own.",
        (
            *steps(environment, "wheel-libraries", python=program),
            *((run(PYTHON(program), "-c", _TRY),) if torch is not None else ()),
        ),
    )


def of_soname(wheel: str, library: str) -> str:
    """The wheel in the release that has this file, where its name does not fix one."""
    number = library.rpartition(".so.")[2]
    return f"{wheel}=={number}.*" if number.isdigit() and int(number) and "-cu" not in wheel else wheel


def named_libraries(messages: tuple[Message, ...]) -> tuple[str, ...]:
    """The libraries that the messages name, each once."""
    return tuple(dict.fromkeys(name for one in messages if (name := one.values.get("library"))))


_NOT_FOR_THE_LOADER = ("/stubs", "-packages/", "/nvvm/")  # a build links the first, and programs search the others


def on_this_disk(environment: Environment, messages: tuple[Message, ...]) -> Remedy | None:
    """The loader's path where the text lists the very file that the loader does not find."""
    libraries = named_libraries(messages)
    listed = seen(environment, "libcudart-missing", "detail-found")
    folders = [one.values["folder"] for one in listed if one.values.get("found") in libraries]
    folder = next((each for each in folders if not any(part in each for part in _NOT_FOR_THE_LOADER)), "")
    if not folder or not isinstance(PATH(folder), str):
        return None
    return remedy(
        environment,
        f"{series(libraries[:2])} {'are' if len(libraries) > 1 else 'is'} there, in {folder}, so nothing has to be "
        "installed or linked: the loader does not look there. Let it, in the shell that starts the program (to make it "
        "permanent, add the line to ~/.bashrc). An IDE or a service does not read that file: for those, write the "
        "directory into a file in /etc/ld.so.conf.d and run sudo ldconfig.",
        "load-folder",
        root=folder,
    )


def left_out(environment: Environment, matrix: Matrix, wheel: str) -> Remedy | None:
    """torch with its requirements where its own search finds none of its libraries: single wheels would not do."""
    python = next((one for one in judged(environment) if distribution(one, "torch") is not None), None)
    torch = distribution(python, "torch") if python is not None else None
    if python is None or torch is None or not seen(environment, "libcudart-missing", "system-path"):
        return None
    if any(item.name.startswith("nvidia-") for item in python.distributions):
        return None  # some are there: only the one that the message names is not
    row = build_of_torch(environment, matrix, torch.version)
    own = release(torch.version)
    place = place_words(row.index_url, row.find_links) if row is not None else ()
    if row is None or own is None or not row.package:
        return None
    why = (
        f"torch {torch.version} is installed without the wheels of CUDA's libraries, which are its requirements: one "
        f"of them alone ({wheel}) would not do. "
    )
    if managed_by(environment, "uv"):
        return Remedy(
            f"{why}uv reads the requirements of all platforms from one wheel, and on an index of PyTorch that one can "
            "be without them. In [tool.uv.sources], give the index of torch (and torchvision, torchaudio) the marker "
            f"sys_platform == 'win32' only: on Linux, PyPI has torch {own} with CUDA and its requirements. Then lock "
            "torch again on Linux and sync. Nothing has to be set in LD_LIBRARY_PATH.",
            (
                run("uv", "lock", "--upgrade-package", NAME("torch")),
                run("uv", "sync", "--reinstall-package", NAME("torch")),
                run("uv", "run", "python", "-c", _TRY),
            ),
        )
    return Remedy(
        f"{why}Install torch again with its requirements (it was installed with --no-deps, or from a lock file that "
        "was made elsewhere). Nothing has to be set in LD_LIBRARY_PATH.",
        (
            pip(python, "install", "--force-reinstall", REQUIREMENT(row.package), *place),
            run(PYTHON(python.executable or "python"), "-c", _TRY),
        ),
    )


def _holders(environment: Environment, wheel: str) -> Iterator[tuple[PythonEnvironment, Distribution]]:
    for python in judged(environment):
        if (item := distribution(python, wheel)) is not None:
            yield python, item
