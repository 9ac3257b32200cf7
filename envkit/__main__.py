"""The program's entry: `envkit` and `python -m envkit`."""

from __future__ import annotations


def main() -> None:
    """Run the command line and exit with its code."""
    from envkit.cli.boundary import run

    run()


if __name__ == "__main__":
    main()
