"""The rivals, written out from their sources in 50-digit arithmetic: what the agents are compared with.

Nothing here calls everlearn.  Symbols are those of the sources; a tie on paper is a tie here, as in ``literal``.
"""

from __future__ import annotations

from tests.agents.literal import Draw, Number, exact, sample_unif_argmax, table


def epsilon_greedy(row: list[Number], epsilon: float, draw: Draw) -> int:
    """With probability epsilon any action, else a greedy one."""
    if draw() < epsilon:
        return int(draw() * len(row))
    return sample_unif_argmax(row, draw)


class OptimisticQ:
    """Algorithm 1 of Wei et al. (2020)."""

    def __init__(self, states: int, actions: int, start: int, H: float, sp: float, T: int, delta: float) -> None:
        self.H, self.sp, self.T, self.delta = exact.mpf(H), exact.mpf(sp), T, exact.mpf(delta)
        self.s, self.gamma = start, 1 - 1 / exact.mpf(H)
        self.Q, self.Qhat = table(states, actions, self.H), table(states, actions, self.H)
        self.V = [self.H] * states
        self.N = table(states, actions, 0)

    def act(self, draw: Draw) -> int:
        return sample_unif_argmax(self.Qhat[self.s], draw)

    def learn(self, a: int, reward: float, following: int) -> None:
        s, H = self.s, self.H
        self.N[s][a] += 1
        n = self.N[s][a]
        alpha = (H + 1) / (H + n)
        b = 4 * self.sp * exact.sqrt(H / n * exact.log(2 * self.T / self.delta))
        self.Q[s][a] = (1 - alpha) * self.Q[s][a] + alpha * (exact.mpf(reward) + self.gamma * self.V[following] + b)
        self.Qhat[s][a] = min(self.Qhat[s][a], self.Q[s][a])
        self.V[s] = max(self.Qhat[s])
        self.s = following


class UcbH:
    """Algorithm 1 of Jin et al. (2018), one pseudo-episode after the other; tables by stage, then state."""

    def __init__(self, states: int, actions: int, start: int, H: int, T: int, p: float, c: float) -> None:
        self.H, self.c, self.s, self.h = H, exact.mpf(c), start, 0
        self.iota = exact.log(states * actions * T / exact.mpf(p))
        self.Q = [table(states, actions, H) for _ in range(H)]
        self.N = [table(states, actions, 0) for _ in range(H)]
        self.V = [[exact.mpf(H)] * states for _ in range(H)] + [[exact.mpf(0)] * states]

    def act(self, draw: Draw) -> int:
        return sample_unif_argmax(self.Q[self.h][self.s], draw)

    def learn(self, a: int, reward: float, following: int) -> None:
        s, h, H = self.s, self.h, self.H
        self.N[h][s][a] += 1
        t = self.N[h][s][a]
        alpha, b = (H + 1) / (H + t), self.c * exact.sqrt(H**3 * self.iota / t)
        target = exact.mpf(reward) + self.V[h + 1][following] + b
        self.Q[h][s][a] = (1 - alpha) * self.Q[h][s][a] + alpha * target
        self.V[h][s] = min(exact.mpf(H), max(self.Q[h][s]))
        self.s, self.h = following, (h + 1) % H


class DifferentialQ:
    """Differential Q-learning of Wan, Naik and Sutton (2021)."""

    def __init__(self, states: int, actions: int, start: int, alpha: float, eta: float, epsilon: float) -> None:
        self.s, self.alpha, self.eta, self.epsilon = start, exact.mpf(alpha), exact.mpf(eta), epsilon
        self.Q, self.average = table(states, actions, 0), [exact.mpf(0)]

    def act(self, draw: Draw) -> int:
        return epsilon_greedy(self.Q[self.s], self.epsilon, draw)

    def learn(self, a: int, reward: float, following: int) -> None:
        delta = exact.mpf(reward) - self.average[0] + max(self.Q[following]) - self.Q[self.s][a]
        self.Q[self.s][a] += self.alpha * delta
        self.average[0] += self.eta * self.alpha * delta
        self.s = following


class RLearning:
    """Figure 6.16 of Sutton and Barto (1998)."""

    def __init__(self, states: int, actions: int, start: int, alpha: float, beta: float, epsilon: float) -> None:
        self.s, self.alpha, self.beta, self.epsilon = start, exact.mpf(alpha), exact.mpf(beta), epsilon
        self.Q, self.average = table(states, actions, 0), [exact.mpf(0)]

    def act(self, draw: Draw) -> int:
        return epsilon_greedy(self.Q[self.s], self.epsilon, draw)

    def learn(self, a: int, reward: float, following: int) -> None:
        Q, s, rho, r = self.Q, self.s, self.average[0], exact.mpf(reward)
        Q[s][a] += self.alpha * (r - rho + max(Q[following]) - Q[s][a])
        if Q[s][a] == max(Q[s]):
            self.average[0] += self.beta * (r - rho + max(Q[following]) - max(Q[s]))
        self.s = following


class QLearning:
    """Watkins (1989), with step size scale n^-power, and epsilon t^-decay, at least a floor."""

    def __init__(
        self,
        states: int,
        actions: int,
        start: int,
        gamma: Number,
        steps: tuple[float, float],
        epsilons: tuple[float, float, float],
    ) -> None:
        self.s, self.t, self.gamma = start, 0, gamma
        self.steps, self.epsilons = steps, epsilons
        self.Q, self.N = table(states, actions, 0), table(states, actions, 0)

    def act(self, draw: Draw) -> int:
        self.t += 1
        epsilon, decay, floor = self.epsilons
        return epsilon_greedy(self.Q[self.s], max(epsilon * self.t**-decay, floor), draw)

    def learn(self, a: int, reward: float, following: int) -> None:
        self.N[self.s][a] += 1
        alpha = exact.mpf(self.steps[0]) * exact.power(self.N[self.s][a], -exact.mpf(self.steps[1]))
        change = exact.mpf(reward) + self.gamma * max(self.Q[following]) - self.Q[self.s][a]
        self.Q[self.s][a] += alpha * change
        self.s = following
