"""What each path does, over real HTTP."""

from __future__ import annotations

import io
import json
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from pydantic import ValidationError

import everlearn as el
from everlearn.durable.setup import make_setup
from everlearn.service.models import NAME, ActIn
from tests.service.conftest import STATION

PUMP = {
    "actions": ["off", "on"],
    "observations": ["dry", "low", "high"],
    "reward": "given",
    "reward_range": [-1, 1],
    "allowed": {"high": ["off"]},
}


def path(name: str, what: str = "") -> str:
    return f"/v1/agents/{name}{what}"


@pytest.fixture
def agent(service, request):
    """The name of an agent of the test's own, on the station."""
    name = request.node.name.removeprefix("test_")[:60].lower().replace("[", "-").strip("]_-")
    service.create(name)
    return name


def test_create_is_acknowledged_again_and_refused_with_another_setup(service):
    asked = {"name": "twice", "setup": STATION}
    assert [service.call("POST", "/v1/agents", asked).status for _ in range(2)] == [201, 200]
    reply = service.call("POST", "/v1/agents", {"name": "twice", "setup": {**STATION, "seed": 2}})
    assert (reply.status, reply.json["error"]) == (409, "taken")
    assert "with another setup: seed is " in reply.json["message"]


def test_an_unknown_path_says_where_the_paths_are(service):
    reply = service.call("POST", "/v1/agents/north/observ", {})
    assert (reply.status, reply.json["message"]) == (404, "there is no such path; GET /openapi.json lists all paths")


def test_list_has_every_agent(service, agent):
    listed = service.call("GET", "/v1/agents").json["agents"]
    shown = {"name": agent, "step": 0, "mode": "learn", "quarantined": False}
    assert any(shown.items() <= one.items() for one in listed)
    assert listed == sorted(listed, key=lambda one: one["name"])


def test_act_repeated_is_the_same_and_writes_nothing(service, agent):
    rows = service.metric("rows_total")
    answers = [service.post(path(agent, "/act")) for _ in range(5)]
    assert answers == [{"step": 1, "action": "fast", "state": 0, "mode": "learn"}] * 5
    assert service.metric("rows_total") == rows


def test_the_stream_is_that_of_an_agent_in_process(service, agent):
    twin = el.Agent("service-station", schedule="smooth", seed=1)
    rng = np.random.default_rng(5)
    asked = service.post(path(agent, "/act"))
    for step in range(1, 200):
        assert (asked["step"], asked["action"], asked["state"]) == (step, twin.act(), twin.aleatoric_state)
        observation = str(rng.choice(twin.task.observations))
        answer = service.post(path(agent, "/step"), {"step": step, "observation": observation})
        assert answer["reward"] == twin.observe(observation)
        asked = answer["next"]
    twin.act()
    found = service.call("GET", path(agent)).json
    assert found["t"] == twin.t == 199
    assert found["horizon"] == twin.now.horizon
    assert found["optimism"] == twin.now.optimism


