"""Tables of pairs: complete, lazy, and from arrays."""

from __future__ import annotations

import sys
import types
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

import everlearn as el
from everlearn import tables
from everlearn.agents.registry import make_design
from everlearn.engine.compiled import CompiledBatch
from everlearn.engine.plan import Plan
from everlearn.errors import InputError, LabelError, RewardError, TableFull
from everlearn.tables import UNSEEN, ArrayTable, PairTable, make_table, settled_table
from everlearn.tasks.registry import make_task
from tests.refusal import has, refusal
from tests.worlds import pendulum, random_mdp


def walk(memory, action):
    yield "up", 0.5, memory + 1
    yield "down", 0.5, memory - 1


def endless() -> el.Task:
    task = el.task(actions=["go"], observations=["up", "down"], memory=0, name="endless")(walk)
    task.reward(lambda s, action, observation: float(observation == "up"))
    return task.finish()


def test_the_station_has_as_many_pairs_as_memories():
    table = PairTable(make_task("service-station"))
    table.complete()
    assert table.expanded == len(table.labels) == 10_920


def test_every_row_says_what_the_model_says():
    task = make_task("service-station", {"cap": 3})
    table = PairTable(task)
    rows = table.rows.reshape(-1, len(task.actions), table.width)
    for pair, (memory, aleatoric_state) in enumerate(table.labels):
        for a, action in enumerate(task.actions):
            outcomes, total = task.model.outcomes(memory, action), 0.0
            for row, outcome in zip(rows[pair, a], outcomes, strict=False):
                total += outcome.probability
                following = task.aleatoric.update(aleatoric_state, action, outcome.observation)
                assert table.labels[row["next"]] == (outcome.memory, following)
                assert task.states[row["state"]] == following
                assert task.observations[row["observation"]] == outcome.observation
                assert row["reward"] == task.reward(aleatoric_state, action, outcome.observation)
                assert row["bound"] in (total, np.inf)
            assert rows[pair, a, len(outcomes) - 1]["bound"] == np.inf


def test_rewards_are_kept_as_paid_and_as_learned():
    table = PairTable(make_task("service-station", {"raw": False}))
    seen = table.rows[table.rows["next"] != UNSEEN]
    assert np.array_equal(seen["learned"], (seen["reward"] + 0.5) / 1.5)


def test_pairs_are_expanded_when_asked_for():
    table = PairTable(endless(), eager=3)
    assert table.expanded == 3
    table.expand(4)
    table.expand(4)
    assert table.expanded == 4


def test_what_was_expanded_stays_when_the_table_grows():
    table = PairTable(endless(), eager=3)
    before = table.view()[0][:3].copy()
    for pair in range(3, 200):
        table.expand(pair)
    assert np.array_equal(table.view()[0][:3], before)


def test_a_wider_row_makes_all_rows_wider():
    def ladder(memory, action):
        for choice in range(memory + 1):
            yield choice, 1 / (memory + 1), min(choice + 1, 5)

    task = el.task(actions=["go"], observations=range(6), memory=0, name="ladder")(ladder)
    task.reward(lambda s, action, observation: observation / 5)
    table = PairTable(task.finish(), eager=1)
    assert table.width == 1
    table.complete()
    assert table.width == 6
    rows = table.rows.reshape(-1, 6)[: table.expanded]
    assert np.all(rows["bound"][:, -1] == np.inf)


def test_past_the_bound_the_error_names_the_option():
    table = PairTable(endless(), max_pairs=10, eager=10)
    with pytest.raises(TableFull, check=has(max_pairs=10)):
        table.expand(10)
    with pytest.raises(TableFull, check=has(max_pairs=10)):
        table.complete()


def test_arrays_give_the_table_that_the_model_gives():
    task = random_mdp(3, states=6, actions=2)
    fast, slow = ArrayTable(task), PairTable(task)
    slow.complete()
    place = [label[0] for label in slow.labels]
    rows, other = (table.rows.reshape(-1, 2, table.width) for table in (fast, slow))
    for name in ("bound", "reward", "learned", "observation", "state"):
        assert np.array_equal(rows[place][name], other[: len(place)][name])
    assert np.array_equal(rows[place]["next"], np.array(place)[other[: len(place)]["next"]])


def test_sparse_arrays_keep_only_what_can_happen():
    half = csr_array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    table = make_table(el.mdp([half], [[0], [1], [0]]))
    assert isinstance(table, ArrayTable)
    assert table.width == 2
    assert table.rows["next"].tolist() == [0, 1, 2, 2, 0, 0]


def test_what_cannot_be_tabulated_is_refused():
    with pytest.raises(InputError, check=refusal("task", "pendulum")):
        PairTable(pendulum().finish())
    with pytest.raises(InputError, check=refusal("task", "service-station")):
        ArrayTable(make_task("service-station"))
    with pytest.raises(RewardError, check=refusal("reward", 5.0)):
        make_table(el.mdp([[[1.0]]], [[5.0]], reward_range=(0, 1)))


