"""Groups of commands that are imported when they are used, so that ``everlearn --help`` answers at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

from everlearn.cli.endings import INTERRUPTED
from everlearn.errors import InputError, UnknownName

OPTIONS = {"frontier": "theory TASK --frontier", "distortion": "theory TASK --horizon TAU"}
"""What a user may look for as a command, and where it is."""


class Command(TyperCommand):
    """A command whose help shows flags without a type, because they take no value."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the arguments and options."""
        return _without_flag_types(super().get_params(ctx))


class LazyGroup(TyperGroup):
    """A group of commands, each of which is imported when it is used. Ctrl-C ends any of them with one line."""

    modules: ClassVar[Mapping[str, str]] = {}
    """The name of each command, and the module of this package that has a function of that name."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options of the group itself."""
        return _without_flag_types(super().get_params(ctx))

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - typer passes it
        """Return the names of the commands."""
        return list({**self.modules, **self.commands})

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, or None if there is none of that name."""
        if cmd_name in self.modules and cmd_name not in self.commands:
            module = import_module(f"everlearn.cli.{self.modules[cmd_name]}")
            single = typer.Typer(add_completion=False)
            single.command(cmd_name, cls=Command)(getattr(module, cmd_name))
            self.commands[cmd_name] = typer.main.get_command(single)
        return super().get_command(ctx, cmd_name)

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            typer.echo("everlearn: interrupted", err=True)
            raise typer.Exit(INTERRUPTED) from None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that the user named."""
        known = self.list_commands(ctx)
        if not ctx.resilient_parsing and args[0] in OPTIONS and OPTIONS[args[0]].split()[0] in known:
            raise InputError("command", args[0], f"write everlearn {OPTIONS[args[0]]}")
        if not ctx.resilient_parsing and not args[0].startswith("-") and args[0] not in known:
            is_spec = args[0].endswith(".toml") and "run" in known
            hint = f"; did you mean {ctx.command_path} run {args[0]}?" if is_spec else ""
            raise UnknownName("command", args[0], known, hint)
        return super().resolve_command(ctx, args)


def _without_flag_types(params: list[Any]) -> list[Any]:
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
    return params


def lazy_group(commands: Mapping[str, Iterable[str]]) -> type[LazyGroup]:
    """Return a class of groups, from the modules of this package and the commands of each."""
    modules = {name: module for module, names in commands.items() for name in names}
    return type("Commands", (LazyGroup,), {"modules": modules})
