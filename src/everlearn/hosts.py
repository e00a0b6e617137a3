"""Hosts and origins: recognise a request that a page of another site sends through somebody's browser."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping


def is_loopback(host: str) -> bool:
    """Return whether an address can be reached from this machine alone.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, True, False)

    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def foreign_header(headers: Mapping[bytes, bytes], is_own: Callable[[str], bool]) -> str | None:
    """Return the header which shows that a request is not meant for this server: ``host``, ``origin`` or None.

    ``headers`` have names in lower case, as ASGI passes them, and ``is_own`` says by which names this server goes.

    Examples
    --------
    >>> foreign_header({b"host": b"localhost:8321", b"origin": b"http://localhost:8321"}, is_loopback)
    >>> foreign_header({b"host": b"station.example:8321"}, is_loopback)
    'host'
    >>> foreign_header({b"host": b"[::1]:8321", b"origin": b"http://station.example"}, is_loopback)
    'origin'

    """
    host = headers.get(b"host", b"").decode("latin-1")
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0].lower()
    if not is_own(name):
        return "host"
    origin = headers.get(b"origin", f"http://{host}".encode("latin-1")).decode("latin-1")
    _, separator, origin_host = origin.partition("://")
    return None if separator and origin_host == host else "origin"
