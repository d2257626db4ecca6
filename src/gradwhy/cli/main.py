"""The command ``gradwhy``: finds its subcommands by walking this folder and imports one only when it is called.

Modules that begin with "_" are no commands.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable
from pathlib import Path

import click

from gradwhy.version import VERSION

_NOT_COMMANDS = frozenset({"main"})


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        found = pkgutil.iter_modules([str(Path(__file__).parent)])
        return sorted(
            module.name for module in found if module.name not in _NOT_COMMANDS and not module.name.startswith("_")
        )

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.list_commands(ctx):
            return None
        command: click.Command = importlib.import_module(f"gradwhy.cli.{name}").command
        return command


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="gradwhy", message="%(prog)s %(version)s")
def cli() -> None:
    """Why has my gradient gone? Names the line that cut a PyTorch autograd graph, the reason, and a fix."""


def main() -> None:
    """Run the command line. A command may return a function: it is called last, outside click, and ends the process."""
    try:
        ending: Callable[[], None] | int | None = cli.main(prog_name="gradwhy", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(130)
    if callable(ending):
        ending()
    elif ending:
        sys.exit(ending)
