"""The agent that acts by a model or by a search: its test, its phases and its members against transcriptions."""

from __future__ import annotations

import math

import numpy as np
import pytest

import everlearn as el
from everlearn.agents import actor_critic, planner, suspicion, versatile
from everlearn.agents.actor_critic import ActorCritic
from everlearn.agents.knowledge import copied
from everlearn.errors import InputError
from everlearn.protocol import Experience
from tests.refusal import refusal
from tests.worlds import environment_stream

HIDDEN = {"task.states": 8, "task.group": 4, "task.distortion": 1.0, "task.branching": 2, "task.seed": 5}
"""A world of which each state shows only its group: a model over groups misleads."""


def drive(agent, steps):
    """Let an agent act; return its pair, what it learned from, and which of the two acted, of each step."""
    environment, log = agent.task.start(environment_stream(1)), []
    for _ in range(steps):
        s, planning = agent.situation, getattr(agent.knowledge, "choice", {"second": [[1.0]]})["second"][0][0]
        action = agent.task.actions.index(agent.act())
        reward = agent.observe(environment.step(agent.task.actions[action]))
        log.append((s * agent.indexed.actions + action, agent.learned(reward), planning))
    return log


def test_it_is_the_planner_until_the_actor_has_a_trial():
    """Its planner holds actions for longer: 400 visits, divided by the power 1.5 of 12 pairs."""
    alone = el.Agent("riverswim", planner.planner(commitment=400 / math.sqrt(12)), seed=3)
    assert drive(el.Agent("riverswim", "versatile", seed=3), 1500) == drive(alone, 1500)


@pytest.fixture(scope="module")
def driven():
    """An agent in a world that hides something, what it did, and the errors of its model by step."""
    errors, study = {}, planner.study
    agent = el.Agent("garnet", "versatile", parameters=HIDDEN, seed=1)

    def studied(knowledge, experience, t):
        errors[t] = study(knowledge, experience, t)
        return errors[t]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planner, "study", studied)
        log = drive(agent, 4000)
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

    assert set(errors) == {t for t, (_, _, planning) in enumerate(log, start=1) if planning}  # it learns in its phases
    assert len(errors) < len(log)
    for t, (pair, _, _) in enumerate(log, start=1):
        if t in errors:
            product = errors[t] * (mean((before, pair)) - mean(pair))
            agreed, varied = agreed + product, varied + product**2
            past.setdefault((before, pair), []).append(errors[t])
            past.setdefault(pair, []).append(errors[t])
        before = pair
    choice = agent.knowledge.choice
    np.testing.assert_allclose([choice["agreed"][0, 0], choice["varied"][0, 0]], [agreed, varied], rtol=1e-9)
    assert agreed > 5 * math.sqrt(varied)


@pytest.mark.parametrize(("deviations", "suspected"), [(-1.0, 0.0), (1.0, 0.0), (3.25, 0.5), (6.0, 1.0)])
def test_the_suspicion_rises_with_the_evidence(deviations, suspected):
    knowledge = copied(el.Agent("riverswim", "versatile").knowledge)
    knowledge.choice["agreed"], knowledge.choice["varied"] = 2 * deviations, 4.0
    assert versatile.suspicion_of(knowledge, knowledge.choice) == pytest.approx(suspected)
    knowledge.run["follows"] = 1.0
    assert versatile.suspicion_of(knowledge, knowledge.choice) == 0.0


def test_previous_pairs_are_told_apart_by_all_of_their_number():
    """Each has a place of its own if there is room; if not, those that are a multiple of 8 apart are in many groups."""
    place = suspicion.place_after
    assert {place(before, pair, 5, 5) for before in range(5) for pair in range(5)} == set(range(5, 30))
    for pair in (0, 7, 999):
        groups = [place(before, pair, 1000, 8) for before in range(0, 1000, 8)]
        assert {each % 1000 for each in groups} == {pair}
        assert min(np.bincount(groups, minlength=9000)[1000 + pair :: 1000]) >= 5
    assert place(10**9 - 1, 10**9 - 2, 10**9, 8) < 9 * 10**9


