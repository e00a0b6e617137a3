"""Groups of commands that are imported when they are used, so that ``everlearn --help`` answers at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperGroup

from everlearn.cli.endings import INTERRUPTED
from everlearn.errors import UnknownName


class LazyCommands(Mapping[str, Any]):
    """Commands by name; each is given as a command, or as the module of this package in which to find it."""

    def __init__(self, entries: Mapping[str, Any]) -> None:
        self._entries = dict(entries)

    def __getitem__(self, name: str) -> Any:
        """Return a command, and import its module if that was not done yet."""
        if isinstance(module := self._entries[name], str):
            function = getattr(import_module(f"everlearn.cli.{module}"), name)
            single = typer.Typer(add_completion=False)
            single.command(name)(function)
            self._entries[name] = typer.main.get_command(single)
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self._entries)

    def __len__(self) -> int:
        """Return the number of commands."""
        return len(self._entries)


class LazyGroup(TyperGroup):
    """A group of lazy commands. Ctrl-C ends any of them with one line."""

    modules: ClassVar[Mapping[str, Iterable[str]]] = {}

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        lazy = {name: module for module, names in self.modules.items() for name in names}
        self.commands: Any = LazyCommands(lazy | dict(self.commands))

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - typer passes it
        """Return the names of the commands, without importing them."""
        return list(self.commands)

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            typer.echo("everlearn: interrupted", err=True)
            raise typer.Exit(INTERRUPTED) from None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that is named."""
        if not ctx.resilient_parsing and not args[0].startswith("-") and args[0] not in self.list_commands(ctx):
            raise UnknownName("command", args[0], self.commands)
        return super().resolve_command(ctx, args)


def lazy_group(modules: Mapping[str, Iterable[str]]) -> type[LazyGroup]:
    """Return a class of groups with the commands of these modules."""
    return type("Commands", (LazyGroup,), {"modules": modules})
