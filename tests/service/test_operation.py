"""Running it: start, metrics, logs, pressure, a full disk, the end."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import signal
import socket
import sqlite3
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from everlearn.durable.core import Core
from everlearn.service import operations
from everlearn.service.agents import Agents, Unloaded
from everlearn.service.loading import load
from everlearn.service.models import ObserveIn
from everlearn.service.settings import Limits
from everlearn.service.setups import remote_setup
from tests.few import few
from tests.service.conftest import COMMAND, STATION, STRICT, until


def listens(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def refused(runner, tmp_path):
    """Starts a service that must not start, and returns its one line."""

    def start(*options: str, before: str = "") -> str:
        folder = tmp_path / "refused"
        folder.mkdir()
        process = runner.start(shlex.join(["everlearn", "serve", *options]), folder, STRICT + before)
        assert (runner.wait(process), (folder / ".stdout").read_text()) == (2, "")
        (line,) = (folder / ".stderr").read_text().splitlines()
        assert line.startswith("everlearn: ")
        return line.removeprefix("everlearn: ")

    return start


class TestStart:
    def test_it_can_really_be_started(self, tmp_path):
        """All other services of these tests are forked from a process that has imported them."""
        options = ["--data", str(tmp_path / "data"), "--port", "0"]
        with subprocess.Popen([*COMMAND, *options], stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            entries = map(json.loads, process.stderr)
            port = next(entry["port"] for entry in entries if entry["message"] == "serving")
            until(lambda: listens(port))
            process.terminate()
            assert [entry["message"] for entry in entries][-1] == "stopped"
        assert process.returncode == 0

    @pytest.mark.soak
    def test_a_port_that_is_taken(self, refused, tmp_path):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = str(other.getsockname()[1])
            line = refused("--data", str(tmp_path / "data"), "--port", port)
        assert line == f"--port: {port}; 127.0.0.1 cannot be used: Address already in use; give another"
        assert not (tmp_path / "data").exists()

    @pytest.mark.soak
    def test_a_directory_that_is_held(self, start, refused):
        service = start()
        line = refused("--data", str(service.directory), "--port", "0")
        assert re.search(rf"another process works there \(process {service.pid} on ", line)
        assert service.call("GET", "/readyz").status == 200

    def test_the_extra_is_missing(self, refused, tmp_path):
        line = refused("--data", str(tmp_path / "data"), before="import sys; sys.modules['starlette'] = None")
        assert line.endswith("the service needs more packages: pip install 'everlearn[service]'")

    @pytest.mark.parametrize(
        ("options", "line"),
        [
            (["--host", "0.0.0.0"], "--host: '0.0.0.0'; others can reach this address: name a file of tokens with"),
            (
                ["--host", "nowhere.invalid", "--token-file", "TOKENS"],
                "--host: 'nowhere.invalid'; is no address of this",
            ),
            (["--port", "65536"], "--port: 65536; give a whole number from 0 to 65535"),
            (["--max-agents", "0"], "--max-agents: 0; give a whole number of at least 1"),
            (["--log-level", "loud"], "--log-level: 'loud'; known: debug, info, warning, error"),
            (["--token-file", "none"], "--token-file: 'none'; it cannot be read: No such file or directory"),
        ],
    )
    def test_options_that_cannot_be_used(self, refused, tmp_path, options, line):
        tokens = tmp_path / "tokens"
        tokens.write_text("0123456789abcdef")
        tokens.chmod(0o600)
        named = [str(tokens) if option == "TOKENS" else option for option in options]
        assert refused("--data", str(tmp_path / "data"), *named).startswith(line)

    def test_a_data_directory_that_is_a_file(self, refused, tmp_path):
        (tmp_path / "file").write_text("")
        assert str(tmp_path / "file") in refused("--data", str(tmp_path / "file"), "--port", "0")

    @pytest.mark.parametrize("keep", [50, 5000])
    def test_a_database_that_is_damaged(self, start, refused, keep):
        service = start()
        service.create("station")
        service.kill()
        for path in service.directory.glob("everlearn.db-*"):
            path.unlink()
        path = service.directory / "everlearn.db"
        path.write_bytes(b"\x55" * keep)
        assert str(path) in refused("--data", str(service.directory), "--port", "0")


class TestEnd:
    @pytest.mark.parametrize("number", few([signal.SIGTERM, signal.SIGINT], [signal.SIGTERM]))
    def test_what_waits_is_finished(self, start, number):
        """Requests that are under way when the signal comes are answered, and what they brought is on disk."""
        service = start()
        names = [f"a{n}" for n in range(8)]
        for name in names:
            service.create(name)
        told, stop = dict.fromkeys(names, 0), threading.Event()

        def work(name):
            while not stop.is_set():
                try:
                    reply = service.call(
                        "POST", f"/v1/agents/{name}/step", {"step": told[name] + 1, "observation": "arrival"}
                    )
                except OSError:
                    return
                if reply.status != 200:
                    return
                told[name] += 1

        with ThreadPoolExecutor(8) as pool:
            working = [pool.submit(work, name) for name in names]
            until(lambda: min(told.values()) > 0)
            assert service.stop(number) == 0
            stop.set()
            [one.result() for one in working]
        assert service.log[-1]["message"] == "stopped"
        again = start()
        found = {one["name"]: one["step"] for one in again.call("GET", "/v1/agents").json["agents"]}
        for name in names:
            assert told[name] > 0
            assert found[name] in (told[name], told[name] + 1)  # the last answer may not have come through

    def test_the_directory_is_free_afterwards_and_has_nothing_to_replay(self, start):
        service = start()
        service.create("station")
        for step in range(1, 4):
            service.post("/v1/agents/station/observe", {"step": step, "observation": "arrival"})
        service.stop()
        again = start()
        steps = [one["step"] for one in again.call("GET", "/v1/agents/station/snapshots").json["snapshots"]]
        assert steps == [0, 3]


SLOW_DISK = """
import pathlib, time
from everlearn.service.agents import Agents
from everlearn.service.committer import Committer
append, do = Agents.append, Committer.do
def waiting(self, entries):
    while not pathlib.Path("{folder}/gate").exists():
        time.sleep(0.005)
    append(self, entries)
