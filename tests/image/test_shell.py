"""What a RUN executes, split into commands: bash itself says what each gets; lines; and time that grows no faster."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from envkit.dockerfile.shell import commands
from envkit.dockerfile.shell_words import Text, lines_from
from tests.processor_time import least_seconds

BASH = shutil.which("bash")
GIVEN = {"GIVEN": "g1 g2", "ONE": "1", "EMPTY": ""}
SCRIPTS = [
    "pip a 'b c' \"d e\" f\\ g h'i'\"j\"",
    "pip 'torch>=2,<3' \"numpy[x]==1.*\" # not this",
    "pip a#b \"# c\" '#'; # pip no\npip d",
    "pip a && pip b; pip c || pip no\npip d &\nwait",
    'pip $GIVEN "$GIVEN" x${ONE}y ${ONE:-no} ${NONE:-yes} ${NONE-yes too} ${ONE:+plus} $EMPTY "$EMPTY" z$GIVEN/z',
    "PIP='pip -m pip' && $PIP install torch==2.1 && $PIP \"install\" numpy",
    'V=2.1 W="$ONE$ONE"; export X=$GIVEN Y=y; pip torch==$V $W $X "$X" ${Y}',
    "V=a; V+=b; pip $V",
    "for p in torch numpy 'a b'; do pip $p; done",
    'for p in torch numpy; do\n  pip "$p"\ndone',
    "if true; then pip a; else pip no; fi; pip b",
    "! pip a; { pip b; pip c; }; (pip d; pip e)",
    "while pip a; do pip b; break; done",
    "case $ONE in 2) pip no;; 1) pip yes;; esac",
    "cat <<END >/dev/null\npip no\nEND\npip a",
    "cat <<-'END' >/dev/null && pip a\n\tpip no\n\tEND\npip b",
    "cat <<A <<'B' >/dev/null\npip no\nA\npip no\nB\npip a",
    "pip a >/dev/null 2>&1\npip b 2>/dev/null\npip c &>/dev/null\npip d <<<word",
    'pip "a \\"b\\" \\$ONE \\n c" \'d\\e\' \\$ONE',
    "pip a \\\n  b \\\n  c\\\nd",
    'pip "a\\\nb"',
    "pip --index-url=https://example.com/simple?a=b\\&c=d x",
    "time pip a",
    "pip a;pip b&&pip c|cat",  # of two in a pipeline, which run at once, either may print first
    "cat x|pip d",
    '[ -n "$ONE" ] && pip a || pip no',
    'readonly Z=1; declare Q=$GIVEN; pip $Z "$Q"',
]


def told(script: str) -> list[str]:
    """The words that we say `pip` gets, those of one command after those of another."""
    found = [command.words for command in commands(lines_from(1, script), GIVEN)]
    return [
        word
        for words in found
        if words[0] == "pip"
        for word in words[1:]
        if not word.startswith((">", "2>", "&>", "<"))
    ]


@pytest.mark.skipif(BASH is None, reason="needs bash")
@pytest.mark.parametrize("script", SCRIPTS)
def test_bash_hands_over_the_same_words(script: str) -> None:
    """`pip` is a function that prints its arguments; without a PATH nothing else is found."""
    prelude = "pip() { for word; do printf '%s\\0' \"$word\"; done >&9; }; cat() { :; }\n"
    whole = f"exec 9>&1; {prelude}{script}\n"
    done = subprocess.run(
        [str(BASH), "--norc", "-c", whole], env={**GIVEN, "PATH": ""}, capture_output=True, text=True, check=False
    )
    ours = [word for word in told(script) if word != "no"]
    assert ours == done.stdout.split("\0")[:-1], done.stderr


@pytest.mark.parametrize(
    ("script", "certain", "in_some_cases"),
    [
        ("if x; then pip a; fi; pip b", ["b"], ["a"]),
        ("if x; then V=1; else V=2; fi; pip $V", ["$V"], []),
        ("x || pip a && pip b", ["b"], ["a"]),
        ("[ -e x ] && pip a; pip b", ["b"], ["a"]),
        ("[ -e x ] && echo && pip a || pip b", [], ["a", "b"]),
        ("apt-get update && pip a && pip b", ["a", "b"], []),
        ("case x in a) pip a;; esac; pip b", ["b"], ["a"]),
        ("if a; then if b; then pip a; fi; pip b; fi; pip c", ["c"], ["a", "b"]),
        ("if x; then sh -c 'pip a; pip b'; fi", [], ["a", "b"]),
    ],
)
def test_what_runs_in_some_cases_only(script: str, certain: list[str], in_some_cases: list[str]) -> None:
    found = [command for command in commands(lines_from(1, script), {}) if command.words[0] == "pip"]
    assert [command.words[1] for command in found if not command.conditional] == certain
    assert [command.words[1] for command in found if command.conditional] == in_some_cases


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("sh -c 'pip a'", [["pip", "a"]]),
        ('/bin/bash -euxo pipefail -lc "pip $ONE && pip b"', [["pip", "1"], ["pip", "b"]]),
        ("bash <<END\npip $ONE\nEND\npip b", [["pip", "1"], ["pip", "b"]]),
        ("bash <<END && pip b\npip a\nEND", [["bash"], ["pip", "b"]]),  # its body belongs to bash, which comes first
        ("python3 <<END\npip a\nEND", [["python3"]]),
        ('["pip", "install", "$ONE"]', [["pip", "install", "$ONE"]]),
        ('["sh", "-c", "pip $ONE"]', [["pip", "1"]]),
        ("[" * 5_000, [["[" * 5_000]]),
        ('["pip", "install"', [["[pip,", "install"]]),  # no array: the shell gets it
        ("V=$(date); pip $V `date` $(date +'%Y')", [["V=$(date)"], ["pip", "$V", "`date`", "$(date +'%Y')"]]),
        ("pip a${B}c ${D#x} $((1<<4))", [["pip", "a${B}c", "${D#x}", "$((1<<4))"]]),
        ("pip 'a && pip b", [["pip", "'a"], ["pip", "b"]]),  # what is never closed stands for itself
        ('pip "a && pip b', [["pip", '"a'], ["pip", "b"]]),
        ("", []),
        ("# nothing", []),
    ],
)
def test_scripts_inside_scripts_and_what_is_not_known(script: str, words: list[list[str]]) -> None:
    assert [list(command.words) for command in commands(lines_from(1, script), GIVEN)] == words


def test_a_script_that_is_nothing_but_a_heredoc_is_run() -> None:
    opened = Text("<<END", ((0, 3),))
    body = lines_from(4, "pip a\npip b \\\n  c")
    found = commands(opened, {}, [body])
    assert [[f"{word} {word.line}" for word in command.words] for command in found] == [
        ["pip 4", "a 4"],
        ["pip 5", "b 5", "c 6"],
    ]
    assert commands(opened, {}, [lines_from(4, "#!/usr/bin/env python3\nimport pip")]) == ()
    assert len(commands(opened, {}, [lines_from(4, "#!/bin/bash\npip a")])) == 1


# What each of them opens is never closed, or is next to another of its kind: the worst that a reader can meet.
GROWING = [
    "$(",
    '"',
    "'",
    "`",
    "${a:-",
    "<<a ",
    "<<a\n",
    "if ",
    '"$(',
    "\\",
    "A=$A ",
    "a$A",
    '""',
    'sh -c "',
    '("',
    "$A ",
]
GROWING += [
    "x;",
    "a ",
    "a\n",
    "&",
    "(",
    "||",
    "for a in b; do ",
    "A=${A}${A};",
    "#",
    "['",
    '["a",',
    "case a in ",
    "2>&1 ",
]


@pytest.mark.parametrize("piece", GROWING)
def test_time_grows_with_the_length_alone(piece: str) -> None:
    small, large = seconds(piece, 500), seconds(piece, 4_000)
    assert large < max(36 * small, 0.2), f"{small:.3f} s, and {large:.3f} s for eight times as much"  # squared: 64


@pytest.mark.thorough
@pytest.mark.parametrize("piece", GROWING)
def test_time_grows_with_the_length_alone_for_long_scripts(piece: str) -> None:
    small, large = seconds(piece, 4_000), seconds(piece, 64_000)
    assert large < max(100 * small, 0.5), f"{small:.3f} s, and {large:.3f} s for sixteen times as much"  # squared: 256


def seconds(piece: str, times: int) -> float:
    """The processor time, the better of two runs."""
    script = lines_from(1, piece * times)
    return least_seconds(lambda: commands(script, GIVEN), 0, tries=2)