class TestExactlyOnce:
    def test_the_same_again_has_the_same_answer_and_changes_nothing(self, service, agent):
        sent = {"step": 1, "observation": "arrival"}
        answer = service.post(path(agent, "/observe"), sent)
        rows = service.metric("rows_total")
        assert service.post(path(agent, "/observe"), sent) == answer
        assert service.post(path(agent, "/observe"), {**sent, "executed": "fast"}) == answer  # it was what act said
        assert service.metric("rows_total") == rows
        assert service.call("GET", path(agent)).json["step"] == 1

    @pytest.mark.parametrize("other", [{"observation": "nothing"}, {"executed": "slow"}, {"allowed": ["fast"]}])
    def test_other_content_is_refused_with_what_is_recorded(self, service, agent, other):
        sent = {"step": 1, "observation": "arrival"}
        service.post(path(agent, "/observe"), sent)
        for what in ("/observe", "/step"):
            reply = service.call("POST", path(agent, what), {**sent, **other})
            assert (reply.status, reply.json["error"], reply.json["expected"]) == (409, "conflict", 2)
            recorded = {"step": 1, "observation": "arrival", "executed": "fast", "proposed": "fast", "allowed": None}
            assert reply.json["recorded"] == {**recorded, "reward": 1.0, "state": 1}
        assert service.call("GET", path(agent)).json["step"] == 1

    def test_a_step_of_the_future_is_refused_with_the_one_that_is_due(self, service, agent):
        reply = service.call("POST", path(agent, "/observe"), {"step": 2, "observation": "arrival"})
        assert (reply.status, reply.json["expected"]) == (409, 1)
        assert "recorded" not in reply.json

    def test_old_steps_are_acknowledged_too(self, service, agent):
        sent = [{"step": n, "observation": "arrival" if n % 3 else "nothing"} for n in range(1, 30)]
        answers = [service.post(path(agent, "/step"), one) for one in sent]
        assert [service.post(path(agent, "/step"), one) for one in sent] == answers
        assert service.call("GET", path(agent)).json["step"] == 29

    def test_and_after_a_restart(self, start):
        first = start()
        first.create("kept")
        sent = [{"step": n, "observation": "arrival"} for n in range(1, 20)]
        answers = [first.post(path("kept", "/step"), one) for one in sent]
        first.kill()
        second = start()
        assert [second.post(path("kept", "/step"), one) for one in sent] == answers
        assert second.post(path("kept", "/act")) == answers[-1]["next"]
        assert second.call("POST", path("kept", "/observe"), {"step": 3, "observation": "nothing"}).status == 409

    def test_a_crash_between_act_and_observe_is_not_seen(self, start):
        """Whoever asked before the crash need not ask again: what was proposed is proposed again."""
        service = start()
        service.create("kept", {**STATION, "seed": 3})
        twin = el.Agent("service-station", schedule="smooth", seed=3)
        for step in range(1, 4):
            action = service.post(path("kept", "/act"))["action"]
            service.kill()
            service = start()
            answer = service.post(path("kept", "/observe"), {"step": step, "observation": "nothing"})
            assert answer["executed"] == action == twin.act()
            twin.observe("nothing")
        twin.act()
        state = service.call("GET", path("kept")).json
        assert state["pending"] is None
        assert service.post(path("kept", "/act"))["action"] == twin.act()


class TestAllowed:
    def test_it_narrows_a_choice_and_must_be_repeated_with_the_observation(self, service, agent):
        assert service.post(path(agent, "/act"), {"allowed": ["slow"]})["action"] == "slow"
        assert service.post(path(agent, "/act"))["action"] == "slow"
        other = service.call("POST", path(agent, "/act"), {"allowed": ["fast"]})
        without = service.call("POST", path(agent, "/observe"), {"step": 1, "observation": "arrival"})
        assert (other.status, without.status) == (409, 409)
        sent = {"step": 1, "observation": "arrival", "allowed": ["slow"]}
        answer = service.post(path(agent, "/observe"), sent)
        assert answer["executed"] == "slow"
        assert service.post(path(agent, "/observe"), sent) == answer

    def test_with_a_combined_step(self, service, agent):
        sent = {"step": 1, "observation": "arrival", "next_allowed": ["slow"]}
        answer = service.post(path(agent, "/step"), sent)
        assert answer["next"]["action"] == "slow"
        assert service.post(path(agent, "/step"), sent) == answer

    def test_nothing_is_written_where_the_question_cannot_be_answered(self, service):
        service.create("pump", PUMP)
        sent = {"step": 1, "observation": "high", "reward": 0.5, "next_allowed": ["on"]}
        reply = service.call("POST", path("pump", "/step"), sent)
        assert (reply.status, reply.json["error"]) == (422, "input")
        assert service.call("GET", path("pump")).json["step"] == 0
        assert service.post(path("pump", "/step"), {**sent, "next_allowed": ["off"]})["next"]["action"] == "off"

    def test_what_is_pending_is_shown(self, service, agent):
        asked = service.post(path(agent, "/act"), {"allowed": ["slow"]})
        assert asked == service.post(path(agent, "/act")) == {**asked, "allowed": ["slow"]}
        seen = service.call("GET", path(agent)).json
        assert (seen["pending"], seen["pending_allowed"]) == ("slow", ["slow"])
        refused = [
            service.call("POST", path(agent, "/act"), {"allowed": ["fast"]}),
            service.call("POST", path(agent, "/observe"), {"step": 1, "observation": "arrival"}),
        ]
        for reply in refused:
            assert (reply.status, reply.json["expected"]) == (409, 1)
            assert reply.json["pending"] == {"step": 1, "action": "slow", "allowed": ["slow"]}

    def test_it_can_be_replaced(self, service, agent):
        again = {"step": 1, "again": True}
        service.post(path(agent, "/act"), {"allowed": ["slow"]})
        assert service.post(path(agent, "/act"), {**again, "allowed": ["fast"]})["action"] == "fast"
        rows = service.call("GET", path(agent, "/journal")).body
        assert service.post(path(agent, "/act"), {**again, "allowed": ["fast"]})["action"] == "fast"
        assert service.call("GET", path(agent, "/journal")).body == rows  # the same again changes nothing
        assert "allowed" not in service.post(path(agent, "/act"), again)
        kinds = [json.loads(row)["kind"] for row in service.call("GET", path(agent, "/journal")).body.splitlines()]
        assert kinds == ["forgotten", "forgotten"]
        assert service.post(path(agent, "/observe"), {"step": 1, "observation": "arrival"})["step"] == 1

    @pytest.mark.parametrize(
        ("body", "status", "message"),
        [
            ({"again": True}, 422, "step: None; again withdraws an action: name its step"),
            ({"again": True, "step": 2}, 409, "step 2 is not due; step 1 is"),
            ({"step": 2}, 409, "step 2 is not due; step 1 is"),
            ({"again": 1, "step": 1}, 422, "again: 1; give true or false"),
        ],
        ids=range(4),
    )
    def test_a_late_request_replaces_nothing(self, service, agent, body, status, message):
        reply = service.call("POST", path(agent, "/act"), body)
        assert (reply.status, reply.json["message"]) == (status, message)

    def test_an_unknown_action_is_refused(self, service, agent):
        reply = service.call("POST", path(agent, "/act"), {"allowed": ["faster"]})
        assert (reply.status, reply.json["message"]) == (422, "allowed: 'faster'; known: fast, slow")


