"""What the program leaves unread at its start is there for whoever needs it; how it ends is its exit code."""

from __future__ import annotations

import signal
import subprocess
import sys
import sysconfig

import pytest

# a shell that started the tests in the background has them ignore it
_HEARD = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
LOAD = "import sys\nfrom envkit._startup.deferred import import_click\nimport_click()\n"


def python(source: str) -> str:
    """What a new interpreter prints for the source."""
    return subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True).stdout


def test_click_leaves_the_parser_of_python_unread() -> None:
    assert (
        python(
            LOAD + "import click\nprint(sorted({'ast', 'dis', 'tokenize', 'platform', 'locale'} & set(sys.modules)))"
        )
        == "[]\n"
    )


def test_a_deferred_module_is_read_when_something_of_it_is_used() -> None:
    asked = (
        "import inspect\nprint(inspect.signature(lambda a, b=1: 0), inspect.isfunction(print), 'ast' in sys.modules)"
    )
    assert python(LOAD + asked) == "(a, b=1) False True\n"
    assert python(LOAD + "from gettext import gettext, ngettext\nprint(gettext('a'), ngettext('a', 'b', 2))") == "a b\n"
    assert (
        python(LOAD + "import gettext\nprint(gettext.find('no-such-catalog'), 'locale' in sys.modules)")
        == "None True\n"
    )
    assert python(LOAD + "from inspect import cleandoc, Parameter\nprint(Parameter.empty.__name__)") == "_empty\n"


@pytest.mark.parametrize("text", ["", "  one line", "\tone\tline ", "two\n   lines\n", "  a\n    b\n  c"])
def test_help_texts_are_tidied_as_python_does(text: str) -> None:
    import inspect

    assert python(LOAD + f"import inspect\nprint(repr(inspect.cleandoc({text!r})))") == f"{inspect.cleandoc(text)!r}\n"


@pytest.mark.parametrize(
    "path", ["a.py", "/b/c.pyc", "d.txt", "", "e.f.py", sysconfig.get_config_var("EXT_SUFFIX"), "g"]
)
def test_modules_are_named_as_python_does(path: str) -> None:
    import inspect

    asked = f"import inspect\nprint(repr(inspect.getmodulename({path!r})), 'ast' in sys.modules)"
    assert python(LOAD + asked) == f"{inspect.getmodulename(path)!r} False\n"


def test_identifiers_are_the_real_ones_after_click_is_imported() -> None:
    asked = "import uuid\nprint(isinstance(uuid.uuid4(), uuid.UUID), uuid.UUID(int=1).int)"
    assert python(LOAD + asked) == "True 1\n"
    assert python("import uuid, inspect\n" + LOAD + asked) == "True 1\n"


def test_dataclasses_work_with_the_deferred_module() -> None:
    source = "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int\nprint(A(1), A.__doc__)"
    assert python(LOAD + source) == "A(x=1) A(x: int)\n"


@pytest.mark.parametrize("words", [["--help"], ["resolve", "--framework", "pytorch", "--target", "any"]])
def test_a_full_disk_is_reported_in_one_line(words: list[str]) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-c", "from envkit.__main__ import main; main()", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "envkit: cannot write the output: No space left on device.\n"


def test_ctrl_c_while_the_program_loads_leaves_no_traceback() -> None:
    source = (
        _HEARD + "import os, signal\n"
        "from envkit import __main__\n"
        "from envkit._startup import deferred\n"
        "deferred.import_click = lambda: os.kill(os.getpid(), signal.SIGINT)\n"
        "__main__.run()"
    )
    done = subprocess.run([sys.executable, "-c", source, "doctor"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (-signal.SIGINT, "")


def test_ctrl_c_afterward_is_reported_in_one_line() -> None:
    source = (
        _HEARD + "import os, signal, sys\n"
        "from envkit import __main__\n"
        "from envkit.cli import main\n"
        "main.envkit.main = lambda **given: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.exit(__main__.run())"
    )
    done = subprocess.run([sys.executable, "-c", source, "doctor"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (130, "envkit: interrupted.\n")
