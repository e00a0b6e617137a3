"""The three algorithms of the paper, line by line, in 50-digit arithmetic: what the agents are compared with.

Nothing here calls everlearn, and the paper's schedules are written out again.  A tie on paper is a tie here: values
closer than 1e-30 count as equal, which rounding at 50 digits never spoils and distinct values never are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import mpmath

exact = mpmath.MPContext()
exact.dps = 50
SAME = exact.mpf(10) ** -30

Number = mpmath.mpf
Draw = Callable[[], float]


class Schedules(NamedTuple):
    """foo1 to foo4, each a function of t."""

    foo1: Callable[[int], Number]
    foo2: Callable[[int], Number]
    foo3: Callable[[int], Number]
    foo4: Callable[[int], Number]


def fraction(numerator: int, denominator: int) -> Number:
    return exact.mpf(numerator) / denominator


def smooth() -> Schedules:
    """The schedules of Section 4.3."""
    fifth, three_tenths = fraction(1, 5), fraction(3, 10)
    return Schedules(
        lambda t: fraction(3, 2) * exact.power(t, fifth),
        lambda t: fraction(44, 100) * exact.power(t, three_tenths) * exact.sqrt(exact.log(2 * exact.mpf(t) ** 2)),
        lambda t: fraction(3, 2) * (exact.power(t, fifth) - exact.power(t - 1, fifth)),
        lambda _t: exact.mpf(1),
    )


def change_point(t: int) -> int:
    """T_{k_t}, with T_0 = 1, T_k = 20 * 2^(k-1), k_t = max{k >= 0: T_k <= t} for t > 0, and k_0 = 0."""
    points, following = 1, 20
    while t > 0 and following <= t:
        points, following = following, 2 * following
    return points


FOUR = exact.mpf(4)


def change_points(optimism: Number = FOUR) -> Schedules:
    """The schedules of Section 4.2; ``optimism`` stands for the 4 in foo2."""
    fifth, three_tenths = fraction(1, 5), fraction(3, 10)

    def foo2(t: int) -> Number:
        point = exact.mpf(change_point(t))
        return optimism * exact.power(point, three_tenths) * exact.sqrt(exact.log(2 * point**2))

    return Schedules(
        lambda t: exact.power(change_point(t), fifth),
        foo2,
        lambda t: exact.power(change_point(t), fifth) - exact.power(change_point(t - 1), fifth),
        lambda t: exact.mpf(change_point(t) == change_point(t - 1)),
    )


def sample_unif_argmax(row: list[Number], draw: Draw) -> int:
    """Sample uniformly from the maximisers, in the order of the actions; draw only where there is a choice."""
    greatest = max(row)
    best = [a for a, value in enumerate(row) if greatest - value < SAME]
    return best[int(draw() * len(best))] if len(best) > 1 else best[0]


def table(states: int, actions: int, value: Number | int) -> list[list[Number]]:
    return [[exact.mpf(value)] * actions for _ in range(states)]


class GrowingHorizon:
    """Algorithm 2."""

    def __init__(self, states: int, actions: int, start: int, schedules: Schedules) -> None:
        self.schedules = schedules
        self.t = 0
        self.s = start  # Line 1
        self.Q = table(states, actions, 1)  # Line 2
        self.N = table(states, actions, 0)

    def act(self, draw: Draw) -> int:
        self.t += 1  # Line 3
        foo1, foo2, foo3, foo4 = self.schedules
        self.tau = foo1(self.t)  # Line 4
        self.beta = foo2(self.t)  # Line 5
        shift, scale = foo3(self.t), foo4(self.t)
        self.Q = [[q + shift for q in row] for row in self.Q]  # Line 6
        self.N = [[n * scale for n in row] for row in self.N]  # Line 7
        return sample_unif_argmax(self.Q[self.s], draw)  # Line 8

    def learn(self, a: int, reward: float, following: int) -> None:
        Q, N, s, tau = self.Q, self.N, self.s, self.tau
        N[s][a] = N[s][a] + 1  # Line 10
        alpha = (1 + 2 * tau) / (N[s][a] + 2 * tau)  # Line 11
        gamma = 1 - 1 / tau  # Line 13
        change = exact.mpf(reward) + gamma * max(Q[following]) - Q[s][a] + self.beta / exact.sqrt(N[s][a])
        Q[s][a] = Q[s][a] + alpha * change  # Line 14
        Q[s][a] = min(Q[s][a], tau)  # Line 15
        self.s = following  # Line 16


class Discounted:
    """Algorithm 1, with N = 0 at the beginning, which the paper leaves out."""

    def __init__(self, states: int, actions: int, start: int, tau: Number, duration: int) -> None:
        self.tau = exact.mpf(tau)
        self.gamma = 1 - 1 / self.tau  # Line 1
        self.beta = exact.power(self.tau, fraction(3, 2)) * 4 * exact.sqrt(exact.log(2 * exact.mpf(duration) ** 2))
        self.s = start  # Line 3
        self.Q = table(states, actions, self.tau)  # Line 4
        self.N = table(states, actions, 0)

    def act(self, draw: Draw) -> int:
        return sample_unif_argmax(self.Q[self.s], draw)  # Line 6

    def learn(self, a: int, reward: float, following: int) -> None:
        Q, N, s, tau = self.Q, self.N, self.s, self.tau
        N[s][a] = N[s][a] + 1  # Line 8
        alpha = (1 + 2 * tau) / (N[s][a] + 2 * tau)  # Line 9
        change = exact.mpf(reward) + self.gamma * max(Q[following]) - Q[s][a] + self.beta / exact.sqrt(N[s][a])
        Q[s][a] = Q[s][a] + alpha * change  # Line 11
        Q[s][a] = min(Q[s][a], tau)  # Line 12
        self.s = following  # Line 13


class Subroutine:
    """Algorithm 3, from Q_init and the aleatoric state of some history."""

    def __init__(self, start: int, tau: Number, beta: Number, q_init: list[list[float]]) -> None:
        self.gamma, self.beta = 1 - 1 / exact.mpf(tau), exact.mpf(beta)  # Line 1
        self.s = start  # Line 3
        self.Q = [[exact.mpf(value) for value in row] for row in q_init]  # Line 4
        self.N = table(len(self.Q), len(self.Q[0]), 0)
        self.V = [max(row) for row in self.Q]  # Line 5

    def act(self, draw: Draw) -> int:
        return sample_unif_argmax(self.Q[self.s], draw)  # Line 7

    def learn(self, a: int, reward: float, following: int) -> None:
        Q, N, V, s, gamma = self.Q, self.N, self.V, self.s, self.gamma
        N[s][a] = N[s][a] + 1  # Line 8
        alpha = (2 + (1 - gamma)) / (2 + N[s][a] * (1 - gamma))  # Line 9
        target = exact.mpf(reward) + gamma * V[following] + self.beta / exact.sqrt(N[s][a])
        Q[s][a] = (1 - alpha) * Q[s][a] + alpha * target  # Line 12
        V[s] = min(max(Q[s]), 1 / (1 - gamma))  # Line 13
        self.s = following  # Line 14
