"""IMED-RL and MED-RL written down again from their definitions, in plain NumPy and SciPy, from the whole history."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize_scalar

from tests.agents.episodic import policy_iteration


class Literal:
    """The empirical model of everything that happened, with one observation of each pair before."""

    def __init__(self, states: int, actions: int) -> None:
        self.S, self.A = states, actions
        self.rewards: dict[tuple[int, int], list[float]] = {pair: [0.5] for pair in np.ndindex(states, actions)}
        self.next: dict[tuple[int, int], list[np.ndarray]] = {
            pair: [np.full(states, 1 / states)] for pair in np.ndindex(states, actions)
        }

    def learn(self, s: int, a: int, r: float, following: int) -> None:
        self.rewards[s, a].append(r)
        self.next[s, a].append(np.eye(self.S)[following])

    def visits(self, s: int) -> list[int]:
        return [len(self.rewards[s, a]) - 1 for a in range(self.A)]

    def bias(self) -> np.ndarray:
        """The optimal bias of the model restricted to the skeleton; the least value is 0."""
        P = np.array([[np.mean(self.next[s, a], axis=0) for a in range(self.A)] for s in range(self.S)])
        R = np.array([[np.mean(self.rewards[s, a]) for a in range(self.A)] for s in range(self.S)])
        for s in range(self.S):
            n = self.visits(s)
            R[s, [max(n) > 0 and count < math.log(max(n)) ** 2 for count in n]] = -math.inf
        h = policy_iteration(P, R).max(axis=1)
        return h - h.min()

    def divergences(self, s: int) -> list[float]:
        """K(s, a), the maximum of E[log(1 - x (X - mu))]; zero for what is best."""
        phi = self.bias()
        laws = []
        for a in range(self.A):
            values = np.add.outer(phi, np.array(self.rewards[s, a])).ravel()
            weights = np.repeat(np.mean(self.next[s, a], axis=0), len(self.rewards[s, a])) / len(self.rewards[s, a])
            laws.append((values, weights))
        means = [values @ weights for values, weights in laws]
        return [
            0.0 if mean >= max(means) - 1e-9 else dual(values, weights, max(means), 1 + phi.max())
            for mean, (values, weights) in zip(means, laws, strict=True)
        ]


def dual(values: np.ndarray, weights: np.ndarray, mu: float, bound: float) -> float:
    def loss(x: float) -> float:
        return -float(weights @ np.log(1 - x * (values - mu)))

    return -minimize_scalar(
        loss, bounds=(0, (1 - 1e-12) / (bound - mu)), method="bounded", options={"xatol": 1e-10}
    ).fun
