"""What an agent, its setup or its state contains harms that agent alone."""

from __future__ import annotations

import importlib
import os
import resource
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from everlearn.errors import InputError
from everlearn.service import sandbox as module
from everlearn.service.problems import answer_to
from everlearn.service.sandbox import Refused, Sandbox, Untried
from everlearn.service.settings import Limits
from everlearn.service.setups import remote_setup
from tests.durable.failing import failing_directory, spoilt
from tests.refusal import has, refusal
from tests.service.conftest import until


@pytest.fixture
def failing(start, tmp_path):
    failing_directory(tmp_path / "failing", "bad", "good")
    return start(directory=tmp_path / "failing")


def test_one_agent_is_quarantined_and_others_continue(failing):
    reply = failing.call("POST", "/v1/agents/bad/act")
    assert (reply.status, reply.json["error"]) == (503, "quarantined")
    assert "could not learn (ValueError: math domain error)" in reply.json["message"]
    assert failing.post("/v1/agents/good/act")["step"] == 4
    assert failing.call("GET", "/readyz").json == {"status": "ready", "quarantined": 1}
    assert failing.metric("quarantined") == 1
    listed = failing.call("GET", "/v1/agents").json["agents"]
    assert {agent["name"]: agent["quarantined"] for agent in listed} == {"bad": True, "good": False}


def test_what_was_recorded_is_still_answered(failing):
    row = failing.call("GET", "/v1/agents/bad/journal?first=4").body
    assert row.count(b"\n") == 1
    said = failing.call("POST", "/v1/agents/bad/observe", {"step": 4, "observation": "made up"})
    assert said.status in (409, 422)


@pytest.mark.parametrize("restart", [False, True])
def test_an_operator_rolls_it_back(failing, start, restart):
    if restart:
        failing.stop()
        failing = start(directory=failing.directory)
    assert failing.post("/v1/agents/bad/rollback", {"snapshot": 3})["quarantined"] is None
    assert failing.post("/v1/agents/bad/act")["step"] == 5
    assert failing.call("GET", "/readyz").json["quarantined"] == 0


def test_an_operator_deletes_it(failing):
    failing.call("POST", "/v1/agents/bad/act")
    assert failing.call("DELETE", "/v1/agents/bad?confirm=bad").status == 200
    assert failing.call("GET", "/readyz").json["quarantined"] == 0


def test_a_state_that_cannot_be_used_is_refused(service):
    service.create("importing")
    service.post("/v1/agents/importing/observe", {"step": 1, "observation": "arrival"})
    state = service.call("GET", "/v1/agents/importing/state").body
    octets = {"Content_Type": "application/octet-stream"}
    reply = service.call("PUT", "/v1/agents/importing/state", spoilt(state), **octets)
    assert (reply.status, reply.json["error"]) == (422, "input")
    assert "it cannot be used" in reply.json["message"]
    assert service.call("GET", "/v1/agents/importing/state").body == state
    assert service.call("PUT", "/v1/agents/importing/state", state, **octets).status == 200


def test_without_its_committer_the_process_ends(start):
    before = "from everlearn.service import management\nmanagement.list_agents = lambda agents: exit(3)\n"
    service = start(before=before)
    service.call("GET", "/v1/agents")
    assert service.ended() == 2
    assert "the service ended because its committer did" in service.written


def test_an_error_in_one_group_of_requests_is_theirs_alone(start):
    before = "from everlearn.service.committer import Committer\nserve = Committer._serve\n"
    before += "def fails(self, *batch):\n    Committer._serve = serve\n    raise ValueError\nCommitter._serve = fails\n"
    service = start(before=before)
    assert service.call("GET", "/v1/agents").status == 500
    assert service.call("GET", "/v1/agents").status == 200


@pytest.fixture
def sandbox():
    made = Sandbox(Limits(trial_seconds=1, trial_megabytes=64), processes=1)
    yield made
    made.close()


def hang(*_arguments: object) -> None:
    while True:
        pass


def take_memory(*_arguments: object) -> None:
    bytearray(1 << 30)


def crash(*_arguments: object) -> None:
    os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize(
    ("job", "ended_by"), [(hang, "seconds"), (take_memory, "megabytes"), (crash, "signal"), (len, "")]
)
def test_a_trial_ends_alone(sandbox, job, ended_by):
    with pytest.raises(Refused, check=has(ended_by=ended_by)):
        sandbox.compute(job)
    sandbox.try_setup({"task": "service-station"})


@pytest.mark.soak
def test_a_task_that_takes_long_to_make_is_refused(sandbox):
    with pytest.raises(Refused, check=has(ended_by="seconds")):
        sandbox.try_setup({"task": "aggregation", "parameters": {"task.aleatoric": "window:2+actions"}})


def test_planning_is_bounded(sandbox):
    setup = {"task": "riverswim", "agent": "tsde", "parameters": {"agent.sweeps": 10**12}}
    with pytest.raises(InputError, check=refusal("agent.sweeps", 10**12)):
        remote_setup(setup, Limits())
    with pytest.raises(Refused, check=has(ended_by="")):
        sandbox.try_setup(setup)


