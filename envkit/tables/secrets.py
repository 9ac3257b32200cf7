"""What secrets look like, as tables: how tokens begin, the words of their names, the commands that take them."""

from __future__ import annotations

from envkit._startup.records import record
from envkit.tables.loader import table


@table("secret_prefixes.csv", "prefix", letters=("word", "hex", "upper", "lines"))
@record
class SecretPrefix:
    """How tokens of one issuer begin, and of what letters at least how many follow."""

    prefix: str
    letters: str  # `lines`: base64, on this line and those below it
    least: int
    issuer: str
    sources: tuple[str, ...]


@table(
    "secret_words.csv",
    "word",
    role=("secret", "password", "short", "pass", "key", "weak", "other", "state", "qualifier"),
)
@record
class SecretWord:
    """What a word says where it is in the name of a setting, or as its value."""

    word: str
    role: str
    language: str


@table("secret_commands.csv", "command", "option", value=("word", "argument", "password", "printed"))
@record
class SecretCommand:
    """A command that takes a secret in a place without a telling name."""

    command: str
    option: str  # blank: the word that follows the command
    value: str  # `argument`: a word whatever it is; `password`: a login and its password, of which only a colon, slash
    # or percent sign tells; `printed`: what the command writes on the next line
