"""Libraries asked in child processes: each subject is one child module, started apart and read as JSON."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from envkit.host import driver_loaded
from envkit.host.base import CommandResult
from envkit.host.loader import may_load
from envkit.model import Observed, Problem, found, missing

# a child lives too short for its garbage to matter
_START = "import gc,json,sys; gc.disable(); sys.path[:]=json.loads(sys.argv[1]); from {0} import main; main()"
_LIBRARIES = {"nvml": "libnvidia-ml.so.1", "cuda": "libcuda.so.1"}
_OF_THE_DRIVER = ("nvml", "cuda", "nodes")


def ask(subject: str, variables: Mapping[str, str], limit_s: float) -> Observed[Mapping[str, object]]:
    """The answer of `nvml`, `cuda`, `docker`, `nodes` or `services`; NOT_LOOKED for any other subject."""
    variables = _with_library(subject, variables)
    unneeded = _without_child(subject, variables)
    if unneeded is not None:
        return found(unneeded, subject)
    if subject in _OF_THE_DRIVER and driver_loaded.surely_not_loaded():
        return _without_driver(subject, variables, limit_s)
    if subject == "cuda":
        return _cuda(variables, limit_s)
    if subject == "docker":
        from envkit.host.docker_socket import nearest_socket

        socket = nearest_socket(variables)
        return _child("docker_child", variables, limit_s, socket.get()) if socket.known else missing_like(socket)
    if subject == "nvml":
        return _nvml(variables, limit_s)
    if subject == "nodes":
        return _child("nodes_child", variables, limit_s)
    if subject == "services":
        from envkit.host.services import running_services

        return found({"running": running_services()}, "/proc/*/comm")
    return missing(Problem.NOT_LOOKED, subject)


def _with_library(subject: str, variables: Mapping[str, str]) -> Mapping[str, str]:
    """The variables with which the child finds a library that lies where the loader does not look."""
    library = _LIBRARIES.get(subject)
    if library is None or may_load(library, variables):
        return variables
    from envkit.host.driver_folders import folder_apart

    folders = [variables.get("LD_LIBRARY_PATH"), folder_apart(library)]
    return {**variables, "LD_LIBRARY_PATH": ":".join(filter(None, folders))}


def _without_child(subject: str, variables: Mapping[str, str]) -> dict[str, object] | None:
    """What the child would answer where a look at the files already says that there is nothing to ask; otherwise
    None."""
    if subject == "nodes" and not _has_nodes():
        return {}
    library = _LIBRARIES.get(subject)
    if library is None or may_load(library, variables):
        return None
    return without_library(subject)


def without_library(subject: str) -> dict[str, object]:
    """What the child says of `nvml` or `cuda` where the loader finds no such library."""
    if subject == "cuda":
        return {"load_error": f"{_LIBRARIES[subject]}: cannot open shared object file: No such file or directory"}
    return {"library": "", "init": {"code": 12, "name": "NVML_ERROR_LIBRARY_NOT_FOUND", "call": "nvmlInit"}}


def _without_driver(subject: str, variables: Mapping[str, str], limit_s: float) -> Observed[Mapping[str, object]]:
    """What there is to know of libraries that are not to be asked for GPUs."""
    if subject == "nodes":  # opening one would have the kernel load the module
        return found({}, subject)
    if subject == "nvml":
        return found(driver_loaded.NVML_ANSWER, subject)
    version = _child("cuda_child", variables, limit_s, "version")
    return version if version.value is None else found({**version.value, **driver_loaded.CUDA_ANSWER}, version.source)


def _has_nodes() -> bool:
    try:
        return any(name.startswith("nvidia") for name in os.listdir("/dev"))
    except OSError:
        return True  # not to be told from here


def missing_like(observed: Observed[str]) -> Observed[Mapping[str, object]]:
    """The same problem for another kind of value."""
    return missing(observed.problem or Problem.NOT_LOOKED, observed.source, observed.detail)


def _cuda(variables: Mapping[str, str], limit_s: float) -> Observed[Mapping[str, object]]:
    """libcuda's answers without CUDA_VISIBLE_DEVICES and, where it is set, the number of devices with it."""
    bare = {name: value for name, value in variables.items() if name != "CUDA_VISIBLE_DEVICES"}
    if len(bare) == len(variables):
        return _child("cuda_child", bare, limit_s)
    answer = _child("cuda_child", bare, limit_s / 2)
    if answer.value is None:
        return answer
    visible = _child("cuda_child", variables, limit_s / 2)
    return found({**answer.value, "visible": visible.value}, answer.source)


def _nvml(variables: Mapping[str, str], limit_s: float) -> Observed[Mapping[str, object]]:
    from envkit.host.children import Followed, Patience, follow_child
    from envkit.host.nvml import ask_nvml

    def start(arguments: Sequence[str], patience: Patience) -> Observed[Followed]:
        return follow_child(own_command("envkit.host.nvml_child", *arguments), variables, patience)

    if not sys.executable:
        return _no_interpreter("nvml_child")
    return ask_nvml(start, limit_s)


def _child(
    module: str, variables: Mapping[str, str], limit_s: float, *arguments: str
) -> Observed[Mapping[str, object]]:
    from envkit.host.children import run_child

    if not sys.executable:
        return _no_interpreter(module)
    result = run_child(own_command(f"envkit.host.{module}", *arguments), variables, limit_s)
    return _answer(module.removesuffix("_child"), result)


def own_command(module: str, *arguments: str) -> list[str]:
    """What starts a child with our own modules: neither the user's variables nor the working folder lead to others."""
    import json

    return [sys.executable, "-I", "-S", "-c", _START.format(module), json.dumps(_module_path()), *arguments]


def _no_interpreter(module: str) -> Observed[Mapping[str, object]]:
    return missing(Problem.ABSENT, module, "this Python does not know its own interpreter")


def _module_path() -> list[str]:
    here = _working_folder()
    home = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return [entry for entry in sys.path if entry and (os.path.abspath(entry) != here or here == home)]


def _working_folder() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""


def _answer(subject: str, result: Observed[CommandResult]) -> Observed[Mapping[str, object]]:
    """The JSON object on the last line that the child wrote."""
    import json

    from envkit.host.children import ending

    if result.value is None:
        return missing(result.problem or Problem.UNPARSABLE, subject, result.detail)
    if result.value.exit_code < 0:
        return missing(Problem.UNPARSABLE, subject, ending(result.value))
    lines = result.value.stdout.strip().splitlines()
    try:
        data = json.loads(lines[-1]) if lines else None
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        return missing(Problem.UNPARSABLE, subject, ending(result.value))
    return found(data, subject)
