"""Where apt refuses NVIDIA's repository because a Dockerfile adds the key that NVIDIA gave up."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, stop
from envkit.dockerfile.ground import APT, Ground, arguments
from envkit.dockerfile.shell import called
from envkit.tables.build_stops import ExpiredKey, GoneCommand
from envkit.tables.known_images import CUDA_REPOSITORY
from envkit.tables.loader import read

_CUDA = "developer.download.nvidia.com/compute/cuda/repos/"
_OLD = regex(r"compute/cuda/repos/[^\s/]+/[^\s/]+/7fa2af80\.pub")
_NEW = regex(r"(?i)3bf863cc|cuda-keyring|allow-?insecure|trusted=|d42d0685")
_REMOVED = regex(r"/etc/apt/sources\.list\.d/(?:cuda[\w.-]*|\*)")
_PACKAGE = regex(r"(?:\S{0,80}/)?cuda-repo-[a-z]{1,12}\d{2,6}_\d[\w.-]{0,40}\.deb")  # the repository, but no key
_UPDATES = ("update",)
_ADDS = frozenset({"echo", "printf", "add-apt-repository", "apt-add-repository", "dpkg", "tee"})


def old_key(ground: Ground) -> Iterator[Finding]:
    """The first apt-get update after NVIDIA's repository was added with the old key alone."""
    if ground.of_system(GoneCommand) or ground.base.repository == CUDA_REPOSITORY:  # whose images have the key of today
        return
    texts = ground.written
    if not any(_OLD.search(text) for text in texts) or any(_NEW.search(text) for text in texts):
        return
    known = added = False
    for command in ground.commands:
        words = called(command)
        known = known or any(_OLD.search(word) for word in words)
        added = added or (bool(words) and words[0] in _ADDS and any(_CUDA in word for word in words))
        added = added or (words[:1] == ("dpkg",) and any(_PACKAGE.fullmatch(word) for word in words))
        if any(_REMOVED.fullmatch(word) for word in words) and words[:1] == ("rm",):
            added = False
        if (
            known
            and added
            and arguments(command, APT, ("update",)) is not None
            and command.decisive
            and not command.conditional
        ):
            yield stop(
                faults.APT_KEY_ROTATED,
                "NVIDIA's repository is added with its old key: apt-get update fails",
                command_subject(command),
                impact="The build stops with: NO_PUBKEY A4B469963BF863CC.",
                fix="Install cuda-keyring from the same place, or fetch 3bf863cc.pub instead of 7fa2af80.pub.",
            )
            return


def expired_key(ground: Ground) -> Iterator[Finding]:
    """The first apt-get update in an image that has a repository whose key has expired since."""
    base = ground.base
    row = next((one for one in read(ExpiredKey) if one.holds(base.repository, base.tag)), None)
    if row is None or "key" in ground.tells:
        return
    for step in ground.steps:
        if arguments(step.command, APT, _UPDATES) is not None and step.command.decisive:
            yield stop(
                faults.APT_KEY_ROTATED,
                f"{base.image} has the repository of {row.title} with a key that has expired: apt-get update fails",
                command_subject(step.command),
                impact=f"The build stops with: EXPKEYSIG {row.key}.",
                fix=f"Before apt-get update, fetch the current key of {row.title}.",
                sources=row.sources,
            )
            return
