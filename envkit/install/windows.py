"""`--os windows`: what a PowerShell script does for a plan, or why the plan is one for WSL 2."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from shlex import quote
from zlib import crc32

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.base.errors import EnvkitError, RequestError
from envkit.base.platforms import WINDOWS
from envkit.base.settings import Mirrors
from envkit.base.versions import Version
from envkit.compat.software import needs_system_cuda
from envkit.install.environment import folder_word, framework_steps
from envkit.install.model import InstallFramework
from envkit.install.options import EULA_NOTE, ScriptOptions
from envkit.install.parts import with_needs
from envkit.solver.model import Choice, NoPlan, Plan
from envkit.solver.pip_calls import plan_calls
from envkit.tables import Matrix
from envkit.tables.loader import read
from envkit.tables.parts import parts_of
from envkit.tables.rows import Toolkit
from envkit.tables.windows import WindowsInstallerRow, windows_installer, windows_parts

# An absolute path without the signs that Windows refuses in names, and no folder of the system.
_PATH = regex(r'[A-Za-z]:[\\/](?:[^<>:"|?*\x00-\x1f\x7f])+')
_SYSTEM = regex(
    r"(?i)[a-z]:[\\/]+(?:(?:windows|program files(?: \(x86\))?|programdata|users)[\\/]*)?(?:[^\\/]+[\\/]*)?"
)
_NOT_HERE = (
    ("with_driver", "--with-driver", "No checksums of NVIDIA's drivers for Windows are published in a form that a "
     "script can rely on", "The script checks the driver and says where to get one."),
    ("driver_runfile", "--driver-runfile", "A .run file is for Linux", "Omit it."),
    ("nvidia_repository", "--nvidia-repository", "Windows has no such repository", "Omit it."),
    ("toolkit_path", "--toolkit-path", "NVIDIA's installer for Windows has no option for the directory", "Omit it."),
    ("samples", "--samples", "No known installer for Windows includes samples", "Omit it."),
    ("modules", "--modules", "Module files are for Linux", "Omit it."),
)  # fmt: skip


@record
class WindowsToolkit:
    """CUDA from NVIDIA's installer. `components`: what it installs; none: everything, where it holds no driver."""

    toolkit: Toolkit
    installer: WindowsInstallerRow | None  # None: whoever runs the script provides it
    url: str
    page: str  # where a person finds the installer
    components: tuple[str, ...]
    proof: tuple[str, ...]  # paths below its folder


@record
class WindowsInstallation:
    """What the script does, in order: check GPU and driver, toolkit, environment, packages, verification."""

    plan: Plan
    plan_id: str
    minimum_driver: Version
    toolkit: WindowsToolkit | None
    python: Version | None
    env_dir: str | None  # None: the folder `env_name` among the user's own data
    env_name: str
    calls: tuple[tuple[str, ...], ...]  # the words behind `pip install`
    frameworks: tuple[InstallFramework, ...]
    notes: tuple[str, ...]


def windows_installation(plan: Plan, options: ScriptOptions, mirrors: Mirrors) -> WindowsInstallation:
    """The work of a plan for Windows. Raises EnvkitError where WSL 2 is the way, RequestError for foreign options."""
    choice = plan.choice
    _check(plan, options)
    minimum = choice.minimum_driver
    if minimum is None:
        raise EnvkitError("No minimum driver for this plan is known to envkit.", "Specify another --cuda.")
    toolkit = _toolkit(choice, options, mirrors) if choice.needs_toolkit else None
    builds = bool(choice.builds)
    calls = plan_calls(plan, mirrors) if builds else ()
    words = tuple((*call.requirements, *chain.from_iterable(call.settings)) for call in calls)
    work = (toolkit, words, options)
    return WindowsInstallation(
        plan=plan,
        plan_id=_plan_id(choice, toolkit, f"{crc32(repr(work).encode()):08x}"),
        minimum_driver=minimum,
        toolkit=toolkit,
        python=choice.python.release(2) if choice.python and builds else None,
        env_dir=options.env_dir,
        env_name="-".join(map(folder_word, choice.builds)),
        calls=words,
        frameworks=tuple(framework_steps(choice, mirrors)),
        notes=tuple(_notes(plan, toolkit, options)),
    )


def _check(plan: Plan, options: ScriptOptions) -> None:
    if plan.choice.architecture != "x86_64":
        raise EnvkitError("NVIDIA's installers and the packages for Windows are for x86_64.", "Specify --arch x86_64.")
    for name, option, why, hint in _NOT_HERE:
        if getattr(options, name):
            raise RequestError(f"{option}: {why}.", hint)
    behind = {build.framework: build for build in plan.choice.builds if _is_left_behind(build.framework)}
    open_ones = {one.name for one in plan.request.frameworks if one.spec is None}
    for name, last in behind.items():
        if name in open_ones:
            raise EnvkitError(
                f"{name}: current releases have no GPU packages for native Windows; use WSL 2. {wsl_words(plan)}",
                f"For {last.named}, the last release that has them, pass --framework {name}=={last.version}.",
            )
    if options.env_dir is not None:
        check_path(options.env_dir)


