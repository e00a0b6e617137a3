"""A service of several shards: any client gets the right answer, and a shard that ends is started again."""

from __future__ import annotations

import errno
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
from contextlib import closing
from pathlib import Path
from typing import ClassVar

import pytest

import everlearn as el
from everlearn.durable.layout import shards_of
from everlearn.errors import LiveError
from everlearn.service import front
from everlearn.service.placement import Placement
from everlearn.service.settings import Limits
from everlearn.service.shard import Place
from everlearn.service.supervisor import Shard
from tests.refusal import has
from tests.service.conftest import STATION, Service, until

NAMES = ("a", "b", "c", "d", "e", "f")
"""With two shards, the first three are placed in shard 1 and the others in shard 0."""


def processes(service: Service) -> list[int]:
    """The processes of the shards, in the order of their numbers as long as none was started again."""
    return [int(child) for child in Path(f"/proc/{service.pid}/task/{service.pid}/children").read_text().split()]


def shard_of(service: Service, name: str) -> int:
    """The shard that has an agent on disk."""
    found = [n for n in range(shards_of(service.directory)) if name in names_in(service.directory / f"shard-{n}")]
    assert len(found) == 1, (name, found)
    return found[0]


def names_in(directory: Path) -> list[str]:
    from everlearn.durable.reader import Reader

    with Reader(directory) as reader:
        return reader.names()


@pytest.fixture(scope="module")
def sharded(runner, tmp_path_factory):
    service = Service(runner, tmp_path_factory.mktemp("shards") / "data", "--shards", "2")
    for name in NAMES:
        service.create(name)
    yield service
    service.stop()


def asked(connection: http.client.HTTPConnection, method: str, path: str, body: object = None):
    sent = None if body is None else json.dumps(body)
    connection.request(method, path, sent, {"Content-Type": "application/json"})
    response = connection.getresponse()
    return response.status, json.loads(response.read())


def test_agents_are_placed_by_name(sharded):
    placement = Placement(2)
    assert {name: shard_of(sharded, name) for name in NAMES} == {name: placement.owner(name) for name in NAMES}
    assert {placement.owner(name) for name in NAMES} == {0, 1}


def test_one_connection_serves_agents_of_all_shards(sharded):
    connection = http.client.HTTPConnection("127.0.0.1", sharded.port, timeout=60)
    for name in (*NAMES, *NAMES):
        status, acted = asked(connection, "POST", f"/v1/agents/{name}/act")
        assert status == 200
        body = {"step": acted["step"], "observation": "arrival"}
        status, observed = asked(connection, "POST", f"/v1/agents/{name}/observe", body)
        assert (status, observed["step"]) == (200, acted["step"])
    assert asked(connection, "GET", "/v1/agents/nobody")[0] == 404
    assert asked(connection, "POST", "/v1/agents", {"name": "a", "setup": STATION}) == (
        200,
        {"name": "a", "created": False},
    )
    connection.close()


def test_questions_about_all_agents_are_answered_by_all_shards(sharded):
    for _ in range(4):  # whichever shard is asked
        listed = sharded.call("GET", "/v1/agents").json["agents"]
        assert [agent["name"] for agent in listed] == sorted(NAMES)
        assert sharded.call("GET", "/readyz").json == {"status": "ready", "quarantined": 0}
        assert sharded.call("GET", "/healthz").json == {"status": "ok"}
        assert sharded.metric("agents") == len(NAMES)
        assert sharded.metric("ready") == 1
    page = sharded.call("GET", "/metrics").body.decode()
    assert all(page.count(f'everlearn_agent_step{{agent="{name}"}}') == 1 for name in NAMES if "step" in page)
    assert page.count("# TYPE everlearn_agents gauge") == 1


def test_unusual_requests_reach_the_right_shard(sharded):
    """Requests that the front cannot read at once: escaped, in pieces, with a whole address, or ahead of time."""
    escaped = "".join(f"%{ord(letter):02x}" for letter in "d")
    assert sharded.call("GET", f"/v1/agents/{escaped}").json["name"] == "d"
    host = f"127.0.0.1:{sharded.port}"
    head = f"GET {{}} HTTP/1.1\r\nHost: {host}\r\n\r\n"
    for path in (f"http://{host}/v1/agents/d", f"http://{host}/v1/agents/a"):
        assert received(sharded, [head.format(path).encode()], 1)[0]["name"] == path[-1]
    for name in "ad":
        whole = head.format(f"/v1/agents/{name}").encode()
        assert received(sharded, [whole[:5], whole[5:18], whole[18:]], 1)[0]["name"] == name
    ahead = b"".join(head.format(f"/v1/agents/{name}").encode() for name in NAMES)
    assert [document["name"] for document in received(sharded, [ahead], len(NAMES))] == list(NAMES)