def test_what_was_executed_is_recorded_and_learned_from(service, agent):
    answer = service.post(path(agent, "/observe"), {"step": 1, "observation": "arrival", "executed": "slow"})
    assert (answer["executed"], answer["reward"]) == ("slow", 1.0)
    counts = service.call("GET", path(agent)).json["counts"]
    assert sum(json.dumps(counts).count(one) for one in ("1.0",)) == 1


def test_modes(service, agent):
    def mode(wanted):
        return service.call("PUT", path(agent, "/mode"), {"mode": wanted}).json

    assert mode("freeze")["mode"] == mode("frozen")["mode"] == "frozen"
    service.post(path(agent, "/step"), {"step": 1, "observation": "arrival"})
    frozen = service.call("GET", path(agent)).json
    assert (frozen["step"], frozen["t"]) == (1, 0)
    assert mode("shadow")["mode"] == "shadow"
    reply = service.call("POST", path(agent, "/observe"), {"step": 2, "observation": "arrival"})
    assert (reply.status, "name what was executed" in reply.json["message"]) == (422, True)
    service.post(path(agent, "/observe"), {"step": 2, "observation": "arrival", "executed": "slow"})
    assert service.call("GET", path(agent)).json["t"] == 1
    rows = service.metric("rows_total")
    assert mode("shadow")["mode"] == "shadow"
    assert service.metric("rows_total") == rows
    assert service.call("PUT", path(agent, "/mode"), {"mode": "asleep"}).status == 422


def test_snapshots_and_rollback(service):
    service.create("back", {**STATION, "snapshot_every": 10})
    for step in range(1, 26):
        service.post(path("back", "/step"), {"step": step, "observation": "arrival"})
    steps = [one["step"] for one in service.call("GET", path("back", "/snapshots")).json["snapshots"]]
    assert steps == [0, 10, 20]
    done = service.post(path("back", "/rollback"), {"snapshot": 10})
    assert (done["step"], done["t"]) == (25, 10)
    reply = service.call("POST", path("back", "/rollback"), {"snapshot": 11})
    assert (reply.status, "there are snapshots at 0, 10, 20" in reply.json["message"]) == (404, True)


