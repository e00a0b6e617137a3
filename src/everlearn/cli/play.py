"""The command ``everlearn play``: watch an agent learn in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import everlearn as el
from everlearn.cli import options
from everlearn.cli.options import integer
from everlearn.errors import InputError


def play(
    context: typer.Context,
    task: Annotated[str | None, options.TASK] = None,
    agent: Annotated[str | None, options.AGENT] = None,
    schedule: Annotated[str | None, options.SCHEDULE] = None,
    settings: options.Settings = None,
    view: Annotated[
        str, typer.Option(help="What to show first: a text that you copied from the page, under Share and export.")
    ] = "",
    export: Annotated[
        Path | None,
        typer.Option(help="Write the service station game to this HTML file, and exit without serving a page."),
    ] = None,
    experiment: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Follow the experiment in this directory while it runs; nothing is written."),
    ] = None,
    live: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Follow the durable agent in this directory while it works; it is only read."),
    ] = None,
    port: Annotated[int, integer(help="The port to listen on; 0 for any free port.")] = 8090,
    host: Annotated[
        str,
        typer.Option(
            help="The address to listen on. With any address other than loopback, other machines can open the page."
        ),
    ] = "127.0.0.1",
    opened: Annotated[bool, typer.Option("--open/--no-open", help="Whether to open a browser.")] = True,
) -> None:
    """Open a page in the browser where you can watch agents learn. No internet connection is needed."""
    if export is not None:
        sources = {name: context.get_parameter_source(name) for name in context.params}
        if [name for name, source in sources.items() if source and source.name == "COMMANDLINE"] != ["export"]:
            remedy = "writes the station alone; leave out TASK and all other options"
            raise InputError("--export", str(export), remedy)
        from everlearn.page.export import export as write

        typer.echo(f"written: {write(export)}")
        return
    el.play(
        task,
        agent,
        schedule=schedule,
        parameters=options.parse_settings(settings),
        view=view,
        experiment=experiment,
        live=live,
        host=host,
        port=port,
        show=opened,
        say=lambda text: typer.echo(text, err=True),
    )
