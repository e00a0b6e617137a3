"""Gymnasium environments as tasks: by name, with parameters, in every engine, and refused with a remedy."""

from __future__ import annotations

import functools
import json
import math
import subprocess
import sys

import gymnasium
import numpy as np
import pytest

import everlearn as el
from everlearn.adapters.task import ModelWarning
from everlearn.adapters.trials import TrialWarning
from everlearn.environments.model import ModelEnvironment
from everlearn.errors import InputError, RewardError, UnknownName
from everlearn.experiments.cells import Tables
from everlearn.tasks.registry import make_task
from tests.refusal import refusal
from tests.worlds import environment_stream

POLE = {
    "termination_reward": -1.0,
    "bins": "3,3,6,6",
    "low": "-2.4,-3,-0.21,-2",
    "high": "2.4,3,0.21,2",
}


def everlearn(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from everlearn.cli.main import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_task_says_what_it_is():
    lake = el.from_gymnasium("FrozenLake-v1")
    assert lake.name == "gymnasium:FrozenLake-v1"
    assert lake.summary == "FrozenLake-v1 of Gymnasium, its episodes on one endless stream"
    assert lake.source == f"Gymnasium {gymnasium.__version__}"
    assert lake.actions == (0, 1, 2, 3)
    assert lake.states == tuple(range(16))
    assert (lake.reward.low, lake.reward.high) == (0, 1)
    assert lake.model.memory == (0, 0)


def test_where_an_episode_may_begin_anywhere_nothing_is_known_at_first():
    taxi = el.from_gymnasium("Taxi-v4", time_limit=None)
    assert taxi.model.memory == taxi.aleatoric.start == "start"
    assert len(taxi.states) == 501
    assert el.from_gymnasium("CartPole-v1", **POLE).aleatoric.start == "start"


def test_by_name_is_the_same():
    named = make_task("gymnasium:FrozenLake-v1", {"time_limit": "20", "options": "is_slippery=false", "model": "true"})
    made = el.from_gymnasium("FrozenLake-v1", time_limit=20, options={"is_slippery": False})
    assert named.name == made.name
    assert named.model.outcomes((14, 19), 2) == made.model.outcomes((14, 19), 2)
    assert named.parameters["time_limit"] == 20
    assert make_task("gymnasium:FrozenLake-v1", {"time_limit": "none"}).model.memory == 0


def test_a_parameter_that_is_none_is_refused():
    with pytest.raises(UnknownName, check=refusal("parameter", "task.bin")):
        make_task("gymnasium:FrozenLake-v1", {"bin": 3})


def test_it_can_be_seen_in_other_ways():
    seen = make_task("gymnasium:FrozenLake-v1", {"aleatoric": "memory", "time_limit": 3})
    # Within two steps from the corner, the hole at 5 apart, which ends the episode.
    memories = {(0, 0), (0, 1), (1, 1), (4, 1), (0, 2), (1, 2), (2, 2), (4, 2), (8, 2)}
    assert {memory for _, memory in seen.states} == memories


@pytest.mark.parametrize("limit", [None, 7])
def test_compiled_is_interpreted(limit):
    task = el.from_gymnasium("FrozenLake-v1", time_limit=limit)
    totals = [
        el.run(task, "growing-horizon", steps=2000, runs=2, seed=3, engine=engine).total_reward
        for engine in ("compiled", "reference")
    ]
    assert np.array_equal(*totals)
    assert totals[0][:, -1].max() > 0


def test_a_model_can_be_stopped_and_resumed():
    task = el.from_gymnasium("FrozenLake-v1")
    environment = task.start(environment_stream(1))
    for step in range(137):
        environment.step(step % 4)
    other = ModelEnvironment(task.model)
    other.restore(json.loads(json.dumps(environment.snapshot())))
    assert [other.step(step % 4) for step in range(200)] == [environment.step(step % 4) for step in range(200)]


def test_without_a_model_it_runs_in_the_reference_loop_and_the_same_seed_is_the_same_run():
    pole = el.from_gymnasium("CartPole-v1", **POLE)
    one, two, other = (el.run(pole, steps=500, seed=seed) for seed in (1, 1, 2))
    assert one.engine == "reference"
    assert np.array_equal(one.total_reward, two.total_reward)
    assert not np.array_equal(one.total_reward, other.total_reward)


@pytest.mark.soak
def test_it_learns_to_keep_the_pole_up():
    """Falls in the second half of 16,000 steps: at random as Gymnasium has it, learned at most half as many."""
    pole = el.from_gymnasium("CartPole-v1", **POLE)
    falls = {}
    for agent, schedule, chosen in (
        ("always", None, {}),
        ("growing-horizon", "fixed", {"schedule.horizon": 20, "schedule.optimism": 0.3}),
    ):
        result = el.run(pole, agent, schedule=schedule, parameters=chosen, steps=16_000, seed=1)
        half = result.times.searchsorted(8000)
        lost = result.times - result.total_reward[0]
        falls[agent] = (lost[-1] - lost[half]) / (result.steps - result.times[half])
    assert falls["always"] == pytest.approx(1 / mean_episode(400), rel=0.15)  # the error of either is below 3 %
    assert falls["growing-horizon"] <= falls["always"] / 2


def mean_episode(episodes: int) -> float:
    """How long CartPole stays up when Gymnasium itself samples the actions."""
    pole, steps = gymnasium.make("CartPole-v1"), 0
    pole.action_space.seed(1)
    for episode in range(episodes):
        pole.reset(seed=episode)
        over = False
        while not over:
            over = pole.step(pole.action_space.sample())[2]
            steps += 1
    return steps / episodes


def test_what_a_termination_costs():
    lake = el.from_gymnasium("FrozenLake-v1", termination_reward=-0.25)
    assert (lake.reward.low, lake.reward.high) == (-0.25, 1)
    assert lake.reward(0, 0, (0, "1", "terminated")) == 0.75
    assert lake.reward(0, 0, (0, "0", "truncated")) == 0
    assert lake.reward(0, 0, (0, "0", "terminated")) == -0.25


def test_a_constant_reward_has_a_range_all_the_same():
    pole = el.from_gymnasium("CartPole-v1", **{**POLE, "termination_reward": 0.0})
    assert (pole.reward.low, pole.reward.high) == (1, 2)


@pytest.mark.parametrize(
    ("arguments", "rewards"),
    [
        ({}, {"0", "1"}),  # from the transition table
        ({"rewards": "0, 1,5"}, {"0", "1", "5"}),
        ({"rewards": [1, 0, 0]}, {"0", "1"}),
        ({"reward_levels": 3, "reward_range": "0,1"}, {"0", "0.5", "1"}),
    ],
)
def test_where_the_list_of_rewards_comes_from(arguments, rewards):
    lake = el.from_gymnasium("FrozenLake-v1", **arguments)
    assert {reward for _, reward, _ in lake.observations} == rewards


def test_rewards_are_found_in_a_trial_where_nothing_tells_them():
    game = el.from_gymnasium("Blackjack-v1")
    assert {reward for _, reward, _ in game.observations} == {"-1", "0", "1"}
    assert len(game.states) == 32 * 11 * 2 + 1
    assert el.run(game, "always", steps=2000, seed=1).final["mean"] < 0  # the house wins


def test_a_reward_that_no_trial_showed_is_an_error_with_a_remedy():
    pole = el.from_gymnasium("CartPole-v1", rewards=[0], **POLE)
    with pytest.raises(RewardError, check=refusal("reward", 1.0)):
        el.run(pole, "always", steps=5)


def test_rounded_rewards_say_by_how_much():
    car = el.from_gymnasium(noisy, reward_levels=5, reward_range=(-1, 1), bins=2, low=-2, high=2)
    assert car.summary.endswith("rewards are rounded, by at most 0.25")
    assert el.run(car, "always", steps=200, seed=1).final["mean"] == pytest.approx(0.3, abs=0.1)


class Noisy(gymnasium.Env):
    """Pays 0.3 on average, in any fraction, and shows a number without bounds."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (1,))
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(1, dtype=np.float32), {}

    def step(self, action):
        shown = self.np_random.normal(size=1).astype(np.float32)
        return shown, 0.3 + 0.7 * self.np_random.uniform(-1, 1), False, False, {}


def noisy():
    return gymnasium.wrappers.ClipReward(Noisy(), -1, 1)


noisy.__name__ = "noisy"


def test_quantiles_of_a_trial_cut_what_has_no_bounds():
    made = el.from_gymnasium(noisy, discretiser="quantile", bins=4, reward_levels=3, reward_range=(-1, 1))
    environment = made.start(environment_stream(1))
    shown = [environment.step(0)[0][0] for _ in range(4000)]
    assert np.bincount(shown) / 4000 == pytest.approx(0.25, abs=0.05)


def test_a_function_of_ones_own_has_its_own_name_and_no_table_behind_wrappers():
    def doubled():
        return gymnasium.wrappers.TransformReward(gymnasium.make("FrozenLake-v1"), lambda reward: 2 * reward)

    task = el.from_gymnasium(doubled, rewards=[0, 2])
    assert task.name == "gymnasium:doubled"
    assert task.model is None
    with pytest.raises(InputError, check=refusal("task.model", True)):
        el.from_gymnasium(doubled, rewards=[0, 2], model=True)


def test_a_table_that_is_too_large_is_left_alone_and_says_so():
    with pytest.warns(ModelWarning) as caught:
        taxi = el.from_gymnasium("Taxi-v4")
    assert [warning.message.environment for warning in caught] == ["Taxi-v4"]
    assert taxi.model is None
    with pytest.raises(InputError, check=refusal("task.model", True)):
        el.from_gymnasium("Taxi-v4", model=True)


@pytest.mark.parametrize(
    ("arguments", "refused"),
    [
        ({"model": "perhaps"}, ("task.model", "perhaps")),
        ({"trial_steps": 0}, ("task.trial_steps", 0)),
        ({"trial_steps": 10**10}, ("task.trial_steps", 10000000000)),
        ({"trial_steps": 2.5}, ("task.trial_steps", 2.5)),
        ({"termination_reward": "x"}, ("task.termination_reward", "x")),
        ({"termination_reward": float("nan")}, ("task.termination_reward",)),
        ({"reward_levels": "x", "reward_range": "0,1"}, ("task.reward_levels", "x")),
        ({"reward_levels": 10**12, "reward_range": "0,1"}, ("task.reward_levels", 1000000000000)),
        ({"reward_range": "0,0.5"}, ("task.reward_range", (0.0, 0.5))),
        ({"raw": "perhaps"}, ("task.raw", "perhaps")),
        ({"bins": "abc"}, ("task.bins", "abc")),  # of no use here, and checked all the same
        ({"tilings": 0}, ("task.tilings", 0)),
        ({"discretiser": "fuzzy"}, ("task.discretiser", "fuzzy")),
        ({"low": "x"}, ("task.low", "x")),
        ({"reward_levels": 5}, ("task.reward_range", None)),
        ({"reward_levels": 5, "rewards": "0,1", "reward_range": "0,1"}, ("task.rewards", "0,1")),
        ({"reward_levels": 10**5, "reward_range": "0,1"}, ("number of observations", 4800000)),
    ],
)
def test_what_cannot_be_is_refused(arguments, refused):
    with pytest.raises(InputError, check=refusal(*refused)):
        el.from_gymnasium("FrozenLake-v1", **arguments)


@pytest.mark.parametrize("environment", ["Pendulum-v1", "MountainCarContinuous-v0"])
@pytest.mark.parametrize("levels", [1, 0, 1001])
def test_actions_of_a_box_without_levels_are_refused(environment, levels):
    with pytest.raises(InputError, check=refusal("task.action_levels")):
        el.from_gymnasium(environment, action_levels=levels)


def test_numbers_of_numpy_are_numbers():
    pole = el.from_gymnasium(
        "CartPole-v1",
        bins=np.array([3, 3, 6, 6]),
        low=np.array([-2.4, -3, -0.21, -2]),
        high=np.array([2.4, 3, 0.21, 2]),
        time_limit=np.int64(9),
        trial_steps=np.int64(50),
        reward_levels=np.int64(2),
        reward_range=np.array([0, 1]),
        termination_reward=np.float32(-1),
    )
    assert len(pole.states) == 325


def test_nobody_hears_of_a_trial_that_plainly_shows_every_reward():
    assert el.from_gymnasium("Blackjack-v1").summary.endswith("; rewards found in a trial: -1, 0, 1")


@pytest.mark.parametrize(
    ("environment", "steps", "paid", "terminated"),
    [("MountainCar-v0", 1000, ("-1",), False), ("Blackjack-v1", 10, ("-1", "0", "1"), True)],
)
def test_a_trial_that_may_have_missed_rewards_says_so(environment, steps, paid, terminated):
    with pytest.warns(TrialWarning) as caught:
        el.from_gymnasium(environment, trial_steps=steps)
    warning = caught.pop(TrialWarning).message
    assert (warning.environment, warning.rewards.texts, warning.terminated) == (environment, paid, terminated)


def test_rewards_in_any_fraction_are_to_be_rounded():
    with pytest.raises(InputError, check=refusal("task.rewards")):
        el.from_gymnasium(noisy, bins=2, low=-2, high=2)


class Huge(Noisy):
    """Pays the same at every step, so much that one more is not seen."""

    def step(self, action):
        return np.zeros(1, dtype=np.float32), 1e17, True, False, {}


def test_a_huge_constant_reward_has_a_range_all_the_same():
    reward = el.from_gymnasium(Huge, bins=1).reward
    assert reward.low == 1e17 < reward.high


class Broken(Noisy):
    def step(self, action):
        return np.zeros(1, dtype=np.float32), math.nan, True, False, {}


def test_a_reward_that_is_no_number_is_the_environments():
    with pytest.raises(RewardError, check=refusal("reward")):
        el.from_gymnasium(Broken, bins=1)


class Counted(Noisy):
    made = closed = 0

    def __init__(self):
        type(self).made += 1

    def close(self):
        type(self).closed += 1


def test_every_environment_is_closed():
    task = el.from_gymnasium(Counted, discretiser="quantile", reward_levels=3, reward_range=(-1, 1))
    assert Counted.made == Counted.closed >= 3
    el.run(task, "always", steps=10, runs=2)
    assert Counted.made == Counted.closed


def test_an_agent_driven_by_hand_sees_what_the_task_shows():
    """The loop of Gymnasium around an agent earns what a run with the same stream of the environment earns."""
    task = el.from_gymnasium("CartPole-v1", **POLE)
    agent, stream = el.Agent(task, "always", seed=3), task.start(environment_stream(3))
    environment = gymnasium.make("CartPole-v1")
    environment.reset(seed=int(environment_stream(3).integers(2**31)))
    for _ in range(300):
        action = agent.act()
        point, reward, terminated, truncated, _ = environment.step(action)
        if terminated or truncated:
            point, _ = environment.reset()
        label = task.label(point, reward, terminated, truncated)
        assert label == stream.step(action)
        agent.observe(label)


def test_a_theory_of_a_task_without_a_model_says_what_is_missing():
    with pytest.raises(InputError, check=refusal("task", "gymnasium:Blackjack-v1")):
        _ = el.Theory(el.from_gymnasium("Blackjack-v1")).optimal_average_reward


@pytest.mark.parametrize("task", ["gymnasium:FrozenLake-v1", "gymnasium:Blackjack-v1"])
def test_an_experiment_takes_it_and_knows_it_again(task, interpreted, tmp_path):
    """With a model it is known by its table, without one by its source and parameters."""
    for _ in range(2):
        experiment = el.experiment(task, ["growing-horizon", "always"], steps=200, runs=2, out=tmp_path / "out")
        assert experiment.status["complete"]
    assert experiment.table(["final"])[0]["units"] == 2


def test_two_options_are_two_tasks_in_an_experiment(tmp_path):
    task = {"name": "gymnasium:Blackjack-v1", "parameters": {"options": ["natural=false", "sab=true"]}}
    experiment = el.experiment(task, "always", steps=100, runs=1, out=tmp_path / "out")
    assert len(experiment.table(["final"])) == 2


def short():
    return gymnasium.make("CartPole-v1", max_episode_steps=5)


def long():
    return gymnasium.make("CartPole-v1", max_episode_steps=50)


@pytest.fixture
def other_pole():
    """The same environment under another name."""
    name = "OtherPole-v1"
    entry_point = "gymnasium.envs.classic_control.cartpole:CartPoleEnv"
    gymnasium.register(name, entry_point=entry_point, max_episode_steps=500)
    yield name
    del gymnasium.registry[name]


def test_without_a_model_a_task_is_known_by_what_it_is_made_of(other_pole):
    def identity(environment, **others):
        return Tables(10).identity(el.from_gymnasium(environment, **{**POLE, **others}))

    tasks = [
        ("CartPole-v1", {}),
        (other_pole, {}),
        ("CartPole-v1", {"time_limit": 7, "rewards": "1"}),
        ("CartPole-v1", {"options": "sutton_barto_reward=true"}),
        ("CartPole-v1", {"high": "2,3,0.21,2"}),
        (short, {"rewards": "1"}),
        (long, {}),
    ]
    found = [identity(environment, **others) for environment, others in tasks]
    assert len(set(found)) == len(tasks)
    assert found == [identity(environment, **others) for environment, others in tasks]


class Coin(gymnasium.Env):
    """Pays 1 with a probability."""

    observation_space = action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, p):
        self.p = p

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return 0, float(self.np_random.random() < self.p), False, False, {}


class Purse:
    """Holds a probability, and makes coins of it in several ways."""

    def __init__(self, p):
        self.p = p

    def __call__(self):
        return Coin(self.p)

    def coin(self):
        return Coin(self.p)


class Side:
    """A user-defined discretiser."""

    labels = (0, 1)

    def __init__(self, where):
        self.where = where

    def __call__(self, point):
        return int(point[2] > self.where)


def read_from(purse):
    return lambda: Coin(purse.p)


def subclass(p):
    class Bent(Coin):
        def __init__(self):
            super().__init__(p)

    return Bent


KNOWN_BY = {
    "partial": lambda p: el.from_gymnasium(functools.partial(Coin, p), rewards="0,1"),
    "partial with a keyword": lambda p: el.from_gymnasium(functools.partial(Coin, p=p), rewards="0,1"),
    "callable object": lambda p: el.from_gymnasium(Purse(p), rewards="0,1"),
    "bound method": lambda p: el.from_gymnasium(Purse(p).coin, rewards="0,1"),
    "attribute of an object": lambda p: el.from_gymnasium(read_from(Purse(p)), rewards="0,1"),
    "class": lambda p: el.from_gymnasium(subclass(p), rewards="0,1"),
    "own discretiser": lambda p: el.from_gymnasium("CartPole-v1", discretiser=Side(p)),
}


@pytest.mark.parametrize("way", KNOWN_BY)
def test_what_a_function_holds_tells_tasks_apart(way):
    one, same, other = (Tables(10).identity(KNOWN_BY[way](p)) for p in (0.25, 0.25, 0.75))
    assert one == same != other


def test_two_coins_in_one_experiment_have_results_of_their_own(tmp_path):
    tasks = [{"name": KNOWN_BY["partial"](p), "label": str(p)} for p in (0.25, 0.75)]
    rows = el.experiment(tasks, "always", steps=2000, runs=1, out=tmp_path / "out").table(["final"])
    assert [row["mean"] for row in rows] == pytest.approx([0.25, 0.75], abs=0.05)  # five standard errors


@pytest.mark.soak
def test_on_the_command_line():
    done = everlearn("run", "gymnasium:FrozenLake-v1", "--steps", "1e3", "--set", "task.time_limit=9", "--json")
    document = json.loads(done.stdout)
    assert document["task"] == "gymnasium:FrozenLake-v1"
    assert document["parameters"]["task.time_limit"] == 9
    assert document["engine"] == "compiled"


@pytest.mark.soak
def test_bins_on_the_command_line():
    settings = [part for setting in ("bins=4", "discretiser=quantile") for part in ("--set", f"task.{setting}")]
    done = everlearn("run", "gymnasium:CartPole-v1", "--agent", "always", "--steps", "50", *settings, "--json")
    assert json.loads(done.stdout)["parameters"]["task.bins"] == 4


def test_theory_on_the_command_line():
    arguments = ["--set", "task.options=is_slippery=false", "--set", "task.time_limit=none", "--json"]
    done = everlearn("theory", "gymnasium:FrozenLake-v1", *arguments)
    assert json.loads(done.stdout)["optimal_average_reward"] == pytest.approx(1 / 6)


def test_errors_on_the_command_line_are_one_line():
    done = everlearn("run", "gymnasium:CartPole-v1")
    assert done.returncode == 2
    assert done.stderr.startswith("everlearn: agent: 'versatile'; needs a table; give an agent with features")
    assert done.stderr.count("\n") == 1
