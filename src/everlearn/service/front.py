"""The front of several shards: accept a connection, look at its first line, and hand it over to the shard of its agent.

The front reads nothing and answers nothing, so that it costs nothing per request: the connection itself goes to the
shard, with everything that the client has sent and will send.
"""

from __future__ import annotations

import errno
import logging
import selectors
import socket
import time
from collections.abc import Callable
from contextlib import suppress

from everlearn.service.logs import log
from everlearn.service.placement import Placement, named
from everlearn.service.protocol import MOST_ADDRESS, RESERVE
from everlearn.service.settings import Limits

BACKLOG = 2_048
"""Connections that may wait to be accepted."""

_SHORT = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
REST = 0.05
"""Seconds before another connection is accepted, if there were too many open files or too little memory for one."""

_BODY = b'{"error":"shard","message":"the shard of this agent is being started again; repeat the request"}'
_REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%s" % (len(_BODY), _BODY)
)


class Front:
    """Hands over connections.

    Parameters
    ----------
    listener:
        accepts connections
    placement:
        where agents are
    limits:
        how many connections may wait for their first line, and for how long
    give:
        hands a connection over to a shard, or to any of them; returns whether it could

    """

    def __init__(
        self,
        listener: socket.socket,
        placement: Placement,
        limits: Limits,
        give: Callable[[socket.socket, int | None], bool],
    ) -> None:
        self.selector = selectors.DefaultSelector()
        self._listener, self._placement, self._limits, self._give = listener, placement, limits, give
        self._tired = False  # whether the last connection could not be accepted
        self._silent: dict[socket.socket, float] = {}  # until when the first line of each must be there; oldest first

    def listen(self) -> None:
        """Accept connections from now on."""
        self._listener.listen(BACKLOG)
        self._listener.setblocking(False)
        self.selector.register(self._listener, selectors.EVENT_READ, self._accept)

    @property
    def patience(self) -> float | None:
        """Seconds until a connection has waited too long; None if there is none."""
        return None if not self._silent else max(0.0, next(iter(self._silent.values())) - time.monotonic())

    def expire(self) -> None:
        """Close the connections on which nothing was sent in time."""
        now = time.monotonic()
        while self._silent and next(iter(self._silent.values())) <= now:
            self._forget(next(iter(self._silent))).close()

    def close(self) -> None:
        """Accept no more connections, and close those that wait."""
        for connection in [*self._silent, self._listener]:
            with suppress(KeyError, ValueError):
                self.selector.unregister(connection)
            connection.close()
        self._silent.clear()

    def release(self) -> None:
        """Close everything in a forked child, without a word to those who are connected."""
        for connection in (*self._silent, self._listener):
            connection.close()
        self.selector.close()

    def _accept(self) -> None:
        for _ in range(64):
            try:
                connection, _ = self._listener.accept()
            except OSError as error:  # nobody waits, or whoever did has gone, or there are too many open files
                if error.errno in _SHORT:
                    self._rest(error)
                return
            self._tired = False
            connection.setblocking(False)
            if not self._pass(connection):
                self._wait(connection)

    def _rest(self, error: OSError) -> None:
        """Wait a little: whoever waits to be accepted would otherwise keep the processor busy."""
        if not self._tired:
            log(logging.ERROR, "connections cannot be accepted now", error=error.strerror)
        self._tired = True
        time.sleep(REST)

    def _wait(self, connection: socket.socket) -> None:
        if len(self._silent) >= self._limits.connections + RESERVE:
            self._forget(next(iter(self._silent))).close()
        self._silent[connection] = time.monotonic() + self._limits.patience
        self.selector.register(connection, selectors.EVENT_READ, lambda: self._pass(connection))

    def _forget(self, connection: socket.socket) -> socket.socket:
        if self._silent.pop(connection, None) is not None:
            self.selector.unregister(connection)
        return connection

    def _pass(self, connection: socket.socket) -> bool:
        """Hand a connection over, or close it; return False if nothing was sent on it yet.

        A first line that is incomplete, or names no agent, may go to any shard: each knows where agents are.
        """
        try:
            head = connection.recv(MOST_ADDRESS, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            head = b""
        with self._forget(connection):
            if head:
                name = named(head)
                if not self._give(connection, None if name is None else self._placement.owner(name)):
                    refuse(connection)
        return True


def refuse(connection: socket.socket) -> None:
    """Answer that a shard is being started again."""
    with suppress(OSError):
        connection.setblocking(False)
        connection.recv(1 << 20)  # what is unread when it is closed would undo the answer
        connection.send(_REFUSAL)
        connection.shutdown(socket.SHUT_WR)
