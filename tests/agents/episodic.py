"""UCRL2, TSDE and PSRL written down again from their papers, in plain NumPy, without regard to time or memory."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np


class Ucrl2:
    """Figure 1 of Jaksch, Ortner and Auer (2010).  Ties go to the action that was visited least, then to the first."""

    def __init__(self, s: int, states: int, actions: int, delta: float) -> None:
        self.S, self.A, self.delta, self.t, self.k = states, actions, delta, 1, 0
        self.history: list[tuple[int, int, float, int]] = []
        self.initialise_episode()

    def initialise_episode(self) -> None:
        self.k, t_k = self.k + 1, self.t
        self.v = np.zeros((self.S, self.A))
        self.N, R, P = np.zeros((self.S, self.A)), np.zeros((self.S, self.A)), np.zeros((self.S, self.A, self.S))
        for s, a, r, following in self.history:
            self.N[s, a] += 1
            R[s, a] += r
            P[s, a, following] += 1
        n = np.maximum(1, self.N)
        d_r = np.sqrt(7 * math.log(2 * self.S * self.A * t_k / self.delta) / (2 * n))
        d_p = np.sqrt(14 * self.S * math.log(2 * self.A * t_k / self.delta) / n)
        self.policy = self.extended_value_iteration(
            np.minimum(1, R / n + d_r), P / n[..., None], d_p, 1 / math.sqrt(t_k)
        )

    def extended_value_iteration(self, r, p, d, epsilon) -> list[int]:
        u = np.zeros(self.S)
        while True:
            order = np.argsort(-u, kind="stable")
            q = np.array(
                [[r[s, a] + self.inner(p[s, a], d[s, a], order) @ u for a in range(self.A)] for s in range(self.S)]
            )
            change = q.max(axis=1) - u
            if change.max() - change.min() < epsilon:
                return [
                    min(np.flatnonzero(q[s] > q[s].max() - 1e-10), key=lambda a, s=s: self.N[s, a])
                    for s in range(self.S)
                ]
            u = q.max(axis=1)

    def inner(self, estimate, d, order) -> np.ndarray:
        """Figure 2."""
        p = estimate.copy()
        p[order[0]] = min(1, estimate[order[0]] + d / 2)
        last = self.S - 1
        while p.sum() > 1 and last > 0:
            p[order[last]] = max(0, 1 - (p.sum() - p[order[last]]))
            last -= 1
        return p

    def act(self, s: int) -> int:
        while self.v[s, self.policy[s]] >= max(1, self.N[s, self.policy[s]]):
            self.initialise_episode()
        return int(self.policy[s])

    def learn(self, s: int, a: int, r: float, following: int) -> None:
        self.v[s, a] += 1
        self.history.append((s, a, r, following))
        self.t += 1


class Tsde:
    """Algorithm 1 of Ouyang, Gagrani, Nayyar and Jain (2017); ``draw(k, counts, rewards)`` draws a model.

    ``first`` is the action of the first step, before anything is known.
    """

    def __init__(self, states: int, actions: int, draw: Callable, first: int) -> None:
        self.draw, self.t, self.t_k, self.k, self.first = draw, 1, 0, 0, first
        self.counts, self.earned = np.zeros((states, actions, states)), np.zeros((states, actions))
        self.begins: list[int] = []
        self.begin()

    def begin(self) -> None:
        self.k += 1
        self.T, self.t_k = self.t - self.t_k, self.t
        self.before = self.counts.sum(axis=2)
        self.begins.append(self.t)
        if self.k > 1:
            self.q = policy_iteration(*self.draw(self.k, self.counts, self.earned))

    def is_over(self) -> bool:
        return self.t > self.t_k + self.T or bool((self.counts.sum(axis=2) > 2 * self.before).any())

    def best_actions(self, s: int) -> list[int]:
        """All that are optimal: with mean rewards, what was never tried is often equally good."""
        if self.is_over():
            self.begin()
        return [self.first] if self.k == 1 else [int(a) for a in np.flatnonzero(self.q[s] > self.q[s].max() - 1e-5)]

    def learn(self, s: int, a: int, r: float, following: int) -> None:
        self.counts[s, a, following] += 1
        self.earned[s, a] += r
        self.t += 1


class Psrl(Tsde):
    """Posterior sampling of Osband, Russo and Van Roy (2013) with the episodes of UCRL2, ended by the last visit."""

    def is_over(self) -> bool:
        visits = self.counts.sum(axis=2)
        return bool((visits - self.before >= np.maximum(1, self.before)).any())


def policy_iteration(P: np.ndarray, R: np.ndarray) -> np.ndarray:
    """r + P h for the bias h of an optimal policy, where every chain has one recurrent class (Howard, 1960)."""
    states = np.arange(len(R))
    policy = R.argmax(axis=1)
    while True:
        system = np.eye(len(R)) - P[states, policy]
        system[:, 0] = 1  # the unknown in the place of h(0), which is 0, is the gain
        h = np.linalg.solve(system, R[states, policy])
        h[0] = 0
        q = R + P @ h
        better = np.where(q.max(axis=1) > q[states, policy] + 1e-10, q.argmax(axis=1), policy)
        if (better == policy).all():
            return q
        policy = better
