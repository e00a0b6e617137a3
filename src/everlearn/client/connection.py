"""A connection to the service: kept open between requests, retried until a deadline, JSON both ways."""

from __future__ import annotations

import http.client
import json
import logging
import random
import ssl
import time
from typing import Any
from urllib.parse import SplitResult, urlsplit

from everlearn.errors import EverlearnError, InputError, require

FIRST_PAUSE, LONGEST_PAUSE = 0.01, 0.5
"""Seconds between attempts within a deadline; each pause is up to twice the last, with a random part."""
SHORTEST_ATTEMPT = 0.01
"""The least seconds for an attempt, even if the deadline has passed."""
FIRST_ABSENCE, LONGEST_ABSENCE = 0.1, 30.0
"""Seconds for which an unreachable service is not tried again; twice as long each time."""

MOVED, MOST_HOPS = 308, 4
"""The status of a request for an agent that was moved, and how often a request follows one."""

JSON, OCTETS = "application/json", "application/octet-stream"

_LOG = logging.getLogger("everlearn.client")


class ServiceError(EverlearnError):
    """The service refused a request.

    ``status`` is the HTTP status, ``error`` one word for it, and ``document`` the whole answer, such as the record of a
    step.
    """

    def __init__(self, message: str, status: int = 0, document: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.attempts = 1  # how often the request was sent
        self.document = document or {}
        self.error = str(self.document.get("error", ""))


class Unreachable(ServiceError):  # noqa: N818 - reads as what it is
    """The service cannot be reached, or cannot serve now; the same request may succeed later."""

    @property
    def retry_after(self) -> float:
        """Seconds for which the service asks not to be tried again, because of its rate limit."""
        after = self.document.get("retry_after") if self.status == 429 else None
        return float(after) if isinstance(after, int | float) else 0.0


class Connection:
    """A connection that is opened when it is needed. Requests must be safe to repeat."""

    def __init__(self, url: str, token: str | None = None) -> None:
        parts = _split(url)
        if parts is None or parts.query:
            raise InputError("url", url, "write http://HOST:PORT or https://HOST:PORT")
        self._parts, self._prefix = parts, parts.path.rstrip("/")
        self._headers: dict[str, str] = {}
        if token is not None:
            require(isinstance(token, str), "token", "...", "must be a text")
            token = token.strip()  # as read from a file
            require(token.isascii() and token.isprintable(), "token", "...", "must be one line of ASCII characters")
            self._headers["Authorization"] = f"Bearer {token}"
        self._socket: http.client.HTTPConnection | None = None
        self._absence, self._retry_at = 0.0, 0.0
        self.problem: Unreachable | None = None
        """Why the last request had no answer, if it had none."""
        self._random = random.Random()  # noqa: S311 - it only spreads attempts over time
        self.address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{self._prefix}"
        """Where the service is, without a password."""

    @property
    def connected(self) -> bool:
        """Whether the last request was answered (or there was none yet)."""
        return self._absence == 0.0

    def retry_now(self) -> None:
        """Let the next request be sent, even if the service was unreachable a moment ago."""
        self._retry_at = 0.0

    def request(
        self, method: str, path: str, body: object, *, deadline: float, headers: dict[str, str] | None = None
    ) -> Any:
        """Send a request until it is answered or the deadline, a monotonic time, has passed; return the answer.

        Return None if there was no answer, or at once if the service was unreachable a moment ago.  Raise
        :class:`ServiceError` if the service refuses the request: repeating it would not help.
        """
        now, pause = time.monotonic(), FIRST_PAUSE
        if now < self._retry_at:
            return None
        content = body if body is None or isinstance(body, bytes) else json.dumps(body, allow_nan=False).encode()
        sent = {**self._headers, **(headers or {}), "Content-Type": OCTETS if isinstance(body, bytes) else JSON}
        attempt, problem = 0, None
        while True:  # at least once, however late it is
            attempt += 1
            try:
                answer = self._attempt(method, path, content, max(deadline - now, SHORTEST_ATTEMPT), sent)
            except Unreachable as error:
                if problem is None or not problem.status or error.status or time.monotonic() < deadline:
                    problem = error  # otherwise an earlier answer says more than an attempt that was cut off
            except ServiceError as error:
                error.attempts += attempt - 1
                raise
            else:
                if not self.connected:
                    _LOG.warning("the service is back")
                self._absence, self._retry_at, self.problem = 0.0, 0.0, None
                return answer
            wait, left = pause * self._random.uniform(0.5, 1.0) + problem.retry_after, deadline - time.monotonic()
            too_long = problem.retry_after > left  # then there is nothing to wait for
            time.sleep(0.0 if too_long else max(0.0, min(wait, left)))
            pause, now = min(2 * pause, LONGEST_PAUSE), time.monotonic()
            if too_long or now >= deadline:
                self.problem = problem
                if self.connected:
                    what = "cannot do this now" if problem.status else "cannot be reached"
                    _LOG.warning("the service %s: %s", what, problem)
                self._absence = min(2 * self._absence, LONGEST_ABSENCE) or FIRST_ABSENCE
                self._retry_at = time.monotonic() + max(self._absence, problem.retry_after)
                return None

    def _follow(self, address: str) -> None:
        """Go to the service to which the agent was moved, and stay there."""
        parts = _split(address)
        if parts is None or (parts.scheme == "http" and self._parts.scheme == "https"):
            raise ServiceError(f"the agent was moved to {address}, and this client does not go there", MOVED)
        _LOG.warning("the agent was moved to %s", address)
        self.close()
        self._parts, self._prefix, self.address = parts, parts.path.rstrip("/"), address

    def _attempt(
        self, method: str, path: str, content: bytes | None, timeout: float, headers: dict[str, str], hops: int = 0
    ) -> Any:
        reused = self._socket is not None
        try:
            connection = self._open(timeout)
            connection.request(method, self._prefix + path, content, headers)
            response = connection.getresponse()
            answer = response.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            if reused and isinstance(error, ConnectionResetError | BrokenPipeError):
                try:  # the service closed an idle connection, or has ended
                    return self._attempt(method, path, content, timeout, headers, hops)
                except ServiceError as refusal:
                    refusal.attempts += 1
                    raise
            address = self._parts.netloc.rpartition("@")[2]  # without a password
            raise Unreachable(f"{address}: {str(error) or type(error).__name__}") from error
        if response.will_close:
            self.close()
        location = response.getheader("Location", "")
        if response.status == MOVED and location.endswith(path) and hops < MOST_HOPS:
            self._follow(location.removesuffix(path))
            return self._attempt(method, path, content, timeout, headers, hops + 1)
        if response.status == 200 and response.headers.get_content_type() == OCTETS:
            return answer
        return _read(response.status, answer, response.headers.get("Retry-After"))

    def _open(self, timeout: float) -> http.client.HTTPConnection:
        if self._socket is None:
            host, port = self._parts.hostname or "", self._parts.port
            if self._parts.scheme == "https":
                self._socket = http.client.HTTPSConnection(host, port, context=ssl.create_default_context())
            else:
                self._socket = http.client.HTTPConnection(host, port)
        self._socket.timeout = timeout
        if self._socket.sock is not None:
            self._socket.sock.settimeout(timeout)
        return self._socket

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def _split(url: str) -> SplitResult | None:
    """Return the parts of the address of a service; None if it cannot be one."""
    given: object = url
    if not isinstance(given, str):  # urlsplit reads bytes, too, and None as an empty address
        return None
    try:
        parts = urlsplit(given)
        host, _ = parts.hostname or "", parts.port
        host.encode("idna")
    except ValueError:  # such as a port that is no number, or a name with an empty part
        return None
    path = parts.path.isascii() and parts.path.isprintable() and " " not in parts.netloc + parts.path
    fine = parts.scheme in ("http", "https") and host.isprintable() and path
    return parts if fine and host else None


def _read(status: int, answer: bytes, retry_after: str | None) -> Any:
    """Return the document of an answer, or raise what its status means."""
    try:
        document = json.loads(answer) if answer else None
    except ValueError:
        if status != 429:  # of a proxy, perhaps
            raise Unreachable(f"status {status}, and the answer is not JSON", status) from None
        document = None
    if 200 <= status < 300:
        return document
    document = document if isinstance(document, dict) else {}
    message = f"{document.get('message', 'no reason was given')} (status {status})"
    if status == 429 and (retry_after or "").isdecimal():  # a proxy may limit rates, too, and has the header alone
        document = {"retry_after": int(retry_after or ""), **document}
    raise (Unreachable if status >= 500 or status == 429 else ServiceError)(message, status, document)


def as_label(value: Any) -> Any:
    """Turn the lists of JSON into tuples, as labels have them: ``[0, ["a"]]`` becomes ``(0, ("a",))``."""
    return tuple(as_label(part) for part in value) if isinstance(value, list) else value
