"""NVIDIA's package repository as apt, dnf and image builds reach it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.checks.engine.command import URL, fixed, run
from envkit.checks.engine.evidence import known
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Outcome, Remedy, ok, skip
from envkit.checks.engine.messages import named, said, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import steps
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix

_FOLDER = regex(
    r"(?P<url>https://developer\.download\.nvidia\.(?:com|cn)"
    r"/compute/cuda/repos/(?:ubuntu|debian)\d{1,4}/(?:x86_64|sbsa))"
)
_ID = "repository-key-replaced"
_REPOSITORIES = "https://developer.download.nvidia.com/compute/cuda/repos/"
_OLDEST = f"{_REPOSITORIES}ubuntu1604/x86_64"
_OLD_ID = "NO_PUBKEY F60F4B3D7FA2AF80"
_OF_NVIDIA = regex(r"nvidia|cuda|cudnn|nccl")


_OF_RPM = Remedy(
    "NVIDIA replaced the key of its RPM repositories in April 2022. Remove the old one from RPM's list (the command "
    "answers that it is not installed where it never was), then install again and accept the new key, D42D0685, which "
    "the repository's own file names. If that file is older, add the repository again from NVIDIA's page.",
    (fixed("sudo rpm --erase gpg-pubkey-7fa2af80-576db785"), fixed("sudo dnf clean expire-cache")),
)
_OF_ZYPPER = Remedy(
    "NVIDIA replaced the key of its RPM repositories in April 2022. Refresh the repositories, and accept the key only "
    "if zypper says that it is NVIDIA's D42D0685. If zypper still refuses, remove the repository and add it again.",
    (fixed("sudo rpm --erase gpg-pubkey-7fa2af80-576db785"), fixed("sudo zypper refresh")),
)


def _new_key(environment: Environment, matrix: Matrix) -> Remedy:
    if seen(environment, _ID, "zypper"):
        return _OF_ZYPPER
    if seen(environment, _ID, "rpm-keys", "rpm-missing"):
        return _OF_RPM
    folder = _FOLDER.search(said(environment, _ID))
    told = named(seen(environment, _ID, "detail-folder"), "folder")
    url = folder["url"] if folder is not None else f"{_REPOSITORIES}{told}" if told else ""
    if _OLD_ID in said(environment, _ID):
        return _old_key(environment, url)
    if url and seen(environment, _ID, "detail-image", "detail-image-step"):
        return _in_dockerfile(url)
    keyring = steps(environment, "keyring", url=url) if url else ()
    where = "" if keyring else " for this system from NVIDIA's repository"
    return Remedy(
        "Remove the old key and any duplicate lines for NVIDIA's repository, which the second command lists, then "
        f"install cuda-keyring{where}, which contains the new key. In an image from 2022 or earlier, do this before "
        "the first apt-get update, or use a newer tag.",
        (
            fixed("sudo apt-key del 7fa2af80"),
            fixed("grep -rn developer.download.nvidia /etc/apt/sources.list /etc/apt/sources.list.d"),
            *keyring,
        ),
    )


def _old_key(environment: Environment, url: str) -> Remedy:
    """For a repository that is still signed with the key of before 2022, which this system lacks."""
    key = f"{url or _OLDEST}/7fa2af80.pub"
    if seen(environment, _ID, "detail-image", "detail-image-step"):
        return Remedy(
            "This repository is signed with NVIDIA's old key, 7FA2AF80, which the base image lacks. First build again "
            "with --pull, since the base may have been published again with the key. If that does not help, add this "
            f"line to the Dockerfile, right before the first apt-get update: RUN apt-key adv --fetch-keys {key}",
            (fixed("docker build --pull ."),),
        )
    return Remedy(
        "This repository is signed with NVIDIA's old key, 7FA2AF80, which this system lacks: add that key. NVIDIA's "
        "newer repositories have another one, so remove the repository instead if nothing needs it.",
        (run("sudo", "apt-key", "adv", "--fetch-keys", URL(key)), fixed("sudo apt-get update")),
    )


def _in_dockerfile(url: str) -> Remedy:
    """The lines for a Dockerfile: its base image has no sudo, and often no program that downloads."""
    return Remedy(
        "The base image has NVIDIA's old key; the clock and the GPU do not matter. Write three lines into the "
        "Dockerfile, right after FROM (as root) and before the first apt-get update: "
        "RUN rm -f /etc/apt/sources.list.d/cuda*.list /etc/apt/sources.list.d/nvidia-ml*.list; "
        f"ADD {url}/cuda-keyring_1.1-1_all.deb /tmp/cuda-keyring.deb; "
        "RUN dpkg -i /tmp/cuda-keyring.deb (without the semicolons). Or use a tag that was built after April 2022. "
        "If a tool writes the Dockerfile (rocker, for example), update the tool: pip install -U rocker. "
        "Then build the image again.",
        (fixed("docker build --no-cache ."),),
    )


_KEY = Fault(
    "repository-key-replaced",
    "The package manager does not have the signing key of NVIDIA's repository",
    impact="NVIDIA packages cannot be installed or updated.",
    remedy=_new_key,
)


@check(
    _KEY,
    layer=Layer.USER_SPACE_DRIVER,
    rank=60,
    any_of=("packages", "messages"),
    fix="Install cuda-keyring, and list the repository only once.",
    references=threads("NVIDIA/nvidia-docker#1631", "NVIDIA/nvidia-docker#1636"),
)
def repository_key_replaced(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The system has the key that NVIDIA signs its repository with, and lists the repository only once.

    NVIDIA replaced the key in April 2022.
    """
    if reported := _KEY.reported(environment):
        yield reported
    elif any(_OF_NVIDIA.search(package.name) for package in environment.packages.value or ()):
        yield ok("apt reports no missing signing key", evidence=[known(environment, "packages")])
    elif environment.packages.known:
        yield skip("no package from NVIDIA is installed")
