"""The CUDA toolkits on disk and the nvcc that a build would find. They matter only to those who compile."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.base.versions import Version
from envkit.checks.cuda.asked import only_asked
from envkit.checks.cuda.host_gcc import with_compiler
from envkit.checks.cuda.toolkit_remedies import DEFAULT_LINK, in_home, listed_toolkit, mixed_toolkits, with_check_off
from envkit.checks.cuda.toolkit_windows import beside_framework
from envkit.checks.engine.ask import install_cuda
from envkit.checks.engine.command import PATH, Command, export, fixed, run
from envkit.checks.engine.evidence import known, not_looked, only_told, unseen
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, Status, ok, skip, unknown
from envkit.checks.engine.managers import QUEUES, managed_by
from envkit.checks.engine.messages import message_evidence, named, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import remedy, steps
from envkit.checks.frameworks.installs import Installed, built_for_amd, installs, nothing_to_judge
from envkit.model import CudaToolkit, Environment, Nvcc

if TYPE_CHECKING:
    from envkit.tables import Matrix
    from envkit.tables.rows import Toolkit


def toolkits(environment: Environment) -> tuple[CudaToolkit, ...]:
    """The toolkits found, none when nobody looked."""
    return environment.cuda_toolkits.get() if environment.cuda_toolkits.known else ()


def toolkit_evidence(toolkit: CudaToolkit) -> Evidence:
    """A toolkit as evidence."""
    return Evidence("cuda_toolkits", f"{toolkit.version} in {toolkit.path}", toolkit.source or toolkit.path)


def toolkit_row(version: Version, matrix: Matrix) -> Toolkit | None:
    """The table row of a toolkit version, otherwise of the newest of its release line; None for one that is not
    listed."""
    exact = matrix.toolkit(version)
    if exact is not None:
        return exact
    line = [row for row in matrix.toolkits if row.release == version.release(2)]
    return line[-1] if line else None


def build_nvcc(environment: Environment) -> tuple[Version, str] | None:
    """Version and place of the nvcc that a build of an extension uses: CUDA_HOME's, PATH's, /usr/local/cuda's."""
    named = _home_toolkit(environment)
    if named is not None and named.has_nvcc:
        return named.version, _cuda_home(environment)
    if environment.nvcc.known:
        nvcc: Nvcc = environment.nvcc.get()
        if nvcc.version is not None:
            return nvcc.version, nvcc.path
    for toolkit in toolkits(environment):
        if toolkit.path == DEFAULT_LINK and toolkit.has_nvcc:
            return toolkit.version, toolkit.path
    return None


def _cuda_home(environment: Environment) -> str:
    variables = environment.variables.get() if environment.variables.known else {}
    return (variables.get("CUDA_HOME") or variables.get("CUDA_PATH") or "").rstrip("/")


def _home_toolkit(environment: Environment) -> CudaToolkit | None:
    """The toolkit that CUDA_HOME leads to; None where there is none in it, or CUDA_HOME is not set."""
    home = _cuda_home(environment)
    places = {home, *([environment.cuda_home.get()] if home and environment.cuda_home.known else [])} - {""}
    return next((item for item in toolkits(environment) if places & {item.path, item.real_path}), None)


def _leads_nowhere(environment: Environment) -> bool:
    """Whether CUDA_HOME is set to something that is not there."""
    return bool(_cuda_home(environment)) and environment.cuda_home.absent and _home_toolkit(environment) is None


def _toolkit_of_framework(environment: Environment, matrix: Matrix) -> Remedy:
    versions = sorted({item.framework.cuda.release(2) for item in installs(environment) if item.framework.cuda})
    if given := beside_framework(environment, matrix, versions[-1] if versions else None):
        return given
    wanted = f"CUDA {versions[-1]}, the release of the framework" if versions else "the framework's CUDA release"
    toolkit = install_cuda(environment, versions[-1]) if versions else steps(environment, "toolkit-of-torch")
    again = "then build again in the same shell"
    return Remedy(f"Use a prebuilt wheel for the extension, or install the toolkit for {wanted}; {again}.", toolkit)


def _toolkit_of_torch(environment: Environment, matrix: Matrix) -> Remedy:
    """CUDA_HOME for the CUDA of PyTorch: as its own message names it, otherwise of what is installed."""
    said = named(seen(environment, "nvcc-vs-torch-mismatch"), "torch")
    torch = _torch_with_cuda(environment)
    built_with = Version.find(said) if said else torch[0].framework.cuda if torch else None
    return with_check_off(environment, _point_home(environment, matrix, built_with))


