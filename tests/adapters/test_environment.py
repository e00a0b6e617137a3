"""Tasks as Gymnasium environments: Gymnasium's own checks, and the same rewards as in a run of everlearn."""

from __future__ import annotations

import copy
import pickle
import warnings

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

import everlearn as el
from everlearn.adapters import registration
from everlearn.errors import InputError
from tests.few import TASKS_OF_EVERY_KIND, few
from tests.refusal import refusal
from tests.worlds import corridor, shop


def drive(environment, agent: el.Agent, steps: int) -> list[float]:
    """Let an agent of everlearn act through Gymnasium's interface, from the labels that ``info`` tells."""
    rewards = []
    for _ in range(steps):
        action = agent.task.actions.index(agent.act())
        _, reward, terminated, truncated, info = environment.step(action)
        assert agent.observe(info["observation"]) == reward
        assert agent.aleatoric_state == info["aleatoric_state"]
        assert not terminated
        assert not truncated
        rewards.append(reward)
    return rewards


@pytest.mark.parametrize("show", ["observation", "aleatoric"])
@pytest.mark.parametrize("task", few(el.TASKS, TASKS_OF_EVERY_KIND))
def test_gymnasium_finds_nothing_to_complain_about(task, show):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = gymnasium.make(f"everlearn/{task}-v0", show=show)
        check_env(made.unwrapped)
        made.reset(seed=1)
        made.step(made.action_space.sample())  # as Gymnasium wraps it, it is checked here too


@pytest.mark.parametrize("task", few(el.TASKS, TASKS_OF_EVERY_KIND))
def test_a_seed_begins_the_stream_that_a_run_has(task):
    environment = el.to_gymnasium(task)
    environment.reset(seed=4)
    rewards = drive(environment, el.Agent(task, "growing-horizon", seed=4), 300)
    result = el.run(task, "growing-horizon", steps=300, seed=4, engine="reference")
    assert sum(rewards) == pytest.approx(result.total_reward[0, -1], abs=1e-9)


def test_there_and_back_again():
    """A Gymnasium environment as a task as a Gymnasium environment: six steps over firm ice, for ever."""
    lake = el.from_gymnasium("FrozenLake-v1", options={"is_slippery": False})
    environment = el.to_gymnasium(lake, show="aleatoric")
    environment.reset(seed=1)
    rewards = [environment.step(action)[1] for action in [1, 1, 2, 1, 2, 2] * 3]
    assert rewards == [0, 0, 0, 0, 0, 1] * 3


def test_what_is_shown():
    environment = el.to_gymnasium(shop())
    assert environment.observation_space == gymnasium.spaces.Discrete(3)
    assert environment.reset(seed=1) == (2, {"observation": "start", "aleatoric_state": "start"})
    number, _, _, _, info = environment.step(0)
    assert ["idle", "busy"][number] == info["observation"] == info["aleatoric_state"]


def test_the_aleatoric_state_is_shown_by_its_number():
    environment = el.to_gymnasium(corridor(), show="aleatoric")
    assert environment.reset(seed=1)[0] == 0
    assert [int(environment.step(0)[0]) for _ in range(4)] == [1, 0, 1, 0]


def test_rewards_are_in_the_units_of_the_task():
    environment = el.to_gymnasium("service-station")
    environment.reset(seed=1)
    assert {environment.step(0)[1] for _ in range(50)} == {1.0, 0.5}  # always fast: a customer, who costs a half


def test_a_reset_without_a_seed_begins_another_stream():
    environment = el.to_gymnasium("service-station")

    def stream(**seed):
        environment.reset(**seed)
        return [environment.step(1)[4]["observation"] for _ in range(60)]

    first, second = stream(seed=1), stream()
    assert first == stream(seed=1)
    assert second == stream()
    assert first != second


def test_it_must_be_reset_first_and_driven_by_numbers():
    environment = el.to_gymnasium("service-station")
    with pytest.raises(InputError, check=refusal("step", 0)):
        environment.step(0)
    environment.reset(seed=1)
    with pytest.raises(InputError, check=refusal("action", 2)):
        environment.step(2)


def test_an_environment_of_a_named_task_is_pickled_to_begin_anew():
    environment = el.to_gymnasium("service-station", show="aleatoric", parameters={"window": 3})
    other = pickle.loads(pickle.dumps(environment))
    assert other.task.parameters["window"] == 3
    rewards = []
    for one in (environment, other):
        one.reset(seed=2)
        rewards.append([one.step(0)[:2] for _ in range(50)])
    assert rewards[0] == rewards[1]


def test_an_environment_of_another_task_is_not_pickled():
    with pytest.raises(InputError, check=refusal("environment", "serve")):
        pickle.dumps(el.to_gymnasium(shop()))


def test_a_copy_goes_on_where_it_was_made():
    environment = el.to_gymnasium("service-station")
    environment.reset(seed=2)
    for _ in range(20):
        environment.step(0)
    other = copy.deepcopy(environment)
    assert [environment.step(1)[:2] for _ in range(50)] == [other.step(1)[:2] for _ in range(50)]


def test_what_cannot_be_is_refused():
    with pytest.raises(InputError, check=refusal("show", "memory")):
        el.to_gymnasium("service-station", show="memory")


def test_every_task_is_registered_once():
    registration.register()  # again, without a warning that it overrides
    registered = {name for name in gymnasium.registry if name.startswith("everlearn/")}
    assert registered == {f"everlearn/{name}-v0" for name in el.TASKS}


def test_parameters_are_keywords():
    made = gymnasium.make("everlearn.adapters.registration:everlearn/service-station-v0", window=3, fast_cost=0.25)
    assert made.unwrapped.task.parameters["window"] == 3
    assert made.unwrapped.task.reward.low == -0.25
