"""The agent that acts by a model or by values: its test and its phases against transcriptions, and both cases."""

from __future__ import annotations

import math

import numpy as np
import pytest

import everlearn as el
from everlearn.agents import planner, versatile
from everlearn.agents.schedule import practical
from everlearn.errors import InputError
from tests.refusal import refusal
from tests.worlds import environment_stream

HIDDEN = {"task.states": 4, "task.group": 4, "task.distortion": 1.0, "task.branching": 1, "task.seed": 5}
"""A deterministic world of which each state shows only its group: a model over groups misleads."""


def drive(agent, steps):
    """Let an agent act; return what it did and earned at each step, and which of the two acted."""
    environment, log = agent.task.start(environment_stream(1)), []
    for _ in range(steps):
        s, planning = agent.situation, getattr(agent.knowledge, "choice", {"planning": [[1.0]]})["planning"][0][0]
        action = agent.task.actions.index(agent.act())
        reward = agent.observe(environment.step(agent.task.actions[action]))
        log.append((s * agent.indexed.actions + action, agent.learned(reward), planning))
    return log


def test_it_is_the_planner_where_the_state_hides_nothing():
    two = [drive(el.Agent("riverswim", name, seed=3), 1500) for name in ("versatile", "planner")]
    assert two[0] == two[1]


@pytest.fixture(scope="module")
def driven():
    """An agent in a world that hides something, what it did, and the errors of its model."""
    errors, study = [], planner.study
    agent = el.Agent("garnet", "versatile", parameters=HIDDEN, seed=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planner, "study", lambda *given: errors.append(study(*given)) or errors[-1])
        log = drive(agent, 3000)
    return agent, log, errors


def test_the_test_is_its_definition(driven):
    agent, log, errors = driven
    past, before, agreed, varied = {}, 0, 0.0, 0.0

    def mean(place):
        """Each of the last hundred errors or so weighs the same."""
        seen = past.get(place, [])
        value = float(np.mean(seen[:100])) if seen else 0.0
        for error in seen[100:]:
            value += (error - value) / 100
        return value

    for (pair, _, _), error in zip(log[:1000], errors, strict=False):
        product = error * (mean((before, pair)) - mean(pair))
        agreed, varied = agreed + product, varied + product**2
        past.setdefault((before, pair), []).append(error)
        past.setdefault(pair, []).append(error)
        before = pair
    again = el.Agent("garnet", "versatile", parameters=HIDDEN, seed=1)
    drive(again, 1000)
    choice = again.knowledge.choice
    np.testing.assert_allclose([choice["agreed"][0, 0], choice["varied"][0, 0]], [agreed, varied], rtol=1e-9)
    assert agent.knowledge.choice["hidden"][0, 0] == 1
    assert agreed > 5 * math.sqrt(varied)


def test_previous_pairs_are_told_apart_by_all_of_their_number():
    """Each has a place of its own if there is room; if not, those that are a multiple of 8 apart are in many groups."""
    place = versatile.place_after
    assert {place(before, pair, 5, 5) for before in range(5) for pair in range(5)} == set(range(5, 30))
    for pair in (0, 7, 999):
        groups = [place(before, pair, 1000, 8) for before in range(0, 1000, 8)]
        assert {each % 1000 for each in groups} == {pair}
        assert min(np.bincount(groups, minlength=9000)[1000 + pair :: 1000]) >= 5
    assert place(10**9 - 1, 10**9 - 2, 10**9, 8) < 9 * 10**9


def test_who_acts_is_who_earned_more(driven):
    """The phases and the shares again, from the list of all rewards."""
    _, log, _ = driven
    phases, begin, acts, turns, tried = [], 0, 1, 0.0, False
    while begin < len(log):
        end = begin + math.ceil(max(50, 0.05 * begin))
        rewards, who = [reward for _, reward, _ in log[begin:end]], {planning for _, _, planning in log[begin:end]}
        assert who == {acts}, f"step {begin}"
        phases.append((acts, rewards, end))
        tried = tried or acts == 0
        following = log[end][2] if end < len(log) else None
        begin = end
        if following is None:
            break
        if not tried:  # until it is seen that something is hidden
            acts = following
            continue
        z = lead(phases)
        turns += max(0.01, math.exp(-z * z / 2) / 2)
        acts = int(z >= 0) if turns < 1 else int(z < 0)
        turns -= turns >= 1
    assert tried


def lead(phases):
    """Return z: phases weigh by the square of the share of the time that was over."""
    now, moments = phases[-1][2], {}
    for one in (0, 1):
        of = [(rewards, ((end / now) ** 2) * len(rewards)) for acts, rewards, end in phases if acts == one]
        weights, means = np.array([weight for _, weight in of]), np.array([np.mean(rewards) for rewards, _ in of])
        mean = np.average(means, weights=weights)
        within = 4 * sum(np.var(rewards) * weight for rewards, weight in of) / weights.sum() ** 2
        between = np.average((means - mean) ** 2, weights=weights) * (weights**2).sum() / weights.sum() ** 2
        moments[one] = mean, max(within, between)
    return (moments[1][0] - moments[0][0]) / math.sqrt(moments[0][1] + moments[1][1] + 1e-12)


def test_it_earns_more_than_the_planner_where_a_model_misleads(driven):
    _, log, _ = driven
    alone = drive(el.Agent("garnet", "planner", parameters=HIDDEN, seed=1), 3000)
    late = [np.mean([reward for _, reward, _ in each[-1000:]]) for each in (log, alone)]
    assert late[0] > late[1] + 0.1


def test_neither_of_the_two_does_what_is_forbidden():
    agent = el.Agent("garnet", "versatile", parameters=HIDDEN, seed=1)
    agent.values[:, 2] = -math.inf
    agent.values[agent.situation, 0] = -math.inf
    start = agent.situation
    log = drive(agent, 1500)
    assert {planning for _, _, planning in log} == {0.0, 1.0}
    assert not any(pair % 3 == 2 or pair == 3 * start for pair, _, _ in log)
    assert (agent.inspect()["Q"][:, 2] == -math.inf).all()  # nor do the values hope for it
    for planning in (0.0, 1.0):
        agent.knowledge.choice["planning"] = planning
        assert (agent.policy[:, 2] == 0).all()
        np.testing.assert_allclose(agent.policy.sum(axis=1), 1.0)


def test_values_do_not_choose_what_is_forbidden_in_a_state_that_they_never_met():
    agent = el.Agent("garnet", "versatile", seed=1)
    agent.values[:, :2] = -math.inf
    agent.knowledge.choice["planning"] = 0.0
    assert {agent.choose() for _ in range(20)} == {2}
    assert (agent.policy == [0, 0, 1]).all()


def test_it_says_which_of_the_two_acts(driven):
    agent, _, _ = driven
    assert "hides something" in agent.explain()
    assert "by the values." in agent.explain()


@pytest.mark.parametrize("given", [{"evidence": -1.0}, {"phase": 0.0}, {"shortest": 0.5}, {"least": 0.6}])
def test_mistakes_are_named(given):
    [(name, value)] = given.items()
    with pytest.raises(InputError, check=refusal(f"agent.{name}", value)):
        versatile.versatile(schedule=practical(), **given)
