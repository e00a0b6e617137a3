"""A client that sends many requests of any kind per second: several connections, several requests ahead on each."""

from __future__ import annotations

import io
import json
import re
import socket
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, NamedTuple

from tests.service.conftest import PATIENCE, Service
from tests.service.crafted import PUMP, Anything, Crafted, Request

INSIDE = (b"Traceback", b"/src/", b".py", b"sqlite", b"SELECT ", b"everlearn.db", b"site-packages", b"0x7f")
CONNECTIONS, AHEAD = 8, 8
SPOILT = (
    *(b"GET / HTTP/9.9\r\n\r\n", b"\r\n\r\n\0\0", b"BREW /v1 HTTP/1.1\r\n\r\n", b"GET  HTTP/1.1\r\n\r\n"),
    b"POST /v1/agents HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\n",
    b"POST /v1/agents HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nhost: a\r\n\r\n",
    b"GET /readyz HTTP/1.1\r\n" + b"a: b\r\n" * 200 + b"\r\n",
    b"GET /readyz HTTP/1.1\r\nhost: a\r\nb: " + b"c" * 100_000 + b"\r\n\r\n",
)
"""What no parser of HTTP may accept: the service refuses it, and closes the connection."""


class Answer(NamedTuple):
    status: int
    body: bytes


class Lane:
    """A connection that stays open, with requests about an agent of its own."""

    def __init__(self, service: Service, name: str, anything: Anything) -> None:
        self.service, self.name, self.anything = service, name, anything
        self.sent: list[Request] = []
        self._connect()

    def _connect(self) -> None:
        self._socket = socket.create_connection(("127.0.0.1", self.service.port), timeout=PATIENCE)
        self._file = self._socket.makefile("rb")

    def _close(self) -> None:
        self._file.close()
        self._socket.close()

    def flood(self, count: int) -> Counter[int]:
        """Send so many requests, several ahead of their answers; return how many had which status."""
        statuses: Counter[int] = Counter()
        while statuses.total() < count:
            self.sent += [self.anything.request() for _ in range(AHEAD - len(self.sent))]
            self._socket.sendall(b"".join(map(_encoded, self.sent)))
            sent, self.sent = self.sent, []
            for request in sent:
                answer = _read(self._file)
                assert answer.status < 500 or answer.status == 503, (request, answer)
                assert not any(secret in answer.body for secret in INSIDE), (request, answer)
                statuses[answer.status] += 1
                self._note(request, answer)
            if self.anything.draw.random() < 0.01:
                statuses.update(self._spoil(self.anything.draw.choice(SPOILT)))
        self._close()
        return statuses

    def _note(self, request: Request, answer: Answer) -> None:
        """Learn which step is due, and remove an agent that was created."""
        if answer.status == 201:
            self.sent.append(("DELETE", "/v1/agents/x?confirm=x", b""))
        elif request[1].startswith(f"/v1/agents/{self.name}/") and request[1].endswith(("/observe", "/step", "/act")):
            said = json.loads(answer.body)
            due = said.get("expected", said.get("step"))
            if isinstance(due, int):
                self.anything.step = due + (answer.status == 200 and not request[1].endswith("/act"))

    def _spoil(self, head: bytes) -> list[int]:
        """Send what is not HTTP; return the statuses of the answers until the connection is closed."""
        said = b""
        with suppress(ConnectionError):  # it may be closed before all was sent, or received
            self._socket.sendall(head)
            said = self._file.read()
        self._close()
        self._connect()
        statuses = [int(status) for status in re.findall(rb"^HTTP/1.1 (\d+)", said, re.MULTILINE)]
        assert all(400 <= status < 500 for status in statuses), said
        return statuses


def _encoded(request: Request) -> bytes:
    method, path, body = request
    octets = method == "PUT" and path.split("?")[0].endswith(("/state", "/arrival"))
    kind = "octet-stream" if octets else "json"
    lines = [f"{method} {path} HTTP/1.1", "host: localhost", f"content-type: application/{kind}"]
    return "\r\n".join([*lines, f"content-length: {len(body)}", "", ""]).encode() + body


def _read(file: io.BufferedReader) -> Answer:
    """Read an answer, whole or in chunks."""
    status = int(file.readline().split(b" ", 2)[1])
    length: int | None = 0
    while (line := file.readline()) != b"\r\n":
        name, _, value = line.partition(b":")
        if name == b"content-length":
            length = int(value)
        elif name == b"transfer-encoding":
            length = None
    if length is not None:
        return Answer(status, file.read(length))
    parts = []
    while size := int(file.readline(), 16):
        parts.append(file.read(size))
        file.readline()
    file.readline()
    return Answer(status, b"".join(parts))


def flood(service: Service, count: int, seed: int) -> Counter[int]:
    """Send so many requests of any kind; return how many had which status."""
    service.call("DELETE", "/v1/agents/x?confirm=x")
    lanes = [_lane(service, f"pump{number}", f"{seed} {number}") for number in range(CONNECTIONS)]
    with ThreadPoolExecutor(CONNECTIONS) as threads:
        return sum(threads.map(lambda lane: lane.flood(count // CONNECTIONS), lanes), Counter())


def _lane(service: Service, name: str, seed: str) -> Lane:
    service.call("DELETE", f"/v1/agents/{name}?confirm={name}")
    service.create(name, PUMP)
    document = service.call("GET", "/openapi.json").json
    routes = [(method.upper(), path) for path, methods in document["paths"].items() for method in methods]
    state = service.call("GET", f"/v1/agents/{name}/state").body
    return Lane(service, name, Anything(Crafted(seed, state, name), routes, _names(document), _words(document)))


def _names(document: Any) -> list[str]:
    """Return the keys of bodies and queries that an OpenAPI document knows."""
    keys = {key for schema in document["components"]["schemas"].values() for key in schema.get("properties", {})}
    routes = [route for methods in document["paths"].values() for route in methods.values()]
    return sorted(
        keys | {known["name"] for route in routes for known in route.get("parameters", ()) if "name" in known}
    )


def _words(document: Any) -> list[str]:
    """Return the words, as JSON, that an OpenAPI document allows somewhere: modes and the like."""
    parts = document.values() if isinstance(document, dict) else document if isinstance(document, list) else ()
    words = {json.dumps(word) for word in document.get("enum", ())} if isinstance(document, dict) else set()
    return sorted(words.union(*map(_words, parts)))
