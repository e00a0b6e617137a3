"""The abstractions, and that what is there is what they say."""

from __future__ import annotations

import everlearn as el
from everlearn.protocol import Agent, Environment, Policy, RestorableEnvironment
from everlearn.tasks.service_station import service_station
from tests.worlds import Pendulum, environment_stream


def test_an_agent_at_work_is_an_agent():
    assert isinstance(el.Agent("service-station"), Agent)


def test_a_model_can_be_restored_and_anything_with_two_methods_is_an_environment():
    assert isinstance(service_station().start(environment_stream()), RestorableEnvironment)
    assert isinstance(Pendulum(), Environment)
    assert not isinstance(Pendulum(), RestorableEnvironment)
    assert not isinstance(object(), Environment)


def test_an_agent_state_has_the_three_parts_of_the_paper():
    state = el.Agent("service-station").snapshot()
    assert state._fields == ("aleatoric", "epistemic", "algorithmic")
    assert state.aleatoric == 0
    assert set(state.algorithmic) == {"t", "seed", "run", "pending", "stream", "clock"}


def test_a_policy_is_a_function_of_history():
    policy: Policy = el.AleatoricPolicy(service_station(), "slow")
    assert list(policy([])) == [0, 1]
