"""The optimum over histories of tasks that hide their memory, against what is solved by hand and by other means."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import interp1d

import everlearn as el
from everlearn.aleatoric.reward import Reward
from everlearn.aleatoric.state import last_observation
from everlearn.environments.model import Model
from everlearn.tasks.registry import make_task
from everlearn.tasks.task import Task
from everlearn.theory.beliefs import bracket
from everlearn.theory.hidden import lumped
from tests.few import few
from tests.worlds import random_mdp


def listening(accuracy: float, heard: int) -> tuple[float, float]:
    """Return how often one listens until one side leads by so many, expected, and the chance that it is right."""
    odds = ((1 - accuracy) / accuracy) ** heard
    right = 1 / (1 + odds)
    return heard * (2 * right - 1) / (2 * accuracy - 1), right


@pytest.mark.parametrize(("name", "extra", "prize"), [("tiger", 0, 10), ("extended-tiger", 1, 30)])
def test_the_tigers_by_hand(name, extra, prize):
    averages = []
    for heard in (1, 2, 3, 4):
        times, right = listening(0.85, heard)
        averages.append((prize * right - 100 * (1 - right) - times - extra) / (times + extra + 1))
    bounds = el.Theory(name).optimal_bounds
    assert bounds.lower == pytest.approx(max(averages), rel=1e-6)
    assert bounds.upper == pytest.approx(max(averages), rel=1e-6)


@pytest.mark.parametrize(
    ("name", "optimum"),
    [
        # The way to the cheese takes 1 to 6 steps from ten places; not knowing the place costs two from two of them.
        ("cheese-maze", (10 - 3.3) / 4.3),
        # East finds the second place, east again the first, and then west the fourth: 1, 2 and 3 steps.
        ("maze-1d", 1 / 2),
        # The value of the game for the second player.
        ("kuhn-poker", 1 / 18),
    ],
)
def test_others_by_hand(name, optimum):
    assert list(el.Theory(name).optimal_bounds) == pytest.approx([optimum, optimum], rel=1e-6)


def machine(wears: float = 0.2, faults: float = 0.6) -> el.Task:
    @el.task(
        actions=["run", "repair"],
        observations=["fine", "faulty", "repaired"],
        reward_range=(-2, 1),
        memory="new",
        hidden=True,
    )
    def world(memory, action):
        if action == "repair":
            yield "repaired", 1.0, "new"
            return
        faulty = 0.1 if memory == "new" else faults
        worn = wears if memory == "new" else 0.0
        for seen, chance in (("faulty", faulty), ("fine", 1 - faulty)):
            yield seen, chance * worn, "worn"
            yield seen, chance * (1 - worn), memory

    @world.reward
    def earned(s, action, observation):
        return {"fine": 1, "faulty": -1, "repaired": -2}[observation]

    return world.finish()


def grid_optimum(wears: float, faults: float, points: int = 4001) -> float:
    """The optimum of the machine on a fine grid of the probability of wear, by relative value iteration."""
    worn = np.linspace(0, 1, points)
    values = np.zeros(points)
    for _ in range(3000):
        ahead = interp1d(worn, values)
        run = np.zeros(points)
        for new_chance, worn_chance, reward in ((0.1, faults, -1.0), (0.9, 1 - faults, 1.0)):
            chance = (1 - worn) * new_chance + worn * worn_chance
            after = ((1 - worn) * new_chance * wears + worn * worn_chance) / chance
            run += chance * (reward + ahead(np.clip(after, 0, 1)))
        change = np.maximum(run, values[0] - 2.0) - values
        values += 0.5 * change
        values -= values[0]
        if np.ptp(change) < 1e-10:
            break
    return float(change.mean())


@pytest.mark.parametrize(("wears", "faults"), few([(0.2, 0.6), (0.05, 0.9)], [(0.05, 0.9)]))
def test_a_machine_against_a_fine_grid(wears, faults):
    bounds = bracket(machine(wears, faults))
    assert bounds.upper - bounds.lower < 1e-4
    expected = grid_optimum(wears, faults)
    assert bounds.lower - 1e-6 <= expected <= bounds.upper + 1e-4  # the grid's own error is upwards


def test_bounds_hold_however_small_the_set_of_beliefs_is():
    exact = bracket(machine())
    rough = bracket(machine(), work=0)
    assert rough.beliefs < exact.beliefs
    assert rough.lower <= exact.lower <= exact.upper <= rough.upper
    seeing = el.Theory(machine()).clairvoyant.average_reward
    assert exact.upper < seeing - 0.1
    assert rough.upper <= seeing + 1e-9


@pytest.mark.parametrize("name", ["tiger", "cheese-maze", "shuttle"])
def test_intervals_of_the_classics_are_narrow(name):
    bounds = bracket(make_task(name))
    assert bounds.upper - bounds.lower <= 0.01 * abs(bounds.lower)


@pytest.mark.parametrize("name", ["tiger", "maze-1d"])
def test_the_controller_earns_the_lower_bound(name):
    theory = el.Theory(name)
    task, policy = theory.optimum.controller.on(theory.task)
    exact = el.Theory(task).policy(policy)
    assert exact.average_reward == pytest.approx(theory.optimal_bounds.lower, abs=1e-9)
    result = el.run(task, "always", parameters={"agent.policy": policy}, steps=100_000, runs=4, seed=1)
    error = max(result.final["standard_error"], 1e-3)
    assert result.final["mean"] == pytest.approx(exact.average_reward, abs=6 * error)


@pytest.mark.soak
def test_a_view_changes_nothing_about_the_optimum():
    task = machine()
    plain, seen = bracket(task), bracket(el.seen_through(task, "window:1+actions"))
    assert [seen.lower, seen.upper] == pytest.approx([plain.lower, plain.upper], abs=1e-6)
    assert lumped(el.seen_through(task, "window:2")).size == lumped(task).size == 2


def test_rewards_that_depend_on_what_is_kept_keep_kinds_apart():
    """The reward of an action may depend on the observation before; pairs of a memory are then of different kinds."""

    @el.task(actions=["a", "b"], observations=["x", "y"], memory={0: 0.5, 1: 0.5}, hidden=True)
    def coin(memory, action):
        for seen in ("x", "y"):
            yield seen, 0.5, memory

    @coin.reward
    def guessed(s, action, observation):
        return float((s == "x") == (action == "a"))

    assert lumped(coin.finish()).size == 2 * 2 + 1
    assert list(el.Theory(coin).optimal_bounds) == pytest.approx([1, 1], abs=1e-9)


@pytest.mark.parametrize("seed", few(range(3), range(2)))
def test_where_nothing_is_hidden_the_bounds_are_the_optimum(seed):
    task = random_mdp(seed, states=4, actions=2)
    hidden = el.Model(task.actions, task.observations, task.model.memory, task.model.rho, hidden=True)
    bounds = bracket(el.Task(task.actions, task.observations, task.aleatoric, task.reward, hidden))
    optimum = el.Theory(task).optimal_average_reward
    assert [bounds.lower, bounds.upper] == pytest.approx([optimum, optimum], abs=1e-7)


def test_what_is_very_unlikely_counts_if_it_lasts():
    """The belief after a step is that of certainty to nine decimals; yet who never stops to bet earns something."""
    begins, ends, lucky, unlucky = 4e-10, 1e-7, 0.505, 0.499998

    def rho(luck: int, action: str):
        for following, chance in ((luck, 1 - (ends if luck else begins)), (1 - luck, ends if luck else begins)):
            win = lucky if luck else unlucky
            shares = {"win": win, "lose": 1 - win} if action == "bet" else {"nothing": 1.0}
            for seen, share in shares.items():
                yield seen, chance * share, following

    model = Model(("bet", "wait"), ("win", "lose", "nothing"), 0, rho, hidden=True)
    paid = {"win": 1.0, "lose": -1.0, "nothing": 0.0}
    reward = Reward(lambda _state, _action, seen: paid[seen], -1.0, 1.0)
    bounds = bracket(Task(model.actions, model.observations, last_observation(), reward, model, name="luck"))
    share = begins / (begins + ends)
    assert bounds.upper >= (2 * lucky - 1) * share + (2 * unlucky - 1) * (1 - share) > 1e-5


def test_the_optimum_of_equal_rewards_is_known():
    """Their expectations differ by rounding, which is not a range of rewards."""

    def rho(memory: int, action: str):
        for following in range(3):
            for seen, share in enumerate((0.1, 0.2, 0.7) if (memory + following) % 2 else (0.3, 0.3, 0.4)):
                yield seen, share / 3, following

    model = Model(("go", "stay"), (0, 1, 2), {0: 0.1, 1: 0.2, 2: 0.7}, rho, hidden=True)
    reward = Reward(lambda *_: -3.3, -3.3, 0.0)
    bounds = bracket(Task(model.actions, model.observations, last_observation(), reward, model, name="flat"))
    assert bounds.certified
    assert bounds.lower == pytest.approx(-3.3, abs=1e-9)


def test_an_interval_is_not_given_out_as_a_number():
    theory = el.Theory("hallway")
    assert "optimum" not in vars(theory)
    rough = bracket(machine(), work=0)
    vars(theory)["optimum"] = rough
    with pytest.raises(el.errors.InputError):
        _ = theory.optimal_average_reward
    assert theory.optimal_bounds == (rough.lower, rough.upper)
