"""The service as a process: when it says that it serves."""

from __future__ import annotations

import signal
import socket

import pytest
import uvicorn

from everlearn.service.serve import Server, bind, run


@pytest.fixture
def handlers():
    """Put back what signals did before."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


async def nothing(scope, receive, send):
    """Serve nobody."""


def test_who_reads_that_it_serves_can_connect(handlers):
    connected = []
    with bind("127.0.0.1", 0) as listener:

        def began() -> None:
            with socket.create_connection(listener.getsockname(), timeout=60) as made:
                connected.append(made.getpeername())
            server.should_exit = True

        server = Server(uvicorn.Config(nothing, lifespan="off", log_config=None), began)
        run(server, listener)
    assert len(connected) == 1
