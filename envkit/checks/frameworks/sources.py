"""Where packages come from: does the index exist, and may the solver choose builds for a GPU?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.sentences import series
from envkit.base.versions import Version
from envkit.checks.cuda.ptx import reported_by
from envkit.checks.engine.ask import framework_of
from envkit.checks.engine.command import CONDA_SPEC, NAME, REQUIREMENT, URL, Command, export, fixed, run
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Outcome, Remedy, ok, skip
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import message_evidence, named, said, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.frameworks.builds import bring
from envkit.checks.frameworks.indexes import nearest_index, only_for_torch
from envkit.checks.frameworks.installs import TORCH_PACKAGES, first_python, for_this_machine, installs, judged, pip
from envkit.model import Environment, Message
from envkit.tables.codes import limit as limit_of

if TYPE_CHECKING:
    from envkit.tables import Matrix

_INDEX_ID = "package-index-wrong"
_TAGGED = regex(r"==(?P<version>\d{1,2}(?:\.\d{1,3}){1,2})\+cu(?P<cuda>\d{2,3})")
_CUDA_OF_BUILD = regex(r"[-_]cuda_?(?P<major>\d{2})\.?(?P<minor>\d)(?!\d)")


def _index_that_exists(environment: Environment, matrix: Matrix) -> Remedy:
    """The build that fits; where too little is known to choose one, the question that names it."""
    messages = seen(environment, _INDEX_ID)
    asked = next((one.values for one in messages if one.values.get("spec")), None)
    if asked is not None and (own := _own_index(environment, matrix, asked)):
        return own
    name = framework_of(environment, matrix, messages)
    why = "Use an index that exists. An older CUDA build also works with this driver; nvcc's version does not matter."
    given = bring(environment, matrix, name, why, messages=messages)
    if asked is None:
        return given
    line = f"{asked['package']}{asked['spec']}"
    return Remedy(
        f"{given.advice} If a requirements file has the line {line}, change it to this release, too; otherwise, pip "
        "install -r stops there.",
        given.steps,
    )


def _own_index(environment: Environment, matrix: Matrix, asked: Mapping[str, str]) -> Remedy | None:
    """The build that was asked for from the index that has it; None where there is none, or the driver is too old."""
    match = _TAGGED.fullmatch(asked["spec"])
    version = Version.find(match["version"]) if match and asked["package"] == "torch" else None
    cuda = _of_tag(match["cuda"]) if match else None
    limit = environment.driver.driver_cuda_version.value
    if version is None or cuda is None or (limit is not None and cuda.major > limit.major):
        return None
    row = next(
        (
            row
            for row in matrix.builds("pytorch")
            if row.version == version and row.cuda is not None and row.cuda.release(2) == cuda and row.index_url
            if for_this_machine(environment, row)
        ),
        None,
    )
    if row is None:
        return None
    python = first_python(environment)
    packages = map(REQUIREMENT, (f"torch=={version}", *row.companions))
    numpy = (pip(python, "install", REQUIREMENT(f"numpy{row.numpy}")),) if row.numpy else ()
    return Remedy(
        "Specify the index that has this build: by default, pip searches only PyPI. In a requirements file, add this "
        f"line: `--extra-index-url {row.index_url}`. If your command names other packages with such a suffix "
        f"(xformers==…+{asked['spec'].rpartition('+')[2]}), repeat it with this option, too.",
        (*numpy, pip(python, "install", *packages, "--index-url", URL(row.index_url or ""))),
    )


def _never_built(environment: Environment, matrix: Matrix) -> Outcome | None:
    """That PyTorch never had the build that is asked for: its release exists, for other releases of CUDA alone."""
    for message in seen(environment, _INDEX_ID, "detail-build"):
        version, cuda = Version.find(message.values["version"]), _of_tag(message.values["cuda"])
        rows = [row for row in matrix.builds("pytorch") if row.version == version and row.cuda is not None]
        others = {row.cuda.release(2): row for row in rows if row.cuda is not None}
        if not others or cuda is None or cuda in others:
            continue
        like = min((own for own in others if own.major == cuda.major), default=None)
        steps: tuple[Command, ...] = ()
        if like is not None and others[like].index_url:
            packages = map(REQUIREMENT, (f"torch=={version}", *others[like].companions))
            install = pip(
                first_python(environment), "install", *packages, "--index-url", URL(others[like].index_url or "")
            )
            steps = (install,)
        exist = series([str(own) for own in sorted(others)])
        return _NO_INDEX.found(
            message_evidence(environment, (message,)),
            title=f"There is no build of PyTorch {version} for CUDA {cuda}",
            remedy=Remedy(
                f"PyTorch {version} was built for CUDA {exist} only: no index, Python, or platform has the other one. "
                "Change the line to a build that exists"
                + (f", such as the one for {like}: a driver for CUDA {cuda.major} runs it." if steps else "."),
                steps,
            ),
        )
    return None


def _only_cpu_index(environment: Environment, message: Message) -> Remedy:
    """pip prefers no index: of all that it searches, it takes the newest release that has a file for the Python."""
    digits = message.values["python"]
    return Remedy(
        "With --extra-index-url, pip searches PyPI as well, and takes from there what is newer, or what the index does "
        f"not have for this Python ({digits[0]}.{digits[1:]}, by the file's name). Remove what it installed, then "
        "repeat your own command with --index-url in place of --extra-index-url, so that nothing else is searched. If "
        "pip then finds no version, the index has none for this Python: use a newer one.",
        (pip(first_python(environment), "uninstall", "-y", *TORCH_PACKAGES),),
    )


def _python_without(environment: Environment, matrix: Matrix, spec: str) -> Version | None:
    """The Python of the text, if that build of PyTorch has no wheel for it on any index."""
    version = Version.find(spec)
    rows = [row for row in matrix.builds("pytorch") if row.version == version]
    built = {python for row in rows for python in row.pythons}
    owns = {python.version.release(2) for python in judged(environment) if python.version is not None}
    return min(owns) if built and owns and owns.isdisjoint(built) else None


def _override(environment: Environment, matrix: Matrix) -> Remedy:
    limit = environment.driver.driver_cuda_version
    known = limit.get().release(2) if limit.known else None
    built = known or _cuda_of_build(environment)
    told = Version.find(named(seen(environment, _NO_VIRTUAL_PACKAGE.id, "detail-cuda"), "cuda") or "")
    cuda = built or told or limit_of("oldest-cuda-12")
    known_one = "" if built or told else f"; {cuda} fits every driver that runs CUDA {cuda.major}"
    again: tuple[Command, ...] = ()
    if "pixi" in managers(environment):
        declare = ("pixi", "workspace", "system-requirements", "add", "cuda", str(cuda.major))
        declared = seen(environment, _NO_VIRTUAL_PACKAGE.id, "detail-declared")
        again = (*(() if declared else (run(*declare),)), fixed("pixi install"))
    return Remedy(
        f"Set the CUDA version of the machine that the environment will run on (nvidia-smi shows it there){known_one}, "
        "and solve again in the same shell; in a Dockerfile, write it as an ENV line before the installation. pixi "
        "reads it from cuda in [system-requirements].",
        (export("CONDA_OVERRIDE_CUDA", NAME(str(cuda.release(2)))), *again),
    )


def _cuda_of_build(environment: Environment) -> Version | None:
    """The CUDA that the build which conda refused is for, as its name says (pytorch-2.5.1-cuda126_generic)."""
    match = _CUDA_OF_BUILD.search(said(environment, _NO_VIRTUAL_PACKAGE.id))
    return Version.of(int(match["major"]), int(match["minor"])) if match else None


_NO_INDEX = Fault(
    _INDEX_ID,
    "The package index has no such build",
    impact="None of the indexes that were searched has this version, for any Python version or platform.",
    remedy=_index_that_exists,
)
_NO_VIRTUAL_PACKAGE = Fault(
    "conda-sees-no-gpu",
    "conda found no driver, so it avoids CUDA builds",
    impact="The solver rejects the CUDA builds or picks CPU builds.",
    remedy=_override,
)


_OTHER_SOLVER = Remedy(
    "glibc meets every line that is shown: the conflict is a different one, which conda's old solver does not name. "
    "Most often the environment's Python, or a package that is already in it, has no build beside those that are asked "
    "for. Update conda, whose newer solver (libmamba) names the real conflict, and repeat your command in a new "
    "environment that holds only a Python of that release's time. Name all channels of its instructions (-c pytorch -c "
    "nvidia for CUDA builds of PyTorch; the newest releases are on conda-forge only).",
    (fixed("conda update -n base conda"), fixed("conda config --set solver libmamba")),
)


def _rapids(environment: Environment, matrix: Matrix) -> Remedy:
    """Its newest release, or for a driver that does not run it, the last one for an older CUDA."""
    own = environment.driver.driver_cuda_version.value or reported_by(environment, matrix)
    where = "Install RAPIDS from its conda channels, into an environment of its own."
    last, cuda = limit_of("rapids-of-cuda-10"), limit_of("cuda-of-old-rapids")
    show = fixed("conda run -n rapids python -c 'import cuml; print(cuml.__version__)'")
    create = ("conda", "create", "-y", "-n", "rapids", "-c", "rapidsai")
    if own is not None and own < limit_of("rapids-oldest-cuda"):
        specs = (f"rapids={last}", f"cudatoolkit={cuda}")
        return Remedy(
            f"{where} This driver runs CUDA {own}, which current releases do not support: {last} is the last one for "
            f"CUDA {cuda}. For a newer release, update the driver first. A compiler does not help.",
            (run(*create, "-c", "nvidia", "-c", "conda-forge", *map(CONDA_SPEC, specs)), show),
        )
    return Remedy(
        f"{where} It needs a GPU of the Volta generation or newer; its installation guide names the releases for older "
        "ones. A compiler does not help.",
        (run(*create, "-c", "conda-forge", "rapids"), show),
    )


_FOR_R = Remedy(
    "A release of torch for R is built for few CUDA releases, which its message or its installation guide lists; it "
    "downloads CUDA itself, so another toolkit on the machine does not matter, only the driver's age. Start R anew, "
    'choose one of them before anything is installed, such as with Sys.setenv(CUDA = "12.8"), and run '
    "install_torch(reinstall = TRUE). Or install the newest release of torch, or its prebuilt package, which has CUDA "
    "and cuDNN inside (options(repos) as in the guide). Afterward cuda_is_available() is TRUE.",
)


_OF_MANAGERS = (  # what a package manager's own message shows, whatever was asked for
    (
        ("uv-everything", "uv-first-index", "uv-registry"),
        "Packages other than PyTorch's are looked up only in PyTorch's index",
        only_for_torch,
    ),
    (
        ("conda-glibc",),
        "conda's channels have no packages that fit together, and it blames glibc, which is new enough",
        _OTHER_SOLVER,
    ),
    (("placeholder",), "On PyPI, that release is an empty placeholder: its builds are on conda channels", _rapids),
    (("r-torch", "r-lantern"), "torch for R has no build for the CUDA that it found", _FOR_R),
)


@check(
    _NO_INDEX,
    layer=Layer.FRAMEWORK_BUILD,
    rank=44,
    any_of=("pythons", "messages"),
    fix="Use an index that exists: its CUDA version does not need to match nvcc, only the driver.",
    references=threads("visualbruno/ComfyUI-Trellis2#131"),
)
def package_index_wrong(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The package index that an install command names exists and contains builds.

    PyTorch's indexes are named after the few CUDA releases it is built for. An index that does not exist returns
    nothing, and pip says that there is no matching version.
    """
    asked = seen(environment, _INDEX_ID)
    wrong = [message for message in asked if _not_there(message.values.get("tag"), matrix)]
    if wrong:
        tag = wrong[0].values["tag"]
        yield _NO_INDEX.found(
            message_evidence(environment, wrong),
            title=f"There is no {tag} package index",
            remedy=nearest_index(environment, matrix, tag),
        )
        return
    if unbuilt := _never_built(environment, matrix):
        yield unbuilt
        return
    for variants, title, given in _OF_MANAGERS:
        if told := seen(environment, _INDEX_ID, *variants):
            remedy = given if isinstance(given, Remedy) else given(environment, matrix)
            yield _NO_INDEX.found(message_evidence(environment, told), title=title, remedy=remedy)
            return
    if beside := seen(environment, _INDEX_ID, "cpu-index-beside"):
        yield _NO_INDEX.found(
            message_evidence(environment, beside),
            title="pip took torch from PyPI, whose builds are for CUDA, and not from the index for the CPU",
            impact="The package and its CUDA libraries take gigabytes that a CPU does not need; it runs there all the "
            "same.",
            remedy=_only_cpu_index(environment, beside[0]),
        )
        return
    if elsewhere := [message for message in asked if message.values.get("spec")]:
        spec = elsewhere[0].values["spec"]
        if python := _python_without(environment, matrix, spec):
            words = f"no index has torch{spec} for Python {python}"
            yield skip(words, evidence=message_evidence(environment, elsewhere))
            return
        yield _NO_INDEX.found(
            message_evidence(environment, elsewhere),
            title=f"Only PyTorch's own index has {elsewhere[0].values['package']}{spec}, and it was not searched",
        )
        return
    cuda = [item for item in installs(environment) if item.framework.cuda is not None]
    if cuda:
        yield ok("a CUDA build is installed", evidence=[cuda[0].evidence("cuda", cuda[0].framework.cuda)])
    elif asked:
        yield skip("the index exists", evidence=message_evidence(environment, asked))


