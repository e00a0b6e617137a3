"""The policies that the baselines choose from, and which actions play which part."""

from __future__ import annotations

import pytest

import everlearn as el
from everlearn.agents.baseline import roles
from everlearn.errors import InputError, LabelError
from everlearn.tasks.indexed import IndexedTask
from tests.refusal import refusal
from tests.worlds import agent_stream, random_mdp, shop


def parts(task: el.Task, slow: str | None = None, fast: str | None = None) -> list[int]:
    return roles(IndexedTask(task), slow, fast).tolist()[:3]


def test_the_station_has_its_own():
    assert parts(el.Agent("service-station").task) == [1, 0, 0]


def test_actions_are_found_by_name_wherever_they_stand():
    assert parts(shop().finish()) == [0, 1, 0]


def test_elsewhere_slow_is_the_last_action_and_fast_the_first():
    assert parts(random_mdp(1)) == [2, 0, 0]
    assert parts(random_mdp(1), slow="1", fast="2") == [1, 2, 0]


def climber(epsilon: float, seed: int = 0) -> el.Agent:
    """A baseline in its second phase, in which it tries epsilon."""
    parameters = {"agent.phase": 1, "agent.epsilon": epsilon}
    agent = el.Agent("service-station", "gradient", parameters=parameters, seed=seed)
    agent.act()
    agent.observe("arrival")
    return agent


def test_policy_at_epsilon():
    assert climber(0.25).policy.tolist() == [[0, 1], [0.25, 0.75]]
    assert climber(1.0).policy.tolist() == [[0, 1], [1, 0]]


def test_it_acts_by_one_draw_where_epsilon_is_neither_zero_nor_one():
    for seed in range(20):
        stream = agent_stream(seed)
        assert climber(0.5, seed).act() == ("fast" if stream.random() < 0.5 else "slow")
    certain = climber(1.0)
    assert certain.act() == "fast"
    assert certain.stream.random() == agent_stream().random()


@pytest.mark.parametrize(
    ("agent", "parameters", "error", "refused"),
    [
        ("static", {"agent.phase": 0}, InputError, ("agent.phase", 0)),
        ("gradient", {"agent.phase": -3}, InputError, ("agent.phase", -3)),
        ("curvature", {"agent.phase": 0}, InputError, ("agent.phase", 0)),
        ("gradient", {"agent.epsilon": 0}, InputError, ("agent.epsilon", 0.0)),
        ("gradient", {"agent.epsilon": 1.5}, InputError, ("agent.epsilon", 1.5)),
        ("curvature", {"agent.epsilon": 0.6}, InputError, ("agent.epsilon", 0.6)),
        ("static", {"agent.slow": "sluggish"}, LabelError, ("agent.slow", "sluggish")),
        ("static", {"agent.fast": "quick"}, LabelError, ("agent.fast", "quick")),
        (
            "static",
            {"agent.slow_completion": 0},
            InputError,
            ("agent.slow_completion", 0.0),
        ),
        (
            "static",
            {"agent.fast_completion": 2},
            InputError,
            ("agent.fast_completion", 2.0),
        ),
    ],
)
def test_what_is_refused(agent, parameters, error, refused):
    with pytest.raises(error, check=refusal(*refused)):
        el.Agent("service-station", agent, parameters=parameters)
