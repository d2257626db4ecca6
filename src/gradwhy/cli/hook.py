"""``gradwhy hook``: lets ``GRADWHY=1 python train.py`` watch a program, by a file of one line beside the installed packages."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import click

from gradwhy.catalog import render
from gradwhy.findings import Message

FILE = "gradwhy.pth"
# Python runs a line of a .pth file that begins with ``import`` at each start (Lib/site.py, ``addpackage``). This one does nothing
# unless the variable is set, and nothing where gradwhy was uninstalled since.
LINE = (
    'import os; os.environ.get("GRADWHY", "0") not in ("", "0") and __import__("importlib.util").util.find_spec("gradwhy") '
    'and __import__("gradwhy.integrations.environment")\n'
)


@click.command("hook", short_help="Let GRADWHY=1 python ... watch a program, or no longer.")
@click.argument("action", type=click.Choice(["install", "remove", "status"]))
@click.option("--lang", type=click.Choice(["en", "zh"]), help="Language; default from the locale.")
def command(action: str, lang: str | None) -> int:
    """Write a file of one line beside this Python's packages, so that `GRADWHY=1 python train.py` watches the program and reports
    as `gradwhy run` does. Without the variable it does nothing. `remove` takes the file away, `status` says whether it is there.
    """
    language = render.language_of(lang)
    file = Path(sysconfig.get_path("purelib"), FILE)
    key = "hook-installed"
    try:
        if action == "install":
            file.write_text(LINE, "utf-8")
        elif action == "remove":
            file.unlink(missing_ok=True)
    except OSError as error:
        said = Message("words.not-written", {"reason": f"{file}: {error.strerror or error}"})
        click.echo(f"gradwhy: {render.sentence(said, language)}", err=True)
        return 2
    if not file.exists():
        key = "hook-missing"
    click.echo(f"gradwhy: {render.sentence(Message(f'words.{key}', {'file': str(file)}), language)}")
    return 0