def test_nothing_is_left_of_a_sandbox():
    sandbox = Sandbox(Limits(), processes=2)
    numbers = [process.number for process in sandbox._processes]
    sandbox.close()
    for number in numbers:
        with pytest.raises(ProcessLookupError):
            os.kill(number, 0)


STATION = {"task": "service-station"}
LONG = Limits(trial_seconds=1_000, trial_megabytes=64)


@pytest.fixture
def slow():
    """A sandbox whose trials may take longer than any test."""
    made = Sandbox(LONG, processes=1)
    yield made
    made.close()


def wait_for_ever(beginning: Path) -> None:
    beginning.touch()
    time.sleep(1_000)


def orphan(*_arguments: object) -> None:
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(1_000)


def limit_under_an_operator() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (5, 5))
    module._limit(LONG)
    assert resource.getrlimit(resource.RLIMIT_CPU) == (5, 5)


def test_without_one_of_its_processes_a_sandbox_continues():
    sandbox, ended = Sandbox(Limits(), processes=2), []
    sandbox.ended = lambda: ended.append(True)
    first, second = (process.number for process in sandbox._processes)
    os.kill(first, signal.SIGKILL)
    with pytest.raises(Untried, check=has(repeat=True)):
        sandbox.try_setup(STATION)
    for _ in range(3):
        sandbox.try_setup(STATION)
    assert sandbox.alive
    assert not ended
    os.kill(second, signal.SIGKILL)
    for repeat in (True, False, False):
        with pytest.raises(Untried, check=has(repeat=repeat)):
            sandbox.try_setup(STATION)
    assert not sandbox.alive
    assert ended == [True]
    sandbox.close()


def test_without_its_sandbox_the_process_ends(start):
    service = start(before="from everlearn.service import sandbox\nsandbox._serve = lambda *_arguments: None\n")
    for _ in range(2):
        reply = service.call("POST", "/v1/agents", {"name": "a", "setup": STATION})
        assert (reply.status, reply.json["error"]) == (503, "sandbox")
    assert service.ended() == 2
    assert "the service ended because its sandbox did" in service.written


def test_a_trial_that_cannot_begin_is_neither_accepted_nor_the_last(monkeypatch):
    try_in_a_child, calls = module._in_a_child, []

    def fails_once(*arguments):
        calls.append(arguments)
        if len(calls) == 1:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        return try_in_a_child(*arguments)

    monkeypatch.setattr(module, "_in_a_child", fails_once)
    sandbox = Sandbox(Limits(), processes=1)
    with pytest.raises(Untried, check=has(repeat=True)) as caught:
        sandbox.try_setup(STATION)
    assert answer_to({}, caught.value).status_code == 503
    sandbox.try_setup(STATION)
    sandbox.close()


@pytest.mark.parametrize("error", [ValueError, OSError, SystemExit])
def test_a_trial_that_cannot_be_limited_is_not_accepted(monkeypatch, error):
    def cannot(*_arguments):
        raise error

    monkeypatch.setattr(module, "_limit", cannot)
    sandbox = Sandbox(Limits(), processes=1)
    with pytest.raises(Untried, check=has(repeat=True)):
        sandbox.try_setup(STATION)
    sandbox.close()


def test_the_limits_of_an_operator_are_kept(slow):
    slow.compute(limit_under_an_operator)


def test_the_end_of_a_process_is_noticed_while_its_trial_runs(slow):
    with pytest.raises(Untried):
        slow.compute(orphan)


def test_a_signal_to_stop_does_not_end_a_sandbox_before_the_service(slow):
    slow.try_setup(STATION)
    os.kill(slow._processes[0].number, signal.SIGTERM)
    slow.try_setup(STATION)


def test_closing_ends_what_is_being_tried(slow, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    errors = []

    def ask():
        try:
            slow.compute(wait_for_ever, tmp_path / "begun")
        except Untried as error:
            errors.append(error)

    threads = [threading.Thread(target=ask) for _ in range(2)]  # one that is tried, one that waits for its turn
    for thread in threads:
        thread.start()
    until((tmp_path / "begun").exists)
    slow.close()
    for thread in threads:
        thread.join()
    assert len(errors) == 2


def use_a_rare_module() -> dict[str, bool]:
    before = "colorsys" in sys.modules
    importlib.import_module("colorsys")
    sys.modules["of_nobody"] = sys  # as some extensions do: no import can find it
    return {"before": before}


def test_what_one_trial_imports_the_next_ones_have(monkeypatch):
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    sandbox = Sandbox(Limits(), processes=1)
    assert [sandbox.compute(use_a_rare_module)["before"] for _ in range(2)] == [False, True]
    sandbox.close()


def be_ended_first() -> None:
    assert Path("/proc/self/oom_score_adj").read_text().strip() == "1000"


@pytest.mark.skipif(not Path("/proc/self/oom_score_adj").exists(), reason="only Linux has it")
def test_where_memory_is_short_a_trial_is_ended_and_not_the_service(slow):
    slow.compute(be_ended_first)
