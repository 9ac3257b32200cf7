"""Container engines and images of the wrong release: engines without CDI, images of another L4T."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.checks.engine.command import IMAGE, fixed, run
from envkit.checks.engine.evidence import kind, known
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Outcome, Remedy, Status, ok, skip
from envkit.checks.engine.messages import complained, message_evidence, named, said, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import remedy
from envkit.model import Environment, MachineKind
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix


def _without_cdi(environment: Environment, matrix: Matrix) -> Remedy:
    """The way that the old engine has; a new one is for its distribution to provide."""
    if seen(environment, "engine-without-cdi", "stat"):
        return remedy(
            environment,
            f"Podman supports CDI as of {limit('podman-with-cdi')}. Until your system has that release, let NVIDIA's "
            "hook mount the driver into the container: run podman as root and without --device.",
            "podman-hook",
        )
    return Remedy(
        "Docker supports CDI as of release 25; through release 27, only with the cdi feature enabled in daemon.json. "
        "NVIDIA's runtime does not need it: start the container with --gpus.",
        (fixed("docker run --rm --gpus all IMAGE nvidia-smi"),),
    )


_NO_CDI = Fault(
    "engine-without-cdi",
    "The container engine does not support CDI device names",
    impact="It treats nvidia.com/gpu=all as a path, which does not exist.",
    remedy=_without_cdi,
)


_IMAGE = regex(r"\bdustynv/(?P<name>[a-z0-9][\w-]{1,60}):[\w.-]{0,40}?r3\d\.\d")
_OF_OTHER = "jetson-container-of-other-release"
_OF_NVIDIA = "nvcr.io/nvidia/l4t-pytorch"
_SHOW = "import torch; print(torch.__version__, torch.cuda.is_available())"
_TAGGED = (32, 35, 36)  # releases of L4T whose images are found by one tag


def _of_the_board(environment: Environment, matrix: Matrix) -> Remedy:
    board = environment.system.l4t_release.value
    image = _IMAGE.search(said(environment, "jetson-container-of-other-release"))
    if image and board is not None and (own := _not_newer(environment, image["name"], board)):
        return own
    by_nvidia = _OF_NVIDIA in said(environment, _OF_OTHER)
    if by_nvidia and board is not None and (given := _image_of_nvidia(matrix, board)):
        return given
    if image and board is not None and board.major in _TAGGED:
        tag = f"dustynv/{image['name']}:r{limit(f'jetson-images-of-{board.major}')}"
        return Remedy(
            f"Use the image of the same name for L4T {board.major}; images also run on other releases with the same "
            f"major version. If {tag} does not exist, https://hub.docker.com/r/dustynv/{image['name']}/tags lists "
            f"those with r{board.major} in their tags. The script that chose the wrong image does not check the "
            "board's release: specify the image yourself, or update the script.",
            (run("docker", "run", "--runtime", "nvidia", "-it", "--rm", "--network", "host", IMAGE(tag)),),
        )
    return remedy(
        environment,
        "Use an image whose tag names the board's L4T release (or one that NVIDIA calls compatible with it). These "
        "commands find the board's release and choose a PyTorch image for it.",
        "jetson-container",
        framework="pytorch",
    )


def _image_of_nvidia(matrix: Matrix, board: Version) -> Remedy | None:
    """NVIDIA's own image for the board's release, the newest that is not newer than the board."""
    tags = [row.tag for row in matrix.framework_images if row.repository == _OF_NVIDIA]
    known = [(version, tag) for tag in tags if (version := Version.find(tag)) is not None]
    fitting = [(version, tag) for version, tag in known if version.major == board.major and version <= board]
    if fitting:
        image = f"{_OF_NVIDIA}:{max(fitting)[1]}"
        return Remedy(
            f"Use the image for the board's own release: {image} is the newest for L4T {board.major} that is not newer "
            "than the board. Put it in your own command in place of the image that fails.",
            (run("docker", "run", "--rm", "--runtime", "nvidia", IMAGE(image), "python3", "-c", _SHOW),),
        )
    if board.major not in {version.major for version, _ in known}:
        return None
    return Remedy(
        f"No l4t-pytorch image for L4T {board} is known, and an image for a newer release does not start on it. Bring "
        "the board to the release of the image, or to a newer one of the same series (SDK Manager, or a new SD card "
        "image: flashing deletes everything on the board, so save your data first), and use the image whose tag has "
        "the new release. The command shows the board's release.",
        (fixed("cat /etc/nv_tegra_release"),),
    )


def _not_newer(environment: Environment, name: str, board: Version) -> Remedy | None:
    """For an image of the board's own major release that is newer than the board: one that is not."""
    tags = [message.values["tag"] for message in seen(environment, _OF_OTHER, "detail-tag")]
    known = [(version, tag) for tag in tags if (version := Version.find(tag)) is not None]
    newer = any(version.major == board.major and version > board for version, _ in known)
    if not newer:
        return None
    fitting = [pair for pair in known if pair[0].major == board.major and pair[0] <= board]
    tag = max(fitting)[1] if fitting else f"r{board.release(3)}"
    image = f"dustynv/{name}:{tag}"
    return Remedy(
        f"The image is newer than the board's L4T {board}, whose libraries it gets from the board. Start the one "
        f"that is not newer, here with the tag {tag}"
        f"{' (the text names it)' if fitting else ''}; https://hub.docker.com/r/dustynv/{name}/tags lists the others. "
        "Or bring the board to the release of the image by an update of JetPack (sudo apt-get dist-upgrade after the "
        "version in /etc/apt/sources.list.d/nvidia-l4t-apt-source.list is raised), which changes the whole system.",
        (run("docker", "run", "--runtime", "nvidia", "-it", "--rm", "--network", "host", IMAGE(image)),),
    )


