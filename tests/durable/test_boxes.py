"""Durable agents whose observations are points: of a declared box, or of a Gymnasium environment."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import everlearn as el
from everlearn.durable.checking import check
from everlearn.durable.core import Core
from everlearn.durable.repair import repair
from everlearn.errors import AleatoricStateError, Changed, Conflict, InputError, ObservationError
from tests.durable.worlds import whole
from tests.refusal import has, refusal

ROOM = {"actions": ["off", "on"], "observations": el.Box([10, 0], [30, 1]), "reward_range": (0, 1), "seed": 1}
BAD = [
    [math.nan, 0.5],
    [21.0, math.inf],
    [21.0],
    [21.0, 0.5, 0.5],
    [31.0, 0.5],
    ["21", 0.5],
    [None, 0.5],
    [True, 0.5],
    "21,0.5",
    {"temperature": 21.0},
    np.array([math.nan, 0.5]),
    21.0,
    None,
]


def warm(agent: el.Live, steps: int) -> None:
    """Let an agent heat a room up to a step, whose temperature depends on the step and the action alone."""
    while agent.step < steps:
        action = agent.act()
        agent.observe([20 + 5 * math.sin(agent.step + (action == "on")), agent.step % 7 / 7], reward=agent.step % 2)


@pytest.mark.parametrize("bad", BAD, ids=repr)
def test_a_bad_observation_is_refused_and_nothing_is_written(tmp_path, bad):
    with el.live(tmp_path, **ROOM) as agent:
        warm(agent, 3)
        action, before = agent.act(), whole(agent.core)
        with pytest.raises(ObservationError, check=refusal("observation")) as error:
            agent.observe(bad, reward=0.5)
        assert len(str(error.value).splitlines()) == 1
        assert agent.act() == action
        assert whole(agent.core) == before
    with el.live(tmp_path) as agent:
        assert agent.step == 3


def test_a_point_is_kept_by_the_middle_of_its_level(tmp_path):
    with el.live(tmp_path, **ROOM) as agent:
        for point in ([21.3, 0.5], (21.3, 0.5), np.array([21.3, 0.5]), np.array([21.3, 0.5], dtype=np.float32)):
            agent.observe(point, "on", 0.5)
            assert agent.aleatoric_state == (21.299, 0.50049)
        agent.observe(agent.aleatoric_state, "off", 0.5)  # a label is read as itself
        rows = list(agent.journal())
        assert {tuple(row["observation"]) for row in rows} == {(21.299, 0.50049)}
        assert json.loads(json.dumps(rows[1]))["state"] == [21.299, 0.50049]


def test_a_step_that_is_told_again_changes_nothing(tmp_path):
    with el.live(tmp_path, **ROOM) as agent:
        agent.observe([21.3, 0.5], "on", 0.5, step=1)
        assert agent.observe([21.3, 0.5], "on", 0.5, step=1) == 0.5
        with pytest.raises(Conflict, check=has(step=1, field="observation")):
            agent.observe([25.0, 0.5], "on", 0.5, step=1)
        assert agent.step == 1


def test_a_reward_is_a_function_of_points(tmp_path):
    def comfort(s, action, point):
        return 1 - abs(point[0] - 21) / 20 - 0.1 * (action == "on") * (s[0] > 20)

    setup = {**ROOM, "reward": comfort, "start": [25, 0]}
    with el.live(tmp_path, **setup) as agent:
        assert agent.aleatoric_state == (25.01, 0.00049)
        assert agent.observe([23, 0.5], "on") == pytest.approx(0.8, abs=0.001)
        before = whole(agent.core)
    with el.live(tmp_path, reward=comfort) as agent:
        assert whole(agent.core) == before
    with pytest.raises(Changed, check=has(keys=["reward"])):
        el.live(tmp_path, reward=lambda s, action, point: comfort(s, action, point) / 2)


def test_a_state_may_be_a_function_of_points(tmp_path):
    def with_trend(s, action, point):
        return (point[0], min(max(point[0] - s[0], -5), 5))

    state = el.AleatoricState([20, 0], with_trend, el.Box([10, -5], [30, 5]))
    setup = {**ROOM, "observations": el.Box([10], [30]), "aleatoric": state}
    with el.live(tmp_path, **setup) as agent:
        agent.observe([20.5], "on", 0.5)
        agent.observe([21.5], "on", 0.5)
        assert agent.aleatoric_state == pytest.approx((21.5, 1.0), abs=0.02)
        before = whole(agent.core)
    with el.live(tmp_path, aleatoric=state) as agent:
        assert whole(agent.core) == before
    with pytest.raises(AleatoricStateError):
        el.AleatoricState([40, 0], with_trend, el.Box([10, -5], [30, 5]))


def test_the_default_agent_of_a_box_is_linear(tmp_path):
    with el.live(tmp_path, **ROOM) as agent:
        assert agent.core.agent.design.name == "linear"
    with el.live(tmp_path, **ROOM, agent="linear") as agent:  # the name is stored
        assert agent.step == 0
    with pytest.raises(InputError, check=refusal("agent", "versatile")):
        el.live(tmp_path / "other", **ROOM, agent="versatile")


def test_another_box_is_another_agent(tmp_path):
    with el.live(tmp_path, **ROOM) as agent:
        warm(agent, 3)
    with pytest.raises(Changed, check=has(keys=["observations", "states"])):
        el.live(tmp_path, observations=el.Box([10, 0], [31, 1]), accept_changes=True)
    with pytest.raises(Changed, check=has(keys=["observations", "states"])):
        el.live(tmp_path, observations=el.Box([10, 0], [30 + 1e-11, 1]))
    with el.live(tmp_path, observations=el.Box([10, -0.0], [30, 1])) as agent:
        assert agent.step == 3
    with pytest.raises(Changed, check=has(keys=["observations", "states"])):
        el.live(tmp_path, observations=["cold", "warm"], accept_changes=True)


def test_what_needs_a_table_says_so(tmp_path):
    with el.live(tmp_path, **ROOM) as agent:
        warm(agent, 5)
        seen = agent.inspect()
        assert (seen["values"], seen["counts"]) == (None, None)
        assert "too many for a table" in seen["explanation"]
        json.dumps(seen, allow_nan=False)
        with pytest.raises(InputError, check=refusal("policy")):
            agent.policy()
        with pytest.raises(InputError, check=refusal("promotion")):
            agent.set_promotion({"gain": 0})
        with pytest.raises(InputError, check=refusal("agent")):
            agent.report()
        with pytest.raises(InputError, check=refusal("agent")):
            el.evaluate(tmp_path, "on")
    with pytest.raises(InputError, check=refusal("allowed")):
        el.live(tmp_path / "other", **ROOM, allowed={"warm": ["off"]})


def test_frozen_it_acts_greedily(tmp_path):
    with el.live(tmp_path, **ROOM) as agent:
        warm(agent, 30)
        agent.freeze()
        best = agent.core.agent.policy_at(agent.core.agent.situation).argmax()
        assert agent.act() == ROOM["actions"][best]
        assert agent.observe([20, 0.5], reward=0.5) == 0.5
        assert agent.t == 30


def test_a_replay_learns_what_the_agent_learned(tmp_path):
    with el.live(tmp_path / "agent", **ROOM, agent="q-lambda") as agent:
        warm(agent, 60)
        learned = agent.core.agent.snapshot().epistemic["weights"]
    found = el.replay(tmp_path / "agent", tmp_path / "new")
    assert found.policy["actions"] is None
    assert (found.core.agent.snapshot().epistemic["weights"] == learned).all()
    with el.live(tmp_path / "new") as agent:
        assert (agent.t, agent.aleatoric_state) == (60, found.core.agent.aleatoric_state)
    el.replay(tmp_path / "agent", agent="linear")


def test_a_wide_box_is_not_replayed_even_if_its_numbers_are_small(tmp_path):
    box = el.Box([0] * 12, [1] * 12)
    with el.live(tmp_path / "agent", **{**ROOM, "observations": box, "start": [0] * 12}) as agent:
        agent.observe([0.5] * 9 + [0] * 3, "on", 0.5)
    (tmp_path / "log.jsonl").write_text(json.dumps({"observation": [0.5] * 12, "action": "on", "reward": 0.5}))
    for source, setup in (("agent", {}), ("log.jsonl", {**ROOM, "observations": box})):
        with pytest.raises(InputError, check=refusal("observations")):
            el.replay(tmp_path / source, **setup)


def test_a_log_with_something_else_than_a_point_is_refused(tmp_path):
    for wrong in ({"a": 1}, [True, 0.5]):
        rows = [{"observation": point, "action": "on", "reward": 0.5} for point in ([21, 0.5], wrong)]
        (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))
        with pytest.raises(InputError, check=lambda error: error.argument.startswith("row 2 of the log")):
            el.replay(tmp_path / "log.jsonl", **ROOM)


def test_transitions_of_points_are_not_remembered(tmp_path):
    def warmth(s, action, point):
        return "warm" if point[0] > 20 else "cold"

    state = el.AleatoricState("cold", warmth, ["cold", "warm"])
    with el.live(tmp_path, **ROOM, aleatoric=state, agent="q-learning") as agent:
        warm(agent, 20)
        assert not agent.core.agent.indexed._transitions


def of_first_row(error: InputError) -> bool:
    return error.argument.startswith("row 1 of the log")


def test_a_log_has_points(tmp_path):
    rows = [([21.5, 0.25], "on", 0.5), ((22.5, 0.0), "off", 0.25)]
    (tmp_path / "log.csv").write_text('observation,action,reward\n"[21.5, 0.25]",on,0.5\n"[22.5, 0.0]",off,0.25\n')
    agents = []
    for name, log in (("rows", rows), ("file", tmp_path / "log.csv")):
        with el.live(tmp_path / name, **ROOM) as agent:
            assert agent.warm_start(log) == 2
            agents.append(whole(agent.core))
    assert agents[0] == agents[1]
    for cell in ('"[21.5, 2.0]"', "21.5", "warm"):
        (tmp_path / "log.csv").write_text(f"observation,action,reward\n{cell},on,0.5\n")
        with el.live(tmp_path / "file") as agent, pytest.raises(InputError, check=of_first_row):
            agent.warm_start(tmp_path / "log.csv")


def test_a_wide_box_is_kept_whole(tmp_path):
    """Its points have 384 bits: more than an integer of SQLite, of a snapshot or of compiled code."""
    setup = {**ROOM, "observations": el.Box([0] * 64, [1] * 64), "snapshot_every": 4}
    points = np.random.default_rng(1).random((10, 64))
    with el.live(tmp_path, **setup) as agent:
        for point in points:
            agent.act()
            agent.observe(point, reward=0.5)
        before = whole(agent.core)
        kept = [row["observation"] for row in agent.journal()]
        assert np.abs(np.array(kept) - points).max() <= 1 / 128 + 1e-3
    with el.live(tmp_path) as agent:
        assert whole(agent.core) == before
        agent.rollback(8)
        assert agent.step == 10
    assert check(tmp_path).sound
    with pytest.raises(InputError, check=refusal("observations")):
        el.replay(tmp_path)


def test_the_points_of_a_wide_box_are_told_apart(tmp_path):
    setup = {**ROOM, "observations": el.Box([0] * 40, [1] * 40), "agent": "q-lambda", "start": [0.1] * 40}
    right = {0.1: "on", 0.9: "off"}
    here = 0.1
    with el.live(tmp_path, **setup) as agent:
        for step in range(80):
            action, following = ROOM["actions"][step // 2 % 2], 0.9 if here == 0.1 else 0.1
            agent.observe([following] * 40, action, float(action == right[here]))
            here = following
        for place, action in right.items():
            agent.freeze()
            agent.observe([place] * 40, "on", 0.5)
            assert agent.act() == action


def test_a_damaged_file_is_repaired(tmp_path):
    import sqlite3

    with el.live(tmp_path, **ROOM) as agent:
        warm(agent, 20)
    with sqlite3.connect(tmp_path / "everlearn.db") as connection:
        connection.execute("UPDATE journal SET observation = observation + 1 WHERE seq = 15")
    connection.close()
    assert not check(tmp_path).sound
    assert repair(tmp_path)["agents"][0]["step"] == 14
    with el.live(tmp_path) as agent:
        assert agent.step == 14
        warm(agent, 16)


def test_a_core_without_a_box_stores_plain_numbers(tmp_path):
    with el.live(tmp_path, "service-station") as agent:
        entry = Core(agent.core.setup).prepare("arrival", "fast")
        assert [type(number) for number in (entry.state, entry.observation, entry.following)] == [int] * 3
