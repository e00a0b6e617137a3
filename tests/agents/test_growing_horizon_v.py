"""Algorithm 2 with V clipped: against a literal form and Algorithm 3; Algorithm 2 itself is untouched."""

from __future__ import annotations

import numpy as np
import pytest

import everlearn as el
from tests.agents import literal
from tests.agents.literal import exact
from tests.agents.side_by_side import compare
from tests.few import few


class Literal(literal.GrowingHorizon):
    """Algorithm 2, with min(max Q(s', .), tau) in Line 14 and without Line 15."""

    def learn(self, a: int, reward: float, following: int) -> None:
        Q, N, s, tau = self.Q, self.N, self.s, self.tau
        N[s][a] = N[s][a] + 1
        alpha = (1 + 2 * tau) / (N[s][a] + 2 * tau)
        V = min(max(Q[following]), tau)
        change = exact.mpf(reward) + (1 - 1 / tau) * V - Q[s][a] + self.beta / exact.sqrt(N[s][a])
        Q[s][a] = Q[s][a] + alpha * change
        self.s = following


@pytest.mark.parametrize("name", ["smooth", "change-points"])
@pytest.mark.parametrize("steps", few([600, 20_000], [600]))
def test_it_is_the_literal_form(name, steps):
    agent = el.Agent("service-station", "growing-horizon-v", schedule=name, seed=3)
    schedules = literal.smooth() if name == "smooth" else literal.change_points()
    compare(agent, Literal(2, 2, agent.indexed.start, schedules), 3, steps)


def test_at_a_fixed_horizon_it_is_algorithm_three():
    """Algorithm 3 begins with V = max Q_init = tau, and so does this."""
    at = {"agent.horizon": 3.0, "agent.optimism": 0.7}
    third = el.run("riverswim", "discounted-subroutine", parameters=at, steps=4000, runs=2, engine="reference")
    fixed = {"schedule.horizon": 3.0, "schedule.optimism": 0.7}
    ours = el.run("riverswim", "growing-horizon-v", schedule="fixed", parameters=fixed, steps=4000, runs=2)
    np.testing.assert_allclose(ours.total_reward, third.total_reward, atol=1e-9)


def test_values_may_exceed_the_horizon_where_algorithm_two_clips_them():
    ours, printed = (
        el.Agent("service-station", name, schedule="change-points", seed=1)
        for name in ("growing-horizon-v", "growing-horizon")
    )
    for agent in (ours, printed):
        environment = agent.task.start(np.random.default_rng(1))
        for _ in range(200):
            agent.observe(environment.step(agent.act()))
    assert ours.inspect()["Q"].max() > 160**0.2 + 1
    assert printed.inspect()["Q"].max() <= 160**0.2 + 1e-12