_OTHER_TENSORRT = Remedy(
    "The image was made for a different TensorRT release than the board has: up to L4T 32, images take the library "
    "from the host. Look for a tag or a branch of the project for your JetPack release; or change the image's FROM "
    "line to an image for your L4T release and rebuild it, including the engines. Otherwise, flash the JetPack release "
    "that the project specifies. A symlink from one version number to the other does not help. The commands print the "
    "board's L4T and TensorRT releases.",
    (fixed("cat /etc/nv_tegra_release"), fixed("dpkg -l libnvinfer*")),
)


def _no_such_tag(environment: Environment, wanted: str) -> Remedy:
    """Another tag of the same image: of the last L4T releases 32, one serves all."""
    message = next(iter(seen(environment, _OTHER_L4T.id, "manifest")))
    image, tag = message.values["image_name"], message.values["tag"]
    last = limit("l4t-32-of-images")
    if wanted.startswith(f"{last.release(2)}."):
        other = tag.replace(f"r{wanted}", f"r{last}")
        return Remedy(
            f"The image for L4T {last} runs on {wanted}, because both have the same CUDA: use that tag. Newer releases "
            "of the project's scripts choose it automatically (git pull), and docker/run.sh takes it with --container.",
            (run("docker", "pull", IMAGE(f"{image}:{other}")),),
        )
    return Remedy(
        f"Choose a tag that exists, such as the nearest lower one of the same L4T series; the registry page of {image} "
        "lists them. If a script derives the tag from the board's release, a newer version of it may know more tags "
        "(git pull). If there is none for your board, build the image from the project's own Dockerfile."
    )


_BOARDS = {"older-board": "L4T 32 (JetPack 4)", "older-board-xavier": "L4T 35 (JetPack 5)"}  # where a board ends


def _for_older_board(ends: str) -> Remedy:
    """No newer JetPack exists for the board: the image has to be of an older one."""
    return Remedy(
        f"The last release for this board is {ends}: no newer one can be flashed, and images for newer releases never "
        "find its GPU, whatever options docker run has (--runtime nvidia is right). Use the project's image or "
        "Dockerfile for the board's own release, which the first command prints: its tag or name contains r32 or jp4 "
        "for JetPack 4, and r35 or jp5 for JetPack 5. If the newest version of the project has none, use the last "
        "version that did. Or run it on a newer board.",
        (fixed("cat /etc/nv_tegra_release"),),
    )


_OTHER_L4T = Fault(
    "jetson-container-of-other-release",
    "The container's image was made for a different L4T release than this Jetson runs",
    impact="The CUDA libraries that the image bundles, or expects from the host, do not match the board's.",
    remedy=_of_the_board,
)


