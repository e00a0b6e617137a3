"""The server of the page: by default on loopback, and for a limited number of pages."""

from __future__ import annotations

import errno
import os
import socket
import sys
import threading
import webbrowser
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from html import escape
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import parse_qs

import uvicorn
from fastapi import FastAPI, Request
from fastapi.datastructures import URL
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from nicegui import Client, app, ui

from everlearn.errors import EverlearnError, InputError, require
from everlearn.hosts import foreign_header, is_loopback
from everlearn.machine import cores
from everlearn.page.components import Text
from everlearn.page.configuration import Configuration, read_query
from everlearn.page.export import write_page
from everlearn.page.following import View, write_plain, write_view
from everlearn.page.layout import Page
from everlearn.page.race import Workshop
from everlearn.page.session import Session
from everlearn.service.protocol import bounded
from everlearn.service.settings import Limits

MOST_PAGES = 32
"""How many pages may be open at once."""

MOST_CHOSEN = 2000
"""How many choices a page that follows a directory may send."""

PROTOCOL: Any = bounded(Limits(connections=256))
"""How connections are read: with bounds on heads and silence, and on how many there are (a page takes a few)."""

INTERVAL = 0.0005
"""Seconds after which a thread of the page lets another have its turn."""

RECONNECT = 5.0
"""Seconds for which to wait for a page that lost its connection."""

Scope: TypeAlias = MutableMapping[str, Any]
_STYLE = Path(__file__).with_name("style.css")
_TITLE = "everlearn: watch it learn"


class Doors:
    """Lets in what the page itself asks for, and nothing that another site asks for in somebody's browser.

    A request that says it comes from elsewhere is refused; on loopback also one that is addressed to another name.
    """

    def __init__(self, inside: Callable[..., Awaitable[None]], local: bool) -> None:
        self.inside, self.local = inside, local

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        """Answer, or refuse."""
        if scope["type"] not in ("http", "websocket") or not foreign_header(dict(scope["headers"]), self._is_own):
            await self._let_in(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await send({"type": "http.response.start", "status": 403, "headers": [(b"content-type", b"text/plain")]})
            await send(
                {"type": "http.response.body", "body": b"everlearn: pages of other sites may not use this page\n"}
            )

    async def _let_in(self, scope: Scope, receive: Any, send: Any) -> None:
        """Answer; a browser that leaves before the answer is complete is no mistake."""

        async def send_if_there(message: Any) -> None:
            with suppress(ConnectionAbortedError):
                await send(message)

        try:
            await self.inside(scope, receive, send_if_there)
        except RuntimeError as error:
            if str(error) != "No response returned.":  # as Starlette says it
                raise

    def _is_own(self, name: str) -> bool:
        return not self.local or is_loopback(name)


class Pages:
    """The pages that are open, and among them those that no browser has shown yet (those of plain GETs, say)."""

    def __init__(self) -> None:
        self.open: set[str] = set()
        self.unseen: dict[str, Client] = {}

    def has_room(self) -> bool:
        """Return whether there is room for another page, for which the oldest that nobody has seen is deleted."""
        if len(self.open) >= MOST_PAGES and self.unseen:
            oldest = next(iter(self.unseen.values()))
            self.remove(oldest)
            oldest.delete()
        return len(self.open) < MOST_PAGES

    def add(self, client: Client) -> None:
        """Add a page."""
        self.open.add(client.id)
        self.unseen[client.id] = client

    def remove(self, client: Client) -> None:
        """Remove a page."""
        self.open.discard(client.id)
        self.unseen.pop(client.id, None)


def serve(
    host: str = "127.0.0.1",
    port: int = 8090,
    *,
    show: bool = True,
    say: Callable[[str], None] = print,
    made: Callable[[bool], Any],
) -> None:
    """Serve a page until interrupted; ``port`` 0 takes any free port.

    ``made`` returns the application, given whether only this machine can reach it.
    """
    listener = listen(host, port)
    address = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}/"
    say(f"everlearn: the page is at {address}; end with Ctrl-C")
    if not is_loopback(host):
        say(f"everlearn: anyone who can reach {host} can use the page; there is no password")
    if show:
        threading.Timer(0.5, webbrowser.open, (address,)).start()
    served = made(is_loopback(host))
    with switching_often(), suppress(KeyboardInterrupt):  # Ctrl-C is how it is meant to end
        config = uvicorn.Config(served, http=PROTOCOL, log_level="warning", timeout_graceful_shutdown=1)
        uvicorn.Server(config).run(sockets=[listener])