async def counted(self, agent, work):
    pathlib.Path("{folder}", f"asked-{{agent}}").touch()
    return await do(self, agent, work)
Agents.append, Committer.do = waiting, counted
"""
"""A disk that writes nothing until there is a file ``gate``; there is one for every agent that was asked, too."""


@pytest.mark.soak
def test_many_requests_are_one_transaction(start, tmp_path):
    """The group commit: what comes while the disk works is written at once."""
    service = start(before=SLOW_DISK.format(folder=tmp_path))
    names = [f"group{n}" for n in range(16)]
    for name in names:
        service.create(name)
    for path in tmp_path.glob("asked-*"):
        path.unlink()
    told = {"step": 1, "observation": "arrival"}
    with ThreadPoolExecutor(16) as pool:
        sent = [pool.submit(service.post, f"/v1/agents/{name}/observe", told) for name in names]
        until(lambda: len(list(tmp_path.glob("asked-group*"))) == 16)
        (tmp_path / "gate").touch()
        assert [one.result()["step"] for one in sent] == [1] * 16
    assert service.metric("rows_total") == 16
    assert service.metric("commits_total") <= 3


def test_too_many_requests_are_told_to_come_again(start, tmp_path):
    """A disk that takes its time: what does not fit into the queue is refused at once, what fits is served."""
    service = start("--max-waiting", "2", before=SLOW_DISK.format(folder=tmp_path))
    names = [f"a{n}" for n in range(10)]
    for name in names:
        service.create(name)
    told = {"step": 1, "observation": "arrival"}
    with ThreadPoolExecutor(10) as pool:
        sent = {name: pool.submit(service.call, "POST", f"/v1/agents/{name}/observe", told) for name in names}
        until(lambda: sum(one.done() for one in sent.values()) >= 6)  # two are written at most, and two wait
        (tmp_path / "gate").touch()
        done = [sent[name].result() for name in names]
    assert {reply.status for reply in done} == {200, 503}
    for reply in done:
        if reply.status == 503:
            assert (reply.json["error"], reply.headers["retry-after"]) == ("busy", "1")
    assert service.metric("refused_total") >= 6
    found = {one["name"]: one["step"] for one in service.call("GET", "/v1/agents").json["agents"]}
    assert [found[name] for name in names] == [int(reply.status == 200) for reply in done]


class TestFullDisk:
    @pytest.fixture
    def small(self, tmp_path):
        """A disk of one megabyte."""
        disk = tmp_path / "disk"
        disk.mkdir()
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], capture_output=True, check=False
        )
        if mounted.returncode:
            pytest.skip(f"NO SMALL DISK CAN BE MOUNTED HERE: {mounted.stderr.decode().strip()}")
        yield disk
        subprocess.run(["umount", "--lazy", str(disk)], check=True)

    def test_it_is_a_clear_error_that_loses_nothing(self, start, small):
        service = start(directory=small / "data")
        service.create("station")
        fill(small / "ballast")
        step, reply = 0, None
        while reply is None or reply.status == 200:
            step += 1
            reply = service.call("POST", "/v1/agents/station/observe", {"step": step, "observation": "arrival"})
        assert (reply.status, reply.json["error"]) == (507, "full")
        assert str(small) not in reply.json["message"]
        assert service.call("GET", "/readyz").status == 503
        assert service.post("/v1/agents/station/act")["step"] == step  # it still acts
        (small / "ballast").unlink()
        sent = {"step": step, "observation": "arrival"}
        assert service.post("/v1/agents/station/observe", sent)["step"] == step  # the same can be tried again
        assert service.call("GET", "/readyz").status == 200
        service.kill()
        again = start(directory=small / "data")
        rows = again.call("GET", "/v1/agents/station/journal").body.splitlines()
        assert [json.loads(row)["step"] for row in rows] == list(range(1, step + 1))

    @pytest.mark.soak
    def test_the_same_where_the_database_may_not_grow(self, start):
        """Needs no mount: SQLite says of its own bound what it says of a full disk."""
        before = """
