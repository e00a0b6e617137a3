"""A user-defined design: data and two functions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import everlearn as el
from tests.worlds import agent_stream


class Tally(NamedTuple):
    """How often each action was executed in each state, and what it earned."""

    count: np.ndarray
    earned: np.ndarray


def build(indexed):
    shape = indexed.states, indexed.actions
    return Tally(np.zeros(shape), np.zeros(shape))


def act(knowledge, aleatoric_state, now, stream):
    if now.t <= 10:
        return el.choose(stream, knowledge.count.shape[1])
    return int(np.argmax(knowledge.earned[aleatoric_state] / np.maximum(knowledge.count[aleatoric_state], 1)))


def learn(knowledge, experience, now, stream):
    knowledge.count[experience.aleatoric_state, experience.action] += 1
    knowledge.earned[experience.aleatoric_state, experience.action] += experience.reward


def test_a_design_of_ones_own_runs():
    design = el.Design(build, act, learn, name="tally")
    result = el.run("service-station", design, steps=500, runs=2, engine="reference")
    assert result.agent == "tally"
    assert result.schedule is None


def test_it_is_given_what_it_asks_for():
    agent, stream = el.Agent("service-station", el.Design(build, act, learn), seed=4), agent_stream(4)
    for t in range(1, 13):
        action = agent.act()
        if t <= 10:
            assert action == ("fast", "slow")[int(stream.random() * 2)]
        agent.observe("arrival" if t == 1 else "nothing")
    assert agent.knowledge.count.sum() == 12
    assert agent.knowledge.count[0].sum() == 1


def test_it_can_be_saved_and_go_on(tmp_path):
    one, other = (el.Agent("service-station", el.Design(build, act, learn), seed=seed) for seed in (1, 2))
    for _ in range(7):
        one.act()
        one.observe("nothing")
    one.save(tmp_path / "mine.npz")
    other.load(tmp_path / "mine.npz")
    assert other.knowledge.count.tolist() == one.knowledge.count.tolist()
    assert other.act() == one.act()