def test_a_rollback_to_one_of_two_snapshots_of_a_step(service):
    service.create("twice")
    service.create("other", {**STATION, "seed": 2})
    for step in range(1, 4):
        service.post(path("other", "/step"), {"step": step, "observation": "arrival"})
    state = service.call("GET", path("other", "/state")).body
    service.call("PUT", path("twice", "/state"), state, Content_Type="application/octet-stream")
    listed = service.call("GET", path("twice", "/snapshots")).json["snapshots"]
    assert [(each["step"], each["seq"]) for each in listed] == [(0, 0), (0, 1)]
    times = [
        service.post(path("twice", "/rollback"), {"snapshot": 0, **which})["t"]
        for which in ({"seq": 0}, {"seq": 1}, {"seq": 0})
    ]
    assert times == [0, 3, 0]
    reply = service.call("POST", path("twice", "/rollback"), {"snapshot": 0, "seq": 7})
    assert (reply.status, "are those of rows 0, 1, 2" in reply.json["message"]) == (404, True)


class TestStates:
    def test_what_is_exported_can_be_imported_elsewhere(self, service, agent, tmp_path):
        for step in range(1, 40):
            service.post(path(agent, "/step"), {"step": step, "observation": "arrival"})
        state = service.call("GET", path(agent, "/state"))
        assert state.headers["content-type"] == "application/octet-stream"
        assert sorted(np.load(io.BytesIO(state.body), allow_pickle=False))
        (tmp_path / "state.npz").write_bytes(state.body)
        twin = el.Agent("service-station", schedule="smooth")
        twin.load(tmp_path / "state.npz")
        assert twin.t == 39
        service.create("heir", {**STATION, "seed": 9})
        octets = {"Content_Type": "application/octet-stream"}
        reply = service.call("PUT", path("heir", "/state"), state.body, **octets)
        assert (reply.status, reply.json["t"], reply.json["step"]) == (200, 39, 0)
        one, other = (service.call("GET", path(name)).json for name in (agent, "heir"))
        assert one["values"] == other["values"]
        assert one["counts"] == other["counts"]

    @pytest.mark.parametrize("body", [b"", b"nothing", b"PK\x03\x04" + bytes(200)])
    def test_what_is_no_state_changes_nothing(self, service, agent, body):
        before = service.call("GET", path(agent)).json
        reply = service.call("PUT", path(agent, "/state"), body, Content_Type="application/octet-stream")
        assert (reply.status, reply.json["error"]) == (422, "input")
        assert service.call("GET", path(agent)).json == before

    def test_a_state_of_another_design_is_refused(self, service, agent):
        service.create("pump-state", PUMP)
        state = service.call("GET", path("pump-state", "/state")).body
        reply = service.call("PUT", path(agent, "/state"), state, Content_Type="application/octet-stream")
        assert (reply.status, reply.json["error"]) == (422, "input")

    def test_it_must_say_what_it_is(self, service, agent):
        assert service.call("PUT", path(agent, "/state"), b"x", Content_Type="text/plain").status == 415


def test_policy_table(service, agent):
    table = service.call("GET", path(agent, "/policy")).json
    assert [row["state"] for row in table["actions"]] == [0, 1]
    assert (table["step"], table["agent"]) == (0, "growing-horizon")


def test_the_journal_streams_every_row(service, agent):
    for step in range(1, 11):
        service.post(path(agent, "/step"), {"step": step, "observation": "arrival"})
    reply = service.call("GET", path(agent, "/journal"))
    rows = [json.loads(line) for line in reply.body.splitlines()]
    assert [row["step"] for row in rows] == list(range(1, 11))
    assert {row["observation"] for row in rows} == {"arrival"}
    part = service.call("GET", path(agent, "/journal?first=3&last=5")).body.splitlines()
    assert [json.loads(line)["step"] for line in part] == [3, 4, 5]
    assert service.call("GET", path("nobody", "/journal")).status == 404
    assert service.call("GET", path(agent, "/journal?first=99")).body == b""


def test_delete_needs_the_name_again(service, agent):
    assert service.call("DELETE", path(agent)).status == 422
    assert service.call("DELETE", path(agent, "?confirm=other")).status == 422
    assert service.call("DELETE", path(agent, f"?confirm={agent}")).json == {"name": agent, "deleted": True}
    assert service.call("DELETE", path(agent, f"?confirm={agent}")).status == 404
    assert service.call("POST", path(agent, "/act")).status == 404
    service.create(agent)
    assert service.post(path(agent, "/act"))["step"] == 1


@pytest.mark.parametrize(
    "name", ["", "UPPER", "a" * 65, "a.b", "a b", "-a", "ä", "a%2fb", "..%2f..%2fetc%2fpasswd", "a%00"]
)
def test_names_are_plain(service, name):
    assert service.call("POST", f"/v1/agents/{name.replace(' ', '%20').replace('ä', '%C3%A4')}/act").status in (
        404,
        405,
        422,
    )
    reply = service.call("POST", "/v1/agents", {"name": name, "setup": STATION})
    assert (reply.status, reply.json["error"]) == (422, "input")
    assert "^" in NAME


