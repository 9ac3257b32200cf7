"""What each text of the facts says about people and machines: a type declares it where the fact is declared.

`envkit.privacy` masks by these kinds. A test walks every record and refuses a text without one, so that a new fact
cannot be forgotten. Secrets have no kind: they are taken out of every fact before anything else sees it.
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated, TypeAlias


class Privacy(str, Enum):
    """How a text is masked in what is given to others."""

    PLAIN = "plain"  # a version, a number, a word of a tool or of a product: says nothing of who or where
    NAME = "name"  # a package, account or runtime: stays where all of its words are public
    PATH = "path"  # parts that are not public words get pseudonyms
    URL = "url"  # public hosts stay, and public words of the path; login and query go
    INTERFACE = "interface"  # a network device: `eth0` stays
    IDENTIFIER = "identifier"  # a UUID or a serial number
    REQUIREMENT = "requirement"  # a package's name, then what it asks for
    VARIABLE = "variable"  # by the name that is its key
    QUOTED = "quoted"  # a part of a message: a version stays, all else is free text
    TEXT = "text"  # a line of a log, words of a tool: patterns find what identifies
    HIDDEN = "hidden"  # helps to mask, and is written nowhere


Plain: TypeAlias = Annotated[str, Privacy.PLAIN]
Name: TypeAlias = Annotated[str, Privacy.NAME]
FilePath: TypeAlias = Annotated[str, Privacy.PATH]
Url: TypeAlias = Annotated[str, Privacy.URL]
Interface: TypeAlias = Annotated[str, Privacy.INTERFACE]
Identifier: TypeAlias = Annotated[str, Privacy.IDENTIFIER]
Requirement: TypeAlias = Annotated[str, Privacy.REQUIREMENT]
VariableValue: TypeAlias = Annotated[str, Privacy.VARIABLE]
Quoted: TypeAlias = Annotated[str, Privacy.QUOTED]
FreeText: TypeAlias = Annotated[str, Privacy.TEXT]
FreeData: TypeAlias = Annotated[object, Privacy.TEXT]  # JSON of any shape
Hidden: TypeAlias = Annotated[str, Privacy.HIDDEN]