def test_who_acts_is_who_earned_more(driven, monkeypatch):
    """The phases and the shares again, from the list of all rewards; the suspicion is recorded."""
    suspected, begin_phase = {}, versatile.begin_phase

    def begun(knowledge, t):
        suspected[t] = versatile.suspicion_of(knowledge, knowledge.choice), knowledge.run["follows"][0, 0] > 0.0
        begin_phase(knowledge, t)

    monkeypatch.setattr(versatile, "begin_phase", begun)
    log = drive(el.Agent("garnet", "versatile", parameters=HIDDEN, seed=1), 4000)
    assert log == driven[1]
    phases, begin, end, acts, turns, searched, counts = [], 0, 100, 1, 0.0, 0, 0
    while end < len(log):
        assert {planning for _, _, planning in log[begin:end]} == {acts}, f"step {begin}"
        phases.append((acts, [reward for _, reward, _ in log[counts:end]], end))
        searched += (1 - acts) * (end - begin)
        doubt, follows = suspected[end]
        steps, length = end ** (0.5 + 0.2 * doubt), max(100, 0.1 * end)
        turns += shared(lead(phases), 0.0 if follows else 0.1 + 0.4 * doubt) if searched else 0.0
        trial = min(max(steps / 4, 100), length)
        acts = int(turns < 1 and searched + trial > steps)
        length = math.ceil(trial if turns < 1 and not acts else length)
        turns -= turns >= 1
        begin, end, counts = end, end + length, end + length // 2
    assert {acts for acts, _, _ in phases} == {0, 1}


def shared(z, w):
    """Return the share of the actor."""
    likely = math.exp(-z * z / 2)
    return w * likely if z >= 0 else min(0.99, 1 - (1 - w) * likely)


def lead(phases):
    """Return z: a phase weighs by the squares of the shares of the time that was over before each later one."""
    weights, moments = [], {}
    for _, rewards, end in phases:
        kept = (1 - len(rewards) / end) ** 2
        weights = [weight * kept for weight in weights] + [1.0]
    for one in (0, 1):
        both = zip(phases, weights, strict=True)
        of = [(rewards, weight * len(rewards)) for (acts, rewards, _), weight in both if acts == one]
        weighed, means = np.array([weight for _, weight in of]), np.array([np.mean(rewards) for rewards, _ in of])
        mean = np.average(means, weights=weighed)
        within = 4 * sum(np.var(rewards) * weight for rewards, weight in of) / weighed.sum() ** 2
        between = np.average((means - mean) ** 2, weights=weighed) * (weighed**2).sum() / weighed.sum() ** 2
        moments[one] = mean, max(within, between) + 0.01 / weighed.sum()
    return (moments[1][0] - moments[0][0]) / math.sqrt(moments[0][1] + moments[1][1] + 1e-12)


def test_the_actor_learns_from_its_phases_alone_and_begins_each_with_empty_traces(monkeypatch):
    """The actor-critic alone, given the steps of those phases, knows the same."""
    agent, phases, improve = el.Agent("garnet", "versatile", parameters=HIDDEN, seed=1), [], actor_critic.improve

    def improved(knowledge, experience, t):
        if knowledge.past["live"][0, 0] == 0:
            phases.append([])
        phases[-1].append(experience)
        improve(knowledge, experience, t)

    monkeypatch.setattr(actor_critic, "improve", improved)
    log = drive(agent, 4000)
    alone: ActorCritic = copied(el.Agent("garnet", "actor-critic", parameters=HIDDEN).knowledge)
    steps = [(begin, experience) for phase in phases for begin, experience in enumerate(phase)]
    for t, (begin, experience) in enumerate(steps, start=1):
        if begin == 0:
            alone.past.view(float)[:] = 0.0
        improve(alone, Experience(*experience), t)
    assert len(steps) == sum(planning == 0 for _, _, planning in log) == agent.knowledge.choice["acted"][0, 0]
    assert len(phases) > 1
    assert (alone.cells == agent.knowledge.search).all()
    assert alone.average == agent.knowledge.average


