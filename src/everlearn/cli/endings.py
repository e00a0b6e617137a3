"""How a command ends when something is wrong: one line on standard error, and an exit code."""

from __future__ import annotations

import sys
import traceback
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

import typer

from everlearn.blame import own_frames
from everlearn.errors import EverlearnError, UserCodeError

REFUSED, FAILED, INTERRUPTED, BROKEN_PIPE = 2, 1, 130, 141
"""Exit codes: the user can fix it; a bug in everlearn; Ctrl-C; the reader of a pipe went away."""

USAGE: Any = typer.BadParameter.__mro__[2]
"""The base class of the errors that typer raises for a wrong command line; typer does not export it."""


def end(app: typer.Typer) -> NoReturn:
    """Run the command that the user typed, and exit with its code."""
    try:
        sys.exit(app(prog_name="everlearn", standalone_mode=False))
    except EverlearnError as error:
        _refuse(f"{error}\n{error.frames if isinstance(error, UserCodeError) else _frames(error)}".rstrip("\n"))
    except USAGE as error:
        _refuse(_explain_usage(error))
    except BrokenPipeError:
        sys.exit(BROKEN_PIPE)
    except MemoryError as error:
        _refuse(f"memory: {str(error) or 'there is not enough'}; give fewer runs or a smaller task")
    except OSError as error:
        _refuse(f"{error.filename or 'system'}: {error.strerror or error}")
    except Exception:
        typer.echo(traceback.format_exc(), err=True, nl=False)
        typer.echo("everlearn: this is a bug in everlearn; please report it with the lines above", err=True)
        sys.exit(FAILED)


def _frames(error: EverlearnError) -> str:
    """Return the frames of an error that are in the user's own files, such as an imported module."""
    files = [frame for frame in own_frames(error.__traceback__) if Path(frame.filename).is_file()]
    return "".join(["Traceback (most recent call last):\n", *traceback.format_list(files)]) if files else ""


def _refuse(text: str) -> NoReturn:
    typer.echo(f"everlearn: {text}", err=True)
    sys.exit(REFUSED)


def _explain_usage(error: Any) -> str:
    """Return one line that says what is wrong with a command line."""
    kind, context = type(error).__name__, error.ctx
    remedy = f"see {'everlearn' if context is None else context.command_path} --help"
    if kind == "NoArgsIsHelpError":  # typer has printed the help
        sys.exit(REFUSED)
    if kind == "NoSuchOption":
        options = [] if context is None else context.command.params
        known = [name for option in options for name in (*option.opts, *option.secondary_opts)]
        near = get_close_matches(error.option_name, known, n=1, cutoff=0.5)
        return f"{error.option_name}: no such option; {f'did you mean {near[0]}?' if near else remedy}"
    if kind == "MissingParameter":
        return f"{_name(error.param)}: is missing; {remedy}"
    if kind == "BadOptionUsage":
        return f"{error.option_name}: {'takes no value' if 'not take' in error.message else 'give a value after it'}"
    if kind == "BadParameter" and error.param is not None:
        return f"{_name(error.param)}: {error.message}"
    if "unexpected extra argument" in error.message and _takes_agent(context):
        remedy = f"an agent is an option, as in {context.command_path} TASK --agent AGENT"
    message = error.format_message().rstrip(".")
    return f"{message[:1].lower()}{message[1:]}; {remedy}"


def _takes_agent(context: Any) -> bool:
    return context is not None and any("--agent" in option.opts for option in context.command.params)


def _name(param: Any) -> str:
    return str(param.opts[0] if param.param_type_name == "option" else param.metavar or param.name.upper())
