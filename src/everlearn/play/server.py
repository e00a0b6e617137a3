"""The server of the page: on loopback unless told otherwise, and for no more pages than it can bear."""

from __future__ import annotations

import os
import socket
import threading
import webbrowser
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import uvicorn
from fastapi import FastAPI, Request
from nicegui import Client, app, ui

from everlearn.errors import EverlearnError, InputError, require
from everlearn.machine import cores
from everlearn.play.components import Text
from everlearn.play.configuration import Configuration
from everlearn.play.opening import Opening
from everlearn.play.page import Page
from everlearn.play.race import Workshop
from everlearn.play.reading import read_query
from everlearn.play.session import Session
from everlearn.service.settings import is_loopback

MOST_PAGES = 32
"""How many pages may be open at once."""

RECONNECT = 5.0
"""For how many seconds a page that lost its connection is waited for, before it is let go."""

Scope: TypeAlias = MutableMapping[str, Any]
_STYLE = Path(__file__).with_name("style.css")
_TITLE = "everlearn: watch it learn"


class Doors:
    """Lets in what the page itself asks for, and nothing that another site asks for in somebody's browser.

    Whoever opens a page of another site while this one runs should not find that site at work here: a request that
    says it comes from elsewhere is refused, and on loopback also one that is addressed to another name.
    """

    def __init__(self, inside: Callable[..., Awaitable[None]], local: bool) -> None:
        self.inside, self.local = inside, local

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        """Answer, or refuse."""
        if scope["type"] not in ("http", "websocket") or self._welcome(scope):
            await self.inside(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await send({"type": "http.response.start", "status": 403, "headers": [(b"content-type", b"text/plain")]})
            await send({"type": "http.response.body", "body": b"everlearn: this is not where you came from\n"})

    def _welcome(self, scope: Scope) -> bool:
        headers = {name: value.decode("latin-1") for name, value in scope["headers"] if name in (b"host", b"origin")}
        host, origin = headers.get(b"host", ""), headers.get(b"origin")
        named = urlsplit(f"//{host}").hostname or ""
        return (not self.local or is_loopback(named)) and (origin is None or urlsplit(origin).netloc == host)


def serve(
    host: str = "127.0.0.1",
    port: int = 8090,
    *,
    show: bool = True,
    say: Callable[[str], None] = print,
    opening: Opening | None = None,
) -> None:
    """Serve the page until interrupted; ``port`` 0 takes any that is free.

    ``opening`` is what the page begins with, and what it offers beside everything that has a registered name.
    """
    listening = listen(host, port)
    bound = listening.getsockname()[1]
    address = f"http://{f'[{host}]' if ':' in host else host}:{bound}/"
    say(f"everlearn: the page is at {address}; end with Ctrl-C")
    if not is_loopback(host):
        say(f"everlearn: whoever can reach {host} can use it; it asks for no password")
    if show:
        threading.Timer(0.5, webbrowser.open, (address,)).start()
    configured = uvicorn.Config(make_app(is_loopback(host), opening), log_level="warning", timeout_graceful_shutdown=1)
    with suppress(KeyboardInterrupt):  # Ctrl-C is how it is meant to end
        uvicorn.Server(configured).run(sockets=[listening])


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; an address that cannot be had is refused."""
    given: object = host
    fine = isinstance(given, str) and given != ""  # which would be every address of this machine
    require(fine, "host", host, "give an address, such as 127.0.0.1")
    require(0 <= port <= 65535, "port", port, "give a number from 0 to 65535")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()
    except (OSError, ValueError) as error:
        listening.close()
        number = getattr(error, "errno", None)
        why = os.strerror(number) if number and number > 0 else str(error)
        raise InputError("host and port", f"{host}:{port}", f"cannot be had: {why}; give another") from None
    return listening


def make_app(local: bool, opening: Opening | None = None) -> Any:
    """Return the application: one page, and what it is made of."""
    opening = opening or Opening()
    workshop, start = opening.workshop, opening.configuration
    threads = ThreadPoolExecutor(2 * cores() + 2, thread_name_prefix="page")
    pages: set[str] = set()
    inside = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    workshop.preparing.submit(_warm_up, workshop, start)

    @ui.page("/", title=_TITLE, dark=None, language="en-US")
    def index(request: Request, client: Client) -> None:
        ui.add_css(_STYLE)
        if len(pages) >= MOST_PAGES:
            at_once = f"{MOST_PAGES} page{'s' if MOST_PAGES > 1 else ''}"
            Text("p", f"No more than {at_once} may be open at once. Close one, and reload this one.").classes("alert")
            return
        pages.add(client.id)
        _open(client, request.url.query, opening, threads, pages)

    ui.run_with(
        inside,
        title=_TITLE,
        favicon="🌱",
        tailwind=False,
        message_history_length=50,
        show_welcome_message=False,
        reconnect_timeout=RECONNECT,
    )
    for pool in (threads, workshop.preparing):
        app.on_shutdown(partial(pool.shutdown, wait=False, cancel_futures=True))
    return Doors(inside, local)


def _open(client: Client, query: str, opening: Opening, threads: ThreadPoolExecutor, pages: set[str]) -> None:
    """Build a page for a browser, begin when it has connected, and let go when it has gone."""
    start = opening.configuration
    try:
        page = Page(client, read_query(query, opening.workshop.offer, start), start)
    except EverlearnError as error:
        page = Page(client, start, start, str(error))
    session = Session(opening.workshop, threads, page.show, page.said)
    page.build(session)

    async def gone() -> None:
        pages.discard(client.id)
        await session.close()

    begun = False

    async def connected() -> None:
        nonlocal begun
        if not begun:
            begun = True
            await page.begin()

    client.on_connect(connected)
    client.on_delete(gone)


def _warm_up(workshop: Workshop, start: Configuration) -> None:
    """Compile the agent and expand the task that a newcomer sees first, while nobody waits."""
    race = workshop.race(start)
    race.advance(1000)
    workshop.facts(start)
