"""The second baseline: it climbs while climbing pays."""

from __future__ import annotations

import pytest

import everlearn as el
from everlearn.tasks.service_station import service_station
from tests.agents.baselines import FAST, after_its_phases, check_every_run_stays_slow, check_it_stays_slow
from tests.chains import average_reward
from tests.few import few


def mixture(epsilon: float):
    """pi_epsilon as a function of aleatoric state and action."""
    return lambda present, action: (
        (epsilon if action == "fast" else 1 - epsilon) if present else float(action == "slow")
    )


def test_the_derivative_is_negative_on_the_station_of_the_paper():
    station = service_station(cap=3)
    fall = average_reward(station, mixture(0.1)) - average_reward(station, mixture(0))
    assert fall == pytest.approx(-0.00683, abs=1e-5)


# An average over n steps has a standard deviation of about 0.28 / sqrt(n), the difference of two 0.40 / sqrt(n), and
# epsilon = 0.1 costs 0.0068 a step.  So with phases of 30,000 steps one seed in 600 leaves slow, and with 200,000
# one in 10^13.
@pytest.mark.soak
@pytest.mark.parametrize("seed", few([1, 2], [1]))
def test_it_stays_slow_on_the_station_of_the_paper(seed):
    check_it_stays_slow("gradient", phase=30_000, seed=seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1, 7))
def test_hundreds_of_runs_stay_slow_with_the_default_phase(seed):
    check_every_run_stays_slow("gradient", runs=40, seed=seed)


def test_it_leaves_slow_where_the_derivative_is_positive():
    # With a window of one customer epsilon = 0.1 gains 0.0118 a step, three standard deviations at 10,000 steps.
    agent = after_its_phases("gradient", 10_000, seed=1, task_window=1)
    assert agent.policy[1, FAST] == pytest.approx(0.2)


@pytest.mark.soak
def test_it_climbs_to_the_top_where_the_derivative_is_positive_all_the_way():
    agent = after_its_phases("gradient", 100_000, seed=1, phases=12, task_window=1)
    assert agent.policy[1, FAST] == 1


def told(tenths: list[int], epsilon: float = 0.25) -> list[float]:
    """The epsilon after each phase of one step, in which it is paid so many tenths."""
    aleatoric = el.AleatoricState(0, lambda s, a, o: 0)
    task = el.Task((0, 1), tuple(range(11)), aleatoric, el.Reward(lambda s, a, o: o / 10))
    agent = el.Agent(task, "gradient", parameters={"agent.phase": 1, "agent.epsilon": epsilon})
    found = []
    for paid in tenths:
        agent.act()
        agent.observe(paid)
        found.append(float(agent.inspect()["epsilon"][0]))
    return found


def test_it_goes_up_while_the_average_rises_and_back_where_it_falls():
    assert told([1, 2, 3, 2, 9]) == [0.25, 0.5, 0.75, 0.5, 0.5]


def test_it_returns_to_slow_where_the_first_trial_pays_less_or_the_same():
    assert told([2, 1, 9]) == [0.25, 0, 0]
    assert told([2, 2, 9]) == [0.25, 0, 0]


def test_it_settles_at_the_top():
    assert told([1, 2, 3, 4, 5, 0, 0]) == [0.25, 0.5, 0.75, 1, 1, 1, 1]
    assert told([1, 2, 3], epsilon=0.75) == [0.75, 1, 1]


def test_ten_times_a_tenth_is_the_top():
    found = told(list(range(11)), epsilon=0.1)
    assert found == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1])
    assert found[-2:] == [1, 1]
