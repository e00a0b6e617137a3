"""Algorithm 3 against its literal transcription, and how it differs from Algorithm 1."""

from __future__ import annotations

import numpy as np
import pytest

import everlearn as el
from everlearn.errors import InputError
from tests.agents import literal
from tests.agents.literal import exact
from tests.agents.side_by_side import compare
from tests.few import few
from tests.refusal import refusal
from tests.worlds import corridor, environment_stream, random_mdp

Q_INIT = [[1.0, 2.0], [4.0, 3.5]]


def compare_with_the_literal_form(task, tau, beta, seed, steps, q_init=None) -> el.Agent:
    parameters = {"agent.horizon": tau, "agent.optimism": beta, "agent.q_init": q_init}
    agent = el.Agent(task, "discounted-subroutine", parameters=parameters, seed=seed)
    shape = agent.indexed.states, agent.indexed.actions
    values = np.broadcast_to(tau if q_init is None else q_init, shape).tolist()
    compare(agent, literal.Subroutine(agent.indexed.start, exact.mpf(tau), beta, values), seed, steps)
    return agent


@pytest.mark.parametrize(
    ("tau", "beta"), few([(10.0, 0.5), (7.3, 5.0), (3.0, 0.05), (1.0, 0.5)], [(7.3, 5.0), (1.0, 0.5)])
)
def test_it_is_the_literal_form(tau, beta):
    compare_with_the_literal_form("service-station", tau, beta, seed=1, steps=1000)


def test_it_is_the_literal_form_on_an_mdp():
    compare_with_the_literal_form(random_mdp(2), 6.0, 0.3, seed=2, steps=1000)


@pytest.mark.soak
@pytest.mark.parametrize("seed", few(range(5), range(2)))
@pytest.mark.parametrize(("tau", "beta"), [(10.0, 0.5), (7.3, 5.0), (3.0, 0.05), (30.0, 2.0)])
def test_it_is_the_literal_form_for_long(tau, beta, seed):
    compare_with_the_literal_form("service-station", tau, beta, seed, steps=20_000)
    compare_with_the_literal_form(random_mdp(seed), tau, beta, seed, steps=20_000)


@pytest.mark.parametrize("q_init", [Q_INIT, np.array(Q_INIT), 5.0, [[1.0, 2.0]]])
def test_it_begins_from_any_values(q_init):
    agent = compare_with_the_literal_form("service-station", 4.0, 0.1, seed=3, steps=300, q_init=q_init)
    fresh = el.Agent("service-station", agent.design).inspect()
    assert fresh["Q"].tolist() == np.broadcast_to(q_init, (2, 2)).tolist()
    assert fresh["V"].tolist() == fresh["Q"].max(axis=1).tolist()


def test_it_begins_after_any_history():
    station = el.Agent("service-station").task
    task = station.after(
        [
            ("slow", "arrival"),
            ("slow", "nothing"),
            ("slow", "arrival+departure"),
            ("fast", "departure"),
            ("slow", "arrival"),
        ]
    )
    assert task.aleatoric.start == 1
    agent = compare_with_the_literal_form(task, 5.0, 0.2, seed=4, steps=500)
    assert agent.indexed.start == 1


def test_ties_on_paper_are_ties():
    # V is clipped at 1 / (1 - gamma), which on paper is tau; here that must be the double tau, or else an action tried
    # before the clip has another value than the same action tried after it.
    compare_with_the_literal_form(corridor(), 10.0, 0.5, seed=1, steps=200)


def test_it_is_not_algorithm_1():
    # Algorithm 1 clips Q: both actions are at tau again after a visit, and tie.  Algorithm 3 clips V alone: the action
    # that was tried is above tau, and is chosen again.
    three = el.Agent("service-station", "discounted-subroutine", parameters={"agent.duration": 100})
    one = el.Agent("service-station", "discounted", parameters={"agent.duration": 100})
    for agent in (one, three):
        agent.observe("nothing", executed="slow")
    assert one.inspect()["Q"][0].tolist() == [10, 10]
    assert three.inspect()["Q"][0, 1] > 100
    assert three.inspect()["V"][0] == pytest.approx(10)
    assert one.policy[0].tolist() == [0.5, 0.5]
    assert three.policy[0].tolist() == [0, 1]


def test_it_acts_differently_from_algorithm_1():
    actions = []
    for design in ("discounted", "discounted-subroutine"):
        agent = el.Agent("service-station", design, parameters={"agent.duration": 100}, seed=1)
        environment = agent.task.start(environment_stream(1))
        actions.append([])
        for _ in range(100):
            actions[-1].append(agent.act())
            agent.observe(environment.step(actions[-1][-1]))
    assert actions[0] != actions[1]


def test_optimism_follows_from_the_duration():
    agent = el.Agent(
        "service-station", "discounted-subroutine", parameters={"agent.duration": 1000, "agent.horizon": 4}
    )
    agent.observe("nothing", executed="slow")
    assert agent.inspect()["Q"][0, 1] == pytest.approx(0.75 * 4 + 121.88874195)


@pytest.mark.parametrize(
    ("parameters", "refused"),
    [
        ({"horizon": 0.5}, ("agent.horizon", 0.5)),
        ({"optimism": -1}, ("agent.optimism", -1.0)),
        ({"optimism": "inf"}, ("agent.optimism",)),
        ({"optimism": 1, "horizon": "inf"}, ("agent.horizon",)),
        ({"optimism": 1, "q_init": "nan"}, ("agent.q_init", "nan")),
        (
            {"optimism": 1, "q_init": [1, 2, 3]},
            ("agent.q_init", [1, 2, 3]),
        ),
        ({"optimism": 1, "q_init": "much"}, ("agent.q_init", "much")),
        ({}, ("agent.duration", None)),
    ],
)
def test_it_refuses(parameters, refused):
    given = {f"agent.{name}": value for name, value in parameters.items()}
    with pytest.raises(InputError, check=refusal(*refused)):
        el.Agent("service-station", "discounted-subroutine", parameters=given)