def _of_tag(digits: str) -> Version | None:
    """The CUDA that the number of an index names: 118 is 11.8."""
    return Version.find(f"{digits[:-1]}.{digits[-1:]}")


def _not_there(tag: str | None, matrix: Matrix) -> bool:
    """Whether no build of PyTorch is for the CUDA that an index is named after."""
    digits = (tag or "").removeprefix("cu")
    cuda = _of_tag(digits) if digits.isdigit() else None
    return cuda is not None and all(
        build.cuda is None or build.cuda.release(2) != cuda for build in matrix.builds("pytorch")
    )


@check(
    _NO_VIRTUAL_PACKAGE,
    layer=Layer.FRAMEWORK_BUILD,
    rank=43,
    any_of=("pythons", "messages"),
    fix="Set CONDA_OVERRIDE_CUDA to the CUDA of the machine that the environment will run on.",
    references=threads("conda-forge/pytorch-cpu-feedstock#364", "prefix-dev/pixi#1288"),
)
def conda_sees_no_gpu(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Where conda's solver should choose a CUDA build, the virtual package __cuda is present.

    conda derives it from the driver it finds. On a login node, in an image build, or where libcuda is hidden, it finds
    none, and builds that need __cuda cannot be selected. pixi reads it from its manifest instead.
    """
    for item in installs(environment):
        by_conda = {own.name for own in item.python.distributions if own.installer == "conda"}
        if item.framework.cuda is not None and not by_conda.isdisjoint((item.framework.package.partition("==")[0],)):
            yield ok("conda chose a build for CUDA", evidence=[item.evidence("cuda", item.framework.cuda)])
