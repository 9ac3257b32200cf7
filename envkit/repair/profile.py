"""Variables in profile files: the lines that set one are commented out, and a new one is a line at the end."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from envkit._startup.regex import regex

PROFILES = (".bashrc", ".bash_profile", ".profile", ".zshenv", ".zprofile", ".zshrc")  # in the home folder
_MARK = "# envkit: "
_SETS = regex(r"[ \t]*(?:export[ \t]+)?([A-Z][A-Z0-9_]*)=")


def changed_profiles(profiles: Mapping[str, str], variables: Sequence[str], shell_profile: str) -> Mapping[str, str]:
    """The files by path that are other than they were, with their new text; `NAME` goes, `NAME=VALUE` comes."""
    texts = dict(profiles)
    for variable in variables:
        name, sets, value = variable.partition("=")
        for path, text in texts.items():
            texts[path] = _without(text, name)
        if sets:
            text = texts.get(shell_profile, "")
            end = "" if not text or text.endswith("\n") else "\n"
            texts[shell_profile] = f"{text}{end}export {name}={shlex.quote(value)}  {_MARK.strip()}\n"
    return {path: text for path, text in texts.items() if text != profiles.get(path, "")}


def _without(text: str, name: str) -> str:
    """The text with each line that does nothing but set the variable as a comment."""
    return "".join(_MARK + line if _only_sets(line, name) else line for line in text.splitlines(keepends=True))


def _only_sets(line: str, name: str) -> bool:
    match = _SETS.match(line)
    if match is None or match.group(1) != name:
        return False
    reader = shlex.shlex(line, posix=True, punctuation_chars=True)  # `;` and the like are words of their own
    reader.whitespace_split = True
    try:
        words = list(reader)
    except ValueError:  # a quote that another line closes, or a backslash at the end
        return False
    return words[:-1] in ([], ["export"]) and not line.rstrip().endswith("\\")
