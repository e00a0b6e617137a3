"""The service as a process: bind, open the directory, serve, and shut down in order."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from everlearn._version import __version__
from everlearn.durable.layout import refuse_shards
from everlearn.errors import InputError, LiveError
from everlearn.files import refuse_unwritable
from everlearn.hosts import is_loopback
from everlearn.service.app import make_app
from everlearn.service.loading import LoadingCommitter
from everlearn.service.logs import log
from everlearn.service.metrics import GAUGES, Metrics
from everlearn.service.protocol import bounded
from everlearn.service.sandbox import Sandbox
from everlearn.service.settings import Settings

KEEP_ALIVE = 75
"""Seconds for which a connection may be idle."""
GRACE = 30
"""Seconds that requests have to finish after the service was asked to stop."""
SHUTDOWN = 5
"""Seconds that the last telemetry has to be sent."""
Around = Callable[[ASGIApp, LoadingCommitter], ASGIApp]
"""Returns an application around another one, given the committer."""
LAST = 45
"""Seconds after which it ends in any case: the next start recovers from the journal what was not finished."""


def serve(directory: Path, settings: Settings) -> None:
    """Serve the agents of a directory until SIGTERM or SIGINT; waiting requests are finished first.

    The address is bound first and listened on last: nobody is served before the directory is locked and read.
    """
    refuse_unwritable(directory)
    refuse_shards(directory)
    sandbox = Sandbox(settings.limits)  # before any thread is started
    with closing(sandbox), bind(settings.host, settings.port) as listener:
        fields = {**address(listener), "data": str(directory), "version": __version__}

        def make(config: uvicorn.Config) -> Server:
            warn_of_tokens(settings, listener)
            return Server(config, lambda: log(logging.INFO, "serving", **fields))

        attend(directory, settings, sandbox, make, [listener])


def address(listener: socket.socket) -> dict[str, Any]:
    """Return where a socket is bound."""
    host, port = listener.getsockname()[:2]
    return {"host": host, "port": port}


def warn_of_tokens(settings: Settings, listener: socket.socket) -> None:
    """Warn if others can reach the address, since tokens are not encrypted."""
    if not is_loopback(settings.host):
        message = "tokens travel unencrypted; put a proxy with TLS before this address"
        log(logging.WARNING, message, host=address(listener)["host"])


def attend(
    directory: Path,
    settings: Settings,
    sandbox: Sandbox,
    make: Callable[[uvicorn.Config], Server],
    listeners: list[socket.socket],
    around: Around = lambda app, _committer: app,
) -> None:
    """Open a directory and serve its agents on sockets until a signal.

    ``make`` returns the server, and ``around`` the application around another one, once the directory is open.
    """
    committer = LoadingCommitter(directory, settings.limits, Metrics())
    committer.start()
    guarded = make_app(committer, sandbox, settings, lambda app: around(app, committer))
    app, stop_telemetry = observe(guarded, committer, settings)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="on",
        http=bounded(settings.limits),  # type: ignore[arg-type]  # a class, with what its instances share
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=GRACE,
    )
    server = make(config)
    committer.ended = sandbox.ended = server.stop  # whoever started this starts it again
    try:
        run(server, *listeners)
    finally:
        stop_telemetry()
    if not server.asked:
        part = "committer" if sandbox.alive else "sandbox"
        raise LiveError(f"the service ended because its {part} did; the log says why", directory)


def observe(app: ASGIApp, committer: LoadingCommitter, settings: Settings) -> tuple[ASGIApp, Callable[[], None]]:
    """Return an application whose traces and metrics are sent, if that is asked for, and what to call at the end."""
    if not settings.otel:
        return app, lambda: None
    from everlearn.service import telemetry  # an extra

    tracers, meters = telemetry.providers()
    observed = telemetry.Telemetry(app, tracers, meters)
    agents = committer.opened
    gauges: dict[str, Callable[[], float]] = {
        "waiting": lambda: committer.waiting,
        "ready": lambda: committer.ready,
        "agents": lambda: len(agents.names),
        "quarantined": lambda: len(agents.quarantined),
    }
    observed.watch({name: (GAUGES[name], value) for name, value in gauges.items()})
    committer.observed = observed.committed

    def stop() -> None:
        tracers.shutdown()
        meters.shutdown(SHUTDOWN * 1_000)

    return observed, stop


def bind(host: str, port: int) -> socket.socket:
    """Bind an address, without listening on it yet."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
        except OSError:
            listener.close()
            raise
    except socket.gaierror as error:
        raise InputError("--host", host, f"is no address of this machine: {error.strerror}") from None
    except OSError as error:
        raise InputError("--port", port, f"{host} cannot be used: {error.strerror}; give another") from None
    return listener


class Server(uvicorn.Server):
    """A server that calls a function once it accepts connections, and ends in bounded time when it is asked to."""

    def __init__(self, config: uvicorn.Config, began: Callable[[], None]) -> None:
        super().__init__(config)
        self._began = began
        self.watch = threading.Timer(LAST, _end)
        self.watch.daemon = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop in order; but end the process if that takes too long, as while an agent computes without end."""
        if not self.should_exit:
            self.watch.start()
        super().handle_exit(sig, frame)

    @property
    def asked(self) -> bool:
        """Whether a signal asked it to stop."""
        return bool(self._captured_signals)

    def stop(self) -> None:
        """Stop as after a signal; any thread may call this."""
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then call the function."""
        await super().startup(sockets)
        if self.started:
            self._began()


def run(server: Server, *listeners: socket.socket) -> None:
    """Serve on bound addresses until a signal stops it."""
    # The server has handlers of its own while it runs, and restores these.  Before, a signal must not be lost; after,
    # the server raises it again, for a process that would continue, and this one ends.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, server.handle_exit)
    try:
        server.run(sockets=list(listeners))
    finally:
        server.watch.cancel()


def _end() -> None:
    log(logging.ERROR, "it did not stop in time, and was ended; the next start recovers what is on disk", seconds=LAST)
    os._exit(1)
