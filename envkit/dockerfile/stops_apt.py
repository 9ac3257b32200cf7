"""Where a build stops because apt has no package lists: none were fetched, or they were removed again."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, stop
from envkit.dockerfile.ground import APT, Ground, arguments
from envkit.dockerfile.shell import ShellCommand, called
from envkit.tables.codes import limit

_REMOVED = regex(r"/var/lib/apt(?:/lists)?(?:/\*?)?")
# Programs that certainly fetch no lists; whatever else runs, such as a script, may.
_HARMLESS = regex(
    r"apt-mark|rm|echo|mkdir|ln|cd|cp|mv|chmod|chown|export|set|touch|cat|sed|tar|pip[\d.]*|useradd|adduser|groupadd"
    r"|locale-gen|ldconfig|update-alternatives"
)
# What the images themselves may have: apt then has nothing to look for.
_MAY_BE_THERE = regex(
    r"-.*|[^$*./=`]*[$*./=`].*|lib(?!egl|eigen|gl|sm|sndfile|opencv|boost|x(?:ext|render|11)).*|cuda.*|nvidia.*|nv.*|apt.*"
    r"|gnupg.*|gpg.*|ca-certificates|dpkg(?!-dev).*|perl.*|bash|dash|coreutils|tar|gzip|bzip2|xz-utils|sed|grep"
    r"|findutils|diffutils|mawk|mount|login|passwd|adduser|procps|hostname|util-linux|ncurses.*|tzdata|debconf|.*keyring"
    r"|zlib1g.*|e2fsprogs|lsb-base|init.*|openssl|netbase|gcc-\d+-base|python"
)
_COMPILERS = regex(r"build-essential|gcc.*|g\+\+.*|cpp.*|make|patch|binutils.*|dpkg-dev|linux.*")
# More of what older images have.
_IN_OLD_IMAGES = regex(
    r"python[\d.]*(?:-minimal)?|sudo|iproute2|iputils-ping|net-tools|less|udev|systemd.*|curl|wget|vim.*"
)
# What images of Python's own project do not have, although they have compilers and much of what is built with them.
_NOT_WITH_PYTHON = regex(
    r"apt-transport-https|build-essential|cmake|cron|ffmpeg|gnupg-agent|jq|libgl1(?:-mesa-glx)?|nano|nginx|ninja-build"
    r"|poppler-utils|portaudio19-dev|rsync|software-properties-common|sudo|supervisor|tesseract-ocr|vim"
)


def lists_missing(ground: Ground) -> Iterator[Finding]:
    """The first installation that certainly finds no lists."""
    if "--mount" in ground.tells or (ground.base.system is not None and ground.base.system.package_manager != "apt"):
        return
    of_project = ground.lean or (ground.of_python and ground.has_apt)
    certain = ground.first and of_project and ground.base.system is not None  # that there are none
    updated = False
    for command in ground.commands:
        asked = arguments(command, APT, ("install",))
        if asked is None:
            certain = _without_lists(command, certain=certain)
            updated = updated or arguments(command, APT, ("update",)) is not None
        elif certain and _stops(command, ground):
            yield stop(
                faults.APT_LISTS_MISSING,
                "the package lists were removed after apt-get update"
                if updated
                else "apt-get install runs without apt-get update",
                command_subject(command),
                impact="The build stops with: E: Unable to locate package.",
            )
            return


def _without_lists(command: ShellCommand, *, certain: bool) -> bool:
    """Whether there are certainly no lists after a command, from whether there were none before."""
    words = called(command)
    name = words[0].rpartition("/")[2] if words else "export"  # assignments alone
    if name == "rm" and any(_REMOVED.fullmatch(word) for word in words):
        return certain or not command.conditional
    if name in APT:
        return certain and any(verb in words for verb in ("clean", "autoclean", "autoremove", "remove", "purge"))
    return certain and _HARMLESS.fullmatch(name) is not None


def _stops(command: ShellCommand, ground: Ground) -> bool:
    words = command.words
    asked = arguments(command, APT, ("install",)) or ()
    if command.conditional or not command.decisive or not {"--update", "-U"}.isdisjoint(words):
        return False
    return any(not _may_be_there(word, ground) for word in asked) and "<" not in words and ">" not in words


def _may_be_there(package: str, ground: Ground) -> bool:
    """True for a package that the image may have before anything is installed."""
    base = ground.base
    if not ground.lean:
        return _NOT_WITH_PYTHON.fullmatch(package) is None
    lean = base.row is None or base.row.flavor != "devel"
    glibc = base.system.glibc if base.system is not None else None
    old = glibc is None or glibc < limit("glibc-of-lean-images")
    if _COMPILERS.fullmatch(package):
        return old or not lean
    return _MAY_BE_THERE.fullmatch(package) is not None or (old and _IN_OLD_IMAGES.fullmatch(package) is not None)