@contextmanager
def switching_often() -> Iterator[None]:
    """Let threads hand over often: the engine asks for its turn at every stretch of steps, and waits up to an interval.

    With Python's own interval of 5 ms, it loses half of its speed while another thread is busy.
    """
    interval = sys.getswitchinterval()
    sys.setswitchinterval(INTERVAL)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address; raise if that is not possible."""
    given: object = host
    is_address = isinstance(given, str) and given != ""  # which would be every address of this machine
    require(is_address, "host", host, "give an address, such as 127.0.0.1")
    require(0 <= port <= 65535, "port", port, "give a number from 0 to 65535")
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen()
    except (OSError, ValueError) as error:
        listener.close()
        number = getattr(error, "errno", None)
        reason = os.strerror(number) if number and number > 0 else str(error)
        remedy = "give another, or --port 0 for any free one" if number == errno.EADDRINUSE else "give another"
        raise InputError("host and port", f"{host}:{port}", f"cannot be used: {reason}; {remedy}") from None
    return listener


def make_app(local: bool, workshop: Workshop) -> Any:
    """Return the application: one page, and what it is made of."""
    threads = ThreadPoolExecutor(2 * cores() + 2, thread_name_prefix="page")
    pages = Pages()
    inside = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    workshop.preparing.submit(write_page, "/tasks")
    workshop.preparing.submit(workshop.warm_up)

    @ui.page("/", title=_TITLE, dark=None, language="en-US")
    def index(request: Request, client: Client) -> Response | None:
        if not request.url.query and workshop.start == Configuration().checked():
            return RedirectResponse("/station")
        ui.add_css(_STYLE)
        if not pages.has_room():
            at_once = f"{MOST_PAGES} page{'s' if MOST_PAGES > 1 else ''}"
            Text("p", f"No more than {at_once} may be open at once. Close one, and reload this one.").classes("alert")
            return None
        pages.add(client)
        _open(client, request.url, workshop, threads, pages)
        return None

    @inside.get("/station")
    def station() -> Response:
        return HTMLResponse(write_page("/tasks"))

    @inside.get("/tasks")
    def tasks() -> Response:
        return HTMLResponse(workshop.gallery())

    app.exception_handler(404)(_refuse_address)
    ui.run_with(
        inside,
        title=_TITLE,
        favicon="🌱",
        tailwind=False,
        message_history_length=50,
        show_welcome_message=False,
        reconnect_timeout=RECONNECT,
    )
    app.on_shutdown(workshop.close)
    app.on_shutdown(partial(threads.shutdown, wait=False, cancel_futures=True))
    return Doors(inside, local)


def make_view_app(local: bool, view: View) -> Any:
    """Return the application that shows a directory: a page, and its parts as of now."""
    inside, page = FastAPI(docs_url=None, redoc_url=None, openapi_url=None), write_view(view)
    inside.exception_handler(404)(_refuse_address)
    looking = threading.Lock()

    @inside.get("/")
    def index() -> Response:
        return HTMLResponse(page)

    @inside.get("/look")
    def look(request: Request) -> dict[str, str]:
        with looking:
            try:
                return view.look(parse_qs(request.url.query, keep_blank_values=True, max_num_fields=MOST_CHOSEN))
            except (EverlearnError, ValueError) as error:
                return {"alert": escape(str(error))}

    return Doors(inside, local)


async def _refuse_address(_request: Request, _error: Exception) -> Response:
    """Answer to an address that is none of a page, with a way back."""
    link = '<p><a class="more" href="/">Go to the first page</a></p>'
    return HTMLResponse(write_plain("There is no such page", "The address may be mistyped.", link), 404)


def _open(client: Client, address: URL, workshop: Workshop, threads: ThreadPoolExecutor, pages: Pages) -> None:
    """Build a page for a browser, begin when it has connected, and close the session when it is gone."""
    refusal = ""
    try:
        configuration = read_query(address.query, workshop.offer, workshop.start)
    except EverlearnError as error:
        configuration, refusal = workshop.start, str(error)
    page = Page(client, configuration, refusal, is_loopback(address.hostname or ""))
    session = Session(workshop, threads, page.show, page.report)
    page.build(session)
    begun = False

    async def begin() -> None:
        nonlocal begun
        pages.unseen.pop(client.id, None)
        if not begun:  # it also connects again after a broken connection
            begun = True
            await page.begin()

    async def close() -> None:
        pages.remove(client)
        await session.close()

    client.on_connect(begin)
    client.on_delete(close)
