"""Where a build stops at a word that its shell or program does not know: a misspelled program, a substitution of bash,
a requirement that pip cannot read, a list for apt."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, stop, subject_of
from envkit.dockerfile.ground import Ground, Step, arguments
from envkit.dockerfile.reader import Instruction
from envkit.dockerfile.shell import called
from envkit.dockerfile.shell_words import Word, exec_form
from envkit.dockerfile.stops_dash import sh_is_dash

# Names of the field that a slip of the pen away from no other program has.
_WELL_KNOWN = ("apt-get", "add-apt-repository", "update-alternatives")
_PROGRAM = regex(r"[a-z][a-z-]{3,30}")
# What bash replaces in a variable, cuts out of it, or sets in other letters; sh stops at each.
_OF_BASH = regex(
    r"(?<!\\)\$\{[A-Za-z_]\w{0,60}"
    r"(?:/[^}\n]{0,60}|\^{1,2}|,{1,2}|:\d{1,4}(?::\d{1,4})?|\[(?:@|\*|\d{1,3})\])\}"
)
_OTHER_SHELL = regex(r"/bin/sh\b(?! *-c)|dpkg-reconfigure [^\n]{0,40}dash|\bbash\b|\bzsh\b|\beval\b")
_BOUNDED = regex(r"[A-Za-z][\w.-]{0,80}(?:\[[\w, -]{0,80}\])?\s*(?P<spec>(?:===?|~=|!=|<=?|>=?)[^;@\[]{1,200})")
_VERSION = regex(
    r"v?(?:\d+!)?\d+(?:\.\d+)*(?:\.\*|(?:[-_.]?(?:a|b|c|rc|alpha|beta|pre|preview)[-_.]?\d*)?"
    r"(?:-\d+|[-_.]?(?:post|rev|r)[-_.]?\d*)?(?:[-_.]?dev[-_.]?\d*)?(?:\+[a-z0-9]+(?:[-_.][a-z0-9]+)*)?)"
)
# One sign of equality, as conda takes it.
_SINGLE = regex(r"[A-Za-z][\w.-]{0,80}(?:\[[\w, -]{0,80}\])?\s*=\s*[\d*][^=]{0,80}")
_OPERATOR = regex(r"===?|~=|!=|<=?|>=?")
_OPEN = regex(r"(?:\.{1,2}(?:/[\w./-]{0,200})?|[A-Za-z][\w.-]{0,60})\[[\w.,-]{0,100}")
_DOTS = "..."  # left from an abridged text
_LISTS = frozenset({"-r", "--requirement"})
_SETTINGS = frozenset({"-C", "--config-settings", "--config-setting", "--global-option", "--build-option"})
_BEFORE_VERB = 3  # words of python -m pip install


def misspelled(ground: Ground) -> Iterator[Finding]:
    """The first command that is one letter away from a program of the distribution, and no program itself."""
    system = ground.base.system
    if system is None or system.package_manager != "apt" or not ground.plain or "copied" in ground.tells:
        return
    for step in ground.steps:
        words = called(step.command)
        name = words[0] if words else ""
        meant = next((one for one in _WELL_KNOWN if _one_slip(name, one)), "") if _PROGRAM.fullmatch(name) else ""
        if meant and step.command.decisive and not _is_made(name, ground):
            yield stop(
                faults.WORD_UNKNOWN,
                f"{name} is not a program; {meant} was probably intended",
                command_subject(step.command),
                impact=f"The build stops with: {name}: not found.",
                fix=f"Write {meant}.",
            )
            return


def _is_made(name: str, ground: Ground) -> bool:
    """True where the stage may make a program or a function of this name."""
    texts = ground.written
    return any(sign in text for text in texts for sign in (f"/{name}", f"{name}=", f"{name}(", f"{name} ("))


def _one_slip(name: str, meant: str) -> bool:
    """True where one letter is another, missing, or too many, or two neighbors are exchanged."""
    if name == meant or abs(len(name) - len(meant)) > 1:
        return False
    at = next((at for at, (one, other) in enumerate(zip(name, meant, strict=False)) if one != other), -1)
    if at < 0:
        return True
    rest, other = name[at:], meant[at:]
    exchanged = rest[:2] == other[1::-1] and rest[2:] == other[2:]
    return rest[1:] == other[1:] or rest[1:] == other or rest == other[1:] or exchanged


def bash_alone(ground: Ground) -> Iterator[Finding]:
    """The first substitution that only bash knows in a RUN of an image whose sh is dash."""
    if not sh_is_dash(ground) or any(_OTHER_SHELL.search(text) for text in ground.texts):
        return
    for part in ground.instructions:
        found = _substituted(part) if part.keyword == "RUN" else None
        if found is not None:
            yield stop(
                faults.WORD_UNKNOWN,
                f"only bash knows {found}, and RUN uses sh",
                subject_of(found.line, found),
                impact="The build stops with: Bad substitution.",
                fix='Write SHELL ["/bin/bash", "-c"] before the RUN, or use a separate variable.',
            )
            return


def _substituted(part: Instruction) -> Word | None:
    """The first such substitution outside of single quotes, in a RUN that ends where a command fails."""
    if part.heredocs or exec_form(part.text) or not all(one.decisive for one in part.commands):
        return None
    for found in _OF_BASH.finditer(part.text):
        if part.text.count("'", 0, found.start()) % 2 == 0:
            return Word.at(part.body.line(found.start()), found[0])
    return None


def apt_list(ground: Ground) -> Iterator[Finding]:
    """The first call of apt that asks it to read a list, as only pip does."""
    for step in ground.steps:
        given = arguments(step.command, ("apt-get", "apt"), ("install",)) or ()
        word = next((one for one in given if one in _LISTS), None)
        if word is not None and step.command.decisive:
            yield stop(
                faults.TOOL_OPTION,
                f"apt has no option {word}, and cannot read lists from files",
                command_subject(step.command),
                impact="The build stops: the command line option is not understood.",
                fix="Copy the list into the image, and write: xargs apt-get install -y < LIST.",
            )
            return


def requirement_unread(ground: Ground) -> Iterator[Finding]:
    """The first requirement of each pip command that is not valid: pip looks for nothing then."""
    for step in ground.steps:
        word = (_unread(step) or _invalid(step, ground)) if step.command.decisive else None
        if word is not None:
            yield stop(
                faults.WORD_UNKNOWN,
                f"pip cannot read the requirement {word}",
                subject_of(word.line, word),
                impact="The build stops: the requirement is not valid, or no release has such a version.",
                fix="Write each requirement as a separate word, such as 'numpy>=1.26,<2'.",
            )


def _invalid(step: Step, ground: Ground) -> Word | None:
    """The first line of its lists that no installer takes."""
    lines = (one for one in ground.unread if one.invalid and one.command == step.place)
    return next((Word.at(one.line, one.name) for one in lines), None)


def _unread(step: Step) -> Word | None:
    words = called(step.command)
    at = words.index(Word("install")) if "install" in words else 0
    if not any(word.rpartition("/")[2].startswith("pip") for word in words[: min(at, _BEFORE_VERB)]):
        return None
    given = [word for word, before in zip(words[at + 1 :], words[at:], strict=False) if before not in _SETTINGS]
    listed = (Word.at(one.line, one.asked) for one in step.packages if one.tool == "pip")
    plain = (word for word in given if not word.startswith(("-", ">", "<")) and ">/" not in word)
    return next((word for word in (*plain, *listed) if _is_unread(word)), None)


def _is_unread(word: str) -> bool:
    """True for three dots, one sign of equality, a bracket that a blank ends, and bounds of which one is no version."""
    if word == _DOTS or _OPEN.fullmatch(word):
        return True
    bare = word.partition(" #")[0].partition(";")[0].strip()
    if _SINGLE.fullmatch(bare):
        return True
    found = _BOUNDED.fullmatch(word.partition(" #")[0].strip())
    if found is None or {"$", "`", "*"} & set(word.replace(".*", "")) or "/" in word:
        return False
    clauses = [clause.strip() for clause in found["spec"].split(",")]
    return any(clause and not _is_bound(clause) for clause in clauses)


def _is_bound(clause: str) -> bool:
    operator = _OPERATOR.match(clause)
    if operator is None or operator[0] == "===":
        return operator is not None
    return _VERSION.fullmatch(clause[operator.end() :].strip().lower()) is not None