@check(
    _NO_CDI,
    layer=Layer.PLACE,
    rank=31,
    any_of=("containers.podman", "containers.docker", "messages"),
    fix="Update the engine, or use NVIDIA's runtime instead of CDI.",
    references=threads("NVIDIA/libnvidia-container#287", "NVIDIA/nvidia-container-toolkit#63"),
)
def engine_without_cdi(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """A container engine that is asked for CDI devices supports them.

    Podman supports CDI as of 4.1 and Docker as of 25. Older engines look for a file with the device's name.
    """
    podman = environment.containers.podman
    if reported := _NO_CDI.reported(environment):
        yield reported
    elif podman.known and podman.get() >= limit("podman-with-cdi"):
        yield ok("this release of Podman supports CDI", evidence=[known(environment, "containers.podman")])
    elif podman.known:
        yield skip(
            "this release of Podman does not support CDI, and nothing shows that CDI is used",
            evidence=[known(environment, "containers.podman")],
        )


@check(
    _OTHER_L4T,
    weighs_messages=True,
    layer=Layer.PLACE,
    rank=12,
    any_of=("system.l4t_release", "messages"),
    fix="Use an image of the board's L4T release, or one that NVIDIA calls compatible with it.",
    references=threads("dusty-nv/jetson-containers#164"),
)
def jetson_container_of_other_release(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """A Jetson runs container images made for its own L4T release.

    Up to L4T 32, an image takes CUDA from the host. Later images include CUDA, for the driver of their own release.
    """
    messages = seen(environment, _OTHER_L4T.id)
    image, host = Version.find(named(messages, "image") or ""), environment.system.l4t_release
    if of_host := seen(environment, _OTHER_L4T.id, "library", "needs-file", "other-tensorrt", "told-r32"):
        other = seen(environment, _OTHER_L4T.id, "other-tensorrt")
        yield _OTHER_L4T.found(message_evidence(environment, of_host), remedy=_OTHER_TENSORRT if other else None)
        return
    if foreign := seen(environment, _OTHER_L4T.id, "exec-format"):
        yield _OTHER_L4T.found(
            message_evidence(environment, foreign),
            title="The container's image was made for another processor than this Jetson's (aarch64)",
            impact="No program in it can start.",
        )
        return
    if absent := seen(environment, _OTHER_L4T.id, "manifest"):
        wanted = named(absent, "wanted") or ""
        yield _OTHER_L4T.found(
            message_evidence(environment, absent),
            title=f"There is no such image for L4T {wanted}",
            impact="Docker cannot pull it: images are built for only some L4T releases.",
            remedy=_no_such_tag(environment, wanted),
        )
        return
    for name, ends in _BOARDS.items():
        if older := seen(environment, _OTHER_L4T.id, name):
            title = f"The image was made for a newer JetPack than this board supports, whose last release is {ends}"
            yield _OTHER_L4T.found(message_evidence(environment, older), title=title, remedy=_for_older_board(ends))
            return
    if not host.known or kind(environment) is not MachineKind.JETSON or image is None:
        return
    evidence = [*message_evidence(environment, messages), known(environment, "system.l4t_release")]
    if _same_release(image, host.get()) and not seen(environment, _OTHER_L4T.id, "infer-dla"):
        yield ok(f"the image was made for L4T {image}, and the board runs {host.get()}", evidence=evidence)
    else:
        failed = seen(environment, _OTHER_L4T.id, "needs") or _stopped(environment)
        yield _OTHER_L4T.found(
            evidence,
            title=f"The image was built for L4T {image}, but the board runs {host.get()}",
            status=Status.FAIL if failed else Status.WARN,
        )


def _same_release(image: Version, board: Version) -> bool:
    """Whether the board has the CUDA that the image was made for: within L4T 32, where images mount it, it changed."""
    changed = limit("l4t-32-of-newer-cuda")
    if image.major != board.major or board.major != changed.major:
        return image.major == board.major
    return (image < changed) == (board < changed)


def _stopped(environment: Environment) -> bool:
    """Whether something failed, such as a library that was not found: that is what the mismatch leads to."""
    return complained(environment) or any(
        seen(environment, id, without="told-wants-driver")
        for id in ("libcudart-missing", "cudnn-missing", "driver-too-old-for-runtime")
    )
