"""The network: its traces are gradients, and its step does not overshoot."""

from __future__ import annotations

import numpy as np
import pytest

import everlearn as el
from everlearn.agents.network import Network, by_block, enter, hidden_layer, learn, rows_of, table, values_of
from everlearn.aleatoric.reward import Reward
from everlearn.aleatoric.state import AleatoricState
from everlearn.errors import InputError
from everlearn.grids import Grid
from everlearn.protocol import Experience
from everlearn.tasks.task import Task
from tests.refusal import refusal

SMALL = {"agent.hidden": 8, "agent.epsilon": 0.2}


def made(**settings) -> el.Agent:
    agent = el.Agent("access-control", "network", parameters={**SMALL, **settings}, seed=1)
    drive(agent, 60)
    return agent


def drive(agent: el.Agent, steps: int) -> None:
    world = agent.task.start(np.random.default_rng(0))
    for _ in range(steps):
        agent.observe(world.step(agent.act()))


def test_what_is_added_to_the_traces_is_the_gradient():
    agent = made()
    knowledge, s, a = agent.knowledge, 7, 1
    knowledge.traces[:] = 0
    rows = rows_of(knowledge, s)
    live = np.zeros(knowledge.size + 1 + knowledge.actions, dtype=np.int64)
    enter(knowledge, live, rows, hidden_layer(knowledge, rows), a)
    assert np.array_equal(np.flatnonzero(live), np.flatnonzero(by_block(knowledge, knowledge.traces).any(axis=1)))
    for i in np.flatnonzero(np.abs(knowledge.traces) > 1e-3)[::7]:
        kept = knowledge.weights[i]
        ends = []
        for change in (1e-6, -1e-6):
            knowledge.weights[i] = kept + change
            ends.append(values_of(knowledge, s)[0, a])
        knowledge.weights[i] = kept
        assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(knowledge.traces[i], rel=1e-4, abs=1e-6)
    assert np.count_nonzero(knowledge.traces) > 20


def test_the_hidden_layer_is_normalised():
    knowledge = made().knowledge
    layer = hidden_layer(knowledge, rows_of(knowledge, 3))[:-1]
    assert layer.mean() == pytest.approx(0, abs=1e-12)
    assert layer.var() == pytest.approx(1, rel=1e-3)


@pytest.mark.parametrize("hidden", [2, 8])
def test_the_table_has_the_values_of_each_state_to_the_last_bit(hidden):
    knowledge = made(**{"agent.hidden": hidden}).knowledge
    expected = np.concatenate([values_of(knowledge, s) for s in range(len(knowledge.parts))])
    assert np.unique(expected).size > 20
    assert table(knowledge).tobytes() == expected.tobytes()


def plainly(knowledge: Network, s: int, a: int, reward: float, following: int) -> None:
    """Learn from a step as the formulas say: all weights and traces in turn, whether they are zero or not."""
    rows, values = rows_of(knowledge, s), values_of(knowledge, s)[0]
    layer, best = hidden_layer(knowledge, rows), values_of(knowledge, following)[0].max()
    delta = reward - knowledge.average[0] + knowledge.discount * best - values[a]
    knowledge.traces[:] *= knowledge.decay if values[a] >= values.max() else 0.0
    enter(knowledge, np.zeros(knowledge.size + 1 + knowledge.actions, dtype=np.int64), rows, layer, a)
    alpha = knowledge.step_size
    size = sum(np.abs(knowledge.traces[:]).tolist())
    alpha /= max(1.0, alpha * knowledge.bound * max(abs(delta), 1.0) * size)
    knowledge.weights[:] += alpha * delta * knowledge.traces
    knowledge.average[0] += knowledge.centring * delta


@pytest.mark.parametrize("hidden", [2, 8])
def test_a_step_that_skips_zeros_is_the_plain_step_to_the_last_bit(hidden):
    agent, random = made(**{"agent.hidden": hidden}), np.random.default_rng(4)
    skipping = agent.knowledge
    plain = skipping._replace(**{name: getattr(skipping, name).copy() for name in ("weights", "traces", "average")})
    zeros = 0
    for _ in range(60):
        s, following, a = (int(random.integers(n)) for n in (len(skipping.parts), len(skipping.parts), 2))
        reward = float(random.random())
        learn(skipping, Experience(s, a, 0, reward, following), None, None)
        plainly(plain, s, a, reward, following)
        zeros += np.count_nonzero(skipping.traces == 0)
        for name in ("weights", "traces", "average"):
            assert np.array_equal(getattr(skipping, name), getattr(plain, name))
    assert zeros > 0


@pytest.mark.parametrize("bound", [2.0, 0.0])
def test_the_bounded_step_keeps_values_where_the_plain_step_does_not(bound):
    agent = el.Agent("riverswim", "network", parameters={**SMALL, "agent.trace": 0.95, "agent.bound": bound}, seed=1)
    random = np.random.default_rng(3)
    with np.errstate(all="ignore"):
        for _ in range(300):
            executed = agent.task.actions[random.integers(2)]
            agent.observe(agent.task.observations[random.integers(6)], executed=executed)
    largest = np.abs(agent.knowledge.weights).max()
    assert largest < 20 if bound else not largest < 1e3


@pytest.mark.parametrize("agent", ["network", "linear", "q-lambda"])
def test_there_is_no_table_of_a_grid(agent):
    grid = Grid(range(5), range(4), ordered=[True, True])
    task = Task(("a", "b"), grid, AleatoricState((0, 0), lambda s, a, o: o, grid), Reward(lambda s, a, o: 0.0))
    seeing = el.Agent(task, agent)
    with pytest.raises(InputError, check=refusal("states", 20)):
        _ = seeing.policy
    assert "Q" not in seeing.inspect()


@pytest.mark.parametrize(("name", "value"), [("centring", 3.0), ("hidden", 10**8), ("trace", 1.5)])
def test_parameters_out_of_range_are_refused(name, value):
    with pytest.raises(InputError, check=refusal(f"agent.{name}", value)):
        el.Agent("service-station", "network", parameters={f"agent.{name}": value})
