"""One connection to the service: kept open between requests, JSON both ways, and errors of two kinds."""

from __future__ import annotations

import http.client
import json
import ssl
from typing import Any
from urllib.parse import urlsplit

from everlearn.errors import EverlearnError, require


class ServiceError(EverlearnError):
    """The service refused a request.

    ``status`` is that of HTTP; ``error`` is one word for it; ``document`` is all that was answered, such as what is
    recorded of a step.
    """

    def __init__(self, message: str, status: int = 0, document: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.document = document or {}
        self.error = str(self.document.get("error", ""))


class Unreachable(ServiceError):  # noqa: N818 - reads as what it is
    """The service cannot be reached, or cannot serve now; the same request may succeed later."""


class Connection:
    """A connection that is made when it is needed, and made anew when it broke.

    Parameters
    ----------
    url:
        where the service is, as in ``http://127.0.0.1:8321``
    token:
        sent with every request, where given

    """

    def __init__(self, url: str, token: str | None = None) -> None:
        parts = urlsplit(url)
        fine = parts.scheme in ("http", "https") and parts.hostname is not None and not parts.query
        require(fine, "url", url, "write http://HOST:PORT or https://HOST:PORT")
        self._parts, self._prefix = parts, parts.path.rstrip("/")
        self._headers = {"Content-Type": "application/json"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
        self._open: http.client.HTTPConnection | None = None
        self.address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{self._prefix}"
        """Where the service is, without what is secret in it."""

    def request(self, method: str, path: str, body: object, timeout: float) -> Any:
        """Send a request and return what was answered; raise :class:`ServiceError` unless that is good news."""
        text = None if body is None else json.dumps(body, allow_nan=False).encode()
        try:
            status, answer = self._exchange(method, path, text, timeout)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Unreachable(f"{self._parts.netloc}: {str(error) or type(error).__name__}") from error
        return _read(status, answer)

    def _exchange(self, method: str, path: str, text: bytes | None, timeout: float) -> tuple[int, bytes]:
        kept = self._open is not None
        connection = self._connected(timeout)
        try:
            connection.request(method, self._prefix + path, text, self._headers)
            response = connection.getresponse()
        except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
            # A connection that lay idle was closed at the other end: not an outage. The request may be repeated, since
            # it carries its step number.
            self.close()
            if not kept:
                raise
            return self._exchange(method, path, text, timeout)
        answer = response.read()
        if response.will_close:
            self.close()
        return response.status, answer

    def _connected(self, timeout: float) -> http.client.HTTPConnection:
        if self._open is None:
            host, port = self._parts.hostname or "", self._parts.port
            if self._parts.scheme == "https":
                context = ssl.create_default_context()
                self._open = http.client.HTTPSConnection(host, port, timeout=timeout, context=context)
            else:
                self._open = http.client.HTTPConnection(host, port, timeout=timeout)
        self._open.timeout = timeout
        if self._open.sock is not None:
            self._open.sock.settimeout(timeout)
        return self._open

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._open is not None:
            self._open.close()
            self._open = None


def _read(status: int, answer: bytes) -> Any:
    try:
        document = json.loads(answer) if answer else None
    except ValueError:
        raise Unreachable(f"status {status}, and what was answered is not JSON", status) from None
    if 200 <= status < 300:
        return document
    document = document if isinstance(document, dict) else {}
    message = f"{document.get('message', 'no reason was given')} (status {status})"
    raise (Unreachable if status >= 500 else ServiceError)(message, status, document)


def as_label(value: Any) -> Any:
    """Turn the lists of JSON into tuples, which labels are made of.

    Examples
    --------
    >>> as_label([0, ["busy", 1]])
    (0, ('busy', 1))

    """
    return tuple(as_label(part) for part in value) if isinstance(value, list) else value
