"""The fields of a package's METADATA or PKG-INFO."""

from __future__ import annotations

from collections.abc import Mapping


def metadata_fields(text: str) -> Mapping[str, list[str]]:
    """The values of each field, by its name in lower case; behind the first empty line stands the description."""
    fields: dict[str, list[str]] = {}
    for line in text.replace("\r\n", "\n").split("\n\n", 1)[0].splitlines():
        key, separator, value = line.partition(":")
        if separator and not line.startswith((" ", "\t")):
            fields.setdefault(key.lower(), []).append(value.strip())
    return fields
