"""Laws that every task with a name obeys."""

from __future__ import annotations

import inspect
import math
from itertools import product

import pytest

import everlearn as el
from everlearn.grids import Grid
from everlearn.protocol import Environment
from everlearn.registry import locate, parameters, summary
from everlearn.tasks.indexed import IndexedTask
from tests.chains import Arrow, Pair, arrows, reachable
from tests.worlds import environment_stream


@pytest.fixture(params=[600, pytest.param(10_000, marks=pytest.mark.soak)])
def most(request, task) -> int:
    """How many pairs of a memory and an aleatoric state are looked at: fewer for a network, which has many actions."""
    return request.param if task.network is None else request.param // (2 * len(task.actions))


_LATEST: dict[tuple[str, int], dict[Pair, list[Arrow]]] = {}


@pytest.fixture
def looked_at(task_name, task, most) -> dict[Pair, list[Arrow]]:
    """The pairs that can be reached, and what can happen after each; found once for all laws of a task."""
    if task.model is None:
        pytest.skip("it has no model")
    if (task_name, most) not in _LATEST:
        _LATEST.clear()
        _LATEST[task_name, most] = {pair: list(arrows(task, pair)) for pair in reachable(task, most)}
    return _LATEST[task_name, most]


def test_it_says_what_it_is_and_where_it_comes_from(task_name, task):
    factory = locate(task_name, el.TASKS, "task")
    assert summary(factory)
    assert task.summary
    assert task.source
    assert task.name == task_name


def test_every_parameter_has_a_default_and_is_explained(task_name, task):
    factory = locate(task_name, el.TASKS, "task")
    for parameter in parameters(factory).values():
        assert parameter.default is not inspect.Parameter.empty
        assert parameter.name in factory.__doc__
    assert set(task.parameters) == set(parameters(factory))


def test_it_begins_in_one_of_its_states(task):
    assert task.aleatoric.start in task.states
    assert IndexedTask(task).start == task.states.index(task.aleatoric.start)


def test_probabilities_are_distributions_over_declared_observations(task, looked_at):
    declared = task.observations if isinstance(task.observations, Grid) else set(task.observations)
    for memory in dict.fromkeys(memory for memory, _ in looked_at):
        for action in task.actions:
            outcomes = task.model.outcomes(memory, action)
            assert all(outcome.probability > 0 for outcome in outcomes)
            assert math.fsum(outcome.probability for outcome in outcomes) == pytest.approx(1, abs=1e-12)
            assert all(outcome.observation in declared for outcome in outcomes)


def test_aleatoric_states_stay_inside_and_rewards_within_their_range(task, looked_at):
    world = IndexedTask(task)
    for pair, following_it in looked_at.items():
        for arrow in following_it:
            action, observation = world.action(arrow.action), world.observation(arrow.observation)
            following, reward = world.step(world.state(pair[1]), action, observation)
            assert task.states[following] == arrow.following[1]
            assert task.reward.low <= reward <= task.reward.high


def test_rewards_use_their_whole_range(task, looked_at):
    found = {
        task.reward(pair[1], arrow.action, arrow.observation)
        for pair, following in looked_at.items()
        for arrow in following
    }
    width = task.reward.high - task.reward.low
    if task.network is None:  # long queues are too unlikely to be reached in so few steps
        assert min(found) <= task.reward.low + 0.5 * width
    assert max(found) >= task.reward.high - 0.5 * width


def test_it_can_be_started_and_driven_by_any_action(task):
    environment = task.start(environment_stream(1))
    assert isinstance(environment, Environment)
    for step in range(200):
        assert environment.step(task.actions[step % len(task.actions)]) in task.observations


def test_without_a_model_it_stays_within_what_it_declares(task):
    if task.model is not None:
        pytest.skip("it has a model, of which all outcomes are looked at")
    world, environment = IndexedTask(task), task.start(environment_stream(5))
    state, seen = world.start, []
    for step in range(2000):  # the same action for long, so that it takes the environment as far as it goes
        action = task.actions[step // 200 % len(task.actions)]
        observation = world.observation(environment.step(action))
        state, reward = world.step(state, world.action(action), observation)
        seen.append(reward)
    assert task.reward.low <= min(seen) < max(seen) <= task.reward.high


def test_the_corners_of_a_grid_of_observations_have_rewards_within_the_range(task):
    if not isinstance(task.observations, Grid):
        pytest.skip("its observations are listed")
    ends = [(part[0], part[len(part) - 1]) for part in task.observations.parts]
    for observation, action in product(product(*ends), task.actions):
        assert task.reward.low <= task.reward(task.aleatoric.start, action, observation) <= task.reward.high


def test_each_step_takes_one_uniform(task):
    stream, other = environment_stream(1), environment_stream(1)
    environment = task.start(stream)
    for step in range(50):
        environment.step(task.actions[step % len(task.actions)])
        other.random()
    assert stream.random() == other.random()


def test_the_same_stream_gives_the_same_observations(task):
    seen = []
    for _ in range(2):
        environment = task.start(environment_stream(2))
        seen.append([environment.step(task.actions[step % len(task.actions)]) for step in range(100)])
    assert seen[0] == seen[1]


def test_references_lie_within_the_range_of_rewards(task):
    for name, value in task.references.items():
        assert name
        assert task.reward.low <= value <= task.reward.high


def test_it_can_begin_after_any_history(task):
    if task.model is None:
        pytest.skip("it has no model")
    environment = task.start(environment_stream(3))
    history = []
    for step in range(30):
        action = task.actions[step % len(task.actions)]
        history.append((action, environment.step(action)))
    later = task.after(history)
    assert later.aleatoric.start == task.aleatoric.of(history)
    if task.hidden:
        assert task.model.belief(history)[environment.memory] > 0
    else:
        assert later.model.memory == environment.memory


def test_what_follows_a_history_is_what_the_belief_predicts(task):
    if task.model is None or isinstance(task.observations, Grid):
        pytest.skip("it has no model, or too many observations to list")
    environment = task.start(environment_stream(4))
    history = [(action, environment.step(action)) for action in task.actions[:1] * 3]
    belief, later = task.model.belief(history), task.after(history)
    for action in task.actions:
        expected = dict.fromkeys(task.observations, 0.0)
        for memory, share in belief.items():
            for outcome in task.model.outcomes(memory, action):
                expected[outcome.observation] += share * outcome.probability
        predicted = dict.fromkeys(task.observations, 0.0)
        for outcome in later.model.outcomes(later.model.memory, action):
            predicted[outcome.observation] += outcome.probability
        assert predicted == pytest.approx(expected, abs=1e-12)


def test_agents_cannot_see_what_is_hidden(task):
    for view in ("memory", str) if task.hidden else ():
        with pytest.raises(el.errors.InputError, check=lambda error: error.argument == "task.aleatoric"):
            el.seen_through(task, view)


def test_it_is_run_by_name(task_name):
    result = el.run(task_name, "always", steps=20, engine="reference")
    assert result.task == task_name
