"""From a plan to the steps that carry it out."""

from __future__ import annotations

from collections.abc import Iterator
from zlib import crc32

from envkit.base.errors import EnvkitError
from envkit.base.platforms import WSL
from envkit.base.settings import Mirrors, host_of
from envkit.base.versions import ComputeCapability
from envkit.install.commands import installer_options
from envkit.install.driver import driver_steps
from envkit.install.driver_notes import driver_notes
from envkit.install.environment import framework_steps, python_step
from envkit.install.model import (
    ApplyPatch,
    Download,
    FetchFile,
    FetchParts,
    Installation,
    InstallCudnn,
    InstallDriver,
    InstallToolkit,
    LinkToolkit,
    SetEnvironment,
    Step,
    Verify,
)
from envkit.install.modules import module_steps
from envkit.install.options import EULA_NOTE, ScriptOptions
from envkit.install.packages import prerequisites
from envkit.solver.model import Choice, Plan
from envkit.tables.images import repair
from envkit.tables.installer import OsNameRow, has_quirk, unfit_glibc
from envkit.tables.loader import read
from envkit.tables.rows import Runfile, Toolkit

_ELSEWHERE = {
    "windows": ("A bash script cannot install CUDA on Windows.", "See: envkit install --os windows"),
    "jetson": (
        "On a Jetson, CUDA, cuDNN, and the driver come with JetPack; there is no runfile for them.",
        "Run: sudo apt-get install nvidia-jetpack",
    ),
}
_TARGET_FOLDERS = {"x86_64": "x86_64-linux", "aarch64": "sbsa-linux"}


def installation(plan: Plan, options: ScriptOptions, mirrors: Mirrors) -> Installation:
    """The steps of a plan for a script. Raises EnvkitError for a platform or a plan that no script can install."""
    choice, request = plan.choice, plan.request
    if request.platform in _ELSEWHERE:
        raise EnvkitError(*_ELSEWHERE[request.platform])
    if request.platform == "wsl" and options.with_driver:
        raise EnvkitError(
            "Under WSL 2, the driver is part of Windows.", "Install it there, and omit --with-driver here."
        )
    body = [*_toolkit_steps(plan, options, mirrors), *_environment_steps(plan, options, mirrors)]
    if not body and not options.with_driver:
        raise EnvkitError("This plan installs nothing: no toolkit and no framework.", "Add --cuda or --framework.")
    fetches = [step for step in body if isinstance(step, FetchFile)]
    driver = driver_steps(plan, options, mirrors) if options.with_driver else ()
    steps = _in_order(tuple(driver), body, fetches)
    steps = (*steps, *module_steps(steps, options.modules))
    needs = prerequisites(choice, steps)
    all_steps = (*((needs,) if needs.needs else ()), *steps, _verify(plan, steps))
    return Installation(
        plan=plan,
        plan_id=_plan_id(plan, options, all_steps),
        architecture=choice.architecture,
        os=choice.os,
        os_name=_os_name(choice.os.os_id) if choice.os else None,
        steps=all_steps,
        notes=(
            *_notes(plan, options, all_steps),
            *(
                note
                for step in all_steps
                if isinstance(step, InstallDriver)
                for note in driver_notes(plan, step, options)
            ),
            *_index_notes(plan, mirrors),
        ),
    )


def _in_order(driver: tuple[Step, ...], body: list[Step], fetches: list[FetchFile]) -> tuple[Step, ...]:
    """The file that holds the driver first: nouveau goes only once it is here. Then the driver, which may reboot."""
    runfiles = [step.file for step in driver if isinstance(step, InstallDriver)]
    own = [step for step in driver if isinstance(step, FetchFile)]
    shared = [step for step in fetches[:1] if step.download in runfiles and step not in own]
    rest = [step for step in driver if step not in own]
    return (*own, *shared, *rest, *(step for step in body if step not in shared))


