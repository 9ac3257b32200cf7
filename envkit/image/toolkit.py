"""CUDA and cuDNN from their own checked installers, for plans that no supported base image serves."""

from __future__ import annotations

from envkit._startup.records import record
from envkit.base.errors import EnvkitError
from envkit.base.settings import Mirrors
from envkit.image.cudnn import archive_of
from envkit.image.download import FROM_DOWNLOAD, fetch
from envkit.image.parts import Copy, Environment, Run, Stage, Step
from envkit.install.commands import installer_options
from envkit.solver.model import Choice
from envkit.tables.installer import has_quirk
from envkit.tables.rows import CudnnRelease, Runfile

_LINKED = "/usr/local/cuda"
_CUDNN = "/usr/local/cudnn"
# What a program loads at run time; compilers, headers, static libraries and tools stay in the build stage.
_TRIMMED = "/opt/cuda"
_WORK = "/tmp"


@record
class SystemCuda:
    """CUDA or cuDNN brought into an image: the stages that unpack it and the steps that put it in place."""

    stages: tuple[Stage, ...]
    steps: tuple[Step, ...]


def toolkit_setup(choice: Choice, mirrors: Mirrors, whole: bool, headers: bool = False) -> SystemCuda:
    """The plan's toolkit from its runfiles. Raises EnvkitError for no runfile.

    `whole`: with compilers and headers; `headers`: with headers alone.
    """
    toolkit = choice.toolkit
    if toolkit is None or not choice.runfiles:
        raise EnvkitError(
            f"No installer of CUDA {choice.cuda} for {choice.architecture} is known to envkit, and no supported base "
            "image contains it.",
            "Choose an image that has it with --base, or choose another --cuda.",
        )
    path = f"/usr/local/cuda-{toolkit.release}"
    runs = tuple(_runfile_step(row, toolkit.installer_style, path, mirrors) for row in choice.runfiles)
    trim = () if whole else (_trim(path, headers),)
    stage = Stage("cuda", FROM_DOWNLOAD, (*runs, *trim))
    link = Run(
        (
            f"ln -s {path} {_LINKED}",
            f"echo {_LINKED}/lib64 > /etc/ld.so.conf.d/cuda.conf",
            "ldconfig",
        )
    )
    variables = {"CUDA_HOME": _LINKED, **({"PATH": f"{_LINKED}/bin:$PATH"} if whole else {})}
    return SystemCuda((stage,), (Copy("cuda", path if whole else _TRIMMED, path), link, Environment(variables)))


def _runfile_step(row: Runfile, style: str, path: str, mirrors: Mirrors) -> Run:
    got = fetch(mirrors.rewrite(row.url), row.name, row.sha256, row.md5)
    notes = [] if row.sha256 or row.md5 else ["No checksum of this installer is known to envkit."]
    commands = runfile_commands(row, style, got.path, path)
    own_module = len(commands) > 1
    if own_module:
        notes.append("Newer Perl versions find the installer's own module only through PERL5LIB.")
    return Run(
        (*got.commands, *commands),
        caches=(got.folder,),
        secrets={"ca": None},
        ignore=("DL3003",) if own_module else (),
        why=" ".join(notes),
    )


def runfile_commands(row: Runfile, style: str, file: str, path: str) -> tuple[str, ...]:
    """The commands that install a runfile, which is there as `file`, into the folder `path`."""
    words = " ".join(installer_options(style, row.kind, row.cuda, frozenset(), {"path": path, "work": _WORK}))
    if style == "legacy" and row.kind == "toolkit" and has_quirk("perl-library", row.cuda):
        return (f"cd {_WORK}", f"sh {file} --tar mxf ./InstallUtils.pm", f"PERL5LIB={_WORK} sh {file} {words}")
    return (f"sh {file} {words}",)


def _trim(path: str, headers: bool) -> Run:
    kept = "libraries, headers, libdevice and ptxas" if headers else "libraries, libdevice and ptxas"
    folders = f"{path}/lib64/ {path}/extras/CUPTI/lib64/"
    return Run(
        (
            f"mkdir -p {_TRIMMED}/lib64 {_TRIMMED}/nvvm {_TRIMMED}/bin",
            # A trailing slash makes find look through the link that lib64 is in newer toolkits.
            f"find {folders} -maxdepth 1 -name '*.so*' -exec cp -a -t {_TRIMMED}/lib64/ {{}} +",
            f"cp -a {path}/nvvm/libdevice {_TRIMMED}/nvvm/",
            f"cp -a {path}/bin/ptxas {_TRIMMED}/bin/",
            *((f"cp -a {path}/include/. {_TRIMMED}/include/",) if headers else ()),
        ),
        why=f"Only what programs load at run time: {kept}.",
    )


def cudnn_setup(row: CudnnRelease, mirrors: Mirrors, headers: bool, compiles: bool) -> SystemCuda | None:
    """The cuDNN release from its archive; None where no archive with a checksum is known to envkit.

    `headers`: the image gets them as well; `compiles`: a build stage does.
    """
    archive = archive_of(row)
    if archive is None:
        return None
    url, name, sha256 = archive
    got = fetch(mirrors.rewrite(url), name, sha256, None)
    unpacked = "/tmp/cudnn"
    commands = [
        *got.commands,
        f"mkdir -p {unpacked} {_CUDNN}/lib64",
        f"tar -xf {got.path} -C {unpacked} --strip-components=1",
        f"find {unpacked} -name 'libcudnn*.so*' -exec cp -a -t {_CUDNN}/lib64/ {{}} +",
    ]
    if headers or compiles:
        commands += [
            f"mkdir {_CUDNN}/include",
            f"find {unpacked} -name 'cudnn*.h' -exec cp -a -t {_CUDNN}/include/ {{}} +",
        ]
    stage = Stage("cudnn", FROM_DOWNLOAD, (Run(tuple(commands), (got.folder,), {"ca": None}),))
    place = Run((f"echo {_CUDNN}/lib64 > /etc/ld.so.conf.d/cudnn.conf", "ldconfig"))
    taken = _CUDNN if headers else f"{_CUDNN}/lib64"
    return SystemCuda((stage,), (Copy("cudnn", taken, taken), place))


def cudnn_beside_compilers() -> tuple[Step, ...]:
    """The steps that put cuDNN where builds look for it: among the toolkit's own headers and libraries."""
    return (
        Copy("cudnn", _CUDNN, _CUDNN),
        Run((f"cp -a {_CUDNN}/include/. {_LINKED}/include/", f"cp -a {_CUDNN}/lib64/. {_LINKED}/lib64/")),
    )


def linked_toolkit(choice: Choice) -> tuple[Step, ...]:
    """The step that gives the unpacked toolkit its usual name, which its installer may have done already."""
    return (Run((f"ln -sfn /usr/local/cuda-{choice.toolkit.release} {_LINKED}",)),) if choice.toolkit else ()
