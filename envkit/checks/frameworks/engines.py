"""Engines of TensorRT whose text tells where they are loaded: in which image, from which file, by which release."""

from __future__ import annotations

from envkit.base.versions import Version
from envkit.checks.engine.command import FILE, PATH, PYTHON, REQUIREMENT, Command, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import on_windows, remedy
from envkit.checks.frameworks.installs import distribution, first_python, pip, release
from envkit.model import Environment

_ID = "engine-built-elsewhere"
_ASK = "import tensorrt; print(tensorrt.__version__, tensorrt.__file__)"


def asked_release(environment: Environment) -> Command:
    """The command that prints the release which a Python loads, and from where."""
    return run(PYTHON(first_python(environment).executable or "python"), "-c", _ASK)


def engine_elsewhere(environment: Environment) -> Remedy | None:
    """What the text tells more than that the engine does not fit; None where it tells no more."""
    return _of_trtexec(environment) or _in_image(environment) or _of_program(environment)


def _of_trtexec(environment: Environment) -> Remedy | None:
    """The Python package in the release of the trtexec that built the engine, where both are told and differ."""
    python = first_python(environment)
    here = distribution(python, "tensorrt")
    own = release(here.version) if here is not None else None
    built = Version.find(named(seen(environment, _ID, "detail-trtexec"), "version") or "")
    if here is None or own is None or built is None or built.release(3) == own.release(3):
        return None
    return Remedy(
        f"trtexec built the engine with TensorRT {built}, and Python loads it with {own}: one of them has to change. "
        "If the program accepts that release, install it for Python, too (the commands); the engine stays as it is. "
        f"Otherwise, build the engine with the trtexec of TensorRT {own} (NVIDIA's archive of that release). The GPU "
        "and the driver are fine.",
        (pip(python, "install", REQUIREMENT(f"tensorrt=={built}")), asked_release(environment)),
    )


def _in_image(environment: Environment) -> Remedy | None:
    """NVIDIA's image of TensorRT, in which the program runs: its own trtexec builds what it loads."""
    number = named(seen(environment, _ID, "detail-image"), "release")
    if number is None:
        return None
    messages = seen(environment, _ID, "detail-onnx", "detail-engine")
    engine = f"{named(messages, 'engine') or 'MODEL'}.{named(messages, 'ending') or 'engine'}"
    onnx = named(messages, "onnx") or f"{named(messages, 'engine') or 'MODEL'}.onnx"
    if not all(isinstance(FILE(name), str) for name in (onnx, engine)):
        return None
    return remedy(
        environment,
        f"The program runs in NVIDIA's image of TensorRT {number}, and the engine was built by another release: build "
        "it with the trtexec of that image, on this GPU. Run the command in the directory of the ONNX file (the "
        "project's model, or its export script, provides it), and put the new file in place of the old one.",
        "engine-for-triton",
        number=number,
        file=onnx,
        folder=engine,
    )


def _of_program(environment: Environment) -> Remedy | None:
    """The file that a program built itself before it was updated: without it, the program builds a new one."""
    path = PATH(named(seen(environment, _ID, "detail-path"), "path") or "")
    if not isinstance(path, str) or not seen(environment, _ID, "detail-updated"):
        return None
    name = path.replace("\\", "/").rpartition("/")[2]
    aside = (
        run("ren", PATH(path), FILE(f"{name}.old"))
        if on_windows(environment)
        else run("mv", PATH(path), PATH(f"{path}.old"))
    )
    return Remedy(
        "The update installed another TensorRT release, which cannot load engines built by the old one. Rename the "
        "old file (command), and start the program again: it builds a new engine, which takes minutes. If it does "
        "not, build it with the program's own conversion node or script, in the same Python. Then delete the renamed "
        "file. Do the same with its other engines.",
        (aside,),
    )
