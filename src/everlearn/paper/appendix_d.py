"""Appendix D: fitted value iteration on the aggregation example.

Fitted value iteration keeps a value V(s) for each aleatoric state.  At iteration k it draws M states o uniformly, and V
becomes the least-squares fit of max_a {rbar_a(o) + gamma (P_a V o phi)(o)}: for a lookup table the mean over the
states drawn in each class.  As M grows this is the mean over all of the class, the *expected* iteration.  That is a
contraction, since means of maxima expand nothing and gamma < 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.protocol import Table
from everlearn.tasks.aggregation import ACTIONS, GAIN, LOSS, PENALTY, Aggregation, parity

SETTLED = 1e-12
"""The expected iteration has converged when its step is below this, relative to its size."""


class Iteration(NamedTuple):
    """The values at each iteration, and whether they converged."""

    values: Table
    """A row for each iteration, from V^(0); a column for each aleatoric state."""
    outcome: str

    @property
    def last(self) -> Table:
        """V at the end."""
        return np.asarray(self.values[-1])


@dataclass(frozen=True)
class Example:
    """The aggregation example with its constants, and a discount factor for the algorithm.

    A policy is an array with the action in each state.

    Examples
    --------
    >>> example = Example(Aggregation(half=50, reset=0.1), gain=0.1, penalty=0.5, discount=0.9)
    >>> run = example.fitted(np.zeros(2))
    >>> run.outcome, int(example.greedy(run.last)[1]), round(example.average_reward(example.misled()), 4)
    ('converged', 2, -0.3617)

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
        """Return the expected iteration until it converges, or for as many iterations."""
        history = [np.asarray(start, dtype=np.float64)]
        for _ in range(iterations):
            targets = self.action_values(history[-1]).max(axis=0)
            history.append(np.array([targets[self.classes == s].mean() for s in (0, 1)]))
            size = float(np.abs(history[-1]).max())
            if np.abs(history[-1] - history[-2]).max() <= SETTLED * max(1.0, size):
                return Iteration(np.array(history), "converged")
        return Iteration(np.array(history), "did not settle")

    def sampled(self, start: Table, draws: int, iterations: int, seed: int) -> Table:
        """Return the iteration as in the text, with M draws each; a class of which none is drawn keeps its value."""
        rng, values = np.random.default_rng(seed), [np.asarray(start, dtype=np.float64)]
        for _ in range(iterations):
            drawn = rng.integers(len(self.classes), size=draws)
            targets, of = self.action_values(values[-1]).max(axis=0)[drawn], self.classes[drawn]
            values.append(np.array([targets[of == s].mean() if (of == s).any() else values[-1][s] for s in (0, 1)]))
        return np.array(values)

    def greedy(self, values: Table) -> NDArray[np.int64]:
        """Return the greedy policy; the first of equally good actions is taken."""
        return np.asarray(np.array(ACTIONS)[self.action_values(values).argmax(axis=0)], dtype=np.int64)

    def misled(self) -> NDArray[np.int64]:
        """Return pi': action 1 in odd states, action 2 in even ones."""
        return self.classes + 1

    def average_reward(self, policy: NDArray[np.int64]) -> float:
        """Return the exact average reward of a policy."""
        chain, rewards = self._under(policy)
        return float(stationary(chain) @ rewards)

    def averaging_time(self, policy: NDArray[np.int64], steps: int) -> float:
        """Return tau of a policy by the paper's definition: the largest |sum of (E[R] - lambda)| from any state."""
        chain, rewards = self._under(policy)
        excess = rewards - stationary(chain) @ rewards
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

    def _under(self, policy: NDArray[np.int64]) -> tuple[Table, Table]:
        """Return the chain under a policy, and its mean rewards."""
        states = np.arange(len(policy))
        return self.transitions[policy - 1, states], self.rewards[policy - 1, states]


def stationary(chain: Table) -> Table:
    """Return the stationary distribution of a chain in which a reset can reach every state."""
    states = len(chain)
    equations = np.vstack([chain.T - np.eye(states), np.ones(states)])
    return np.asarray(np.linalg.lstsq(equations, np.append(np.zeros(states), 1.0), rcond=None)[0])