_NO_TOOLKIT = Fault(
    "toolkit-missing",
    "A build could not find the CUDA toolkit (nvcc or its headers)",
    impact="Extensions (flash-attn, DeepSpeed ops, …) cannot be compiled; prebuilt wheels are not affected.",
    remedy=_toolkit_of_framework,
)
_WITHOUT = "there is no CUDA toolkit; programs run, but compiling CUDA extensions would require one"
_OTHER_CUDA = Fault(
    "nvcc-vs-torch-mismatch",
    "nvcc and PyTorch have different CUDA versions",
    impact="PyTorch refuses to compile extensions; existing programs still run.",
    remedy=_toolkit_of_torch,
)


@check(
    _NO_TOOLKIT,
    layer=Layer.TOOLKIT,
    rank=10,
    explained_by=("nvcc-too-old-for-gpu", "toolkit-dropped-arch", "gcc-too-new-for-nvcc"),  # an nvcc that answered
    of_cuda_alone=True,
    any_of=("nvcc", "cuda_toolkits", "messages"),
    fix="Install the toolkit of the same CUDA release as the framework, or a prebuilt wheel of the extension.",
    references=threads("facebookresearch/votenet#2", "pytorch/extension-cpp#26", "Jimver/cuda-toolkit#374"),
)
def toolkit_missing(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """A build of a CUDA extension finds nvcc.

    Neither the driver nor framework wheels include nvcc. Programs that only use prebuilt wheels do not need it, so it
    counts as missing only if a build looked for it.
    """
    asked = seen(environment, _NO_TOOLKIT.id)
    if asked and (built_for_amd(environment) or only_asked(environment, matrix, _NO_TOOLKIT.id)):
        yield ok(_WITHOUT, evidence=message_evidence(environment, asked))
    elif reported := _NO_TOOLKIT.reported(environment):
        yield reported
    elif _leads_nowhere(environment):
        yield _named_in_vain(environment)
    elif (place := build_nvcc(environment)) is not None:
        yield ok(f"nvcc {place[0]} found ({place[1]})", evidence=[Evidence("nvcc", str(place[0]), place[1])])
    elif _looked_for_nvcc(environment):
        yield ok(
            _WITHOUT,
            evidence=[known(environment, "nvcc"), known(environment, "cuda_toolkits", "none with nvcc")],
        )
    else:
        yield not_looked(environment, unseen(environment, "nvcc or a CUDA toolkit"), "nvcc", "cuda_toolkits")


def _named_in_vain(environment: Environment) -> Outcome:
    """CUDA_HOME names a folder that is not there: builds start the nvcc in it without looking for another."""
    home = _cuda_home(environment)
    place = build_nvcc(environment)
    there = next((item for item in toolkits(environment) if place and item.has_nvcc and item.version == place[0]), None)
    return _NO_TOOLKIT.found(
        [known(environment, "variables", home), known(environment, "cuda_home")],
        title=f"CUDA_HOME points to {home}, which does not exist",
        remedy=remedy(
            environment,
            "Point it at an installed toolkit for this shell:",
            "use-toolkit",
            root=there.real_path or there.path,
        )
        if there
        else Remedy("Remove the variable and the line that sets it.", (fixed("unset CUDA_HOME CUDA_PATH"),)),
        status=Status.WARN,
    )


def _looked_for_nvcc(environment: Environment) -> bool:
    return any(fact.known or fact.absent for fact in (environment.nvcc, environment.cuda_toolkits))


@check(
    _OTHER_CUDA,
    layer=Layer.TOOLKIT,
    rank=15,
    of_builds=True,
    explained_by=("several-toolkits-in-path",),
    any_of=("pythons", "messages"),
    fix="Point CUDA_HOME at a toolkit that matches PyTorch's CUDA version; several can be installed side by side.",
    references=threads("pytorch/pytorch#73047", "open-mmlab/OpenPCDet#1275"),
)
def nvcc_vs_torch_mismatch(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The nvcc that PyTorch would use to build extensions has the same CUDA major version as PyTorch.

    With a different major version, every extension build fails; a different minor version only causes a warning.
    Neither affects prebuilt wheels.
    """
    place = build_nvcc(environment)
    torch = _torch_with_cuda(environment)
    if said := seen(environment, _OTHER_CUDA.id, without="complaint-told-build"):  # that a build fails, not why
        yield _OTHER_CUDA.found(message_evidence(environment, said))
    elif not torch:
        yield nothing_to_judge(environment, "CUDA build of PyTorch")
    elif place is None:
        yield skip("there is no nvcc to compare", evidence=[known(environment, "nvcc")])
    else:
        for item in torch:
            yield _nvcc_against(environment, matrix, place, item)


def _torch_with_cuda(environment: Environment) -> list[Installed]:
    return [item for item in installs(environment, "pytorch") if item.framework.cuda is not None]


def _nvcc_against(environment: Environment, matrix: Matrix, place: tuple[Version, str], item: Installed) -> Outcome:
    nvcc, path = place
    cuda = item.framework.cuda
    assert cuda is not None, "only PyTorch with a CUDA version is compared"
    evidence = [Evidence("nvcc", str(nvcc), path), item.evidence("cuda", cuda)]
    if nvcc.major != cuda.major:
        return _OTHER_CUDA.found(
            evidence,
            title=f"nvcc is CUDA {nvcc.release(2)}, PyTorch was built with {cuda}",
            subject=item.subject,
            impact="Programs run, but compiling an extension for this PyTorch fails with a version mismatch.",
            remedy=_point_home(environment, matrix, cuda),
            status=Status.WARN,
        )
    if nvcc.release(2) != cuda.release(2):
        return ok(
            f"nvcc {nvcc.release(2)} and PyTorch's {cuda} have the same major version",
            subject=item.subject,
            evidence=evidence,
        )
    return ok(f"nvcc and PyTorch are both CUDA {cuda}", subject=item.subject, evidence=evidence)


def _point_home(environment: Environment, matrix: Matrix, cuda: Version | None) -> Remedy:
    if cuda is None:
        return Remedy("Set CUDA_HOME to a toolkit of the CUDA release that PyTorch was built with.")
    fitting = [item for item in toolkits(environment) if item.version.major == cuda.major and item.has_nvcc]
    if fitting:
        best = next((item for item in fitting if item.version.starts_with(cuda)), fitting[-1])
        root = best.real_path or best.path
        return remedy(environment, "Use the matching toolkit for this shell:", "use-toolkit", root=root)
    if listed := listed_toolkit(environment, cuda):
        return listed
    if managed_by(environment, "no-root", *QUEUES) and (own := in_home(environment, matrix, cuda)):
        return own
    advice = (
        f"Install the CUDA {cuda} toolkit alongside the current one and set CUDA_HOME to it, or install a PyTorch "
        "build for your nvcc's CUDA version. Then build again in the same shell, in a fresh build directory."
    )
    return with_compiler(environment, matrix, cuda, Remedy(advice, install_cuda(environment, cuda)))


_SEVERAL = Fault(
    "several-toolkits-in-path",
    "Several CUDA toolkits are installed, and an older one comes first",
    impact="Builds may use the wrong toolkit.",
    remedy="Put the right toolkit first on PATH.",
    actions=("toolkit-first",),
    status=Status.WARN,
)
_WRONG_LINK = Fault(
    "cuda-symlink-wrong",
    f"{DEFAULT_LINK} is broken or points to an older toolkit",
    impact="nvcc and the CUDA libraries are not found where programs look for them.",
    remedy="Recreate the symlink so that it points to an installed toolkit.",
)
_WRAPPER = Fault(
    "nvcc-wrapper-misleads",
    "nvcc on PATH is a wrapper that hides the toolkit's location",
    impact="Build systems take the directory above the wrapper for the toolkit root, so they do not find the CUDA "
    "headers.",
    remedy="Set CUDA_HOME to the real toolkit.",
    status=Status.WARN,
)


@check(
    _SEVERAL,
    layer=Layer.TOOLKIT,
    rank=40,
    any_of=("nvcc", "cuda_toolkits", "messages"),
    fix="Put the right toolkit first on PATH; remove the distribution's nvidia-cuda-toolkit if it is not used.",
    references=threads("NVIDIA/nvbandwidth#25", "mit-han-lab/torchsparse#79", "mesonbuild/meson#6076"),
)
def several_toolkits_in_path(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """With several toolkits installed, the nvcc on PATH belongs to CUDA_HOME, or to the newest toolkit.

    A build that mixes parts of two toolkits fails: the compiler of one rejects the headers or targets of the other.
    """
    title, impact, given = mixed_toolkits(environment)
    if mixed := _SEVERAL.reported(environment, title=title, impact=impact, remedy=given, status=Status.FAIL):
        yield mixed
        return
    system = [item for item in toolkits(environment) if item.origin not in ("wheel", "conda") and item.has_nvcc]
    releases = {item.version.release(2): item for item in system}
    nvcc = environment.nvcc.get() if environment.nvcc.known else None
    first = nvcc.version if nvcc else None
    if nvcc is None or first is None:
        yield skip("there is no nvcc on PATH", evidence=[known(environment, "nvcc")])
        return
    evidence = [Evidence("nvcc", str(first), nvcc.path), *(toolkit_evidence(item) for item in releases.values())]
    home = _home_toolkit(environment)
    named = home if home in system else None
    wanted = named.version if named else max((item.version for item in system), default=first)
    if len(releases) < 2 and named is None:
        told = only_told(environment)  # where it lacks the others
        yield unknown("one CUDA toolkit is shown") if told else ok("one CUDA toolkit", evidence=evidence)
    elif wanted.release(2) == first.release(2):
        yield ok(f"PATH selects the right one ({first}) of {max(len(releases), 1)} toolkits", evidence=evidence)
    else:
        root = next((item.real_path or item.path for item in system if item.version == wanted), "")
        other = f"CUDA_HOME names {wanted.release(2)}" if named else f"the newest toolkit is {wanted.release(2)}"
        title = f"nvcc on PATH is from CUDA {first.release(2)}, but {other}"
        yield _SEVERAL.found(evidence, title=title, root=root)


@check(
    _WRONG_LINK,
    layer=Layer.TOOLKIT,
    rank=20,
    any_of=("cuda_link", "cuda_toolkits"),
    fix="Select the toolkit with update-alternatives, or recreate the symlink.",
    references=threads("NVIDIA/nvidia-container-toolkit#1088", "xmrig/xmrig#3233", "cBio/cbio-cluster#90"),
)
def cuda_symlink_wrong(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The /usr/local/cuda symlink points to the newest installed toolkit.

    Installers point it to whatever was installed last, which may not be the newest.
    """
    link = environment.cuda_link
    versioned = [item for item in toolkits(environment) if item.path.startswith(f"{DEFAULT_LINK}-")]
    newest = max(versioned, key=lambda item: item.version, default=None)
    if link.known and not link.get().resolves:
        root = newest.path if newest else f"{DEFAULT_LINK}-X.Y"
        yield _WRONG_LINK.found(
            [known(environment, "cuda_link", link.get().target)],
            title=f"{DEFAULT_LINK} points to {link.get().target}, which does not exist",
            remedy=Remedy("Recreate the symlink so that it points to an installed toolkit.", (_link_to(root),)),
        )
        return
    default = next((item for item in toolkits(environment) if item.path == DEFAULT_LINK), None)
    if default is None:
        yield skip(f"there is no {DEFAULT_LINK}", evidence=[known(environment, "cuda_toolkits", "no default link")])
    elif newest is None or newest.version.release(2) <= default.version.release(2):
        yield ok(f"{DEFAULT_LINK} is CUDA {default.version}", evidence=[toolkit_evidence(default)])
    else:
        yield _WRONG_LINK.found(
            [toolkit_evidence(default), toolkit_evidence(newest)],
            title=f"{DEFAULT_LINK} is CUDA {default.version}, but the newest installed is {newest.version}",
            status=Status.WARN,
            impact="Programs that look there use the older toolkit.",
            remedy=Remedy(
                "To use the newer one, point the link at it. If update-alternatives manages the link (ls -l shows "
                "/etc/alternatives/cuda as its target), run sudo update-alternatives --config cuda instead.",
                (_link_to(newest.path),),
            ),
        )


def _link_to(root: str) -> Command:
    return run("sudo", "ln", "-sfn", PATH(root), DEFAULT_LINK)


@check(
    _WRAPPER,
    layer=Layer.TOOLKIT,
    rank=30,
    needs=("nvcc",),
    references=("https://pytorch.org/docs/stable/cpp_extension.html",),
)
def nvcc_wrapper_misleads(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The directory above nvcc's bin directory is the toolkit, or CUDA_HOME says where the toolkit is.

    Build tools assume that the toolkit is two levels above nvcc. With a wrapper script or a ccache symlink, that is
    /usr/local or /usr, which has no CUDA headers.
    """
    nvcc = environment.nvcc.get()
    guessed = posixpath.dirname(posixpath.dirname(nvcc.path))
    evidence = [known(environment, "nvcc", f"{nvcc.path} starts {nvcc.real_path}")]
    home = _cuda_home(environment)
    if home:
        evidence.append(known(environment, "variables", home))
    if "/" not in nvcc.path and only_told(environment):
        yield unknown("the input does not show where nvcc is", evidence=evidence)
    elif not nvcc.wrapper or guessed == nvcc.toolkit_path:
        yield ok("nvcc is inside its toolkit", evidence=evidence)
    elif _home_toolkit(environment) is not None:
        yield ok("nvcc is a wrapper, and CUDA_HOME points to the toolkit", evidence=evidence)
    elif home and not (environment.cuda_home.known or environment.cuda_home.absent):
        yield unknown(
            f"nvcc is a wrapper, and the contents of {home}, which CUDA_HOME points to, are not known",
            evidence=evidence,
        )
    elif not nvcc.toolkit_path:
        yield unknown("nvcc is a wrapper, and which toolkit it starts is not known", evidence=evidence)
    else:
        yield _WRAPPER.found(
            evidence,
            title=f"The nvcc on PATH is a wrapper in {posixpath.dirname(nvcc.path)}; "
            f"the toolkit is in {nvcc.toolkit_path}",
            impact=f"Build systems infer that {guessed} is the toolkit root, so they cannot find the CUDA headers.",
            remedy=Remedy("Point builds at the real toolkit.", (export("CUDA_HOME", PATH(nvcc.toolkit_path)),)),
        )
