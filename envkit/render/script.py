"""The install script: one bash file, the same bytes for the same plan."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

from envkit._startup.records import record
from envkit.base.names import normalized
from envkit.install.model import (
    ApplyPatch,
    CreatePython,
    DriverPackage,
    FetchFile,
    InstallCudnn,
    InstallDriver,
    InstallFramework,
    InstallPrerequisites,
    InstallToolkit,
    LinkToolkit,
    SetEnvironment,
    Step,
    SwitchOffNouveau,
    Verify,
    never,
)
from envkit.render.script_header import header, help_text, licenses
from envkit.tables.installer import FailureRow, PlaceRow, space, style_of, unfit_glibc
from envkit.tables.loader import read

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from envkit.install.model import Download, Installation
    from envkit.install.options import ScriptOptions

# Steps whose work so far is kept when they were interrupted; all others start afresh.
_KEPT = ("prerequisites", "nouveau", "driver", "verify")


@record
class StepLine:
    """One step of the script: its id, its title, the bash that tells whether it is done, and the bash that does it."""

    id: str
    title: str
    test: str
    action: str


def render_script(work: Installation, options: ScriptOptions) -> str:
    """The script that carries out these steps."""
    from envkit.render.templating import template

    steps = [step_line(step, work.steps) for step in work.steps]
    context = _context(work, options)
    page = template("scripts", "install.sh.j2")
    text = page.render(
        header=header(work, options, steps),
        help_text=help_text(work),
        steps=steps,
        kept_steps=[step.id for step in steps if step.id in _KEPT],
        **context,
    )
    return re.sub(r"\n{3,}", "\n\n", text)


def step_line(step: Step, steps: Sequence[Step] = ()) -> StepLine:  # noqa: C901 - one case for each kind of step
    """How the script names, tests and does this step, which is one of `steps`."""
    match step:
        case InstallPrerequisites():
            return StepLine("prerequisites", "Packages", "prerequisites_are_met", "install_prerequisites")
        case SwitchOffNouveau():
            return StepLine("nouveau", "Switch nouveau off", "nouveau_is_away", "blacklist_nouveau")
        case FetchFile(download=download, needed_by=needed_by):
            words = _file_words(download)
            done = f"step_is_done {needed_by}"
            if needed_by != "driver" and any(isinstance(one, InstallDriver) and one.file == download for one in steps):
                done = f"{{ {done} && step_is_done driver; }}"
            test = f"{done} || have_file {words}"
            action = f"get_file {_file_words(download, with_url=True)}"
            return StepLine(f"fetch-{needed_by}", f"Fetch {download.name}", test, action)
        case InstallDriver(minimum=minimum, last_branch=last):
            words = f"NVIDIA driver {minimum} or newer" + (f", branch {last} at most" if last else "")
            return StepLine("driver", words, "driver_is_good", "install_driver")
        case InstallToolkit(toolkit=toolkit, path=path):
            title = f"CUDA {toolkit.version} into {path}"
            return StepLine("toolkit", title, "toolkit_is_installed", "install_toolkit")
        case ApplyPatch(order=order):
            test = f"patch_{order}_is_applied"
            return StepLine(f"patch-{order}", f"CUDA patch {order}", test, f"apply_patch_{order}")
        case InstallCudnn(version=version):
            return StepLine("cudnn", f"cuDNN {version}", "cudnn_is_installed", "install_cudnn")
        case LinkToolkit():
            return StepLine("link", "/usr/local/cuda", "link_is_right", "link_toolkit")
        case SetEnvironment():
            return StepLine("environment", "Shell and loader", "environment_is_set", "set_environment")
        case CreatePython(version=version, path=path):
            return StepLine("python", f"Python {version} in {path}", "python_is_ready", "create_python")
        case InstallFramework(name=name, title=title):
            function = function_name(name)
            return StepLine(framework_step(name), title, f"{function}_is_installed", f"install_{function}")
        case Verify():
            return StepLine("verify", "Verify", "verify_is_done", "verify_and_note")
        case _:
            return never(step)


def function_name(framework: str) -> str:
    """A framework's name as part of a bash function's name."""
    return re.sub(r"\W", "_", framework)


def framework_step(framework: str) -> str:
    """The step id of a framework."""
    return f"framework-{framework}"


def _file_words(download: Download, with_url: bool = False) -> str:
    words = [download.name, *([download.url] if with_url else []), download.algorithm, download.checksum]
    return " ".join(shlex.quote(word) for word in words)


def _context(work: Installation, options: ScriptOptions) -> dict[str, Any]:
    """What the templates need besides the list of steps; absent parts are None or empty."""
    found: dict[str, Any] = {
        "plan_id": work.plan_id,
        "architecture": work.architecture,
        "os": {"id": work.os_name[0], "version": work.os_name[1]} if work.os_name else None,
        "toolkit": None,
        "cudnn": None,
        "link": None,
        "driver": None,
        "python": None,
        "patches": [],
        "frameworks": [],
        "needs": [],
        "downloads": work.downloads,
        "fetches": [],
        "accept_eula": options.accept_eula,
        "eula_url": licenses(work),
        "watched": [],
        "stale_log": None,
    }
    for step in work.steps:
        _add(found, step)
    styles = tuple(dict.fromkeys(_installer_styles(work.steps)))
    found["installer_logs"] = [log for style in styles for log in style_of(style).log]
    found["failures"] = [row for row in read(FailureRow) if row.style in ("all", *styles)]
    found["uses_packages"] = bool(found["needs"]) or found["driver"] is not None
    found["work_bytes"] = _work_bytes(found)
    found["uses_work_dir"] = bool(found["work_bytes"]) or bool(found["python"] and found["python"]["way"] == "conda")
    found["space"] = _space(found)
    found["places"] = _places(found)
    found["closing"] = _closing(found)
    return found


def _add(found: dict[str, Any], step: Step) -> None:  # noqa: C901 - one case for each kind of step
    match step:
        case InstallPrerequisites(needs=needs):
            found["needs"] = needs
        case InstallDriver():
            found["driver"] = {
                "minimum": str(step.minimum),
                "last_branch": str(step.last_branch or ""),
                "packages": [_driver_package(package) for package in step.packages],
                "others": [_driver_package(package) for package in step.others],
                "headers": step.headers,
                "file": step.file,
                "chosen_path": step.chosen_path,
                "chosen": step.chosen,
                "runfile_options": step.runfile_options,
                "no_opengl": step.no_opengl_option,
                "kernel_source_option": step.kernel_source_option,
            }
        case InstallToolkit():
            _add_toolkit(found, step)
        case ApplyPatch():
            found["patches"].append(step)
        case InstallCudnn(version=version, soname=soname, file=file):
            short = str(version.release(3)) if len(version.parts) >= 3 else str(version)
            size = space("cudnn", None)
            found["cudnn"] = {"version": str(version), "short": short, "soname": soname, "file": file, "bytes": size}
        case LinkToolkit():
            found["link"] = step
        case CreatePython():
            found["python"] = {
                "version": str(step.version),
                "way": step.way,
                "path": step.path,
                "file": step.file,
                "channel": step.channel,
                "bytes": space("environment", None),
            }
        case InstallFramework():
            found["frameworks"].append(_framework(step))
        case Verify(targets=targets, gcc_min=gcc_min, gcc_max=gcc_max):
            low, high = (gcc_min.major if gcc_min else 4), (gcc_max.major if gcc_max else 0)
            found["sm_targets"] = targets
            found["gcc_min"] = str(gcc_min) if gcc_min else None
            found["gcc_max"] = gcc_max.major if gcc_max else None
            found["gcc_words"] = f"{gcc_min or 'any'} to {gcc_max or 'any'}"
            found["compilers"] = [f"g++-{major}" for major in range(high, low - 1, -1)]
        case FetchFile(download=download, needed_by=needed_by):
            found["fetches"].append({"step": f"fetch-{needed_by}", "file": download})
        case SwitchOffNouveau() | SetEnvironment():
            pass
        case _:
            never(step)


def _installer_styles(steps: Sequence[Step]) -> Iterator[str]:
    """The families of the installers that these steps start: their words and logs are looked at."""
    for step in steps:
        if isinstance(step, InstallToolkit):
            yield step.toolkit.installer_style
        if isinstance(step, InstallDriver) and (step.file is not None or step.chosen_path):
            yield "package"  # what a CUDA runfile starts for its driver, too


def _driver_package(package: DriverPackage) -> str:
    """`first branch|last branch|module stream|names`, as the script reads it."""
    stream = f"nvidia-driver:{package.stream}" if package.stream else ""
    names = " ".join(package.names).replace("{version}", "@VERSION@")
    return f"{package.first_branch or ''}|{package.last_branch or ''}|{stream}|{names}"


def _add_toolkit(found: dict[str, Any], step: InstallToolkit) -> None:
    toolkit = step.toolkit
    style = style_of(toolkit.installer_style)
    limit = unfit_glibc(toolkit.version)
    found["toolkit"] = {
        "unfit_glibc": str(limit[0]) if limit else "",
        "mended_in": str(limit[1]) if limit else "",
        "compile_failures": [row for row in read(FailureRow) if row.style == "nvcc"],
        "version": str(toolkit.version),
        "release": str(toolkit.release),
        "path": step.path,
        "file": step.file,
        "options": step.options,
        "perl_library": step.perl_library,
        "target_libraries": f"targets/{step.architecture}/lib",
    }
    found["cuda"] = toolkit.version
    found["stale_log"] = style.stale_log
    found["watched"] = [
        *({"path": row.path, "depth": row.depth, "why": row.why} for row in read(PlaceRow)),
        *({"path": log, "depth": 0, "why": "its log"} for log in style.log),
    ]


def _framework(step: InstallFramework) -> dict[str, Any]:
    return {
        "name": step.name,
        "title": step.title,
        "function": function_name(step.name),
        "step": framework_step(step.name),
        "import_name": step.import_name,
        "version": step.distribution_version.partition("+")[0],
        "distribution": step.distribution,
        "cuda": str(step.cuda or ""),
        "requirements": step.requirements,
        "packages": [normalized(re.split(r"[^\w.-]", line)[0]) for line in step.requirements],
        "source": step.source,
        "expected": "gpu" if step.expects_gpu else "any",
        "probe": step.probe,
        "advice": step.advice,
        "pip_requirement": step.pip_requirement,
    }


def _work_bytes(found: dict[str, Any]) -> int:
    by_runfile = found["driver"] and (found["driver"]["file"] or found["driver"]["chosen_path"])
    return space("work", found.get("cuda")) if found["toolkit"] or by_runfile else 0


def _space(found: dict[str, Any]) -> list[str]:
    """`step|path|bytes` for the steps that take room, in their order; the path WORK is one that is given back."""
    needs = []
    if found["toolkit"]:
        file = f"$CACHE_DIR/{found['toolkit']['file'].name}.part"
        needs.append(f"fetch-toolkit|{file}|{space('download', found['cuda'])}")
    if found["driver"] and (found["driver"]["file"] or found["driver"]["chosen_path"]):
        needs.append(f"driver|WORK|{found['work_bytes']}")
    if found["toolkit"]:
        needs.append(f"toolkit|$TOOLKIT_DIR|{space('toolkit', found['cuda'])}")
        needs.append(f"toolkit|WORK|{found['work_bytes']}")
        needs += [f"patch-{patch.order}|WORK|{found['work_bytes']}" for patch in found["patches"]]
    if found["cudnn"]:
        needs.append(f"cudnn|$TOOLKIT_DIR|{found['cudnn']['bytes']}")
        needs.append(f"cudnn|WORK|{found['cudnn']['bytes']}")
    if found["python"]:
        needs.append(f"python|$ENV_DIR|{found['python']['bytes']}")
        if found["python"]["way"] == "conda":
            needs.append(f"python|WORK|{found['python']['bytes']}")
    return needs


def _places(found: dict[str, Any]) -> list[str]:
    """Folders that must be writable, as bash variables."""
    return [variable for part, variable in (("toolkit", "$TOOLKIT_DIR"), ("python", "$ENV_DIR")) if found[part]]


def _shell_words(python: dict[str, Any]) -> str:
    """How a shell comes to this Python; micromamba's environments have no script `activate` of their own."""
    if python["way"] == "conda":
        return f"{python['path']}/bin/python (its pip: {python['path']}/bin/python -m pip)"
    return f". {shlex.quote(python['path'])}/bin/activate"


def _closing(found: dict[str, Any]) -> list[str]:
    lines = []
    if found["toolkit"]:
        lines.append(f"CUDA: {found['toolkit']['path']} (settings for a shell: . {found['toolkit']['path']}/envkit.sh)")
    if found["python"]:
        lines.append(f"Python: {_shell_words(found['python'])}")
    lines += [f"{one['title']}: {one['advice']}." for one in found["frameworks"] if one["advice"]]
    return lines