def received(service: Service, pieces: list[bytes], answers: int) -> list[dict]:
    """Send pieces, each after the one before was received, and return the documents of the answers."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=60) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in pieces:
            connection.sendall(piece)
            until(lambda: unsent(connection) == 0)
        file, found = connection.makefile("rb"), []
        for _ in range(answers):
            assert b" 200 " in file.readline()
            headers = http.client.parse_headers(file)
            found.append(json.loads(file.read(int(headers["content-length"]))))
        return found


def unsent(connection: socket.socket) -> int:
    """How many bytes the other side has not acknowledged."""
    import fcntl
    import struct
    import termios

    return struct.unpack("i", fcntl.ioctl(connection, termios.TIOCOUTQ, b"\0" * 4))[0]


def test_a_journal_is_passed_on_in_parts(sharded):
    connection = http.client.HTTPConnection("127.0.0.1", sharded.port, timeout=60)
    for name in ("a", "d"):
        due = asked(connection, "POST", f"/v1/agents/{name}/act")[1]["step"]
        for step in range(due, due + 30):
            asked(connection, "POST", f"/v1/agents/{name}/observe", {"step": step, "observation": "arrival"})
        connection.request("GET", f"/v1/agents/{name}/journal")
        rows = connection.getresponse().read().splitlines()
        assert [json.loads(row)["step"] for row in rows] == list(range(1, due + 30))
    connection.close()


def test_every_answer_has_each_header_once(sharded):
    connection = http.client.HTTPConnection("127.0.0.1", sharded.port, timeout=60)
    for path in ("/v1/agents/a", "/v1/agents/d", "/v1/agents", "/metrics"):
        connection.request("GET", path)
        response = connection.getresponse()
        response.read()
        names = [name.lower() for name, _ in response.getheaders()]
        assert sorted(names) == sorted(set(names)), path
        assert "x-content-type-options" in names
    connection.close()


def test_a_request_that_is_passed_on_is_answered_as_any_other(sharded):
    """HEAD, whose answer has a length and no body; and a header that only shards may send, of any length."""
    with closing(http.client.HTTPConnection("127.0.0.1", sharded.port, timeout=60)) as connection:
        for name in "adad":
            connection.request("HEAD", f"/v1/agents/{name}")
            assert connection.getresponse().read() == b""
            connection.request("GET", f"/v1/agents/{name}", headers={"X-Everlearn-Hops": "9" * 5_000})
            assert json.loads(connection.getresponse().read())["name"] == name


def test_rates_are_limited_where_a_request_arrives(start):
    """Senders of requests that are passed on have no address there, and must not share one limit."""
    service = start("--shards", "2", "--max-rate", "1", "--max-burst", "20")
    with closing(http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)) as connection:
        statuses = {asked(connection, "GET", f"/v1/agents/{name}")[0] for name in "a" + "d" * 19}
    assert statuses == {404}
    address = ("127.0.0.2", 0)
    with closing(
        http.client.HTTPConnection("127.0.0.1", service.port, timeout=60, source_address=address)
    ) as connection:
        assert [asked(connection, "GET", f"/v1/agents/{name}")[0] for name in "ad" * 10] == [404] * 20


def test_a_real_client_follows_no_redirect_and_needs_none(sharded):
    """Ask curl, which knows nothing of shards, for all agents over one connection."""
    addresses = [f"{sharded.url}/v1/agents/{name}" for name in NAMES]
    done = subprocess.run(["curl", "-sS", "--fail-early", *addresses], capture_output=True, check=True, timeout=120)
    found = done.stdout.replace(b"}{", b"}\n{").splitlines()
    assert [json.loads(line)["name"] for line in found] == list(NAMES)


def test_a_shard_that_ends_is_started_again(start):
    service = start("--shards", "2")
    for name in NAMES:
        service.create(name)
    steady = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
    assert asked(steady, "POST", "/v1/agents/d/act")[0] == 200
    first, second = processes(service)
    for step in range(1, 4):
        service.post("/v1/agents/a/step", {"step": step, "observation": "arrival"})
        os.kill(processes(service)[-1] if step > 1 else second, signal.SIGKILL)
        assert asked(steady, "POST", "/v1/agents/d/observe", {"step": step, "observation": "arrival"})[0] == 200
        repeated = service.post("/v1/agents/a/step", {"step": step, "observation": "arrival"})  # it waits for the shard
        assert (repeated["step"], repeated["next"]["step"]) == (step, step + 1)
    entry = service.logged("a shard has ended, and is started again")
    assert (entry["shard"], entry["status"]) == (1, -signal.SIGKILL)
    until(lambda: service.call("GET", "/readyz").status == 200)
    assert processes(service)[0] == first
    steady.close()
    assert service.stop() == 0


@pytest.mark.soak
def test_a_shard_that_cannot_start_concerns_its_own_agents_alone(start):
    service = start("--shards", "2")
    for name in ("a", "d"):
        service.create(name)
    shard, away = service.directory / "shard-1", service.directory / "away"
    shard.rename(away)
    os.kill(processes(service)[1], signal.SIGKILL)
    until(lambda: service.call("GET", "/v1/agents/a").status == 503)
    assert service.call("GET", "/v1/agents/a").json["error"] == "shard"
    assert service.call("GET", "/v1/agents/d").status == 200
    assert service.call("GET", "/readyz").status == 503
    assert not shard.exists()
    away.rename(shard)
    until(lambda: service.call("GET", "/readyz").status == 200)
    assert service.call("GET", "/v1/agents/a").status == 200
    assert service.stop() == 0


def test_agents_are_found_when_the_number_of_shards_changes(start, tmp_path, runner):
    service = start("--shards", "2")
    for name in NAMES:
        service.create(name)
        service.post(f"/v1/agents/{name}/step", {"step": 1, "observation": "arrival"})
    places = {name: shard_of(service, name) for name in NAMES}
    assert service.stop() == 0
    service = start("--shards", "5")
    assert places != {name: Placement(5).owner(name) for name in NAMES}
    for name in NAMES:
        assert service.call("GET", f"/v1/agents/{name}").json["step"] == 1
        assert service.post("/v1/agents", {"name": name, "setup": STATION}) == {"name": name, "created": False}
        assert shard_of(service, name) == places[name]
    service.create("more")
    assert shard_of(service, "more") == Placement(5).owner("more")
    os.kill(processes(service)[places["a"]], signal.SIGKILL)
    assert service.call("GET", "/v1/agents/a").json["step"] == 1
    assert service.stop() == 0
    refused = runner(f"everlearn serve --port 0 --data {service.directory} --shards 1", tmp_path)
    assert refused.status == 2
    assert "--shards 5" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1


@pytest.mark.soak
def test_a_directory_without_shards_gets_some(start, tmp_path, runner):
    service = start()
    for name in NAMES:
        service.create(name)
    service.post("/v1/agents/a/step", {"step": 1, "observation": "arrival"})
    service.kill()  # so that there is a log
    service = start("--shards", "2")
    assert [agent["name"] for agent in service.call("GET", "/v1/agents").json["agents"]] == list(NAMES)
    assert service.call("GET", "/v1/agents/a").json["step"] == 1
    service.stop()
    refused = runner(f"everlearn serve --port 0 --data {service.directory}", tmp_path)
    assert (refused.status, len(refused.stderr.splitlines())) == (2, 1)
    assert "--shards 2" in refused.stderr
    with pytest.raises(LiveError, check=has(__class__=LiveError, path=service.directory)):
        el.live(service.directory, task="service-station")
    assert not (service.directory / "everlearn.db").exists()


@pytest.mark.soak
def test_a_directory_is_its_owners_and_is_restored_from_a_backup(start, tmp_path, runner):
    """The steps of the runbook for a directory with shards."""
    service = start("--shards", "2")
    for name in NAMES:
        service.create(name)
    service.post("/v1/agents/a/step", {"step": 1, "observation": "arrival"})
    place, copy = service.directory, tmp_path / "backups" / "copy"
    assert runner(f"everlearn backup {place} {copy}", tmp_path).status == 0
    service.post("/v1/agents/a/step", {"step": 2, "observation": "arrival"})
    assert service.stop() == 0
    for made in (place, copy):
        for folder in (made, made / "shard-0", made / "shard-1"):
            assert folder.stat().st_mode & 0o777 == 0o700, folder
        assert (made / "shards.json").stat().st_mode & 0o777 == 0o600
    place.rename(tmp_path / "old")
    subprocess.run(["cp", "-a", copy, place], check=True)
    checked = runner(f"everlearn check {place} --json", tmp_path)
    assert (checked.status, len(json.loads(checked.stdout)["agents"])) == (0, len(NAMES))
    assert start("--shards", "2").call("GET", "/v1/agents/a").json["step"] == 1


def test_a_shard_that_is_gone_is_noticed(start, tmp_path, runner):
    service = start("--shards", "2")
    service.stop()
    (service.directory / "shard-1").rename(tmp_path / "away")
    refused = runner(f"everlearn serve --port 0 --data {service.directory} --shards 2", tmp_path)
    assert (refused.status, len(refused.stderr.splitlines())) == (2, 1)
    assert "shard-1" in refused.stderr
    (tmp_path / "away").rename(service.directory / "shard-1")
    assert start("--shards", "2").stop() == 0


def test_an_agent_in_two_shards_is_refused(start, tmp_path, runner):
    service = start("--shards", "2")
    service.create("a")
    service.stop()
    shutil.copy(service.directory / "shard-1" / "everlearn.db", service.directory / "shard-0" / "everlearn.db")
    refused = runner(f"everlearn serve --port 0 --data {service.directory} --shards 2", tmp_path)
    assert (refused.status, len(refused.stderr.splitlines())) == (2, 1)
    assert "the agent a is in shard-0 and in shard-1" in refused.stderr


def test_shards_end_with_the_process_in_front(start):
    service = start("--shards", "2")
    service.create("a")
    shards = processes(service)
    service.kill()
    until(lambda: not any(is_running(shard) for shard in shards))
    again = start("--shards", "2")
    assert again.call("GET", "/v1/agents/a").status == 200
    assert again.stop() == 0


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_tokens_hold_in_every_shard_and_are_reread(start, tmp_path):
    file = tmp_path / "tokens"
    file.write_text("first-token-of-all\n")
    file.chmod(0o600)
    service = start("--shards", "2", "--token-file", str(file))
    given = {"Authorization": "Bearer first-token-of-all"}
    for name in NAMES:
        assert service.call("POST", "/v1/agents", {"name": name, "setup": STATION}, **given).status == 201
        assert service.call("GET", f"/v1/agents/{name}").status == 401
    assert service.call("GET", "/v1/agents").status == 401
    file.write_text("second-token-of-all\n")
    os.kill(service.pid, signal.SIGHUP)
    until(lambda: {e["shard"] for e in service.log if e["message"] == "tokens reread"} == {0, 1})
    for name in NAMES:
        assert service.call("GET", f"/v1/agents/{name}", **given).status == 401
        assert service.call("GET", f"/v1/agents/{name}", Authorization="Bearer second-token-of-all").status == 200


def test_silent_connections_do_not_keep_others_out(start):
    service = start("--shards", "2", "--max-connections", "10", "--patience", "60")
    silent = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(80)]
    assert service.call("GET", "/healthz").status == 200
    for connection in silent:
        connection.close()
    assert service.stop() == 0


def test_a_front_without_open_files_rests(monkeypatch, caplog):
    """It does not keep the processor busy, and says why once, until it can accept again."""
    rests, short = [], OSError(errno.EMFILE, "Too many open files")

    class Listener:
        answers: ClassVar = [short, short, BlockingIOError(), short]

        def accept(self):
            raise self.answers.pop(0)

    monkeypatch.setattr(front.time, "sleep", rests.append)
    facing = front.Front(Listener(), Placement(1), Limits(), lambda _connection, _shard: True)
    for _ in range(4):
        facing._accept()
    assert rests == [front.REST] * 3
    assert caplog.text.count("connections cannot be accepted now") == 1
    facing.selector.close()


def test_a_report_that_cannot_be_read_is_logged_and_passed_over(tmp_path, caplog):
    """A process that is killed may leave half a line, which the next process must not continue."""
    shard = Shard(0)
    place = Place(0, tmp_path, shard.inbox, (), 0)
    for line in (b"no report\n", b"7\n", b"\xff\n"):
        shard.inbox.send(line)
    place.report(ready=True)
    shard.inbox.send(b'{"placed": {"a"')
    assert shard.reports() == [{"ready": True}]
    assert caplog.text.count("a report of a shard cannot be read") == 3
    shard.process, shard.ready = 7, True
    shard.end()
    assert (shard.process, shard.ready) == (0, False)
    place.report(ready=True)
    assert shard.reports() == [{"ready": True}]
    for end in (shard.channel, shard.inbox):
        end.close()


def test_a_report_arrives_whole_though_the_front_is_behind(tmp_path):
    shard = Shard(0)
    shard.inbox.setblocking(False)
    place = Place(0, tmp_path, shard.inbox, (), 0)

    def report():
        for number in range(200):
            place.report(placed={"x" * 5_000: number})
        place.report(ready=True)

    thread = threading.Thread(target=report)
    thread.start()
    reports = []
    while not any(each.get("ready") for each in reports):
        reports += shard.reports()
    thread.join()
    assert len(reports) == 201
    for end in (shard.channel, shard.inbox):
        end.close()
