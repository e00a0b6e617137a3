"""The command ``everlearn play``."""

from __future__ import annotations

import importlib.util

import typer

from everlearn.errors import InputError


def play(host: str, port: int, show: bool) -> None:
    """Serve the page until interrupted."""
    if importlib.util.find_spec("nicegui") is None:
        raise InputError("play", "nicegui", "is not installed; install it with: pip install 'everlearn[play]'")
    from everlearn.play.server import serve

    serve(host, port, show=show, say=lambda text: typer.echo(text, err=True))
