"""Module files of shared machines, in the language that both Environment Modules and Lmod read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envkit.install.environment import release_word
from envkit.install.model import CreatePython, InstallFramework, InstallToolkit, Step, WriteModule


def module_steps(steps: Sequence[Step], folder: str | None) -> Iterator[WriteModule]:
    """A module for the toolkit and one for the environment, where a folder for them was named."""
    frameworks = [step for step in steps if isinstance(step, InstallFramework)]
    for step in steps if folder else ():
        if isinstance(step, InstallToolkit):
            version = step.toolkit.version
            yield _module("toolkit", f"{folder}/cuda/{version}", f"CUDA {version}", _toolkit(step))
        elif isinstance(step, CreatePython):
            about = ", ".join(framework.title for framework in frameworks)
            first = frameworks[0]
            name = f"{folder}/{first.name}/{release_word(first.version, first.cuda)}"
            yield _module("environment", name, about, _environment(step))


def _module(part: str, path: str, about: str, lines: Sequence[str]) -> WriteModule:
    family, version = path.split("/")[-2:]
    head = ("#%Module1.0", "# Written by envkit.", f"module-whatis {{{about}}}", f"conflict {family}")
    return WriteModule(part, path, f"{family}/{version}", (*head, *lines))


def _toolkit(step: InstallToolkit) -> tuple[str, ...]:
    return (
        f"setenv CUDA_HOME {{{step.path}}}",
        f"setenv CUDA_PATH {{{step.path}}}",
        f"prepend-path PATH {{{step.path}/bin}}",
        f"prepend-path LD_LIBRARY_PATH {{{step.path}/lib64}}",
    )


def _environment(step: CreatePython) -> tuple[str, ...]:
    variable = "CONDA_PREFIX" if step.way == "conda" else "VIRTUAL_ENV"
    return (f"setenv {variable} {{{step.path}}}", "unsetenv PYTHONHOME", f"prepend-path PATH {{{step.path}/bin}}")
