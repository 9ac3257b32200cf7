"""Distribution releases as tools write them, in words or in release files."""

from __future__ import annotations

import re

from envkit.base.versions import Version
from envkit.model import OsRelease
from envkit.probe.release_files import release

_NAMES = (
    ("Ubuntu", "ubuntu"),
    ("Debian GNU/Linux", "debian"),
    ("Debian", "debian"),
    ("CentOS", "centos"),
    ("Rocky Linux", "rocky"),
    ("AlmaLinux", "almalinux"),
    ("Red Hat Enterprise Linux", "rhel"),
    ("Fedora", "fedora"),
    ("Amazon Linux", "amzn"),
    ("openSUSE Leap", "opensuse-leap"),
    ("SUSE Linux Enterprise", "sles"),
    ("Linux Mint", "linuxmint"),
    ("Pop!_OS", "pop"),
    ("openSUSE Tumbleweed", "opensuse-tumbleweed"),
    ("Oracle Linux", "ol"),
    ("Kylin Linux", "kylin"),
    ("CBL-Mariner", "mariner"),
    ("Microsoft Azure Linux", "azurelinux"),
    ("Alpine Linux", "alpine"),
    ("Gentoo", "gentoo"),
    ("NixOS", "nixos"),
    ("Arch Linux", "arch"),
    ("Manjaro", "manjaro"),
    ("Microsoft Windows", "windows"),
    ("Windows", "windows"),
)


def described(words: str) -> OsRelease | None:
    """The release that words such as `Ubuntu 22.04.4 LTS (x86_64)` name, None when they name none that we know."""
    for name, key in _NAMES:
        if words.lower().startswith(name.lower()):
            words = name + words[len(name) :]
            plain = re.sub(r" \([\w-]+\)$", "", words)  # the processor: x86_64 is no version
            version = Version.find(plain[len(name) :])
            number = str(version) if version else ""
            return OsRelease(key, key, number, plain) if key == "windows" else release(key, number, plain)
    return None
