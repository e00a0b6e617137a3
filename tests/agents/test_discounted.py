"""Algorithm 1 against its literal transcription."""

from __future__ import annotations

import math

import pytest

import everlearn as el
from everlearn.agents.discounted import fixed_optimism
from everlearn.errors import InputError
from tests.agents import literal
from tests.agents.literal import exact
from tests.agents.side_by_side import compare
from tests.few import few
from tests.refusal import refusal
from tests.worlds import random_mdp

DURATION = 1000


def compare_with_the_literal_form(task: object, tau: str, seed: int, steps: int) -> None:
    agent = el.Agent(task, "discounted", parameters={"agent.horizon": tau, "agent.duration": DURATION}, seed=seed)
    shape = agent.indexed.states, agent.indexed.actions
    compare(agent, literal.Discounted(*shape, agent.indexed.start, exact.mpf(tau), DURATION), seed, steps)


@pytest.mark.parametrize("tau", few(["10", "2.5", "1"], ["2.5"]))
def test_it_is_the_literal_form_past_its_duration_too(tau):
    compare_with_the_literal_form("service-station", tau, seed=1, steps=2 * DURATION)


def test_it_is_the_literal_form_on_an_mdp():
    compare_with_the_literal_form(random_mdp(2), "4", seed=2, steps=DURATION)


@pytest.mark.soak
@pytest.mark.parametrize("seed", few(range(5), range(2)))
@pytest.mark.parametrize("tau", ["10", "2.5", "1", "30"])
def test_it_is_the_literal_form_for_long(tau, seed):
    compare_with_the_literal_form("service-station", tau, seed, steps=20_000)


@pytest.mark.parametrize("task", ["service-station", random_mdp(2)])
def test_algorithm_2_with_the_schedule_fixed_is_algorithm_1(task):
    # beta is ours here, and small enough that values leave the clip.
    parameters = {"schedule.horizon": 9, "schedule.optimism": 0.5}
    agent = el.Agent(task, "growing-horizon", schedule="fixed", parameters=parameters, seed=3)
    shape = agent.indexed.states, agent.indexed.actions
    other = literal.Discounted(*shape, agent.indexed.start, exact.mpf(9), DURATION)
    other.beta = exact.mpf("0.5")
    compare(agent, other, seed=3, steps=2000)
    assert (agent.inspect()["Q"] < 8.5).any()


def test_values_begin_at_the_horizon():
    agent = el.Agent("service-station", "discounted", parameters={"agent.horizon": 6, "agent.duration": 10})
    assert agent.inspect()["Q"].tolist() == [[6, 6], [6, 6]]
    assert agent.inspect()["N"].tolist() == [[0, 0], [0, 0]]


def test_optimism_by_hand():
    assert fixed_optimism(4, 1000) == pytest.approx(4 * 8 * math.sqrt(math.log(2_000_000)), rel=1e-15)


def test_it_is_told_the_length_of_the_run():
    result = el.run("service-station", "discounted", steps=50, engine="reference")
    assert result.parameters["agent.duration"] == 50
    given = el.run("service-station", "discounted", steps=50, engine="reference", parameters={"agent.duration": 7})
    assert given.parameters["agent.duration"] == 7


@pytest.mark.parametrize(
    ("parameters", "refused"),
    [
        ({}, ("agent.duration", None)),
        ({"agent.duration": 0}, ("agent.duration", 0)),
        ({"agent.duration": 9, "agent.horizon": 0.5}, ("agent.horizon", 0.5)),
    ],
)
def test_it_refuses(parameters, refused):
    with pytest.raises(InputError, check=refusal(*refused)):
        el.Agent("service-station", "discounted", parameters=parameters)


@pytest.mark.parametrize("name", ["discounted", "discounted-subroutine"])
@pytest.mark.parametrize(("key", "value"), [("horizon", 1e308), ("duration", 10**308)])
def test_numbers_that_overflow_are_refused(name, key, value):
    with pytest.raises(InputError, check=refusal(f"agent.{key}", value)):
        el.run("riverswim", name, steps=10, parameters={f"agent.{key}": value})
