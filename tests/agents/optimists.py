"""UCRL2B, UCRL3, KL-UCRL and FOCUS written down again from their definitions, in plain NumPy, from what was seen."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.optimize import brentq

from tests.agents.episodic import Ucrl2


def fill(lower: np.ndarray, upper: np.ndarray, f: np.ndarray, allowed: Sequence[int]) -> float:
    """The greatest sum of q f over the allowed, with q between its bounds and a sum of at most 1 (a knapsack)."""
    total, left = 0.0, 1 - sum(lower[x] for x in allowed)
    for x in sorted(allowed, key=lambda x: -f[x]):
        more = min(max(left, 0), upper[x] - lower[x])
        left -= more
        total += (lower[x] + more) * f[x]
    return total


class Ucrl2b(Ucrl2):
    """Fruit, Pirotta and Lazaric (2020); values start from those of the last episode, and planning has a limit."""

    sweeps = 200

    def __init__(self, s: int, states: int, actions: int, delta: float, constant: float = 6) -> None:
        self.constant, self.u = constant, np.zeros(states)
        super().__init__(s, states, actions, delta)

    def initialise_episode(self) -> None:
        self.k += 1
        self.v = np.zeros((self.S, self.A))
        self.N = np.zeros((self.S, self.A))
        seen: dict[tuple[int, int], tuple[list[float], list[int]]] = {p: ([], []) for p in np.ndindex(self.S, self.A)}
        for s, a, r, following in self.history:
            self.N[s, a] += 1
            seen[s, a][0].append(r)
            seen[s, a][1].append(following)
        self.bounds = {
            pair: self.bound(np.array(rewards), np.bincount(to, minlength=self.S)) if to else self.nothing_known()
            for pair, (rewards, to) in seen.items()
        }
        self.policy = self.plan(1 / self.t)

    def nothing_known(self) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        return 1.0, np.zeros(self.S), np.ones(self.S), np.zeros(self.S)

    def bound(self, rewards: np.ndarray, counts: np.ndarray) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        """The greatest reward, the least and the greatest probabilities, and the counts."""
        n = len(rewards)
        log, p = math.log(self.constant * self.S * self.A * n / self.delta), counts / n
        width = 2 * np.sqrt(p * (1 - p) * log / n) + 6 * log / n
        reward = rewards.mean() + 2 * math.sqrt(rewards.var() * log / n) + 6 * log / n
        return min(1, reward), np.maximum(0, p - width), np.minimum(1, p + width), counts

    def hope(self, lower, upper, counts) -> float:
        return fill(lower, upper, self.u, self.support(lower, upper, counts))

    def support(self, lower, upper, counts) -> list[int]:
        return list(range(self.S))

    def plan(self, epsilon: float) -> list[int]:
        sweep = 0
        while True:
            sweep += 1
            q = np.empty((self.S, self.A))
            for (s, a), (reward, lower, upper, counts) in self.bounds.items():
                q[s, a] = reward + self.hope(lower, upper, counts)
            change = q.max(axis=1) - self.u
            if change.max() - change.min() < epsilon or sweep == self.sweeps:
                return [
                    min(np.flatnonzero(q[s] > q[s].max() - 1e-10), key=lambda a, s=s: self.N[s, a])
                    for s in range(self.S)
                ]
            self.u = q.max(axis=1) - q.max(axis=1).min()


class Ucrl3(Ucrl2b):
    """Bourel, Maillard and Talebi (2020), with the confidence sets of their package."""

    def bound(self, rewards: np.ndarray, counts: np.ndarray) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        n, delta, eta = len(rewards), self.delta / (self.S * self.A * (3 + 3 * self.S)), 1.12
        peeled = eta * math.log(math.log(eta * n) * math.log(eta**2 * n) / (math.log(eta) ** 2 * delta)) / n
        laplace = (1 + 1 / n) * math.log(math.sqrt(n + 1) / delta) / n
        twice = (1 + 1 / n) * math.log(2 * math.sqrt(n + 1) / delta) / n
        reward = rewards.mean() + min(math.sqrt(2 * rewards.var() * peeled) + 7 * peeled / 3, math.sqrt(laplace / 2))

        def g(q: float) -> float:
            return 0.25 if abs(q - 0.5) < 1e-6 else (0.5 - q) / math.log(1 / q - 1)

        def plausible(p: float, q: float) -> bool:
            variance = q * (1 - q)
            proxy = 0.0 if q in (0, 1) else (variance if q >= 0.5 and q > p else g(q))
            return abs(p - q) <= min(math.sqrt(2 * variance * peeled) + peeled / 3, math.sqrt(2 * proxy * twice))

        def farthest(p: float, end: float) -> float:
            near, far = p, end
            while abs(far - near) > 1e-4:
                middle = (near + far) / 2
                near, far = (middle, far) if plausible(p, middle) else (near, middle)
            return far if plausible(p, far) else near

        p = counts / n
        lower = np.array([max(0.5 ** (1 / n) if q == 1 else 0, farthest(q, 0.0)) if q > 0 else 0.0 for q in p])
        return min(1, reward), lower, np.array([farthest(q, 1.0) for q in p]), counts

    def support(self, lower, upper, counts) -> list[int]:
        """Algorithm NOSS: add the best next state until what the others may contribute is little."""
        f, seen = self.u, [int(x) for x in np.flatnonzero(counts)]
        kappa = 10 * f.max() * len(seen) / max(1, self.N.max()) ** (2 / 3)
        chosen = sorted({*seen, int(f.argmax())})
        while True:
            others = [x for x in range(self.S) if x not in chosen]
            missed = fill(0 * lower, upper, f, others)
            if not others or missed <= min(kappa, fill(lower, upper, f, chosen)):
                return chosen
            chosen.append(max(others, key=lambda x: f[x]))


class KlUcrl(Ucrl2b):
    """Filippi, Cappé and Garivier (2010), with the time of the episode in place of T.

    The best q has q = p / (lambda (nu - V)) where p > 0, for multipliers lambda and nu; it puts something on an
    unobserved state only if that is the best and nu its value.  ``f(nu)`` is KL(p, q) of the row without that.
    """

    def nothing_known(self) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        return self.constants()[1], np.zeros(self.S), np.zeros(self.S), np.zeros(self.S)

    def constants(self) -> tuple[float, float]:
        log = math.log(max(2, self.t))
        B = math.log(2 * math.e * self.S**2 * self.A * log / self.delta)
        C_P = self.S * (B + math.log(B + 1 / log) * (1 + 1 / (B + 1 / log)))
        return C_P, math.sqrt(math.log(4 * self.S * self.A * log / self.delta) / 1.99)

    def bound(self, rewards: np.ndarray, counts: np.ndarray) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        return rewards.mean() + self.constants()[1] / math.sqrt(len(rewards)), counts, counts, counts

    def hope(self, lower, upper, counts) -> float:
        V, n = self.u, counts.sum()
        if n == 0:
            return float(V.max())
        radius, p, seen = self.constants()[0] / n, counts / n, counts > 0
        p, W = p[seen], V[seen]

        def row(nu: float) -> np.ndarray:
            q = p / (nu - W)
            return q / q.sum()

        def f(nu: float) -> float:
            return float(p @ np.log(nu - W) + math.log((p / (nu - W)).sum()))

        if V.max() > W.max() and f(V.max()) < radius:
            r = 1 - math.exp(f(V.max()) - radius)
            return float(r * V.max() + (1 - r) * row(V.max()) @ W)
        if np.ptp(W) == 0 or f(W.max() + 1e-13) < radius:  # nu is so close that the best has everything
            return float(W.max())
        return float(row(brentq(lambda nu: f(nu) - radius, W.max() + 1e-13, W.max() + 1e6, xtol=1e-13, rtol=1e-15)) @ W)


class Focus:
    """Algorithm 1 of Zamir, Zurek and Chen (2026); ``bound`` adds their empirical Bernstein bound to rewards.

    Ties go to the action that was visited least before the plan, then to the first.
    """

    def __init__(self, states: int, actions: int, T: int, gamma: float, delta: float, H: float) -> None:
        self.S, self.A, self.gamma, self.H = states, actions, gamma, H
        self.t, self.k, self.scale, self.bound = 1, 1, 1.0, False
        self.U = math.log(1 / (delta / (9 * states**2 * actions * T)))
        self.N, self.n = np.zeros((states, actions, states)), np.zeros((states, actions))
        self.rewards: dict[tuple[int, int], list[float]] = {pair: [] for pair in np.ndindex(states, actions)}
        self.Q = np.full((states, actions), 1 / (1 - gamma))

    def act(self, s: int) -> int:
        tied = np.flatnonzero(self.Q[s] > self.Q[s].max() - 1e-8)
        return int(min(tied, key=lambda a: self.n[s, a]))

    def learn(self, s: int, a: int, r: float, following: int) -> None:
        self.N[s, a, following] += 1
        self.rewards[s, a].append(r)
        if math.log2(self.N[s, a].sum()).is_integer():
            self.plan()
        self.t += 1

    def plan(self) -> None:
        self.k += 1
        self.epsilon = 1 / (self.t * (1 - self.gamma))
        self.n = self.N.sum(axis=2)
        self.P = np.where(self.n[..., None] > 0, self.N / np.maximum(self.n, 1)[..., None], 1 / self.S)
        self.r = np.array([[self.reward(self.rewards[s, a]) for a in range(self.A)] for s in range(self.S)])
        m = 1 / (1 - self.gamma) * math.log((1 + 32 * self.H * self.U) / (self.epsilon * (1 - self.gamma)))
        self.Q = self.apply(np.zeros((self.S, self.A)), math.ceil(m))

    def reward(self, seen: list[float]) -> float:
        if not seen:
            return 1.0
        spread = 2 * math.sqrt(np.var(seen) * self.U / len(seen)) + 14 * self.U / (3 * len(seen))
        return min(1.0, float(np.mean(seen)) + self.bound * self.scale * spread)

    def apply(self, Q: np.ndarray, times: int = 1) -> np.ndarray:
        each = self.U / np.maximum(self.n, 1)
        for _ in range(times):
            V = Q.max(axis=1)
            V = np.minimum(V, V.min() + self.H)
            mean = self.P @ V
            variance = np.maximum(self.P @ (V - V.min()) ** 2 - (mean - V.min()) ** 2, 0)
            Q = self.r + self.gamma * (mean + self.scale * np.maximum(4 * np.sqrt(variance * each), 32 * self.H * each))
        return Q
