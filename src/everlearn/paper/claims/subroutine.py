"""Appendix C.3: many runs of Algorithm 3 on small worlds, with the sums that its lemmas bound.

The worlds hide something from the aleatoric state, so that their distortion is known: a bit
(:func:`everlearn.paper.claims.worlds.hidden_bit`), or which member of its group a memory of a Garnet is.  They are
solved exactly.  The runs follow the algorithm as written: V is clipped and Q is not.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.paper.claims.claim import NOT_CHECKABLE, Finding, claim, repaired, verdict
from everlearn.paper.claims.worlds import grouped_garnet, hidden_bit
from everlearn.protocol import Table
from everlearn.theory import repairs
from everlearn.theory.bounds import discounted_value_loss
from everlearn.theory.report import Theory

TAU, STEPS, RUNS, DELTA = 1.5, 1_000_000, 48, 0.1
WORLDS = {f"bit {d:g}": partial(hidden_bit, d) for d in (0.0, 0.05, 0.1, 0.2, 0.4)}
WORLDS |= {f"Garnet {d:g}": partial(grouped_garnet, d) for d in (0.1, 0.3)}
"""Two aleatoric states, two actions, and two memories in each aleatoric state."""

PLAIN = "bit 0"
BEYOND = 60
"""Steps after the last whose rewards still count: gamma^60 is below 1e-28."""

SURE, COIN_STEPS, COIN_RUNS = 1 - 1e-5, 1_000_000, 20


class Sums(NamedTuple):
    """The sums of each run."""

    shortfall: Table
    """The most by which any Q_t fell below Q_* - Delta tau, over all pairs, bits and times."""
    excess: Table
    """The sum of xi - chi."""
    advantage: Table
    """The sum of V_* - Q_*(H_t, A_t)."""
    value_loss: Table
    """The sum of V_*(H_t) minus the discounted rewards that followed: an unbiased estimate of that of V_* - V_pi."""
    unclipped: Table
    """The share of steps at which Q_t(H_t, A_t) is not V_t(H_t)."""


class World(NamedTuple):
    """A world with known distortion: what the runs need of it, by memory and action."""

    distortion: float
    states: NDArray[np.int64]  # the aleatoric state of each memory
    laws: Table  # of the next memory, added up
    paid: Table
    Q_star: Table
    start: int


@lru_cache(maxsize=16)
def world(name: str) -> World:
    """Return a world, solved at the horizon of the runs."""
    theory = Theory(WORLDS[name]())
    pairs = theory.pairs
    laws = np.array([matrix.toarray() for matrix in pairs.transitions]).cumsum(axis=2).transpose(1, 0, 2).copy()
    solved = theory.values(TAU).Q.T.copy()
    return World(theory.distortion(TAU).value, pairs.states, laws, pairs.rewards.T.copy(), solved, pairs.start)


@lru_cache(maxsize=16)
def simulated(optimism: float, clipped: bool = False, name: str = PLAIN) -> Sums:
    """Run Algorithm 3 with beta = ``optimism`` tau^(3/2) sqrt(log(2 T / delta)); if ``clipped``, clip Q as well."""
    import numba

    beta = optimism * TAU**1.5 * math.sqrt(math.log(2 * STEPS / DELTA))
    run, chosen = numba.njit(_run), world(name)
    generators = (np.random.default_rng([7, number]) for number in range(RUNS))
    return Sums(*np.array([run(rng, *chosen, beta, clipped) for rng in generators]).T)


def _run(
    rng: np.random.Generator,
    distortion: float,
    states: NDArray[np.int64],
    laws: Table,
    paid: Table,
    Q_star: Table,
    start: int,
    beta: float,
    clipped: bool,
) -> tuple[float, ...]:
    """Run Algorithm 3 on a world of two aleatoric states and two actions; compiled, since the runs are long."""
    tau, gamma = TAU, 1 - 1 / TAU
    Q, N, V, m = np.full((2, 2), tau), np.zeros((2, 2)), np.full(2, tau), start
    highest = np.full((2, 2), -np.inf)  # of Q_* over the memories of an aleatoric state
    for memory in range(len(states)):
        for action in range(2):
            highest[states[memory], action] = max(highest[states[memory], action], Q_star[memory, action])
    shortfall = excess = advantage = unclipped = lost = 0.0
    trace = 0.0  # what a reward now adds to the discounted sums from all steps so far
    for t in range(STEPS + BEYOND):
        s = states[m]
        a = int(Q[s, 1] > Q[s, 0]) if Q[s, 0] != Q[s, 1] else int(rng.random() < 0.5)
        V_star = max(Q_star[m, 0], Q_star[m, 1])
        trace = gamma * trace + (1.0 if t < STEPS else 0.0)
        if t < STEPS:
            excess += (Q[s, a] - Q_star[m, a]) - (V[s] - V_star + distortion * tau)
            advantage += V_star - Q_star[m, a]
            unclipped += Q[s, a] != V[s]
            lost += V_star
        draw, following = rng.random(), 0
        while following < len(states) - 1 and draw >= laws[m, a, following]:
            following += 1
        N[s, a] += 1
        alpha = (2 + 1 / tau) / (2 + N[s, a] / tau)
        lost -= trace * paid[m, a]
        target = paid[m, a] + gamma * V[states[following]] + beta / math.sqrt(N[s, a])
        Q[s, a] = (1 - alpha) * Q[s, a] + alpha * target
        if clipped:
            Q[s, a] = min(Q[s, a], tau)
        V[s] = min(max(Q[s, 0], Q[s, 1]), tau)
        if t < STEPS:
            shortfall = max(shortfall, highest[s, a] - distortion * tau - Q[s, a])
        m = following
    return shortfall, excess, advantage, lost, unclipped / STEPS


def _where() -> str:
    """Return the distortions of the worlds in words."""
    return f"at distortion {', '.join(f'{world(name).distortion:.3g}' for name in WORLDS)} (the last two are Garnets)"


@claim(
    "lemma:optimism",
    "with probability 1 - delta, no value is ever below the optimal one by more than the distortion's share",
    paper="Q_t >= Q_* - Delta / (1 - gamma) for all t <= T with probability at least 1 - delta",
    how="many runs of Algorithm 3 on seven worlds with distortion from 0 to 0.4, every value at every step",
)
def optimism() -> Finding:
    below = [float((simulated(4.0, name=name).shortfall > 1e-9).mean()) for name in WORLDS]
    less = {factor: float((simulated(factor).shortfall > 1e-9).mean()) for factor in (0.4, 0.04)}
    shares = ", ".join(f"{share:.0%}" for share in below)
    text = f"of {RUNS} runs of {STEPS:,} steps, Q fell below Q_* - Delta tau in {shares} {_where()}; {DELTA:.0%} are"
    text += f" allowed; without distortion and with a tenth of the optimism in {less[0.4]:.0%}, with a hundredth in"
    text += f" {less[0.04]:.0%}"
    return Finding(text, verdict(max(below) <= DELTA))


@claim(
    "lemma:optimism, Algorithm 1",
    "values stay near-optimistic for Algorithms 1 and 2 too, as their regret bounds need",
    paper="Algorithm 3 is said to be identical to Algorithm 1",
    how="many runs on a coin at horizon 1, with Q clipped and with V clipped",
)
def clipped_optimism() -> Finding:
    allowed = 1 / COIN_STEPS
    below = {clipped: float(np.mean([fall > 0 for fall in falls(clipped)])) for clipped in (True, False)}
    text = f"on a coin that pays with probability {SURE}, Q falls below Q_* in {below[True]:.0%} of {COIN_RUNS} runs of"
    text += f" Algorithm 1, where {allowed:.0e} is allowed, since clipping Q throws away optimism that is needed later;"
    text += f" in {below[False]:.0%} where V is clipped instead"
    return Finding(text, repaired(below[True] <= allowed, below[False] == 0))


def falls(clipped: bool) -> list[float]:
    """Return for each run the most by which Q fell below its optimum; negative if it stayed above."""
    import numba

    run, beta = numba.njit(_coin), 4 * math.sqrt(math.log(2 * COIN_STEPS**2))
    return [run(np.random.default_rng([9, n]), beta, clipped) for n in range(COIN_RUNS)]


def _coin(rng: np.random.Generator, beta: float, clipped: bool) -> float:
    """Return the most by which Q fell below its optimum, the chance of the coin, at horizon 1."""
    Q, shortfall = 1.0, -1.0
    for n in range(1, COIN_STEPS + 1):
        alpha = 3.0 / (n + 2.0)
        Q += alpha * ((1.0 if rng.random() < SURE else 0.0) - Q + beta / math.sqrt(n))
        if clipped:
            Q = min(Q, 1.0)
        shortfall = max(shortfall, SURE - Q)
    return shortfall


@claim(
    "eq:appendix-13",
    "the action taken has the value of the state: Q_t(H_t, A_t) = V_t(H_t)",
    paper="said to follow from greedy actions",
    how="the same runs, step by step",
)
def greedy_identity() -> Finding:
    sums = simulated(4.0)
    share, left = float(sums.unclipped.max()), float(simulated(4.0, clipped=True).unclipped.max())
    gap = float((sums.excess - sums.advantage).max())
    text = f"they differ at up to {share:.1%} of steps, since Algorithm 3 clips V and not Q, and the sums of xi - chi"
    text += f" and of V_* - Q_* differ by up to {gap:,.0f}; with Q clipped too, as in Algorithm 1, at {left:.0%}"
    return Finding(text, repaired(share == 0, left == 0))


@claim(
    "lemma:high-probability",
    "the sum of xi - chi grows no faster than the square root of S A T, with high probability",
    paper="with probability at least 1 - delta",
    how="the same runs, both sides, as printed and repaired, at each distortion",
)
def high_probability() -> Finding:
    texts, exceeded, mended = [], [], []
    gamma, root = 1 - 1 / TAU, 24 * TAU**1.5 * math.sqrt(4 * STEPS * math.log(2 * STEPS / DELTA))
    for name in WORLDS:
        sums, d = simulated(4.0, name=name), world(name).distortion
        printed = (2 - 3 * gamma) * TAU * d * STEPS + 5 * TAU + root
        recounting = repairs.value_loss(STEPS, pairs=4, horizon=TAU, distortion=d).terms["recounting"] / TAU
        better = 2 * d * STEPS + (4 * (1 + gamma * d) + 1) * TAU + recounting + root
        exceeded.append(float((sums.excess > printed).mean()))
        mended.append(float((sums.advantage > better).mean()))
        texts.append(f"{sums.excess.max():,.0f} of {printed:,.0f}, and {sums.advantage.max():,.0f} of {better:,.0f}")
    text = "the largest sum of xi - chi and its bound, and the largest sum of V_* - Q_* and its repaired bound:"
    text += f" {'; '.join(texts)}, {_where()}"
    fine = max(mended) <= DELTA
    return Finding(text, verdict(max(exceeded) <= DELTA and fine, fine))


@claim(
    "eq:appendix-18",
    "in the sum of all updates, no time gets more weight than (3 - gamma) / 2",
    paper="from Lemma 8 (c), each time being chosen once",
    how="the weights along a random path, as the proof chooses times",
)
def double_counting() -> Finding:
    printed, mended = index_weights(20_000, TAU)
    allowed, most, least = 1 + 1 / (2 * TAU), printed.max(), mended.max()
    text = f"on a random path over two states an index gets weight {most:.3f}, where (3 - gamma) / 2 = {allowed:.3f}"
    text += f" is claimed: an index can be chosen from two pairs; with w = t_i + 1 always, {least:.3f}"
    return Finding(text, repaired(most <= allowed + 1e-9, least <= allowed + 1e-9))


def index_weights(steps: int, tau: float) -> tuple[Table, Table]:
    """Return the weight that each time gets along a random path over two states: as the proof chooses, and repaired."""
    states = np.random.default_rng(5).integers(2, size=steps + 1)
    weights = [iter(_weights(int((states[:steps] == s).sum()), tau)) for s in (0, 1)]
    printed, mended = np.zeros(steps + 1), np.zeros(steps + 1)
    for t in range(steps):
        weight = next(weights[states[t]])
        printed[t if states[t + 1] == states[t] else t + 1] += weight
        mended[t + 1] += weight
    return printed, mended


def _weights(visits: int, tau: float) -> Table:
    """Return, for each visit i of a pair, the sum of alpha_k^i over k from i to the number of visits."""
    totals, ahead = np.zeros(visits), 0.0
    for i in range(visits, 0, -1):
        alpha, following = (1 + 2 * tau) / (i + 2 * tau), (1 + 2 * tau) / (i + 1 + 2 * tau)
        ahead = 1.0 if i == visits else 1.0 + (1 - following) * ahead
        totals[i - 1] = alpha * ahead
    return totals


@claim(
    "theorem:discounted",
    "the value that Algorithm 3 loses along its path is bounded",
    paper="24 tau^(5/2) sqrt(S A T log(2 T^2)) + 3 Delta tau T + (S A + 3) tau^2",
    how="the same runs at each distortion; V_pi is estimated, without bias, by the discounted rewards that followed",
)
def value_loss() -> Finding:
    texts, fine, vacuous = [], True, True
    for name in WORLDS:
        loss, d = simulated(4.0, name=name).value_loss, world(name).distortion
        mean, error = float(loss.mean()), float(loss.std(ddof=1) / math.sqrt(RUNS))
        at: dict[str, Any] = {"pairs": 4, "horizon": TAU, "distortion": d}
        printed, better = discounted_value_loss(STEPS, **at).value, repairs.value_loss(STEPS, **at).value
        fine = fine and mean + 4 * error <= min(printed, better)
        vacuous = vacuous and min(printed, better) >= TAU * STEPS
        texts.append(f"{mean:,.0f} (standard error {error:,.0f}) of {printed:,.0f}, repaired {better:,.0f}")
    text = f"the value lost and its bound: {'; '.join(texts)}, {_where()}"
    return Finding(f"{text}; the most is {TAU * STEPS:,.0f}", NOT_CHECKABLE if vacuous else verdict(fine))
