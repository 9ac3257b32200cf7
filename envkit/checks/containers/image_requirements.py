"""What an image asks of the host's driver: the expression in NVIDIA_REQUIRE_CUDA."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.checks.engine.command import IMAGE, run
from envkit.checks.engine.evidence import known, unseen
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, ok, skip, unknown
from envkit.checks.engine.managers import managed_by
from envkit.checks.engine.messages import message_evidence, named, only_shown, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.frameworks.installs import capable_gpus
from envkit.checks.frameworks.variables import variables
from envkit.checks.gpu.gpus import all_work, seen_gpus
from envkit.checks.nvidia_driver.driver_state import installed
from envkit.checks.nvidia_driver.newer_driver import newer_driver
from envkit.model import Environment
from envkit.tables.known_images import image_name

if TYPE_CHECKING:
    from envkit.tables import Matrix

_CLAUSE = regex(r"(cuda|driver|arch|brand)\s*(!=|<=|>=|<|>|=)\s*([^,\s]+)")


_ASKED = regex(r"cuda\s{0,2}>=\s{0,2}(?P<cuda>\d{1,2}\.\d)")


def _host_driver(environment: Environment, matrix: Matrix) -> Remedy:
    """The first alternative of the image's demand names its CUDA, in the message or in the variable."""
    said = [message.text for message in seen(environment, "image-needs-newer-driver")]
    asked = variables(environment).get("NVIDIA_REQUIRE_CUDA", "")
    match = next((match for text in (*said, asked) for match in _ASKED.finditer(text)), None)
    cuda = Version.find(match["cuda"]) if match else None
    messages = seen(environment, "image-needs-newer-driver")
    if seen(environment, "image-needs-newer-driver", "detail-jetson"):
        return _for_board(environment)
    cuda = cuda or Version.find(named(messages, "image") or "")
    own = environment.driver.driver_cuda_version.value or Version.find(named(messages, "driver") or "")
    older = _older_image(environment, matrix, own)
    kept = (
        f"To keep the host's driver, use {older}, which was built for CUDA {own.release(2) if own else 'an older one'}."
        if older
        else "To keep the host's driver, use an image tag for "
        + (f"CUDA {own.release(2)} or older." if own else "an older CUDA.")
    )
    if own is not None and cuda is not None and own.release(2) >= cuda.release(2):
        kept = (
            f"To keep the host's driver: it supports CUDA {own.release(2)}, which is enough, but the container toolkit "
            "reads a lower number from it. Turn that check off by adding -e NVIDIA_DISABLE_REQUIRE=1 to docker run."
        )
    if seen(environment, "image-needs-newer-driver", "detail-rented") or managed_by(environment, "rented-pod"):
        wanted = f"CUDA {cuda} or newer" if cuda else "the CUDA that the message names"
        return Remedy(
            f"You cannot change a rented host's driver: rent only hosts with {wanted}. On RunPod, use the endpoint's "
            f"or pod's CUDA version filter (allowedCudaVersions in hub.json): list that version and every newer one. "
            f"{kept} Where a tool starts the pods, name the image there (SkyPilot: image_id: docker:IMAGE below "
            "resources), which every host can start."
        )
    given = newer_driver(environment, matrix, cuda, kept)
    if not older or given.steps:
        return given
    return Remedy(given.advice, (run("docker", "pull", IMAGE(older)),))


def _for_board(environment: Environment) -> Remedy:
    """An image for a Jetson, whose driver is part of JetPack: that of a server cannot be installed on it."""
    release = named(seen(environment, "engine-built-elsewhere", "detail-triton"), "release")
    tag = f"nvcr.io/nvidia/tritonserver:{release}-py3-igpu" if release else ""
    return Remedy(
        "This image is for servers, and a Jetson's driver comes with JetPack: it cannot be upgraded separately, and no "
        "driver for PCs works on the board. The message reports a real limit: models that need the GPU may fail. Use "
        "the image for Jetson boards (JetPack 6 and later), whose tag ends in -igpu"
        + (", as in the command; put it in place of the image in your own command." if tag else "."),
        (run("docker", "pull", IMAGE(tag)),) if tag else (),
    )


def _older_image(environment: Environment, matrix: Matrix, own: Version | None) -> str:
    """The newest tag of the same image that the tables know to be made for the host's CUDA or an older one; or ''."""
    messages = seen(environment, "image-needs-newer-driver", "detail-tag")
    repository = f"nvcr.io/nvidia/{named(messages, 'name')}" if messages else ""
    if environment.containers.image.known:
        repository = image_name(environment.containers.image.get()).repository
    fitting = [
        row
        for row in matrix.framework_images
        if row.repository == repository
        and own is not None
        and row.cuda is not None
        and row.cuda.release(2) <= own.release(2)
    ]
    best = max(fitting, key=lambda row: (row.cuda or Version.of(0), row.tag), default=None)
    return f"{repository}:{best.tag}" if best is not None else ""


