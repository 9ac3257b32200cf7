"""The help that is written ahead is the help that the command line would print."""

from __future__ import annotations

import click

from envkit._startup.help_text import HELP
from envkit.cli.main import envkit
from tests.cli.run import envkit as run


def test_written_help_equals_the_real_one() -> None:
    context = click.Context(envkit, info_name="envkit", terminal_width=80, **envkit.context_settings)
    assert envkit.get_help(context) + "\n" == HELP


def test_both_spellings_print_it() -> None:
    assert run("--help").stdout == run("-h").stdout == HELP
