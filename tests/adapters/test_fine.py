"""Gymnasium without a discretiser: points on a fine grid, seen by agents whose values generalise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("gymnasium")

from gymnasium import spaces

import everlearn as el
from everlearn.adapters.fine import fine_reading, flat
from everlearn.errors import InputError
from everlearn.grids import Grid
from everlearn.tasks.registry import make_task
from tests.few import few
from tests.refusal import refusal

CAR = {"rewards": "-1", "termination_reward": 1}


def read(space, point, trial=()):
    reading = fine_reading(space, lambda: list(trial))
    label = reading.read(point)
    assert label in reading.labels
    assert reading.labels[reading.labels.number(label)] == label
    return tuple(reading.labels.places(reading.labels.number(label)))


def test_boxes_have_levels_between_their_bounds():
    box = spaces.Box(np.array([0.0, -1.0]), np.array([1.0, 1.0]), dtype=np.float64)
    assert read(box, [0.0, -1.0]) == (0, 0)
    assert read(box, [0.5, 0.0]) == (512, 512)
    assert read(box, [9.0, -9.0]) == (1023, 0)


def test_dictionaries_tuples_and_arrays_are_flattened():
    space = spaces.Dict(
        {
            "cards": spaces.Tuple([spaces.Discrete(3, start=1), spaces.MultiBinary(2)]),
            "image": spaces.Box(0, 255, (2, 2), dtype=np.uint8),
            "hand": spaces.MultiDiscrete([4, 5]),
        }
    )
    point = {"cards": (2, np.array([0, 1])), "image": np.array([[0, 255], [128, 1]]), "hand": np.array([3, 4])}
    assert read(space, point) == (1, 0, 1, 3, 4, 0, 1023, 514, 4)
    for sample in (space.sample() for _ in range(20)):
        assert len(flat(space, sample)) == 9
        read(space, sample)


def test_bounds_that_are_missing_come_from_a_trial():
    box = spaces.Box(-np.inf, np.inf, (1,), dtype=np.float64)
    assert read(box, [0.0], trial=[[-1.0], [1.0]]) == (512,)
    assert read(box, [1.999], trial=[[-1.0], [1.0]]) == (1023,)
    assert read(box, [-np.inf], trial=[[-1.0], [1.0]]) == (0,)


@pytest.mark.parametrize(
    ("low", "high", "trial"),
    [([1, -np.inf], [1, np.inf], [1, 3]), ([-np.inf], [np.inf], [1e20]), ([0], [np.inf], [-10])],
)
def test_a_coordinate_that_does_not_change_has_bounds_that_differ(low, high, trial):
    space = spaces.Box(np.array(low, dtype=float), np.array(high, dtype=float), dtype=np.float64)
    for part in fine_reading(space, lambda: [np.array(trial, dtype=float)] * 3).labels.parts:
        assert [part.place(label) for label in part] == list(range(len(part)))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_trial_that_is_not_finite_gives_no_bounds(value):
    space = spaces.Box(-np.inf, np.inf, (1,), dtype=np.float64)
    with pytest.raises(InputError, check=refusal("observation space")):
        fine_reading(space, lambda: [np.array([0.0]), np.array([value])])


def test_what_cannot_be_read_is_refused():
    box = spaces.Box(0.0, 1.0, (2,), dtype=np.float64)
    with pytest.raises(InputError, check=refusal("point")):
        read(box, [np.nan, 0])
    with pytest.raises(InputError, check=refusal("point", [0.0])):
        read(box, [0.0])
    for load in (-1, 3, 9):
        with pytest.raises(InputError, check=refusal("point", (load, [0.5]))):
            read(spaces.Tuple([spaces.Discrete(3), spaces.Box(0.0, 1.0, (1,))]), (load, [0.5]))
    for space in (spaces.Box(0, 255, (257,)), spaces.Text(5)):  # of too many coordinates, and of an unsupported kind
        with pytest.raises(InputError, check=refusal("observation space", space)):
            fine_reading(space, list)


def test_the_resolution_follows_the_agent():
    task = el.from_gymnasium("MountainCar-v0", **CAR)
    assert len(task.states) == 65
    assert el.Agent(task, "q-learning").indexed.states == 65
    linear = el.Agent(task, "linear")
    assert isinstance(linear.task.states, Grid)
    assert linear.indexed.states == 2**20
    assert el.Agent(el.from_gymnasium("MountainCar-v0", discretiser="uniform", **CAR), "linear").indexed.states == 65


@pytest.mark.parametrize("name", few(["linear", "q-lambda", "network"], ["linear"]))
def test_a_grid_may_be_as_small_as_a_table(name):
    """No policy is recorded on a grid, however few its points are."""
    lake = el.from_gymnasium("FrozenLake-v1", model=False)
    result = el.run(lake, name, steps=100, seed=1)
    assert result.policies is None
    assert result.total_reward[0, -1] >= 0


def car(*, gain: float = 10.0, bins: int = 20) -> el.Task:
    return el.from_gymnasium("MountainCar-v0", rewards=-1, termination_reward=gain, time_limit=None, bins=bins)


def test_a_task_that_a_function_makes_keeps_its_arguments_on_the_grid():
    """The parameters of such a task are those of the function, and not those of the environment."""
    agent = el.Agent(make_task(car, {"gain": 5.0, "bins": 3}), "linear")
    assert isinstance(agent.task.states, Grid)
    assert (agent.task.reward.low, agent.task.reward.high) == (-1.0, 4.0)
    binned = make_task(lambda: el.from_gymnasium("MountainCar-v0", rewards=-1, discretiser="uniform"))
    assert len(el.Agent(binned, "linear").task.states) == 65


def test_a_state_or_a_reward_that_was_replaced_stays():
    made = car()
    view = el.AleatoricState(0, lambda _state, action, _observation: action, (0, 1, 2))
    assert not isinstance(el.Agent(el.seen_through(made, view), "linear").task.states, Grid)
    other = replace(made, reward=el.Reward(lambda _s, _a, _o: 0.5, 0.0, 1.0))
    assert el.Agent(other, "linear").task.reward.high == 1.0


def test_boxes_without_bounds_need_an_agent_with_features():
    pole = el.from_gymnasium("CartPole-v1", termination_reward=-1)
    assert isinstance(pole.states, Grid)
    with pytest.raises(InputError, check=refusal("agent", "q-learning")):
        el.Agent(pole, "q-learning")


def story(agent: el.Agent, steps: int) -> list:
    world = agent.task.start(np.random.default_rng(5))
    return [(action := agent.act(), agent.observe(world.step(action))) for _ in range(steps)]


@pytest.mark.parametrize("name", ["linear", "q-lambda", "network"])
def test_it_is_saved_and_resumed(name):
    task = el.from_gymnasium("MountainCar-v0", **CAR)
    one, other = el.Agent(task, name, seed=1), el.Agent(task, name, seed=2)
    story(one, 40)
    other.from_bytes(one.to_bytes())
    assert story(one, 40) == story(other, 40)
    assert one.to_bytes() == other.to_bytes()


@pytest.mark.parametrize("name", few(["linear", "q-lambda", "differential-sarsa", "network"], ["linear"]))
def test_compiled_steps_are_interpreted_steps_bit_for_bit(name):
    from everlearn.engine.stepping import CompiledFunctions

    task = el.from_gymnasium("MountainCar-v0", **CAR)
    slow, fast = (el.Agent(task, name, seed=1) for _ in range(2))
    fast.use(CompiledFunctions(fast.design))
    assert story(slow, 150) == story(fast, 150)
    assert slow.to_bytes() == fast.to_bytes()


@pytest.mark.parametrize("name", few(["linear", "q-lambda", "differential-sarsa", "network"], ["q-lambda"]))
def test_a_wide_environment_runs_compiled_and_interpreted_alike(name):
    import gymnasium

    from everlearn.engine.stepping import CompiledFunctions

    class Sensors(gymnasium.Env):
        observation_space = spaces.Box(-1, 1, (30,))
        action_space = spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return self.np_random.uniform(-1, 1, 30), {}

        def step(self, action):
            return self.np_random.uniform(-1, 1, 30), float(action), False, False, {}

    task = el.from_gymnasium(Sensors, rewards="0,1")
    slow, fast = (el.Agent(task, name, seed=1) for _ in range(2))
    assert slow.task.states.is_wide
    fast.use(CompiledFunctions(fast.design))
    assert story(slow, 40) == story(fast, 40)
    assert slow.to_bytes() == fast.to_bytes()


def test_actions_of_a_box_get_levels():
    pendulum = el.from_gymnasium("Pendulum-v1", action_levels=5, reward_levels=20, reward_range=(-17, 0))
    assert pendulum.actions == (0, 1, 2, 3, 4)
    with pytest.raises(InputError, check=refusal("task.action_levels", 1)):
        el.from_gymnasium("Pendulum-v1", action_levels=1)
