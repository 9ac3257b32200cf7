"""Image names, as they follow FROM."""

from __future__ import annotations

import pytest

from envkit.tables.known_images import ImageName, image_name


@pytest.mark.parametrize(
    ("image", "repository", "tag", "wanted"),
    [
        ("ubuntu", "ubuntu", "", "latest"),
        ("docker.io/library/ubuntu:24.04", "ubuntu", "24.04", "24.04"),
        ("registry-1.docker.io/nvidia/cuda:12.4.1-base-ubuntu22.04", "nvidia/cuda", *["12.4.1-base-ubuntu22.04"] * 2),
        ("nvidia/cuda@sha256:00ff", "nvidia/cuda", "", ""),
        ("registry.lan:5000/nvidia/cuda:11.8.0", "registry.lan:5000/nvidia/cuda", "11.8.0", "11.8.0"),
        ("localhost:5000/me", "localhost:5000/me", "", "latest"),
    ],
)
def test_the_parts_of_a_name(image: str, repository: str, tag: str, wanted: str) -> None:
    name = image_name(image)
    assert name == ImageName(repository, tag, "@" in image)
    assert name.wanted_tag == wanted
