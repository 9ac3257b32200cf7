"""Which distribution release files describe; told from their texts alone, which may be a stranger's."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.model import OsRelease
from envkit.probe.text import assignments

OS_RELEASE = ("/etc/os-release", "/usr/lib/os-release")
DEBIAN_VERSION = "/etc/debian_version"
OTHERS = "/etc/*-release"
_OTHER_FILE = regex(r"(?!(?:os|lsb|oem|system|board|nv_tegra)[-_])(\w{1,40})[-_]release")
_FULL_VERSION = {"ubuntu"}  # their releases are told apart by the second number too
_KEYS = {
    "rocky": "rockylinux",
    "amazon": "amzn",
    "amzn": "amzn",
    "oracle": "oraclelinux",
    "ol": "oraclelinux",
    "opensuse-leap": "opensuse",
    "sled": "sles",
    "azurelinux": "azl",
    "mariner": "cm",
}
_NAMED_AFTER = {"redhat": "rhel"}  # RHEL 6 has no os-release
_NAME = regex(r"[a-z0-9][a-z0-9._+-]{0,40}")
_VERSION_WORD = regex(r"\d[\d.+a-z-]*")


def described(files: Mapping[str, str]) -> OsRelease | None:
    """The release that these files (path → text) describe, None where they name no distribution.

    os-release names it. Of CentOS, Debian and others another file holds the version to the last number.
    """
    fields = next((assignments(files[path]) for path in OS_RELEASE if path in files), {})
    name, words = _other(files)
    fields = {"ID": name, "PRETTY_NAME": words} | {key: value for key, value in fields.items() if value}
    debian = files.get(DEBIAN_VERSION, "").partition("\n")[0].strip()
    return named(fields, _version(words), debian if "debian" in (fields["ID"], *_like(fields)) else "")


def named(fields: Mapping[str, str], *versions: str) -> OsRelease | None:
    """The release that the fields of os-release name, with the most precise of their and other `versions`."""
    name, pretty = fields.get("ID", "").lower().replace(" ", "_"), fields.get("PRETTY_NAME", "")
    if not _NAME.fullmatch(name):
        return None
    version = _most_precise([fields.get("VERSION_ID", ""), _version(pretty), *versions])
    return release(name, version, pretty, _like(fields))


def _like(fields: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(fields.get("ID_LIKE", "").split())


def release(name: str, version: str, pretty: str = "", like: tuple[str, ...] = ()) -> OsRelease:
    """The release with the key of the OS table."""
    return OsRelease(os_id(name, version), name, version, pretty, like)


def os_id(name: str, version: str) -> str:
    """The key of the OS table: `ubuntu22.04`, `rockylinux9`, `debian12`."""
    key = _KEYS.get(name, name)
    number = Version.find(version)
    if number is None:
        return key
    return f"{key}{'.'.join(version.split('.')[:2])}" if key in _FULL_VERSION else f"{key}{number.major}"


def _other(files: Mapping[str, str]) -> tuple[str, str]:
    """The distribution that a file such as /etc/centos-release is named after, and the words of its first line."""
    for path in sorted(files):
        match = _OTHER_FILE.fullmatch(posixpath.basename(path))
        words = files[path].strip().partition("\n")[0].strip()
        if match and words:
            return _NAMED_AFTER.get(match.group(1), match.group(1)), words
    return "", ""


def _version(words: str) -> str:
    """The version at the end of words such as `CentOS Linux release 7.9.2009 (Core)`."""
    plain = words.rpartition("(")[0] if words.endswith(")") else words
    last = plain.strip().removesuffix(" LTS").rpartition(" ")[2]
    return last if _VERSION_WORD.fullmatch(last) else ""


def _most_precise(versions: list[str]) -> str:
    """The version with the most numbers, the first of several: 7.9.2009 rather than 7."""
    return max(versions, key=lambda version: (bool(version), version.count(".")))