def _toolkit_steps(plan: Plan, options: ScriptOptions, mirrors: Mirrors) -> Iterator[Step]:
    choice = plan.choice
    if not choice.needs_toolkit:
        return
    toolkit = choice.toolkit
    if toolkit is not None and options.components:
        yield from _parts_steps(toolkit, choice.architecture, options, mirrors)
    elif toolkit is not None and choice.runfiles:
        yield from _runfile_steps(toolkit, choice, options, mirrors)
    else:
        raise EnvkitError(
            f"No runfile of CUDA {choice.cuda} for {choice.architecture} is known to envkit.",
            "See: envkit matrix runfiles",
        )
    if choice.cudnn is not None and choice.cudnn.url and choice.cudnn.archive:
        cudnn = choice.cudnn
        archive = _download(cudnn.archive or "", cudnn.url or "", cudnn.sha256, None, mirrors)
        yield FetchFile(archive, "cudnn")
        yield InstallCudnn(cudnn.version, cudnn.soname_major, archive)
    if options.symlink:
        yield LinkToolkit(priority=toolkit.release.major * 10 + toolkit.release.minor)
    yield SetEnvironment()


def _folder(toolkit: Toolkit, options: ScriptOptions) -> str:
    return options.toolkit_path or f"/usr/local/cuda-{toolkit.release}"


def _parts_steps(toolkit: Toolkit, architecture: str, options: ScriptOptions, mirrors: Mirrors) -> Iterator[Step]:
    """The list of the archives, the archives, and the folder that they make together."""
    from envkit.install.parts import chosen_parts, fetch_parts

    parts = chosen_parts(toolkit, architecture, options.components)
    fetch = fetch_parts(toolkit.version, architecture, parts, mirrors)
    yield FetchFile(fetch.list_file, "toolkit")
    yield fetch
    path = _folder(toolkit, options)
    yield InstallToolkit(toolkit, path, fetch.list_file, (), False, _TARGET_FOLDERS[architecture], parts)


def _runfile_steps(toolkit: Toolkit, choice: Choice, options: ScriptOptions, mirrors: Mirrors) -> Iterator[Step]:
    first, *patches = choice.runfiles
    file = download(first, mirrors)
    yield FetchFile(file, "toolkit")
    yield _install_toolkit(toolkit, _folder(toolkit, options), file, options, choice.architecture)
    for patch in patches:
        patch_file = download(patch, mirrors)
        yield FetchFile(patch_file, f"patch-{patch.order}")
        yield ApplyPatch(patch.order, patch_file, _words(toolkit, "patch", frozenset()))


def _install_toolkit(
    toolkit: Toolkit, path: str, file: Download, options: ScriptOptions, architecture: str
) -> InstallToolkit:
    conditions = frozenset({"samples"} if options.samples else set())
    return InstallToolkit(
        toolkit=toolkit,
        path=path,
        file=file,
        options=_words(toolkit, "toolkit", conditions),
        perl_library=toolkit.installer_style == "legacy" and has_quirk("perl-library", toolkit.version),
        architecture=_TARGET_FOLDERS[architecture],
    )


def _words(toolkit: Toolkit, component: str, conditions: frozenset[str]) -> tuple[str, ...]:
    values = {"path": '"$TOOLKIT_DIR"', "work": '"$WORK_DIR"'}
    return installer_options(toolkit.installer_style, component, toolkit.version, conditions, values)


def _environment_steps(plan: Plan, options: ScriptOptions, mirrors: Mirrors) -> Iterator[Step]:
    if not plan.choice.builds:
        return
    python = python_step(plan.choice, options, mirrors)
    if python.file is not None:
        yield FetchFile(python.file, "python")
    yield python
    yield from framework_steps(plan.choice, mirrors)


def download(row: Runfile, mirrors: Mirrors) -> Download:
    """The file of a runfile row, from its mirror where there is one."""
    return _download(row.name, row.url, row.sha256, row.md5, mirrors)


def _download(name: str, url: str, sha: str | None, md5: str | None, mirrors: Mirrors) -> Download:
    if sha:
        return Download(name, mirrors.rewrite(url), "sha256", sha)
    if md5:
        return Download(name, mirrors.rewrite(url), "md5", md5)
    return Download(name, mirrors.rewrite(url), "none", "")


def _verify(plan: Plan, steps: tuple[Step, ...]) -> Verify:
    compiler = any(isinstance(step, InstallToolkit) and step.has_compiler for step in steps)
    toolkit = plan.choice.toolkit if compiler else None
    if toolkit is None:
        return Verify((), None, None)
    wanted = sorted({gpu.compute_capability for gpu in plan.request.gpus})
    targets = [target for capability in wanted if (target := _nvcc_target(toolkit, capability))]
    if not targets and toolkit.max_compute_capability:
        targets = [toolkit.max_compute_capability]
    return Verify(tuple(dict.fromkeys(target.sm for target in targets)), toolkit.gcc_min, toolkit.gcc_max)


