"""Replay: another setup learns from a journal or a log what it would have learned step by step."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import everlearn as el
from everlearn.analysis import replay as module
from everlearn.durable.audit import export
from everlearn.durable.core import Core
from everlearn.durable.setup import make_setup
from everlearn.durable.store import Store
from everlearn.errors import EverlearnError, InputError, LabelError, LiveError, RewardError
from tests.memory import tmp_path, tmp_path_factory
from tests.refusal import has, refusal

__all__ = ["tmp_path", "tmp_path_factory"]

ACTIONS = {"actions": ["off", "on"], "observations": ["dry", "full"], "reward_range": (0, 1), "seed": 3}
PUMP = {**ACTIONS, "agent": "growing-horizon"}


def level(step: int, action: str) -> str:
    return random.Random(f"{step} {action}").choice(["dry", "full"])


def use(agent: el.Live, steps: int) -> None:
    for _ in range(steps):
        action = str(agent.act())
        agent.observe(level(agent.step + 1, action), reward=random.Random(agent.step).randrange(5) / 4)


@pytest.fixture(scope="module")
def pump(tmp_path_factory) -> Path:
    """A journal with all kinds of rows, and steps that another decided."""
    place = tmp_path_factory.mktemp("replayed") / "pump"
    with el.live(place, **PUMP, explore=0.3) as agent:
        agent.warm_start([("full", "on", 0.5)] * 5)
        use(agent, 60)
        agent.snapshot()
        agent.freeze()
        use(agent, 20)
        agent.shadow()
        agent.observe("dry", executed="off", reward=0.25)
        agent.learn()
        agent.rollback(65)
        use(agent, 40)
    return place


def told(place: Path) -> list[tuple[object, ...]]:
    rows = (row for row in export(place) if row["kind"] in ("observed", "warm"))
    return [(row["observation"], row["executed"], row["reward"]) for row in rows]


def warm(setup: dict[str, object], log: list[tuple[object, ...]], place: Path) -> Core:
    """Return the agent that learned from a log step by step, as a durable agent does."""
    with el.live(place, **setup) as agent:
        agent.warm_start(log)
        return agent.core


CHANGES = {
    "as it is": {},
    "schedule": {"schedule": "smooth", "parameters": {"schedule.horizon_scale": 3.0}},
    "agent": {"agent": "q-learning"},
    "state": {"aleatoric": "window:2+actions"},
    "reward": {"reward": lambda s, a, o: 0.5 * (a == "on") + 0.25 * (o == s)},
    "range": {"reward_range": (-1, 3)},
    "allowed": {"allowed": {"dry": ["on"]}},
}


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_it_learns_as_step_by_step(pump, tmp_path, changes):
    found = el.replay(pump, tmp_path / "new", **changes)
    log = told(pump)
    if "reward" in changes:
        log = [row[:2] for row in log]
    other = warm({**PUMP, **changes}, log, tmp_path / "other")
    assert found.core.export_state() == other.export_state()
    assert found.engine == "compiled"
    assert (found.rows, found.unrewarded) == (126, 0)
    assert found.learned == other.t == 126 - found.forbidden
    objects = {"reward": changes["reward"]} if "reward" in changes else {}
    with el.live(tmp_path / "new", **objects) as agent:
        assert (agent.step, agent.t) == (0, other.t)
        assert agent.core.export_state() == other.export_state()
        assert agent.policy()["actions"] == found.policy["actions"]
        assert [row["kind"] for row in agent.journal()] == ["import"]
        use_given = {} if "reward" in changes else {"reward": 0.5}
        agent.act()
        agent.observe("dry", **use_given)


PRICED = {"durations": (0.5, 4), "cost_range": (0, 1), "limit": 0.05}


def test_durations_and_costs_are_priced_as_step_by_step(tmp_path):
    log = [
        {"observation": "full" if n % 3 else "dry", "action": "on" if n % 2 else "off", "reward": n % 5 / 4}
        | {"duration": 0.5 + n % 7 / 2, "cost": n % 2 / 2}
        for n in range(200)
    ]
    other = warm({**PUMP, **PRICED}, log, tmp_path / "old")
    found = el.replay(tmp_path / "old", tmp_path / "new")
    assert found.core.agent.prices.t == 200
    assert found.core.agent.prices.multiplier > 0
    assert found.core.export_state() == other.export_state()
    with el.live(tmp_path / "new") as agent:
        assert agent.core.export_state() == other.export_state()
    lines = tmp_path / "log.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in log))
    assert el.replay(lines, **PUMP, **PRICED).core.export_state() == other.export_state()
    stricter = el.replay(tmp_path / "old", limit=0.01).core.agent.prices
    assert stricter.multiplier > found.core.agent.prices.multiplier


def test_steps_without_a_duration_cannot_teach_an_agent_that_declares_one(pump):
    with pytest.raises(InputError, check=refusal("setup", "duration")):
        el.replay(pump, durations=(1, 2))


@pytest.mark.parametrize("reward", ['"much"', "true", "NaN", "1e999", "[]"])
def test_a_log_whose_reward_is_no_number_is_refused(tmp_path, reward):
    log = tmp_path / "log.jsonl"
    log.write_text(f'{{"observation": "dry", "action": "on", "reward": {reward}}}\n')
    with pytest.raises(InputError, check=refusal("row 1 of the log")):
        el.replay(log, **PUMP)


def test_a_log_is_refused_where_the_setup_does_not_fit_and_the_row_is_named(tmp_path):
    log = tmp_path / "log.csv"
    rows = {"reward": ("dry,on,0.5\ndry,on,700\n", ("row 2 of the log",))}
    rows["duration"] = ("dry,on,4\n", ("row 1 of the log",))
    rows["weather"] = ("dry,on,4\n", ("header of the log", "weather"))
    for column, (text, refused) in rows.items():
        log.write_text(f"observation,action,{column}\n{text}")
        with pytest.raises(InputError, check=refusal(*refused)):
            el.replay(log, **PUMP)
    log.with_suffix(".jsonl").write_text('{"observation": "dry", "action": "on", "reward": 0.5, "weather": "fine"}\n')
    with pytest.raises(InputError, check=refusal("row 1 of the log")):
        el.replay(log.with_suffix(".jsonl"), **PUMP)
    with pytest.raises(InputError, check=refusal("setup", None)):
        el.replay(log)


def test_a_log_may_begin_with_a_byte_order_mark(tmp_path):
    (tmp_path / "log.csv").write_text("observation,action,reward\ndry,on,0.5\n", encoding="utf-8-sig")
    assert el.replay(tmp_path / "log.csv", **PUMP).learned == 1


def test_the_report(pump):
    found = el.replay(pump, aleatoric="window:2")
    document = json.loads(json.dumps(found.to_dict()))
    assert (document["rows"], document["learned"], document["rewards"]) == (126, 126, "recorded")
    assert document["states_changed"] == 126  # a window is never a single label
    assert document["states_seen"] <= len(found.core.agent.task.states) == len(document["policy"]["actions"])
    assert (document["out"], found.to_dict()["source"]) == (None, str(pump))
    assert el.replay(pump).states_changed == 0
    seen = {(row["state"], row["executed"]) for row in export(pump) if row["kind"] in ("observed", "warm")}
    assert el.replay(pump).pairs_seen == len(seen)
    assert repr(found).startswith("Replay(126 of 126 rows, compiled; ")


def test_what_was_never_seen(tmp_path):
    with el.live(tmp_path / "a", **PUMP) as agent:
        agent.warm_start([("dry", "off", 0)] * 3)
    found = el.replay(tmp_path / "a", allowed={"full": ["on"]})
    assert (found.states_seen, found.pairs_seen, found.pairs_unseen) == (2, 2, 2)
    assert found.unseen == (("start", "on"), ("dry", "on"))


def test_some_steps_only(pump, tmp_path):
    found = el.replay(pump, first=50, last=100)
    other = warm(PUMP, told(pump)[49:100], tmp_path / "other")
    assert (found.rows, found.core.t) == (51, other.t)
    with pytest.raises(LiveError, check=has(agent="agent")):
        el.replay(pump, first=1000)


def test_rewards_that_have_not_come_are_left_out(tmp_path):
    with el.live(tmp_path / "late", **PUMP, reward_delay=5) as agent:
        for step in range(1, 31):
            agent.act()
            agent.observe("dry", executed="on")
            if step > 3:
                agent.reward(step - 3, 0.75)
    found = el.replay(tmp_path / "late")
    assert (found.rows, found.learned, found.unrewarded) == (30, 27, 3)
    assert el.replay(tmp_path / "late", reward=lambda s, a, o: 1.0, reward_delay=0).learned == 30


def test_an_imported_state_moves_the_state(tmp_path):
    with el.live(tmp_path / "a", **PUMP) as agent:
        agent.warm_start([("full", "on", 1)])
        agent.save(tmp_path / "state.npz")
        agent.warm_start([("dry", "on", 1)])
        agent.load(tmp_path / "state.npz")
        agent.warm_start([("dry", "off", 0)])
    retold = module.retell(module.read_past(tmp_path / "a"), make_setup(**PUMP))
    labels = make_setup(**PUMP).task.states
    assert [labels[state] for state in retold.states] == ["start", "full", "full"]


@pytest.mark.parametrize("priced", [{"durations": (1, 4)}, {"cost_range": (0, 1), "limit": 0.25}])
def test_durations_and_costs(tmp_path, priced):
    """The same steps again teach a new agent of the same setup the same, prices included."""
    with el.live(tmp_path / "a", **PUMP, **priced) as agent:
        for step in range(200):
            luck = random.Random(step).random()
            measures = {"duration": 1 + 3 * luck} if "durations" in priced else {"cost": luck}
            action = str(agent.act())
            agent.observe(level(step, action), reward=luck, **measures)
        expected = agent.core.agent.snapshot()
    found = el.replay(tmp_path / "a").core.agent.snapshot()
    assert found.algorithmic["prices"] == expected.algorithmic["prices"]
    assert {name: table.tolist() for name, table in found.epistemic.items()} == {
        name: table.tolist() for name, table in expected.epistemic.items()
    }
    other = {"durations": (5, 6)} if "durations" in priced else {"cost_range": (5, 6), "limit": 5.5}
    with pytest.raises(InputError, check=refusal("setup")):
        el.replay(tmp_path / "a", **other)


def test_given_states(tmp_path):
    setup = {"actions": ["a", "b"], "aleatoric": "given", "states": ["x", "y"], "reward_range": (0, 1)}
    with el.live(tmp_path / "a", **setup, observations=["u", "v"]) as agent:
        for step in range(40):
            agent.act()
            agent.observe("u", reward=0.5, state="xy"[step % 2])
    found = el.replay(tmp_path / "a", schedule="smooth")
    assert (found.learned, found.states_changed, found.evaluated) == (40, 0, 0)
    paid = el.replay(tmp_path / "a", reward=lambda s, a, o: 0.25 if s == "x" else 0.75)
    assert set(module.retell(module.read_past(tmp_path / "a"), paid.core.setup).rewards) == {0.25, 0.75}


def test_a_task_seen_through_another_state(tmp_path):
    with el.live(tmp_path / "a", task="service-station", seed=1) as agent:
        agent.warm_start([("arrival", "fast"), ("departure", "slow"), ("nothing", "slow")] * 20)
    found = el.replay(tmp_path / "a", aleatoric="window:2")
    assert (found.learned, found.rewards, found.core.setup.document["task"]) == (60, "recorded", None)
    assert found.core.agent.task.reward.high == el.Agent("service-station").task.reward.high
    assert el.replay(tmp_path / "a", task="service-station", parameters={"task.fast_cost": 0.25}).rewards == "computed"


def test_a_log_of_another_controller(pump, tmp_path):
    log = tmp_path / "log.csv"
    lines = [f"{observation},{action},{reward}" for observation, action, reward in told(pump)]
    log.write_text("\n".join(["observation,action,reward", *lines]) + "\n")
    found = el.replay(log, tmp_path / "new", **PUMP, schedule="smooth")
    assert found.core.export_state() == el.replay(pump, schedule="smooth").core.export_state()
    assert el.replay(log, **PUMP, first=2, last=11).rows == 10
    other = tmp_path / "log.jsonl"
    names = ("observation", "action", "reward")
    other.write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in told(pump)))
    assert el.replay(other, **PUMP, schedule="smooth").core.export_state() == found.core.export_state()
    (tmp_path / "empty.csv").write_text("observation,action,reward\n")
    with pytest.raises(InputError, check=refusal("log")):
        el.replay(tmp_path / "empty.csv", **PUMP)


@pytest.mark.parametrize(
    ("changes", "error", "refused"),
    [
        ({"reward_range": (0, 0.4)}, RewardError, ("reward", 0.5)),
        ({"actions": ["off"]}, LabelError, ("action", "on")),
        ({"window": 2}, InputError, ("setup", "window")),
        ({"schedule": "none"}, EverlearnError, ("schedule", "none")),
        ({"allowed": {"wet": ["on"]}}, EverlearnError, ("state in allowed", "wet")),
        ({"aleatoric": "given", "states": ["a"], "start": "a"}, EverlearnError, ("aleatoric state", "start")),
    ],
)
def test_what_does_not_fit_is_refused(pump, tmp_path, changes, error, refused):
    with pytest.raises(error, check=refusal(*refused)):
        el.replay(pump, tmp_path / "new", **changes)
    assert not (tmp_path / "new").exists()


def test_objects_must_be_given_again(tmp_path):
    with el.live(tmp_path / "a", **PUMP, reward=lambda s, a, o: 0.5) as agent:
        agent.warm_start([("dry", "on")] * 3)
    with pytest.raises(InputError, check=refusal("reward", "a function or an object")):
        el.replay(tmp_path / "a")
    assert el.replay(tmp_path / "a", reward="given").learned == 3


def test_a_directory_appears_whole_or_not_at_all(pump, tmp_path, monkeypatch):
    (tmp_path / "taken").mkdir()
    el.replay(pump, tmp_path / "taken")  # an empty one is taken
    with pytest.raises(InputError, check=refusal("out")):
        el.replay(pump, tmp_path / "taken")
    for place in (Core, Store):
        with monkeypatch.context() as patch:
            name = "import_state" if place is Core else "append"

            def interrupt(*_arguments: object) -> None:
                raise KeyboardInterrupt

            patch.setattr(place, name, interrupt)
            with pytest.raises(KeyboardInterrupt):
                el.replay(pump, tmp_path / "new")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_a_directory_in_use_and_one_of_several_agents(tmp_path):
    with Store(tmp_path / "a") as store:
        cores = [store.create(name, make_setup(**PUMP)) for name in ("north", "south")]
        entry = cores[1].prepare("dry", "on", 0.5)
        store.append([(cores[1].number, entry)])
        assert el.replay(tmp_path / "a", name="south").rows == 1
        with pytest.raises(InputError, check=refusal("agent", None)):
            el.replay(tmp_path / "a")


def test_it_does_not_depend_on_the_length_of_a_page(pump, monkeypatch):
    from everlearn.durable import transitions

    before = el.replay(pump).core.export_state()
    monkeypatch.setattr(transitions, "PAGE", 7)
    assert el.replay(pump).core.export_state() == before


def test_the_same_in_another_process(pump, runner, tmp_path):
    state = f"el.replay({str(pump)!r}).core.export_state()"
    code = f"import everlearn as el; from pathlib import Path; Path('state').write_bytes({state})"
    assert runner("python replayed.py", tmp_path, {"replayed.py": code}).status == 0
    assert (tmp_path / "state").read_bytes() == el.replay(pump).core.export_state()


def test_a_log_without_rewards_is_refused(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("observation,action\nx,a\n")
    with pytest.raises(InputError, check=refusal("log")):
        el.replay(log, actions=["a", "b"], observations=["x"], reward_range=(0, 1))
