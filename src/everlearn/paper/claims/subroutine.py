"""Appendix C.3: many runs of Algorithm 3 on small worlds, with the sums that its lemmas bound.

The worlds hide something from the aleatoric state, so that their distortion is known: a bit
(:func:`everlearn.paper.claims.worlds.hidden_bit`), or which member of its group a memory of a Garnet is.  They are
solved exactly.  The runs follow the algorithm as written: V is clipped and Q is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.paper.claims.claim import NOT_CHECKABLE, Finding, claim, repaired, verdict
from everlearn.paper.claims.worlds import grouped_garnet, hidden_bit, naming
from everlearn.protocol import Table
from everlearn.tasks.task import Task
from everlearn.theory import repairs
from everlearn.theory.bounds import discounted_value_loss
from everlearn.theory.report import Theory

TAU, STEPS, RUNS, DELTA = 1.5, 1_000_000, 48, 0.1


class Setting(NamedTuple):
    """A world of two actions, two memories in each aleatoric state, and the runs on it."""

    make: Callable[[], Task]
    horizon: float = TAU
    steps: int = STEPS
    runs: int = RUNS


SETTINGS = {f"bit {d:g}": Setting(partial(hidden_bit, d)) for d in (0.0, 0.05, 0.1, 0.2, 0.4)}
SETTINGS |= {f"Garnet {d:g}": Setting(partial(grouped_garnet, d)) for d in (0.1, 0.3)}
SETTINGS["naming"] = Setting(partial(naming, 2, 0.3), 1.0, 4_000_000, 8)
"""The last has one aleatoric state and horizon 1, so that exploration costs little, and the term for the distortion is
needed: what is lost exceeds the rest of each bound."""

PLAIN, WORLDS, FAR = "bit 0", tuple(SETTINGS), "bit 0.2 at horizon 20"
SETTINGS[FAR] = Setting(partial(hidden_bit, 0.2), 20.0, runs=16)
BEYOND = 60
"""Steps after the last whose rewards still count: gamma^60 is below 1e-28."""

SURE, COIN_STEPS, COIN_RUNS = 1 - 1e-5, 1_000_000, 200


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
    above: Table
    """The most by which V_t(H_t) exceeded Q_t(H_t, A_t) at any step."""
    off: Table
    """The most by which xi' - chi, with xi' = V_t - Q_*, was not V_* - Q_* - Delta tau at any step."""


class World(NamedTuple):
    """A world with known distortion: what the runs need of it, by memory and action."""

    distortion: float
    states: NDArray[np.int64]  # the aleatoric state of each memory
    laws: Table  # of the next memory, added up
    paid: Table
    Q_star: Table
    start: int
    horizon: float
    steps: int


@lru_cache(maxsize=16)
def world(name: str) -> World:
    """Return a world, solved at the horizon of the runs."""
    make, tau, steps, _ = SETTINGS[name]
    theory = Theory(make())
    pairs = theory.pairs
    laws = np.array([matrix.toarray() for matrix in pairs.transitions]).cumsum(axis=2).transpose(1, 0, 2).copy()
    solved, paid = theory.values(tau).Q.T.copy(), pairs.rewards.T.copy()
    return World(theory.distortion(tau).value, pairs.states, laws, paid, solved, pairs.start, tau, steps)


@lru_cache(maxsize=16)
def simulated(optimism: float, clipped: bool = False, name: str = PLAIN) -> Sums:
    """Run Algorithm 3 with beta = ``optimism`` tau^(3/2) sqrt(log(2 T / delta)); if ``clipped``, clip Q as well."""
    import numba

    run, chosen = numba.njit(_run), world(name)
    beta = optimism * chosen.horizon**1.5 * math.sqrt(math.log(2 * chosen.steps / DELTA))
    generators = (np.random.default_rng([7, number]) for number in range(SETTINGS[name].runs))
    return Sums(*np.array([run(rng, *chosen, beta, clipped) for rng in generators]).T)


def _run(
    rng: np.random.Generator,
    distortion: float,
    states: NDArray[np.int64],
    laws: Table,
    paid: Table,
    Q_star: Table,
    start: int,
    tau: float,
    steps: int,
    beta: float,
    clipped: bool,
) -> tuple[float, ...]:
    """Run Algorithm 3 on a world of at most two aleatoric states, and two actions; compiled, since runs are long."""
    gamma = 1 - 1 / tau
    Q, N, V, m = np.full((2, 2), tau), np.zeros((2, 2)), np.full(2, tau), start
    highest = np.full((2, 2), -np.inf)  # of Q_* over the memories of an aleatoric state
    for memory in range(len(states)):
        for action in range(2):
            highest[states[memory], action] = max(highest[states[memory], action], Q_star[memory, action])
    shortfall = excess = advantage = unclipped = lost = above = off = 0.0
    trace = 0.0  # what a reward now adds to the discounted sums from all steps so far
    for t in range(steps + BEYOND):
        s = states[m]
        a = int(Q[s, 1] > Q[s, 0]) if Q[s, 0] != Q[s, 1] else int(rng.random() < 0.5)
        V_star = max(Q_star[m, 0], Q_star[m, 1])
        trace = gamma * trace + (1.0 if t < steps else 0.0)
        if t < steps:
            chi = V[s] - V_star + distortion * tau
            excess += (Q[s, a] - Q_star[m, a]) - chi
            advantage += V_star - Q_star[m, a]
            above = max(above, V[s] - Q[s, a])
            off = max(off, abs((V[s] - Q_star[m, a]) - chi - (V_star - Q_star[m, a] - distortion * tau)))
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
        if t < steps:
            shortfall = max(shortfall, highest[s, a] - distortion * tau - Q[s, a])
        m = following
    return shortfall, excess, advantage, lost, unclipped / steps, above, off


def _where() -> str:
    """Return the distortions of the worlds in words."""
    distortions = ", ".join(f"{world(name).distortion:.3g}" for name in WORLDS)
    last = SETTINGS[WORLDS[-1]]
    return (
        f"at distortion {distortions} (two Garnets, and one aleatoric state at horizon {last.horizon:g}, with"
        f" {last.runs} runs of {last.steps:,} steps)"
    )


@claim(
    "lemma:optimism",
    "with probability 1 - delta, no value is ever below the optimal one by more than the distortion's share",
    paper="Q_t >= Q_* - Delta / (1 - gamma) for all t <= T with probability at least 1 - delta",
    how="many runs of Algorithm 3 on eight worlds with distortion from 0 to 0.4, every value at every step",
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
    text = f"on a coin that pays with probability {SURE}, Q falls below Q_* in {below[True]:.1%} of {COIN_RUNS} runs of"
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
    plain, several = simulated(4.0), [simulated(4.0, name=name) for name in WORLDS]
    share, gap = float(plain.unclipped.max()), float((plain.excess - plain.advantage).max())
    above, off = (max(float(getattr(sums, field).max()) for sums in several) for field in ("above", "off"))
    text = f"they differ at up to {share:.1%} of steps, since Algorithm 3 clips V and not Q, and the sums of xi - chi"
    text += f" and of V_* - Q_* differ by up to {gap:,.0f}; what the proof needs is that V_t is at most Q_t(H_t, A_t),"
    text += f" which it exceeds by {above:.0e}, and that with xi' = V_t - Q_* in place of xi, xi' - chi is V_* - Q_* -"
    text += f" Delta tau, up to {off:.0e}, {_where()}"
    return Finding(text, repaired(share == 0, above == 0 and off < 1e-12))


@claim(
    "lemma:high-probability",
    "the sum of xi - chi grows no faster than the square root of S A T, with high probability",
    paper="with probability at least 1 - delta",
    how="the same runs, both sides, as printed and repaired, at each distortion",
)
def high_probability() -> Finding:
    texts, exceeded, mended = [], [], []
    for name in WORLDS:
        sums, (printed, better) = simulated(4.0, name=name), _high_probability_bounds(name)
        exceeded.append(float((sums.excess > printed).mean()))
        mended.append(float((sums.advantage > better).mean()))
        texts.append(f"{sums.excess.max():,.0f} of {printed:,.0f}, and {sums.advantage.max():,.0f} of {better:,.0f}")
    text = "the largest sum of xi - chi and its bound, and the largest sum of V_* - Q_* and its repaired bound:"
    text += f" {'; '.join(texts)}, {_where()}"
    fine = max(mended) <= DELTA
    return Finding(text, verdict(max(exceeded) <= DELTA and fine, fine))


def _high_probability_bounds(name: str) -> tuple[float, float]:
    """Return the bound on the sum of xi - chi as printed, and the repaired one on that of V_* - Q_*.

    Theorem 9 follows with Lemma 10, which multiplies by tau and adds gamma tau^2, and with tau^2 for failures; so both
    are read off its terms.  There delta is 1 / T; 3 Delta T - Delta tau T is (2 - 3 gamma) Delta tau T.
    """
    at, tau, steps = _arguments(name), world(name).horizon, world(name).steps
    printed, better = discounted_value_loss(steps, **at).terms, repairs.value_loss(steps, **at).terms
    root = better["exploration"] / tau * math.sqrt(math.log(2 * steps / DELTA) / math.log(2 * steps**2))
    shift = at["distortion"] * tau * steps
    first = better["horizon"] / tau - (2 - 1 / tau) * tau
    return (
        printed["distortion"] / tau - shift + printed["horizon"] / tau - 2 * tau + root,
        better["distortion"] / tau + first + better["recounting"] / tau + root,
    )


def _arguments(name: str) -> dict[str, Any]:
    """Return the arguments of the bounds for a world."""
    chosen = world(name)
    return {
        "pairs": 2 * len(set(chosen.states.tolist())),
        "horizon": chosen.horizon,
        "distortion": chosen.distortion,
    }


def enough_optimism() -> tuple[float, float, float]:
    """Return the horizon of the world FAR, the range of R + gamma V_*, and the share of runs that fall short with it.

    There beta = 4 range tau^(1/2) sqrt(log(2 T / delta)), where range = 1 + gamma span(V_*) (docs/repairs.md, part 5).
    """
    chosen = world(FAR)
    best = chosen.Q_star.max(axis=1)
    width = 1 + (1 - 1 / chosen.horizon) * float(best.max() - best.min())
    below = simulated(4.0 * width / chosen.horizon, name=FAR).shortfall > 1e-9
    return chosen.horizon, width, float(below.mean())


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
        loss, at, most = simulated(4.0, name=name).value_loss, _arguments(name), world(name).horizon * world(name).steps
        mean, error = float(loss.mean()), float(loss.std(ddof=1) / math.sqrt(len(loss)))
        steps = world(name).steps
        printed, better = discounted_value_loss(steps, **at).value, repairs.value_loss(steps, **at).value
        fine = fine and mean + 4 * error <= min(printed, better)
        vacuous = vacuous and min(printed, better) >= most
        texts.append(f"{mean:,.0f} (standard error {error:,.0f}) of {printed:,.0f}, repaired {better:,.0f}")
    text = f"the value lost and its bound: {'; '.join(texts)}, {_where()}"
    text += f"; the most is {TAU * STEPS:,.0f}, and {SETTINGS[WORLDS[-1]].steps:,} in the last; there what is lost"
    text += " exceeds the terms that are not for the distortion"
    return Finding(text, NOT_CHECKABLE if vacuous else verdict(fine))
