"""The command ``everlearn``: its commands, and the module in which each is found."""

from __future__ import annotations

import io
import sys
import warnings
from typing import Annotated

import typer

from everlearn._version import __version__
from everlearn.cli.endings import end
from everlearn.cli.groups import lazy_group

COMMANDS = {
    "lists": ("tasks", "agents", "schedules"),
    "run": ("run",),
    "theory": ("theory",),
    "tune": ("tune",),
    "leaderboard": ("leaderboard",),
    "serve": ("serve",),
    "remote": ("move",),
    "play": ("play",),
    "paper": ("reproduce", "claims"),
    "regret": ("diagnose", "rates"),
    "evaluate": ("evaluate",),
    "shadow": ("shadow",),
    "control": ("mode", "promotion"),
    "replay": ("replay",),
    "live": ("accept", "backup", "check", "journal", "policy", "warm"),
}
"""The modules of this package and their commands. A command is a function of its name."""

EXPERIMENT_COMMANDS = {
    "experiment": ("run", "extend", "merge", "status"),
    "experiment_results": ("table", "compare", "plot", "export"),
}
"""The same for ``everlearn experiment``."""

app = typer.Typer(
    name="everlearn",
    cls=lazy_group(COMMANDS),
    help="Reinforcement learning on one endless stream of experience.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
experiment = typer.Typer(
    cls=lazy_group(EXPERIMENT_COMMANDS),
    help="Compare agents on tasks: describe an experiment once, run it, extend it, and get tables and figures.",
    no_args_is_help=True,
)
app.add_typer(experiment, name="experiment")


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
) -> None:
    """Reinforcement learning on one endless stream of experience."""
    if version:
        typer.echo(__version__)
        raise typer.Exit


def main() -> None:
    """Run a command. An error that the user can fix is one line on standard error, with exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a character is no reason to fail
    warnings.showwarning = _show_warning  # type: ignore[assignment]  # it ignores where the warning was raised
    end(app)


def _show_warning(message: Warning | str, *_where: object) -> None:
    typer.echo(f"everlearn: warning: {message}", err=True)
