"""PCI addresses: the one pattern and the one spelling of what sysfs, drivers, tools and logs write differently."""

from __future__ import annotations

from envkit._startup.regex import regex

_DEVICE = r"(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}"
ADDRESS = rf"{_DEVICE}\.[0-7]"  # for patterns of lines that hold an address
_ADDRESS = regex(rf"{_DEVICE}(?:\.[0-7])?")


def pci_address(text: str) -> str:
    """The address as sysfs writes it, `0000:65:00.0`; '' where `text` is none.

    NVML writes the domain with eight digits, lspci often leaves it out, messages of the driver leave out the function.
    """
    address = text.strip().lower()
    if not _ADDRESS.fullmatch(address):
        return ""
    *domain, bus, rest = address.split(":")
    device, _, function = rest.partition(".")
    return f"{int(domain[0], 16) if domain else 0:04x}:{bus}:{device}.{function or '0'}"
