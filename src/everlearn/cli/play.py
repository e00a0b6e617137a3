"""The command ``everlearn play``."""

from __future__ import annotations

import typer

from everlearn.cli.run import parse_settings
from everlearn.play.watching import watch


def play(
    task: str | None,
    agent: str | None,
    schedule: str | None,
    settings: list[str],
    address: tuple[str, int],
    show: bool,
) -> None:
    """Serve the page until interrupted; ``address`` is host and port."""
    host, port = address
    watch(
        task,
        agent,
        schedule=schedule,
        parameters=parse_settings(settings),
        host=host,
        port=port,
        show=show,
        say=lambda text: typer.echo(text, err=True),
    )