@pytest.mark.parametrize(
    ("setup", "message"),
    [
        ({"task": "os:system"}, "task: 'os:system'; a service takes registered names only"),
        ({"task": "gymnasium:CliffWalking-v1"}, "task: 'gymnasium:CliffWalking-v1'; a service takes"),
        ({**STATION, "agent": "subprocess:run"}, "agent: 'subprocess:run'; a service takes"),
        ({**STATION, "schedule": "subprocess:run"}, "schedule: 'subprocess:run'; a service takes"),
        ({**STATION, "parameters": {"task.aleatoric": "os:getcwd"}}, "task.aleatoric: 'os:getcwd'; give window:K"),
        ({**STATION, "parameters": {"task.aleatoric": "memory"}}, "task.aleatoric: 'memory'; give window:K"),
        ({"task": "garnet", "parameters": {"task.states": 1e6}}, "task.states: 1000000.0; numbers up to 10,000 are"),
        ({**PUMP, "aleatoric": {"function": True}}, "aleatoric: 'function'; functions can be given in Python only"),
        ({**PUMP, "reward": {"function": True}}, "reward: 'function'; functions can be given in Python only"),
        ({**PUMP, "aleatoric": "window:60"}, "aleatoric: 'window:60'; so long a window has more than 100,000 contents"),
        ({**PUMP, "actions": ["off", "off"]}, "actions: 'off' appears twice"),
        ({**PUMP, "reward_range": [1, 0]}, "reward_range: "),
        ({}, "actions: None; must be given, unless a task is"),
        (
            {"task": "garnet", "agent": "ucrl2", "parameters": {"task.states": 500}},
            "agent: 'ucrl2'; this agent plans, ",
        ),
    ],
)
def test_setups_that_are_refused(service, setup, message):
    reply = service.call("POST", "/v1/agents", {"name": "refused", "setup": setup})
    assert (reply.status, reply.json["error"]) == (422, "input")
    assert reply.json["message"].startswith(message)
    assert service.call("GET", path("refused")).status == 404


def test_rewards_that_are_given_are_checked_and_compared(service):
    service.create("given", PUMP)
    sent = {"step": 1, "observation": "low"}
    assert service.call("POST", path("given", "/observe"), sent).status == 422
    assert service.call("POST", path("given", "/observe"), {**sent, "reward": 2}).status == 422
    answer = service.post(path("given", "/observe"), {**sent, "reward": 0.25})
    assert answer["reward"] == 0.25
    assert service.call("POST", path("given", "/observe"), {**sent, "reward": 0.5}).status == 409
    assert service.post(path("given", "/observe"), {**sent, "reward": 0.25}) == answer


def test_labels_may_be_tuples(service):
    setup = {"actions": [[0, "a"], [1, "b"]], "observations": [0, 1], "reward": "given", "reward_range": [0, 1]}
    service.create("tuples", setup)
    action = service.post(path("tuples", "/act"))["action"]
    sent = {"step": 1, "observation": 1, "executed": action, "reward": 1}
    assert service.post(path("tuples", "/observe"), sent)["executed"] == action
    assert make_setup(**setup).task.actions == ((0, "a"), (1, "b"))


def test_agents_do_not_disturb_each_other(service):
    """Many at once, each from a thread of its own, end where each would have ended alone."""
    names = [f"many-{number}" for number in range(8)]

    def work(number):
        name = names[number]
        service.create(name, {**STATION, "seed": number})
        rng = np.random.default_rng(number)
        for step in range(1, 40):
            observation = str(rng.choice(["arrival", "departure", "nothing"]))
            service.post(path(name, "/step"), {"step": step, "observation": observation})
        return service.call("GET", path(name)).json["values"]

    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(work, range(8)))
    for number, values in enumerate(together):
        twin, rng = el.Agent("service-station", schedule="smooth", seed=number), np.random.default_rng(number)
        for _ in range(39):
            twin.act()
            twin.observe(str(rng.choice(["arrival", "departure", "nothing"])))
        twin.act()
        assert [value for row in twin.inspect()["Q"].tolist() for value in row] == numbers_of(values)