def check_path(path: str) -> None:
    """Raises RequestError for a folder of `--env` that is no absolute path of Windows, or one of the system's."""
    if not _PATH.fullmatch(path) or ".." in re.split(r"[\\/]", path):
        raise RequestError("--env: this is not an absolute Windows path.", r"Pass one such as --env D:\envs\pytorch")
    if _SYSTEM.fullmatch(path):
        raise RequestError("--env: this is a system directory.", r"Use a separate directory: --env D:\envs\pytorch")


def _is_left_behind(framework: str) -> bool:
    """Whether the newest builds for a GPU have no package for Windows."""
    builds = [row for row in Matrix.load().builds(framework) if not row.cpu_only]
    newest = max((row.version for row in builds), default=None)
    return not any(WINDOWS in row.platforms for row in builds if row.version == newest)


def wsl_words(plan: Plan | NoPlan) -> str:
    """The commands that lead to the same frameworks inside WSL 2."""
    systems = [name for name in Matrix.load().toolkits[-1].os_ids or () if name.startswith("ubuntu")]
    newest = max(systems, key=lambda name: Version.parse(name.removeprefix("ubuntu")))
    release = newest.removeprefix("ubuntu")
    asked = " ".join(f"--framework {quote(str(one))}" for one in plan.request.frameworks)
    return (
        f"In PowerShell as administrator: wsl --install -d Ubuntu-{release}; then, inside it: envkit install {asked} "
        f"--os {newest} --run. WSL uses the Windows driver; do not install one inside WSL."
    ).replace("  ", " ")


def _toolkit(choice: Choice, options: ScriptOptions, mirrors: Mirrors) -> WindowsToolkit:
    toolkit = choice.toolkit
    if toolkit is None:
        raise EnvkitError(f"CUDA {choice.cuda} is not known to envkit as a toolkit.", "See: envkit matrix toolkits")
    row = windows_installer(toolkit.version)
    there = windows_parts(toolkit.version)
    for name in options.components:
        if name not in there:
            raise RequestError(
                f"--components: it is not known what the CUDA {toolkit.version} installer for Windows calls {name}.",
                f"Known are {', '.join(there)}.",
            )
    without = min(one.cuda.major for one in read(WindowsInstallerRow) if not one.has_driver)
    has_driver = row.has_driver if row else toolkit.version.major < without
    asked = with_needs(options.components, parts_of(toolkit.version, choice.architecture))
    named = [name for name in asked or (there if has_driver else ()) if name in there]
    proof = [name for name in asked or ("nvcc", "cudart") if name in there]
    dashed = "-".join(map(str, toolkit.version.parts))
    return WindowsToolkit(
        toolkit=toolkit,
        installer=row,
        url=mirrors.rewrite(row.url) if row else "",
        page=f"https://developer.nvidia.com/cuda-{dashed}-download-archive",
        components=tuple(
            dict.fromkeys(f"{word}_{toolkit.release}" for name in named for word in there[name].components)
        ),
        proof=tuple(there[name].proof for name in proof),
    )


def _plan_id(choice: Choice, toolkit: WindowsToolkit | None, mark: str) -> str:
    words = [f"cuda-{toolkit.toolkit.version}"] if toolkit else []
    words += [f"{build.framework}-{build.version}" for build in choice.builds]
    return "-".join(["windows", *words, mark])


def _notes(plan: Plan, toolkit: WindowsToolkit | None, options: ScriptOptions) -> Iterator[str]:
    choice = plan.choice
    if toolkit is not None and options.accept_eula:
        yield EULA_NOTE
    if toolkit is not None and toolkit.installer is None:
        known = ", ".join(str(row.cuda) for row in read(WindowsInstallerRow))
        yield (
            f"envkit knows no checksum for the CUDA {toolkit.toolkit.version} installer for Windows: download it from "
            f"{toolkit.page} and pass -CudaInstaller FILE to the script, which checks NVIDIA's signature. Known are "
            f"{known}."
        )
    if toolkit is not None and any(word.startswith("nvcc_") for word in toolkit.components or ("nvcc_",)):
        yield "nvcc for Windows compiles with Visual Studio's C++ compiler, which the script does not install."
    asked = toolkit is not None and plan.request.cudnn is not None
    if choice.cudnn_version is not None and (asked or any(map(needs_system_cuda, choice.builds))):
        yield (
            f"cuDNN {choice.cudnn_version} is not installed: unpack NVIDIA's archive for Windows into the toolkit's "
            "directory (https://developer.nvidia.com/cudnn)."
        )
