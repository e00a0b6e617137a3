"""The service as a process: when it says that it serves, and that it ends."""

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


def served(began) -> Server:
    return Server(uvicorn.Config(nothing, lifespan="off", log_config=None), began)


def test_who_reads_that_it_serves_can_connect(handlers):
    connected = []
    with bind("127.0.0.1", 0) as listener:

        def began() -> None:
            with socket.create_connection(listener.getsockname(), timeout=60) as made:
                connected.append(made.getpeername())
            server.should_exit = True

        server = served(began)
        run(server, listener)
    assert len(connected) == 1


def test_a_signal_just_after_it_serves_is_not_lost(handlers):
    with bind("127.0.0.1", 0) as listener:
        run(served(lambda: signal.raise_signal(signal.SIGTERM)), listener)


def test_nor_is_one_before(handlers, monkeypatch):
    """Between the moment at which the service handles signals and that at which the server does."""
    began = Server.serve

    async def signalled(server, sockets):
        signal.raise_signal(signal.SIGTERM)
        await began(server, sockets)

    def serving() -> None:
        noticed.append(server.should_exit)
        server.should_exit = True

    noticed: list[bool] = []
    monkeypatch.setattr(Server, "serve", signalled)
    server = served(serving)
    with bind("127.0.0.1", 0) as listener:
        run(server, listener)
    assert noticed == [True]


def test_it_ends_in_bounded_time_while_an_agent_computes(start):
    """Neither the waiting requests nor the agents are finished then; what was acknowledged is on disk."""
    forever = """
import everlearn.service.serve as serve
from everlearn.service import operations
serve.GRACE, serve.LAST = 0.1, 0.3
def act(*_):
    while True:
        pass
operations.act = act
"""
    service = start(before=forever)
    service.create("busy")
    service.post("/v1/agents/busy/observe", {"step": 1, "observation": "arrival", "executed": "slow"})
    with socket.create_connection(("127.0.0.1", service.port), timeout=60) as waits:
        waits.sendall(b"POST /v1/agents/busy/act HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert service.call("GET", "/healthz").status == 200
        assert service.stop() == 1
    assert "did not stop in time" in service.log[-1]["message"]
    assert start().post("/v1/agents/busy/act")["step"] == 2
