"""Which request a line of the log belongs to: the id that the client sent, the trace that it belongs to, or a new id.

The id is returned as ``X-Request-Id``.  It is kept in a context variable, so that whatever is logged for a request has
it, in the committer's thread as well: a job of the committer carries it there.
"""

from __future__ import annotations

import itertools
import os
import re
import secrets
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from contextvars import ContextVar

_SANE = re.compile(rb"[A-Za-z0-9._:=@+/-]{1,128}").fullmatch
_PARENT = re.compile(rb"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?").fullmatch
_numbers = itertools.count(1)
_process = b""


def _begin() -> None:
    """Draw what the ids of this process begin with; a forked process, such as a shard, draws anew."""
    global _process
    _process = secrets.token_hex(6).encode()


_begin()
os.register_at_fork(after_in_child=_begin)


class Request:
    """The identity of one request.

    Examples
    --------
    >>> Request(b"north-17").fields
    {'request': 'north-17'}

    """

    __slots__ = ("aside", "id", "parent", "token", "trace")

    def __init__(self, id: bytes, trace: str = "", parent: str = "") -> None:  # noqa: A002 - reads as what it is
        self.id = id
        self.trace = trace
        self.parent = parent
        """The header ``traceparent``, if it is valid."""
        self.token = ""
        self.aside: Callable[[], AbstractAsyncContextManager[None]] = nullcontext
        """What it enters while it waits for its agent, so that it keeps nothing from others meanwhile."""

    @property
    def fields(self) -> dict[str, str]:
        """What every line of the log has that concerns the request."""
        fields = {"request": self.id.decode(), "trace": self.trace, "token": self.token}
        return {name: value for name, value in fields.items() if value}


CURRENT: ContextVar[Request | None] = ContextVar("request", default=None)
"""The request that this task, or the committer, works on."""


def identify(headers: Mapping[bytes, bytes]) -> Request:
    """Return the identity of a request with these headers, and remember it in :data:`CURRENT`.

    Examples
    --------
    >>> identify({b"x-request-id": b"north-17"}).id
    b'north-17'
    >>> identify({b"traceparent": b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}).id
    b'4bf92f3577b34da6a3ce929d0e0e4736'
    >>> identify({b"x-request-id": b"two words"}).id == identify({}).id
    False

    """
    given, parent = headers.get(b"x-request-id"), headers.get(b"traceparent")
    matched = None if parent is None else _PARENT(parent)
    trace = b"" if matched is None else matched[1]
    if given is None or not _SANE(given):
        given = trace or b"%b-%x" % (_process, next(_numbers))
    request = Request(given) if matched is None else Request(given, trace.decode(), matched[0].decode("latin-1"))
    CURRENT.set(request)
    return request