def test_it_escapes_a_cycle_on_which_the_model_sees_nothing_hidden():
    """In a corridor whose places look alike, the model settles on a cycle; the actor finds out by trials."""
    places, goal = 6, 3
    law = np.zeros((2, places, places))
    for s in range(places):
        law[0, s, max(s - 1, 0)] = law[1, s, min(s + 1, places - 1)] = 1.0
    law[:, goal] = (1 - np.eye(places)[goal]) / (places - 1)
    rewards = np.zeros((places, 2, places))
    rewards[goal] = 1.0
    task = el.mdp(law, rewards, aggregate=["goal" if s == goal else "dark" for s in range(places)])
    logs = [drive(el.Agent(task, name, seed=1), 15_000) for name in ("planner", "versatile")]
    earned = [np.mean([reward for _, reward, _ in log[-2000:]]) for log in logs]
    assert earned[1] > 10 * earned[0]


def test_neither_of_the_two_does_what_is_forbidden():
    agent = el.Agent("garnet", "versatile", parameters=HIDDEN, seed=1)
    agent.values[:, 2] = -math.inf
    agent.values[agent.situation, 0] = -math.inf
    start = agent.situation
    log = drive(agent, 3000)
    assert {planning for _, _, planning in log} == {0.0, 1.0}
    assert not any(pair % 3 == 2 or pair == 3 * start for pair, _, _ in log)
    for planning in (0.0, 1.0):
        agent.knowledge.choice["second"] = planning
        assert (agent.policy[:, 2] == 0).all()
        np.testing.assert_allclose(agent.policy.sum(axis=1), 1.0)


def test_the_actor_does_not_choose_what_is_forbidden_in_a_state_that_it_never_met():
    agent = el.Agent("garnet", "versatile", seed=1)
    agent.values[:, :2] = -math.inf
    agent.knowledge.choice["second"] = 0.0
    assert {agent.choose() for _ in range(20)} == {2}
    assert (agent.policy == [0, 0, 1]).all()


def test_a_step_that_is_not_learned_from_cuts_the_traces_of_the_actor():
    agent = el.Agent("garnet", "versatile", parameters=HIDDEN, seed=1)
    agent.knowledge.choice["second"] = 0.0
    drive(agent, 20)
    assert agent.knowledge.past["trace"].any()
    agent.remember(Experience(0, 0, 0, math.nan, 0))
    assert not agent.knowledge.past["trace"].any()
    assert agent.knowledge.past["mean"].any()


def test_the_planner_leaves_no_past_to_keep_with_each_step_whose_reward_comes_late():
    agent = el.Agent("garnet", "versatile", parameters=HIDDEN, seed=1)
    agent.knowledge.choice["second"] = 0.0
    drive(agent, 20)
    present = agent.exchange_memory()
    assert present.any()
    agent.knowledge.choice["second"] = 1.0
    agent.exchange_memory(present)  # as after a reward that came late, with which the planner's phase began
    agent.remember(Experience(0, 0, 0, math.nan, 0))
    assert not agent.exchange_memory().any()


def test_it_says_which_of_the_two_acts(driven):
    knowledge, task = copied(driven[0].knowledge), driven[0].task
    knowledge.run["follows"], knowledge.choice["second"] = 0.0, 1.0
    assert versatile.explain(knowledge, task).startswith("It acts by the model. The aleatoric state hides something")
    knowledge.choice["second"], knowledge.choice["agreed"] = 0.0, 0.0
    said = versatile.explain(knowledge, task)
    assert said.startswith(
        "It acts by the actor, which searches among policies. The aleatoric state is not seen to hide"
    )
    assert said.endswith("by the actor.")


@pytest.mark.parametrize("given", [{"evidence": 1.5}, {"phase": 0.0}, {"shortest": 0.5}, {"least": 0.6}])
def test_mistakes_are_named(given):
    [(name, value)] = given.items()
    with pytest.raises(InputError, check=refusal(f"agent.{name}", value)):
        versatile.versatile(**given)
