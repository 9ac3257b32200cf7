"""The install script: one bash file, the same bytes for the same plan."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from envkit._startup.records import record
from envkit.install.model import (
    AddRepository,
    ApplyPatch,
    CreatePython,
    FetchFile,
    FetchParts,
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
    WriteModule,
    never,
)
from envkit.render.script_header import header, help_text, licenses
from envkit.render.script_parts import named_fields, script_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from envkit.install.model import Download, Installation
    from envkit.install.options import ScriptOptions

# Steps whose work so far is kept when they were interrupted; all others start again.
_KEPT = ("prerequisites", "nouveau", "driver", "verify")


@record
class StepLine:
    """One step of the script: its id, its title, the bash that shows whether it is done, and the bash that does it."""

    id: str
    title: str
    test: str
    action: str


def render_script(work: Installation, options: ScriptOptions) -> str:
    """The script that carries out these steps."""
    from envkit.render.templating import template

    steps = tuple(step_line(step, work.steps) for step in work.steps)
    text = template("scripts", "install.sh.j2").render(
        header=header(work, options, steps),
        help_text=help_text(work),
        eula_url=licenses(work),
        work=work,
        options=options,
        steps=steps,
        kept_steps=[step.id for step in steps if step.id in _KEPT],
        **named_fields(script_parts(work)),
    )
    return re.sub(r"\n{3,}", "\n\n", text)


def step_line(step: Step, steps: Sequence[Step] = ()) -> StepLine:  # noqa: C901 - one case for each kind of step
    """How the script names, tests and does this step, which is one of `steps`."""
    match step:
        case InstallPrerequisites():
            return StepLine("prerequisites", "Packages", "prerequisites_are_met", "install_prerequisites")
        case SwitchOffNouveau():
            return StepLine("nouveau", "Disable nouveau", "nouveau_is_away", "blacklist_nouveau")
        case AddRepository():
            done = "driver_is_good || repository_is_added"
            return StepLine("repository", "NVIDIA's package repository", done, "add_repository")
        case FetchFile(download=download, needed_by=needed_by):
            words = _file_words(download)
            done = f"step_is_done {needed_by}"
            if needed_by != "driver" and any(isinstance(one, InstallDriver) and one.file == download for one in steps):
                done = f"{{ {done} && step_is_done driver; }}"
            test = f"{done} || have_file {words}"
            action = f"get_file {_file_words(download, with_url=True)}"
            return StepLine(f"fetch-{needed_by}", f"Fetch {download.name}", test, action)
        case FetchParts(names=names):
            done = "step_is_done toolkit || parts_are_fetched"
            return StepLine("fetch-parts", f"Fetch {names}", done, "fetch_parts")
        case InstallDriver(minimum=minimum, last_branch=last):
            words = f"NVIDIA driver {minimum} or newer" + (f", branch {last} at most" if last else "")
            return StepLine("driver", words, "driver_is_good", "install_driver")
        case InstallToolkit(told=told, path=path, parts=parts):
            action = "install_parts" if parts else "install_toolkit"
            return StepLine("toolkit", f"CUDA {told} into {path}", "toolkit_is_installed", action)
        case ApplyPatch(order=order, version=version):
            words = f"{order} {version}"
            test = f"patch_is_left {words} || {{ toolkit_is_installed && patch_is_known {words}; }}"
            return StepLine(f"patch-{order}", f"CUDA patch {order}", test, f"apply_patch_{order}")
        case InstallCudnn(version=version):
            return StepLine("cudnn", f"cuDNN {version}", "cudnn_is_installed", "install_cudnn")
        case LinkToolkit():
            return StepLine("link", "/usr/local/cuda", "link_is_right", "link_toolkit")
        case SetEnvironment():
            return StepLine("environment", "Shell and loader", "environment_is_set", "set_environment")
        case CreatePython(version=version, path=path):
            return StepLine("python", f"Python {version} in {path}", "python_is_ready", "create_python")
        case InstallFramework(name=name, title=title, identifier=word):
            return StepLine(f"framework-{name}", title, f"{word}_is_installed", f"install_{word}")
        case WriteModule(part=part, title=title):
            return StepLine(f"module-{part}", f"Module {title}", f"module_is_written {part}", f"write_module {part}")
        case Verify():
            return StepLine("verify", "Verify", "verify_is_done", "verify_and_note")
        case _:
            return never(step)


def _file_words(download: Download, with_url: bool = False) -> str:
    words = [download.name, *([download.url] if with_url else []), download.algorithm, download.checksum]
    return " ".join(shlex.quote(word) for word in words)