def numbers_of(values) -> list[float]:
    """The values of the table, in order, however it is nested."""
    if isinstance(values, dict):
        return [number for key, part in values.items() if key != "state" for number in numbers_of(part)]
    if isinstance(values, list):
        return [number for part in values for number in numbers_of(part)]
    return [values]


@pytest.mark.parametrize("query", ["first=", "last=", "first", "first=1&last="])
def test_an_empty_parameter_is_not_one_that_was_left_out(service, query):
    assert service.call("GET", f"/v1/agents/none/journal?{query}").status == 422


@pytest.mark.parametrize(
    "tables",
    [
        {"aleatoric": [[2**53, "a", "x", 2**53]]},
        {"aleatoric": [[[0, 10**400], "a", "x", [0, 10**400]]]},
        {"aleatoric": {"0": {"a": {"x": -(2**53)}}}},
        {"reward": [[2**53, "a", "x", 1]]},
        {"allowed": [["x", [2**53]]]},
    ],
)
def test_integers_in_tables_are_bounded_like_those_of_other_labels(service, tables):
    base = {"actions": ["a"], "observations": ["x"], "reward_range": [0, 1]}
    reply = service.call("POST", "/v1/agents", {"name": "integers", "setup": {**base, **tables}})
    assert reply.status == 422
    assert "integers up to 9,007,199,254,740,991" in reply.json["message"]


def test_of_many_wrong_labels_the_first_is_enough():
    with pytest.raises(ValidationError) as caught:
        ActIn(allowed=[None] * 1000)
    assert caught.value.error_count() <= 3


class TestNumbers:
    """A number is a number: neither text that looks like one, nor true, nor one that no float can hold."""

    @pytest.mark.parametrize("reward", ['"0.5"', "true", "1" + "0" * 400, "1e400", "NaN", "[0.5]"])
    def test_of_a_reward(self, service, reward):
        service.post("/v1/agents", {"name": "numbers", "setup": PUMP})
        body = f'{{"step": 1, "observation": "low", "executed": "on", "reward": {reward}}}'.encode()
        reply = service.call("POST", path("numbers", "/observe"), body)
        assert (reply.status, reply.json["error"]) == (422, "input")
        shown = {"1e400": "Infinity; ", "[0.5]": "", "1" + "0" * 400: ""}.get(reward, f"{reward}; ")
        assert reply.json["message"].startswith(f"reward: {shown}give a ")

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            *(("seed", "1"), ("seed", True), ("snapshot_every", 10.5), ("retain", "10"), ("raw", 1), ("raw", "yes")),
            *(("reward_range", ["0", 1]), ("reward_range", [True, 2]), ("drift", {"batch": "100"})),
            ("reward", [[state, "on", "low", True] for state in ("start", "dry", "low", "high")]),
            ("reward", {"dry": {"on": {"low": True}}}),
        ],
    )
    def test_of_a_setup(self, service, key, value):
        reply = service.call("POST", "/v1/agents", {"name": "never", "setup": {**PUMP, key: value}})
        assert (reply.status, reply.json["error"]) == (422, "input")
        assert key in reply.json["message"]
        assert re.search("give a |give true|give one", reply.json["message"]), reply.json


