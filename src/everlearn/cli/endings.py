"""How a command ends when something is wrong: one line on standard error, and an exit code."""

from __future__ import annotations

import sys
import traceback
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from everlearn.blame import own_frames
from everlearn.errors import EverlearnError, UnknownName, UserCodeError

REFUSED, FAILED, INTERRUPTED, BROKEN_PIPE = 2, 1, 130, 141
"""Exit codes: of what a user can mend, of a bug of ours, of Ctrl-C, and of a reader that went away."""

USAGE: Any = typer.BadParameter.__mro__[2]
"""What typer raises of a wrong command line; it exports this class alone of that family."""


class Commands(TyperGroup):
    """The commands; Ctrl-C is one line, whichever of them it ends."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            typer.echo("everlearn: interrupted", err=True)
            raise typer.Exit(INTERRUPTED) from None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that is named."""
        if not ctx.resilient_parsing and not args[0].startswith("-") and args[0] not in self.commands:
            raise UnknownName("command", args[0], self.commands)
        return super().resolve_command(ctx, args)


def end(app: typer.Typer) -> NoReturn:
    """Run the command that the user typed, and exit with its code."""
    try:
        sys.exit(app(prog_name="everlearn", standalone_mode=False))
    except EverlearnError as error:
        _refuse(f"{error}\n{error.frames if isinstance(error, UserCodeError) else _frames(error)}".rstrip("\n"))
    except USAGE as error:
        _refuse(_usage(error))
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
    """Return the lines of the user's own through which an error was raised, such as those of an imported module."""
    files = [frame for frame in own_frames(error.__traceback__) if Path(frame.filename).is_file()]
    return "".join(["Traceback (most recent call last):\n", *traceback.format_list(files)]) if files else ""


def _refuse(text: str) -> NoReturn:
    typer.echo(f"everlearn: {text}", err=True)
    sys.exit(REFUSED)


def _usage(error: Any) -> str:
    """Return what is wrong with a command line, in a line."""
    kind, context = type(error).__name__, error.ctx
    remedy = f"see {'everlearn' if context is None else context.command_path} --help"
    if kind == "NoArgsIsHelpError":  # typer has printed the help
        sys.exit(REFUSED)
    if kind == "NoSuchOption":
        known = [] if context is None else [name for one in context.command.params for name in one.opts]
        near = get_close_matches(error.option_name, known, n=1, cutoff=0.5)
        return f"{error.option_name}: no such option; {f'did you mean {near[0]}?' if near else remedy}"
    if kind == "MissingParameter":
        return f"{_parameter(error.param)}: is missing; {remedy}"
    if kind == "BadOptionUsage":
        return f"{error.option_name}: {'takes no value' if 'not take' in error.message else 'give a value after it'}"
    if kind == "BadParameter" and error.param is not None:
        return f"{_parameter(error.param)}: {error.message}"
    message = error.format_message().rstrip(".")
    return f"{message[:1].lower()}{message[1:]}; {remedy}"


def _parameter(param: Any) -> str:
    return str(param.opts[0] if param.param_type_name == "option" else param.metavar or param.name.upper())