def _nvcc_target(toolkit: Toolkit, wanted: ComputeCapability) -> ComputeCapability | None:
    """The newest target of nvcc whose code runs on `wanted`: same major number, not newer."""
    known = toolkit.compute_capabilities or tuple(
        capability for capability in (toolkit.max_compute_capability, toolkit.min_compute_capability) if capability
    )
    fitting = [row for row in known if row.major == wanted.major and row.minor <= wanted.minor and not row.specific]
    return max(fitting, default=None)


def _os_name(os_id: str) -> tuple[str, str]:
    """ID and VERSION_ID of the distribution's os-release."""
    if os_id == WSL:
        raise EnvkitError(
            "--os wsl: this does not say which distribution runs inside WSL, and the script depends on it.",
            "Specify it with --os ubuntu22.04, or run envkit there without --os.",
        )
    name = os_id.rstrip("0123456789.")
    return next((row.id for row in read(OsNameRow) if row.os_prefix == name), name), os_id[len(name) :]


def _plan_id(plan: Plan, options: ScriptOptions, steps: tuple[Step, ...]) -> str:
    """A name for people, with a mark that tells scripts with different steps apart."""
    words = [f"cuda-{plan.choice.toolkit.version}"] if plan.choice.needs_toolkit and plan.choice.toolkit else []
    words += ["parts"] if words and options.components else []
    words += [f"{build.framework}-{build.version}" for build in plan.choice.builds]
    mark = f"{crc32(repr((steps, options)).encode()):08x}"
    return "-".join([*(words or ["driver"]), mark])


def _notes(plan: Plan, options: ScriptOptions, steps: tuple[Step, ...]) -> Iterator[str]:
    toolkit = plan.choice.toolkit
    if options.samples and toolkit and has_quirk("no-samples", toolkit.version):
        yield "--samples: this release has none; see https://github.com/NVIDIA/cuda-samples"
    added = [part.name for step in steps if isinstance(step, FetchParts) for part in step.parts if not part.asked]
    if added:
        yield f"--components: {', '.join(added)} will also be installed, because the requested parts need them."
    if plan.choice.needs_toolkit and plan.choice.cudnn is not None and not plan.choice.cudnn.url:
        yield f"cuDNN {plan.choice.cudnn.version}: no archive is known to envkit, so it is not installed."
    glibc = plan.request.glibc or (plan.choice.os.glibc if plan.choice.os else None)
    rows = unfit_glibc(toolkit.version) if toolkit and glibc and plan.choice.needs_toolkit else ()
    unfit = [row for row in rows if glibc and glibc >= row.glibc]
    if toolkit and unfit:
        yield (
            f"The headers of CUDA {toolkit.version} do not compile with glibc {unfit[-1].glibc} or newer, but the "
            f"target has {glibc}: compiling C++ code fails with 'exception specification is incompatible'. CUDA "
            f"{unfit[0].fixed_in} and newer do not have this problem, nor does a system with an older glibc."
        )
    bare = [step.download.name for step in steps if isinstance(step, FetchFile) and not step.download.checksum]
    if bare and not options.accept_unverified:
        yield (
            f"envkit knows no published checksum for {', '.join(bare)}. Run the script with --accept-unverified to "
            "accept unverified files; otherwise it stops before it downloads anything."
        )
    if options.accept_eula and any(isinstance(step, (InstallToolkit, InstallDriver)) for step in steps):
        yield EULA_NOTE
    if plan.choice.os is not None and repair(plan.choice.os.os_id):
        yield (
            f"{plan.choice.os.os_id} is past its end of life: if the machine still uses the release's mirrors, which "
            "no longer exist, the script gets packages from the release's archive instead, without changing the "
            "machine's own package lists."
        )
    if plan.choice.os is None:
        yield "No --os was given: the script detects the package manager when it runs."


def _index_notes(plan: Plan, mirrors: Mirrors) -> Iterator[str]:
    """Which frameworks come from elsewhere than the index that the user named."""
    for build in plan.choice.builds if mirrors.index_url else ():
        if build.index_url and mirrors.rewrite(build.index_url) == build.index_url:
            yield (
                f"--index-url: {build.named} is not installed from there, because its build for CUDA {build.cuda} is "
                f"only on {build.index_url}. --mirror {host_of(build.index_url)}=URL sets a mirror for that index."
            )