class TestPreconditions:
    """A late duplicate of a request that changes an agent does not act again."""

    @staticmethod
    def tag(service, agent) -> str:
        reply = service.call("GET", path(agent))
        assert reply.headers["etag"] == f'"{reply.json["version"]}"'
        return reply.headers["etag"]

    def changes(self, service, agent):
        octets = {"Content_Type": "application/octet-stream"}
        state = service.call("GET", path(agent, "/state")).body
        return [
            lambda **tag: service.call("POST", path(agent, "/rollback"), {"snapshot": 0}, **tag),
            lambda **tag: service.call("PUT", path(agent, "/state"), state, **octets, **tag),
            lambda **tag: service.call("PUT", path(agent, "/mode"), {"mode": "frozen"}, **tag),
            lambda **tag: service.call("DELETE", f"{path(agent)}?confirm={agent}", **tag),
        ]

    def test_another_version_is_refused_with_the_present_one(self, service, agent):
        old = self.tag(service, agent)
        service.post(path(agent, "/observe"), {"step": 1, "observation": "arrival"})
        rows = service.call("GET", path(agent, "/journal")).body
        for change in self.changes(service, agent):
            for tag in (old, '"1-00000000"', "", '"x", W/"y"'):
                reply = change(If_Match=tag)
                assert (reply.status, reply.json["error"]) == (412, "stale")
                assert f'"{reply.json["version"]}"' == self.tag(service, agent)
        assert service.call("GET", path(agent, "/journal")).body == rows

    def test_the_same_again_is_acknowledged_and_changes_nothing(self, service, agent):
        service.post(path(agent, "/observe"), {"step": 1, "observation": "arrival"})
        for change in self.changes(service, agent)[:3]:
            tag = self.tag(service, agent)
            first = change(If_Match=tag)
            rows = service.call("GET", path(agent, "/journal")).body
            again = change(If_Match=tag)
            assert (again.status, again.body) == (first.status, first.body)  # but the date may be another
            assert first.status == 200
            assert service.call("GET", path(agent, "/journal")).body == rows

    def test_nor_after_something_else(self, service, agent):
        """Whoever did not get the answer may ask long after; only the change of that version is acknowledged."""
        service.post(path(agent, "/observe"), {"step": 1, "observation": "arrival"})
        for number in range(3):
            changes, tag = self.changes(service, agent)[:3], self.tag(service, agent)
            assert changes[number](If_Match=tag).status == 200
            service.post(path(agent, "/observe"), {"step": number + 2, "observation": "arrival"})
            rows = service.call("GET", path(agent, "/journal")).body
            assert [change(If_Match=tag).status for change in changes] == [
                200 if place == number else 412 for place in range(3)
            ]
            assert service.call("GET", path(agent, "/journal")).body == rows

    def test_a_rollback_is_the_same_again_though_a_snapshot_follows_it(self, service):
        """It goes back to the step at which the agent is, which has a second snapshot afterwards."""
        service.create("again", {**STATION, "snapshot_every": 5})
        for step in range(1, 6):
            service.post(path("again", "/step"), {"step": step, "observation": "arrival"})
        tag = self.tag(service, "again")
        replies = [service.call("POST", path("again", "/rollback"), {"snapshot": 5}, If_Match=tag) for _ in range(3)]
        assert [reply.status for reply in replies] == [200, 200, 200]
        assert service.call("GET", path("again", "/journal")).body.count(b'"rollback"') == 1
        steps = [each["step"] for each in service.call("GET", path("again", "/snapshots")).json["snapshots"]]
        assert steps.count(5) == 2

    def test_without_a_version_it_acts_again(self, service, agent):
        service.post(path(agent, "/observe"), {"step": 1, "observation": "arrival"})
        roll_back = self.changes(service, agent)[0]
        assert [roll_back(If_Match="*").status, roll_back().status] == [200, 200]
        assert service.call("GET", path(agent, "/journal")).body.count(b'"rollback"') == 2

    def test_an_agent_of_the_same_name_is_another_one(self, service, agent):
        service.post(path(agent, "/observe"), {"step": 1, "observation": "arrival"})
        delete = self.changes(service, agent)[3]
        tag = self.tag(service, agent)
        assert delete(If_Match=tag).status == 200
        service.create(agent)
        service.post(path(agent, "/observe"), {"step": 1, "observation": "arrival"})
        assert delete(If_Match=tag).status == 412


def test_of_an_unknown_key_the_nearest_known_one_is_named(service, agent):
    def message(where, body):
        reply = service.call("POST", where, body)
        assert (reply.status, reply.json["error"]) == (422, "input")
        return reply.json["message"]

    setup = {"action": ["a"], "promotion": {"gian": 1}}
    said = message("/v1/agents", {"name": "new", "setup": setup})
    assert "setup.action: unknown key; did you mean actions?" in said
    assert "setup.promotion.gian: unknown key; did you mean gain?" in said
    assert message("/v1/agents", {"name": "new", "setup": {}, "zzz": 1}) == "zzz: unknown key; known: name, setup"
    assert message(path(agent, "/act"), {"stp": 1}) == "stp: unknown key; did you mean step?"


def test_a_query_with_an_unknown_key_is_refused(service, agent):
    """It is probably misspelt, and would otherwise be ignored."""
    for part, known in (("report?frist=1", "first"), ("journal?lst=3", "last")):
        reply = service.call("GET", path(agent, f"/{part}"))
        assert (reply.status, reply.json["error"]) == (422, "input")
        assert f"did you mean {known}?" in reply.json["message"]
