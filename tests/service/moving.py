"""Moves of agents between services, as an operator and another service make them."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from everlearn.client import Client
from everlearn.client.operator import Operator
from everlearn.durable import layout, moving
from everlearn.durable.checking import check
from everlearn.durable.layout import shard_directory, stores_of
from everlearn.durable.setup import Setup, make_setup
from everlearn.durable.store import Store
from tests.service.conftest import STATION, Service

OCTETS = "application/octet-stream"


def drive(client: Client, station, steps: int) -> None:
    for _ in range(steps):
        assert client.observe(station.step(client.act())) is not None


def move(service: Service, name: str, to: str | int) -> None:
    operator = Operator(service.url, name, deadline=60)
    with closing(operator._connection):
        operator.move(to)


def sound(service: Service) -> bool:
    """Whether everything that a service has stored is as it was written, and can be recovered."""
    reports = [check(store) for store in stores_of(service.directory)]
    return all(report.sound and all(a["verdict"] == "sound" for a in report.agents) for report in reports)


def begin(service: Service, name: str, to: str) -> bytes:
    return service.call("POST", f"/v1/agents/{name}/move", {"to": to}).body


def arrive(service: Service, name: str, luggage: bytes):
    return service.call("PUT", f"/v1/agents/{name}/arrival", luggage, Content_Type=OCTETS)


def assert_moving(service: Service, name: str) -> None:
    """Whatever would use an agent is refused: another service may own it already."""
    for path, body in (("act", None), ("observe", {"step": 1, "observation": "arrival"})):
        reply = service.call("POST", f"/v1/agents/{name}/{path}", body)
        assert (reply.status, reply.json["error"]) == (503, "moving"), reply
    assert service.call("GET", "/v1/agents").json["agents"][0]["quarantined"] is None  # it is not even kept


def interrupted(directory: Path) -> None:
    """Leave a directory with two shards in which agent a has come from shard 0 to shard 1, and is in both."""
    with Store(shard_directory(directory, 0)) as first, Store(shard_directory(directory, 1)) as second:
        for name in ("a", "b"):
            core = first.create(name, make_setup(**STATION))
        core = first.open("a")
        note = moving.begin(first, "a", "shard-1")
        luggage = moving.Luggage.from_bytes(moving.pack(first, "a", core, note["move"]).to_bytes())
        moving.arrive(second, Setup(luggage.setup), luggage)
    layout.record(directory, 2)


def put_into(directory: Path, luggage: bytes) -> None:
    from everlearn.durable.moving import Luggage, arrive
    from everlearn.durable.setup import Setup

    read = Luggage.from_bytes(luggage)
    with Store(directory) as store:
        arrive(store, Setup(read.setup), read)