def made_by(monkeypatch, *calls) -> int:
    """Return how many tables are made while functions are called."""
    made, begin = [], PairTable.__init__
    monkeypatch.setattr(PairTable, "__init__", lambda table, *given: made.append(given) or begin(table, *given))
    monkeypatch.setattr(tables, "_SHARED", {})
    for call in calls:
        call()
    return len(made)


def run(task="t-maze", agent="always", **others) -> el.Result:
    return el.run(task, agent, **{"steps": 2000, "runs": 4, **others})


def test_runs_share_the_table_of_a_named_task(monkeypatch):
    again = [lambda: run(agent="q-learning"), lambda: run(seed=1), lambda: run(task=make_task("t-maze"))]
    assert made_by(monkeypatch, run, *again) == 1


def test_theory_and_experiments_share_it_too(monkeypatch):
    theory = [lambda: el.Theory("t-maze").pairs, lambda: el.Theory(make_task("t-maze")).pairs]
    assert made_by(monkeypatch, *theory) == 1
    assert made_by(monkeypatch, *[lambda: settled_table(make_task("t-maze"))] * 2) == 1


def test_a_changed_copy_of_a_named_task_shares_none(monkeypatch):
    task = make_task("t-maze")
    assert task.identity is not None
    changed = replace(task, reward=el.Reward(lambda s, a, o: 0.5, 0, 1))
    assert changed.identity is None
    assert made_by(monkeypatch, lambda: make_table(task), lambda: make_table(changed)) == 2


def test_other_parameters_have_another_table(monkeypatch):
    assert made_by(monkeypatch, run, lambda: run(parameters={"task.window": 1})) == 2


def test_a_table_that_would_not_be_complete_is_not_the_shared_one(monkeypatch):
    task = make_task("t-maze")
    assert made_by(monkeypatch, *[lambda: make_table(task, max_pairs=500), lambda: make_table(task, eager=500)]) == 1
    few = [lambda: make_table(task, max_pairs=4), lambda: make_table(task, eager=4)]
    assert made_by(monkeypatch, lambda: make_table(task), *few) == 3
    assert make_table(task, eager=4).expanded == 4


def test_a_shared_table_cannot_be_extended():
    table = make_table(make_task("t-maze"))
    with pytest.raises(
        LabelError, check=refusal("pair of memory and aleatoric state", ("nowhere", table.labels[0][1]))
    ):
        table.pair(["nowhere", table.labels[0][1]])


def test_a_process_keeps_few_tables(monkeypatch):
    monkeypatch.setattr(tables, "MOST_SHARED", 2)
    runs = [lambda window=window: run(parameters={"task.window": window}) for window in (1, 2, 3, 1)]
    assert made_by(monkeypatch, *runs) == 4
    assert len(tables._SHARED) == 2


def test_a_shared_table_changes_no_result(monkeypatch):
    first = run(agent="growing-horizon", seed=3)
    assert run(agent="growing-horizon", seed=3) == first
    monkeypatch.setattr(tables, "_SHARED", {})
    assert run(agent="growing-horizon", seed=3) == first


def test_a_view_of_the_users_own_is_tabulated_anew(monkeypatch):
    module = types.ModuleType("views_of_mine")
    monkeypatch.setitem(sys.modules, "views_of_mine", module)
    seen = {"parameters": {"task.aleatoric": "views_of_mine:phi"}, "task": "alternating", "agent": "growing-horizon"}
    module.phi = lambda last: 0
    coarse = run(**seen)
    module.phi = lambda last: last
    fine = run(**seen)
    assert fine.final["mean"] > coarse.final["mean"] + 0.2  # now it can alternate


def coin(heads: float) -> el.Task:
    task = el.task(actions=["toss"], observations=["heads", "tails"], memory=0, name="coin")(
        lambda memory, action: [("heads", heads, 0), ("tails", 1 - heads, 0)]
    )
    task.reward(lambda s, action, observation: float(observation == "heads"))
    return task.finish()


def test_a_task_that_the_user_registered_is_tabulated_anew(monkeypatch):
    module = types.ModuleType("tasks_of_mine")
    monkeypatch.setitem(sys.modules, "tasks_of_mine", module)
    monkeypatch.setitem(el.TASKS, "mine", "tasks_of_mine:task")
    module.task = coin(0.9)
    first = run("mine")
    module.task = coin(0.1)
    assert run("mine").total_reward.tolist() != first.total_reward.tolist()


def test_the_engine_refuses_the_table_of_a_task_with_other_labels():
    plan = Plan(make_task("t-maze"), make_design("always"), 10, 1, 0)
    with pytest.raises(InputError, check=refusal("table", "t-maze")):
        CompiledBatch(plan, make_table(make_task("t-maze", {"window": 1})), [0], 1)
