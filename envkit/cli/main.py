"""The `envkit` command group: a command's module is imported only when that command runs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from envkit import __version__

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# name -> (module, one line of help shown without importing it)
COMMANDS: dict[str, str] = {
    "doctor": "Diagnose this machine and suggest fixes.",
    "probe": "Print the collected facts without diagnosing.",
    "capture": "Record a masked snapshot of this machine for replay or bug reports.",
    "resolve": "Find compatible versions, or explain why there are none.",
    "install": "Print (or run) an unattended install script.",
    "installed": "List what envkit's install scripts installed, and what depends on it.",
    "use": "Point /usr/local/cuda and login shells at a different CUDA toolkit.",
    "uninstall": "Remove what install scripts installed.",
    "dockerfile": "Print (or build) a Dockerfile.",
    "check": "Check whether a project file works on this machine.",
    "matrix": "Browse the compatibility data and its sources.",
    "diff": "Show what changed between two captures, and the likely culprit.",
    "recommend": "Rank graphics cards for a workload, or check a PC build.",
    "bench": "Measure speed, and compare it with hardware limits and published figures.",
    "explain": "Explain one check in full.",
    "fleet": "Diagnose many hosts in one report.",
    "completion": "Print a shell completion script.",
}

FIRST_STEPS = """\
envkit finds out what is wrong with a GPU deep-learning environment,
and sets up one that works.

  envkit doctor                                   what is wrong here?
  envkit resolve --framework pytorch              which versions work together?
  envkit install --cuda 9.0 --framework pytorch   script for this machine
  envkit dockerfile --framework tensorflow        Dockerfile

All commands: envkit --help"""

EXAMPLES = """\b
Examples:
  envkit doctor
  pip list | envkit doctor --from -
  envkit install --cuda 9.0 --framework pytorch -o install.sh
  envkit dockerfile --framework tensorflow > Dockerfile"""


class WithOthers(click.Command):
    """A command that is called by its name alone, or with the name of another one as its first word."""

    others: tuple[str, ...] = ()  # the names

    def other(self, name: str) -> click.Command:
        """The command of one of these names, imported now."""
        raise NotImplementedError

    def meant(self, words: list[str]) -> tuple[click.Command, list[str]]:
        """The command that these words are for, and what is left of them."""
        return (self.other(words[0]), words[1:]) if words[:1] and words[0] in self.others else (self, words)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """The context of the command that is meant."""
        command, words = self.meant(args)
        if command is self:
            return super().make_context(info_name, args, parent, **extra)
        return command.make_context(f"{info_name} {args[0]}", words, parent, **extra)


class LazyGroup(click.Group):
    """A group that knows its commands by name and loads one when it is called.

    `known` holds a line of help for each; `modules` is what the names of their modules begin with.
    """

    def __init__(self, *given: Any, known: dict[str, str], modules: str, **more: Any) -> None:
        super().__init__(*given, **more)
        self.known = known
        self._modules = modules

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The words of the command line; `help [COMMAND]` and `version` are other spellings of the options."""
        if args[:1] == ["help"]:
            args = [*args[1:], "--help"]
        elif args == ["version"] and ctx.parent is None:
            args = ["--version"]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The command names in the order of the reference."""
        return list(self.known)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported now, or None."""
        if cmd_name not in self.known:
            return None
        command = getattr(import_module(f"{self._modules}{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that was meant; a mistyped one is answered with the nearest names."""
        if args and args[0] not in self.known and not args[0].startswith("-"):
            from envkit.base.errors import did_you_mean

            raise click.UsageError(f"no such command {args[0]!r}. {did_you_mean(args[0], self.known)}".rstrip(), ctx)
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None and not ctx.resilient_parsing:
            meant, words = command.meant(rest) if isinstance(command, WithOthers) else (command, rest)
            if not isinstance(meant, click.Group):  # its commands are resolved by itself
                _refuse_repeated(meant, click.Context(meant, ctx, name, **meant.context_settings), words)
        return name, command, rest

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Command names with their help for a shell, without importing any command."""
        from click.shell_completion import CompletionItem

        names = [name for name in self.known if name.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [CompletionItem(name, help=self.known[name]) for name in names] + options

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The command list, written without importing any of them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.known.items()))


def _refuse_repeated(command: click.Command, ctx: click.Context, words: list[str]) -> None:
    """Raises UsageError for an option that takes one value and is given twice: the last would win unsaid."""
    with ctx.scope(cleanup=False):
        _, _, order = command.make_parser(ctx).parse_args(list(words))
    for place, param in enumerate(order):
        single = isinstance(param, click.Option) and not (param.multiple or param.is_flag or param.count)
        if single and param in order[:place]:
            raise click.UsageError(f"{param.opts[-1]} was given more than once. Use it once.", ctx)


@click.group(
    cls=LazyGroup,
    known=COMMANDS,
    modules="envkit.cli.",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    epilog=EXAMPLES,
)
@click.version_option(__version__, prog_name="envkit", message="%(prog)s %(version)s")
@click.pass_context
def envkit(ctx: click.Context) -> None:
    """Provision and diagnose GPU deep-learning environments."""
    if ctx.invoked_subcommand is None:
        click.echo(FIRST_STEPS)