import everlearn.durable.database as module
kept = module.connect
def connect(path):
    connection = kept(path)
    connection.execute("PRAGMA max_page_count = 14")
    return connection
module.connect = connect
"""
        service = start(before=before)
        service.create("station")
        for step in range(1, 10_000):
            reply = service.call("POST", "/v1/agents/station/observe", {"step": step, "observation": "arrival"})
            if reply.status != 200:
                break
        assert (reply.status, reply.json["error"]) == (507, "full")
        service.kill()
        again = start()
        assert again.post("/v1/agents/station/act")["step"] == step
        again.post("/v1/agents/station/observe", {"step": step, "observation": "arrival"})


def fill(path) -> None:
    """Leave next to no room."""
    with path.open("wb", buffering=0) as file:
        for size in (65536, 4096):
            try:
                while file.write(bytes(size)) == size:
                    pass
            except OSError:
                pass
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 24576)


def test_a_backup_that_was_made_while_it_ran_can_be_served(start, runner, tmp_path):
    """As the runbook says: back up, lose everything, restore, check, start."""
    service = start()
    service.create("station")
    for step in range(1, 12):
        service.post("/v1/agents/station/step", {"step": step, "observation": "arrival"})
    copy = tmp_path / "copy.db"
    assert runner(shlex.join(["everlearn", "backup", str(service.directory), str(copy)]), tmp_path).status == 0
    before = service.call("GET", "/v1/agents/station").json
    service.post("/v1/agents/station/step", {"step": 12, "observation": "arrival"})  # this one will be lost
    service.kill()
    restored = tmp_path / "restored"
    restored.mkdir()
    shutil.copy(copy, restored / "everlearn.db")
    assert runner(shlex.join(["everlearn", "check", str(restored)]), tmp_path).status == 0
    again = start(directory=restored)
    again.post("/v1/agents/station/act")
    assert again.call("GET", "/v1/agents/station").json == before
    reply = again.call("POST", "/v1/agents/station/step", {"step": 13, "observation": "arrival"})
    assert (reply.status, reply.json["expected"]) == (409, 12)


def test_an_agent_whose_memory_falls_behind_the_disk_is_read_again(tmp_path, monkeypatch):
    """What is on disk counts: the request fails, and repeated it is acknowledged."""
    agents = Agents(tmp_path / "data", Limits())
    agents.create("station", remote_setup(STATION, Limits()))
    body = ObserveIn(step=1, observation="arrival")
    prepared = operations.observe(agents, "station", body)
    agents.append([prepared.entry])
    with monkeypatch.context() as patched:
        patched.setattr(Core, "apply", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            prepared.then()
    with pytest.raises(Unloaded):
        operations.observe(agents, "station", body)
    agents.loaded["station"] = load(tmp_path / "data", "station")
    assert operations.observe(agents, "station", body)["step"] == 1
    assert agents.core("station").next_step == 2
    agents.close()


def test_an_agent_whose_task_changed_waits_for_an_operator(start, runner, tmp_path):
    """As the runbook says: upgrade, read what changed, accept it, start."""
    service = start()
    for name, task in (("river", "riverswim"), ("station", "service-station")):
        service.create(name, {"task": task})
    service.stop()
    upgrade = """
