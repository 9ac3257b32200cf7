"""Masks values by the kind that their field declares; what a kind leaves to patterns is searched as free text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from envkit._startup.records import replace
from envkit._startup.regex import regex
from envkit.model import Environment, Identity
from envkit.model.privacy import Privacy
from envkit.model.variables import KINDS
from envkit.privacy.free_text import UUID, FreeText
from envkit.privacy.places import Places
from envkit.privacy.pseudonyms import Pseudonyms
from envkit.privacy.secrets import without_secrets
from envkit.privacy.walk import with_texts
from envkit.privacy.words import is_public

T = TypeVar("T")
_VERSION = regex(r"v?\d+(?:\.\d+)+(?:[.+-]?[a-z][a-z0-9]{0,7}|[.+-]\d[a-z0-9]{0,7}){0,3}")
_SHORTEST_SERIAL = 6
_HOME = regex(r"/(?:home|Users)/([A-Za-z_][\w.-]{1,31})(?=[/:\s]|$)")
_NAME = regex(r"([^=<>!~;@\[( ]*)(.*)", 16)


class Masker:
    """One set of pseudonyms for one output; the names of this machine and its users are `host` and `user`."""

    def __init__(self, identity: Identity | None = None) -> None:
        identity = identity or Identity()
        pseudonyms = Pseudonyms()
        for kind, names in (("user", identity.users), ("host", identity.hosts)):
            for name in names:
                pseudonyms.of(kind, name)
        self._of = pseudonyms.of
        places = Places(pseudonyms, identity)
        self._shown = FreeText(pseudonyms, places).text
        self._by_kind: Mapping[Privacy, Callable[[str], str]] = {
            Privacy.PLAIN: str,
            Privacy.NAME: partial(self._named, places.name),
            Privacy.PATH: places.path,
            Privacy.URL: places.url,
            Privacy.INTERFACE: places.setting,
            Privacy.IDENTIFIER: self._identifier,
            Privacy.REQUIREMENT: partial(self._named, places.name),
            Privacy.QUOTED: lambda text: text if _VERSION.fullmatch(text) else self.text(text),
            Privacy.TEXT: self.text,
            Privacy.HIDDEN: lambda text: "",
        }

    def text(self, text: str) -> str:
        """Free text with everything secret and identifying replaced."""
        return self._shown(without_secrets(text))

    def data(self, value: object) -> object:
        """JSON of any shape with every text in it masked, keys included."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(str(key)): self.data(item) for key, item in value.items()}
        return [self.data(item) for item in value] if isinstance(value, (list, tuple)) else value

    def value(self, value: T) -> T:
        """A record with every text in it masked by its kind."""
        return with_texts(value, self.of_kind)

    def of_kind(self, kind: Privacy, key: str, text: str) -> str:
        """A text of this kind, which stands under `key` in a mapping."""
        if kind is Privacy.VARIABLE:
            kind = KINDS.get(key, Privacy.TEXT)
        return self._by_kind[kind](without_secrets(text))

    def _named(self, mask: Callable[[str], str], text: str) -> str:
        """A name and what follows it: a version, what a requirement asks for, an address to take it from."""
        match = _NAME.fullmatch(text)
        name, rest = match.groups() if match else ("", text)
        return mask(name) + (self.text(rest) if "@" in rest else rest) if name else self.text(rest)

    def _identifier(self, text: str) -> str:
        is_serial = not UUID.search(text) and len(text) >= _SHORTEST_SERIAL and any(map(str.isdigit, text))
        return self._of("serial", text) if is_serial else self.text(text)


def mask_environment(environment: Environment) -> Environment:
    """The environment with everything secret and identifying replaced."""
    own = environment.identity
    known = Identity(tuple(dict.fromkeys((*own.users, *_home_owners(environment)))), own.hosts)
    masker = Masker(known)
    masked = replace(masker.value(environment), identity=Identity())
    return replace(masked, origin=masker.text(environment.origin)) if environment.pasted else masked


def _home_owners(environment: Environment) -> dict[str, None]:
    """Whose homes the facts name: facts that were saved do not tell whose machine it is."""
    owners: dict[str, None] = {}

    def look(kind: Privacy, key: str, text: str) -> str:
        if "/home/" in text or "/Users/" in text:
            owners.update(dict.fromkeys(name for name in _HOME.findall(text) if not is_public(name)))
        return text

    with_texts(environment, look)
    return owners
