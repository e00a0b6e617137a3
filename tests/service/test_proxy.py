"""Three services behind HAProxy, which routes by the name of the agent, as the example says."""

from __future__ import annotations

import shutil
import subprocess
import zlib
from pathlib import Path

import pytest

from everlearn.client import Client
from tests.service.conftest import STATION, until
from tests.service.moving import drive, move
from tests.service.test_chaos import free_port, world

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = [f"agent-{number}" for number in range(6)]

pytestmark = pytest.mark.skipif(
    shutil.which("haproxy") is None, reason="NO haproxy HERE: THE EXAMPLE IS NOT TESTED (apt-get install haproxy)"
)


@pytest.fixture
def proxied(start, tmp_path):
    """Three services, and the address of the proxy in front of them."""
    services = [start(directory=tmp_path / f"service-{number}", port=free_port()) for number in range(3)]
    text, port = (EXAMPLES / "haproxy.cfg").read_text(), free_port()
    for old, new in zip((8320, 8321, 8322, 8323), (port, *(service.port for service in services)), strict=True):
        assert f"127.0.0.1:{old}" in text
        text = text.replace(f"127.0.0.1:{old}", f"127.0.0.1:{new}")
    (tmp_path / "haproxy.cfg").write_text(text)
    shutil.copy(EXAMPLES / "agents.map", tmp_path / "agents.map")
    command = ["haproxy", "-db", "-f", "haproxy.cfg"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        url = f"http://127.0.0.1:{port}"
        yield services, url, process
        process.terminate()


@pytest.mark.soak
def test_agents_are_routed_by_name_and_wait_for_their_service(proxied, start):
    services, url, process = proxied
    until(lambda: process.poll() is not None or reachable(url))
    assert process.poll() is None, process.stderr.read()
    clients = {name: Client(url, name, deadline=60) for name in NAMES}
    for number, (name, client) in enumerate(clients.items()):
        client.create(STATION)
        drive(client, world(number), 3)
        places = [place for place, service in enumerate(services) if has(service, name)]
        assert places == [zlib.crc32(name.encode()) % 3]
    gone = zlib.crc32(NAMES[0].encode()) % 3
    services[gone].kill()
    with Client(url, NAMES[0], deadline=0.2, fallback="slow") as alone:
        assert alone.act() == "slow"  # it is unreachable, and created nowhere else
    assert not any(has(service, NAMES[0]) for place, service in enumerate(services) if place != gone)
    services[gone] = start(directory=services[gone].directory, port=services[gone].port)
    drive(clients[NAMES[0]], world(0), 1)
    move(services[gone], NAMES[0], services[(gone + 1) % 3].url)
    assert clients[NAMES[0]].inspect()["step"] == 4  # the old service redirects to the new one
    for client in clients.values():
        client.close()


def reachable(url: str) -> bool:
    import http.client

    host, _, port = url.removeprefix("http://").partition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=10)
    try:
        connection.request("GET", "/v1/agents")
        return connection.getresponse().status == 404
    except OSError:
        return False
    finally:
        connection.close()


def has(service, name: str) -> bool:
    return service.call("GET", f"/v1/agents/{name}").status == 200
