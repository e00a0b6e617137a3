"""Appendix D: fitted value iteration on the aggregation example, and the fixed point of temporal differences there.

Fitted value iteration keeps a value V(s) for each aleatoric state.  At iteration k it draws M states o uniformly, and V
becomes the least-squares fit of max_a {rbar_a(o) + gamma (P_a V o phi)(o)}: for a lookup table the mean over the
states drawn in each class.  As M grows this is the mean over all of the class, the *expected* iteration.

Temporal differences weigh states by how often the policy itself visits them.  A fixed point is a V with
V(s) = sum over o in s of mu(o | s) (rbar_pi + gamma P_pi V o phi)(o), with pi greedy with respect to V and mu its
stationary distribution.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.environments.aggregation import ACTIONS, GAIN, LOSS, PENALTY, Aggregation
from everlearn.protocol import Table
from everlearn.tasks.aggregation import parity

SETTLED = 1e-12
"""A step of the expected iteration below this, relative to its size, has converged."""


class Iteration(NamedTuple):
    """How value iteration went: the values at each iteration, and whether it converged, cycled or diverged."""

    values: Table
    """A row for each iteration, from V^(0); a column for each aleatoric state."""
    outcome: str

    @property
    def last(self) -> Table:
        """V at the end."""
        return np.asarray(self.values[-1])


class FixedPoint(NamedTuple):
    """A fixed point of temporal differences: its values, and the probability of action 2 in state 2."""

    values: Table
    staying: float
    average_reward: float


@dataclass(frozen=True)
class Example:
    """The aggregation example with its constants, and a discount factor for the algorithm.

    Examples
    --------
    >>> example = Example(Aggregation(half=50, reset=0.1), gain=0.1, penalty=0.5, discount=0.9)
    >>> run = example.fitted(np.zeros(2))
    >>> run.outcome, int(example.greedy(run.last)[1]), round(example.average_reward(example.misled()), 4)
    ('converged', 2, -0.3617)
    >>> [abs(round(point.average_reward, 9)) for point in example.fixed_points()]
    [0.0]

    """

    system: Aggregation
    gain: float = 0.1
    penalty: float = 0.5
    discount: float = 0.9

    @cached_property
    def transitions(self) -> Table:
        """P_a, by action and state."""
        return self.system.transitions()

    @cached_property
    def rewards(self) -> Table:
        """rbar_a, by action and state."""
        pays = {GAIN: self.gain, LOSS: -self.gain, PENALTY: -self.penalty}
        return np.array(
            [[pays.get(self.system.paid(state, action), 0.0) for state in self.system.states] for action in ACTIONS]
        )

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        """Phi of each state, from 0."""
        return np.array([parity(state) - 1 for state in self.system.states])

    def action_values(self, values: Table) -> Table:
        """Return rbar_a + gamma P_a (V o phi), by action and state."""
        return np.asarray(self.rewards + self.discount * self.transitions @ values[self.classes])

    def fitted(self, start: Table, iterations: int = 10_000) -> Iteration:
        """Return the expected iteration, followed until it converges, cycles or leaves every bound."""
        history = [np.asarray(start, dtype=np.float64)]
        for _ in range(iterations):
            targets = self.action_values(history[-1]).max(axis=0)
            history.append(np.array([targets[self.classes == s].mean() for s in (0, 1)]))
            size = float(np.abs(history[-1]).max())
            if np.abs(history[-1] - history[-2]).max() <= SETTLED * max(1.0, size):
                return Iteration(np.array(history), "converged")
            if size > self._bound() + float(np.abs(start).max()):
                return Iteration(np.array(history), "diverged")
        return Iteration(np.array(history), "cycled" if self._recurs(history) else "did not settle")

    def sampled(self, start: Table, draws: int, iterations: int, seed: int) -> Table:
        """Return the iteration as in the text, with M draws an iteration; a class of which none is drawn stays."""
        rng, values = np.random.default_rng(seed), [np.asarray(start, dtype=np.float64)]
        for _ in range(iterations):
            drawn = rng.integers(len(self.classes), size=draws)
            targets, of = self.action_values(values[-1]).max(axis=0)[drawn], self.classes[drawn]
            values.append(np.array([targets[of == s].mean() if (of == s).any() else values[-1][s] for s in (0, 1)]))
        return np.array(values)

    def greedy(self, values: Table) -> NDArray[np.int64]:
        """Return the greedy action in each state; of equals the first."""
        return np.asarray(np.array(ACTIONS)[self.action_values(values).argmax(axis=0)], dtype=np.int64)

    def misled(self) -> NDArray[np.int64]:
        """Return pi': action 1 in odd states, action 2 in even ones."""
        return self.classes + 1

    def average_reward(self, policy: Table | NDArray[np.int64]) -> float:
        """Return the exact average reward of a policy: an action for each state, or a probability of action 2."""
        chain, rewards = self._under(self._second(policy))
        return float(_stationary(chain) @ rewards)

    def averaging_time(self, policy: NDArray[np.int64], steps: int = 20_000) -> float:
        """Return tau of a policy by the paper's definition: the largest |sum of (E[R] - lambda)| from any state."""
        chain, rewards = self._under(self._second(policy))
        excess = rewards - _stationary(chain) @ rewards
        total, largest = np.zeros(len(rewards)), 0.0
        for _ in range(steps):
            total = excess + chain @ total
            largest = max(largest, float(np.abs(total).max()))
        return largest

    def threshold(self) -> float:
        """Return the largest penalty below which action 2 is greedy in state 2, as N grows (see docs/paper.md).

        As N grows V(2) - V(1) tends to 2 delta / (1 - g), with g = gamma (1 - epsilon_1), and action 2 is greedy in
        state 2 where kappa < g (V(2) - V(1)).  The paper has 2 gamma delta / (1 - gamma) with epsilon_1 = 1 - gamma.
        """
        kept = self.discount * (1 - self.system.reset)
        return 2 * self.gain * kept / (1 - kept)

    def fixed_points(self, grid: int = 400) -> list[FixedPoint]:
        """Return the fixed points of temporal differences that a search over randomisation in state 2 finds."""
        from scipy.optimize import brentq

        def advantage(staying: float) -> float:
            values = self.action_values(self._projected(staying))
            return float(values[1, 1] - values[0, 1])

        found = [end for end, sign in ((0.0, -1), (1.0, 1)) if sign * advantage(end) >= 0]
        points = np.linspace(0, 1, grid + 1)
        signs = np.sign([advantage(point) for point in points])
        for low, high in zip(
            points[:-1][signs[:-1] * signs[1:] < 0], points[1:][signs[:-1] * signs[1:] < 0], strict=True
        ):
            found.append(float(brentq(advantage, low, high)))
        return [
            FixedPoint(self._projected(one), one, self.average_reward(self._greedy_but(one))) for one in sorted(found)
        ]

    def _greedy_but(self, staying: float) -> Table:
        """Return the probability of action 2 in each state: as given in state 2, and never where it only costs."""
        second = np.zeros(len(self.classes))
        second[1] = staying
        return second

    def _projected(self, staying: float) -> Table:
        chain, rewards = self._under(self._greedy_but(staying))
        mu = _stationary(chain)
        weights = np.array([np.where(self.classes == s, mu, 0.0) / mu[self.classes == s].sum() for s in (0, 1)])
        onto = np.eye(2)[self.classes]
        equations = np.eye(2) - self.discount * weights @ chain @ onto
        return np.asarray(np.linalg.solve(equations, weights @ rewards), dtype=np.float64)

    def _second(self, policy: Table | NDArray[np.int64]) -> Table:
        given = np.asarray(policy)
        return np.asarray(given - 1 if np.issubdtype(given.dtype, np.integer) else given, dtype=np.float64)

    def _under(self, second: Table) -> tuple[Table, Table]:
        first = 1 - second
        chain = first[:, None] * self.transitions[0] + second[:, None] * self.transitions[1]
        return chain, first * self.rewards[0] + second * self.rewards[1]

    def _bound(self) -> float:
        return 2 * float(np.abs(self.rewards).max()) / (1 - self.discount)

    def _recurs(self, history: list[Table]) -> bool:
        return any(
            np.abs(history[-1] - history[-1 - period]).max() < 1e-9 for period in range(2, min(50, len(history)))
        )


def _stationary(chain: Table) -> Table:
    """Return the stationary distribution of a chain in which a reset can reach every state."""
    states = len(chain)
    equations = np.vstack([chain.T - np.eye(states), np.ones(states)])
    return np.asarray(np.linalg.lstsq(equations, np.append(np.zeros(states), 1.0), rcond=None)[0])
