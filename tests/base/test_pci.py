"""PCI addresses have one spelling, whoever wrote them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envkit.base.pci import ADDRESS, pci_address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("00000000:65:00.0", "0000:65:00.0"),  # NVML and nvidia-smi
        ("00010000:CA:00.0", "10000:ca:00.0"),  # after a volume management device
        ("0000:0A:00.0", "0000:0a:00.0"),
        (" 65:00.0\n", "0000:65:00.0"),  # lspci
        ("0000:65:00", "0000:65:00.0"),  # an Xid message
        ("", ""),
        ("GPU-1", ""),
        ("N/A", ""),
        ("0000:65:00.8", ""),
        ("::", ""),
        ("0000:65:00.0.0", ""),
    ],
)
def test_every_spelling_becomes_that_of_sysfs(text: str, address: str) -> None:
    assert pci_address(text) == address


@given(st.text(alphabet="0123456789abcdefABCDEF:. x", max_size=20))
def test_an_address_is_its_own_spelling(text: str) -> None:
    address = pci_address(text)
    assert pci_address(address) == address
    assert not address or re.fullmatch(ADDRESS, address)
