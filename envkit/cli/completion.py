"""`envkit completion`: a shell completion script."""

from __future__ import annotations

import click


@click.command(
    epilog="""\b
Examples:
  envkit completion bash >> ~/.bashrc
  envkit completion zsh >> ~/.zshrc   # after: autoload -U compinit; compinit
  envkit completion fish > ~/.config/fish/completions/envkit.fish"""
)
@click.argument("shell", metavar="SHELL", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a completion script for SHELL (bash, zsh, or fish). It completes commands, options, and option values."""
    from click.shell_completion import get_completion_class

    from envkit.cli.main import envkit

    completer = get_completion_class(shell)
    assert completer is not None
    click.echo(completer(envkit, {}, "envkit", "_ENVKIT_COMPLETE").source())