import functools
from dataclasses import replace
import everlearn.tasks.riverswim as module
made = module.riverswim
@functools.wraps(made)
def riverswim(**parameters):
    task = made(**parameters)
    return replace(task, reward=replace(task.reward, function=lambda s, a, o: 0.5 * task.reward(s, a, o)))
module.riverswim = riverswim
"""
    service = start(before=upgrade)
    assert service.post("/v1/agents/station/act")["step"] == 1
    reply = service.call("POST", "/v1/agents/river/act")
    assert service.logged("agent cannot be opened")["agent"] == "river"
    assert (reply.status, reply.json["error"]) == (503, "changed")
    assert reply.json["message"].startswith("the reward changed: r(")
    assert str(service.directory) not in reply.json["message"]
    service.stop()
    call = shlex.join(["everlearn", "accept", str(service.directory), "--agent", "river"])
    assert runner.wait(runner.start(call, tmp_path, upgrade)) == 0
    assert (tmp_path / ".stdout").read_text().startswith("accepted: the reward changed")
    service = start(before=upgrade)
    assert service.post("/v1/agents/river/act")["step"] == 1
    assert service.call("GET", "/v1/agents/river").json["changed"]["step"] == 0


def test_an_agent_that_is_damaged_does_not_stop_the_others(start):
    service = start()
    for name in ("good", "bad"):
        service.create(name)
        for step in range(1, 4):
            service.post(f"/v1/agents/{name}/observe", {"step": step, "observation": "arrival"})
    service.kill()
    with closing(sqlite3.connect(service.directory / "everlearn.db")) as database:
        number = database.execute("SELECT id FROM agents WHERE name = 'bad'").fetchone()[0]
        database.execute("UPDATE journal SET reward = 0.123 WHERE agent = ? AND step = 2", (number,))
        database.commit()
    again = start()
    assert again.post("/v1/agents/good/act")["step"] == 4
    reply = again.call("POST", "/v1/agents/bad/act")
    assert again.logged("agent cannot be opened")["agent"] == "bad"
    assert (reply.status, reply.json["error"]) == (503, "corrupt")
    assert str(service.directory) not in reply.json["message"]


class TestWatching:
    def test_metrics_are_in_the_format_of_prometheus(self, service):
        service.create("watched")
        for step in range(1, 4):
            service.post("/v1/agents/watched/observe", {"step": step, "observation": "arrival"})
        reply = service.call("GET", "/metrics")
        assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        text = reply.body.decode()
        sample = re.compile(r'[a-z_]+(\{[a-z]+="[^"\\\n]*"(,[a-z]+="[^"\\\n]*")*\})? ([-+0-9.e]+|\+Inf)')
        for line in text.splitlines():
            assert line.startswith(("# HELP everlearn_", "# TYPE everlearn_")) or sample.fullmatch(line), line
        assert 'everlearn_agent_step{agent="watched"} 3' in text
        assert 'everlearn_requests_total{operation="POST /v1/agents/{name}/observe",status="200"}' in text
        assert "everlearn_ready 1" in text
        declared = re.findall(r"^# TYPE (\S+)", text, flags=re.MULTILINE)
        assert len(declared) == len(set(declared))

    def test_names_that_are_made_up_are_not_counted_by_name(self, service):
        for n in range(20):
            service.call("GET", f"/made-up-{n}")
        text = service.call("GET", "/metrics").body.decode()
        assert "made-up" not in text
        assert 'operation="unknown",status="404"' in text

    def test_logs_are_json_and_tell_who_was_changed(self, start):
        service = start("--log-level", "debug")
        service.create("logged")
        service.call("PUT", "/v1/agents/logged/mode", {"mode": "frozen"})
        service.call("DELETE", "/v1/agents/logged?confirm=logged")
        service.stop()
        told = [(entry["message"], entry.get("agent")) for entry in service.log]
        for message in ("agent created", "mode changed", "agent deleted"):
            assert (message, "logged") in told
        assert all({"time", "level", "message"} <= set(entry) for entry in service.log)