_OLD_DRIVER = Fault(
    "image-needs-newer-driver",
    "The image requires a newer driver than the host has",
    impact="The container does not start.",
    remedy=_host_driver,
)


@check(
    _OLD_DRIVER,
    layer=Layer.PLACE,
    tier="C",
    rank=16,
    any_of=("variables", "messages"),
    fix="Install a newer driver on the host, or use an older tag of the image.",
    references=threads("NVIDIA/nvidia-container-toolkit#152", "ggml-org/llama.cpp#9665"),
)
def image_needs_newer_driver(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The host's driver meets the image's NVIDIA_REQUIRE_CUDA: one alternative in it is fully met."""
    requirement = variables(environment).get("NVIDIA_REQUIRE_CUDA", "").strip()
    if messages := seen(environment, _OLD_DRIVER.id):
        condition = named(messages, "condition")
        yield _OLD_DRIVER.found(
            [*message_evidence(environment, messages), known(environment, "driver.driver_cuda_version")],
            title=f"The host's driver does not meet {condition}" if condition else "",
        )
    elif not requirement:
        yield (
            skip("no container image in use declares a driver requirement")
            if environment.variables.known
            else unknown(unseen(environment, "the environment variables"))
        )
    elif variables(environment).get("NVIDIA_DISABLE_REQUIRE", "").lower() in ("1", "true"):
        yield skip("NVIDIA_DISABLE_REQUIRE turns the image's requirement off")
    else:
        yield _requirement(environment, matrix, requirement)


def _requirement(environment: Environment, matrix: Matrix, requirement: str) -> Outcome:
    cuda, driver = environment.driver.driver_cuda_version, installed(environment)
    facts: dict[str, Version] = {}
    if cuda.known:
        facts["cuda"] = cuda.get()
    if driver is not None:
        facts["driver"] = driver
    capabilities = [value for _, value in capable_gpus(environment, matrix)]
    if capabilities:
        lowest = min(capabilities)
        facts["arch"] = Version.of(lowest.major, lowest.minor)
    brands = {brand_of(gpu.name) for gpu in seen_gpus(environment, matrix)} - {""}
    met = requirement_met(requirement, facts, brands)
    evidence = [
        Evidence("variables[NVIDIA_REQUIRE_CUDA]", requirement, environment.variables.source),
        known(environment, "driver.driver_cuda_version"),
        known(environment, "driver.kernel_module"),
    ]
    if met:
        return ok("the driver meets the image's requirement", evidence=evidence)
    if met is None:
        return unknown("cannot tell whether the driver meets the image's requirement", evidence=evidence)
    if only_shown(environment) and all_work(environment, matrix):
        return ok("the container started anyway, and its GPUs work", evidence=evidence)
    title = f"The driver does not meet the image's requirement ({requirement.split()[0]})"
    return _OLD_DRIVER.found(evidence, title=title)


def requirement_met(requirement: str, facts: Mapping[str, Version], brands: set[str]) -> bool | None:
    """Whether one alternative of an NVIDIA_REQUIRE_CUDA holds in full; None where the facts do not tell.

    `facts`: versions of cuda (that the driver reports), driver and arch, as far as they are known.
    """
    verdicts = [_alternative(text, facts, brands) for text in requirement.split()]
    return True if True in verdicts else None if None in verdicts else False


def brand_of(name: str) -> str:
    """The brand in NVIDIA_REQUIRE_CUDA that a GPU's name stands for; '' where it does not tell."""
    lowered = name.lower()
    words = {"geforce": "geforce", "titan": "titan", "quadro": "quadro", "rtx a": "quadrortx", "tesla": "tesla"}
    return next(
        (brand for word, brand in words.items() if word in lowered), "tesla" if name and "rtx" not in lowered else ""
    )


def _alternative(text: str, facts: Mapping[str, Version], brands: set[str]) -> bool | None:
    """Whether every clause of one alternative holds; None when one cannot be judged and none fails."""
    verdict: bool | None = True
    for name, operator, wanted in _CLAUSE.findall(text):
        if name == "brand":
            holds = (wanted in brands) == (operator == "=") if brands else None
        else:
            version = Version.find(wanted)
            holds = _compare(facts[name], operator, version) if name in facts and version is not None else None
        if holds is False:
            return False
        verdict = None if holds is None else verdict
    return verdict


def _compare(own: Version, operator: str, wanted: Version) -> bool:
    return {
        "=": own == wanted,
        "!=": own != wanted,
        "<": own < wanted,
        "<=": own <= wanted,
        ">": own > wanted,
        ">=": own >= wanted,
    }[operator]
