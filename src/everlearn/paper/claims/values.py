"""Sections 3 and 4: values, averaging times and distortion, on tasks that are solved exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise, product

import numpy as np

from everlearn.aleatoric.state import AleatoricState
from everlearn.paper.claims.claim import Finding, claim, verdict
from everlearn.protocol import Table
from everlearn.tasks.arrays import mdp
from everlearn.tasks.task import Task
from everlearn.theory.pairs import Pairs
from everlearn.theory.report import Theory
from everlearn.theory.values import discount_of

HORIZONS = (1.0, 2.0, 5.0, 20.0, 100.0)
SEEDS = range(8)


def random_world(seed: int) -> Task:
    """Return a random Markov decision process of 5 states and 2 actions; the aleatoric state is the state."""
    random = np.random.default_rng([20, seed])
    P = random.dirichlet(np.full(5, 0.5), size=(2, 5))
    return mdp(P, random.random((5, 2)), reward_range=(0, 1), name=f"random world {seed}")


@lru_cache(maxsize=32)
def theory_of(task: str | int) -> Theory:
    """Return the theory of a task by name, or of a random world by seed."""
    return Theory(random_world(task) if isinstance(task, int) else task)


def _backup(pairs: Pairs, V: Table, gamma: float) -> Table:
    """Return r + gamma P V, by action and state."""
    return np.array([r + gamma * (P @ V) for P, r in zip(pairs.transitions, pairs.rewards, strict=True)])


@claim(
    "lemma:bellman",
    "the Bellman equations have one bounded solution, the optimal values",
    paper="for any discount factor below one",
    how="value iteration from three starts, and all deterministic policies, on finite tasks",
)
def bellman() -> Finding:
    apart = off = 0.0
    for seed, tau in product(SEEDS, (1.0, 2.0, 20.0)):
        theory = theory_of(seed)
        first, *others = (_iterate(theory.pairs, discount_of(tau), start) for start in (0.0, 100.0, -100.0))
        apart = max(apart, max(float(np.abs(other - first).max()) for other in others))
        policies = (dict(enumerate(choice)) for choice in product((0, 1), repeat=5))
        best = max((theory.values(tau, policy).V for policy in policies), key=np.sum)
        off = max(off, float(np.abs(best - first).max()))
    text = f"three starts end within {apart:.1e} of each other, and within {off:.1e} of the best of all policies"
    return Finding(f"{text}, on {len(SEEDS)} random worlds at horizons up to 20", verdict(apart < 1e-6 and off < 1e-6))


def _iterate(pairs: Pairs, gamma: float, start: float) -> Table:
    V = np.full(pairs.size, start)
    for _ in range(int(60 / max(1e-9, 1 - gamma)) + 2):
        V = _backup(pairs, V, gamma).max(axis=0)
    return V


@claim(
    "Section 3, Q_pi",
    "Q_pi(h, a) is the mean reward plus the discounted value of what follows",
    paper="r + sum P V, without a discount before the sum",
    how="the identity V_pi = sum pi Q_pi, solved by linear equations",
)
def printed_definition() -> Finding:
    printed = right = 0.0
    for theory in map(theory_of, SEEDS):
        V = theory.values(10.0, np.full((5, 2), 0.5)).V
        without, discounted = (0.5 * _backup(theory.pairs, V, gamma).sum(axis=0) for gamma in (1.0, 0.9))
        printed = max(printed, float(np.abs(without - V).max()))
        right = max(right, float(np.abs(discounted - V).max()))
    text = f"averaged over the policy Q_pi gives V_pi to {right:.0e} with gamma before the sum; as printed it is off"
    return Finding(f"{text} by {printed:.2f}, at gamma = 0.9", verdict(printed < 1e-9, right < 1e-9))


@claim(
    "lemma:mixing-time",
    "a discounted value is within tau_pi of lambda_pi / (1 - gamma)",
    paper="for all policies, histories and discount factors",
    how="exact values, averages and averaging times",
)
def mixing_time() -> Finding:
    most = 0.0
    for (theory, policy), tau in product(_policies(), HORIZONS):
        average = theory.policy(policy)
        gap = theory.values(tau, policy).V - average.average_reward * tau
        most = max(most, float(np.abs(gap).max()) / average.averaging_time.value)
    text = f"the gap reaches {most:.4f} of tau_pi, over 14 policies on 8 random worlds and the station, 5 horizons each"
    return Finding(text, verdict(most <= 1 + 1e-9))


def _policies() -> Iterator[tuple[Theory, Table | str]]:
    random = np.random.default_rng(3)
    for seed in SEEDS:
        yield theory_of(seed), random.dirichlet(np.ones(2), size=5)
    for policy in ("slow", "fast", "0=slow,1=fast:0.1", "0=slow,1=fast:0.5", "0=fast,1=slow", "1=fast:0.9"):
        yield theory_of("service-station"), policy


@claim(
    "lemma:regret-decomposition",
    "the value lost along a path is at most 1 / (1 - gamma) times the sum of V_* - Q_*, plus 1 / (1 - gamma)^2",
    paper="for the policy of Algorithm 3; the argument needs nothing of it",
    how="both sides exactly, for stationary random policies over 1 to 200 steps",
)
def decomposition() -> Finding:
    most = 0.0
    for seed, tau, steps in product(SEEDS, (1.5, 5.0, 20.0), (1, 10, 200)):
        left, right = _both_sides(seed, tau, steps)
        most = max(most, left / right)
    text = f"the left side reaches {most:.4f} of the right, for random policies on 8 random worlds"
    text += "; the proof has a factor gamma before the first sum that should be 1; the lemma does not have it"
    return Finding(text, verdict(most <= 1 + 1e-9))


def _both_sides(seed: int, tau: float, steps: int) -> tuple[float, float]:
    theory = theory_of(seed)
    pairs, policy = theory.pairs, np.random.default_rng([seed, steps]).dirichlet(np.ones(2), size=5)
    best, own = theory.values(tau), theory.values(tau, policy)
    chain = sum(policy[:, a, None] * pairs.transitions[a].toarray() for a in range(2))
    advantage = best.V - sum(policy[:, a] * best.Q[a] for a in range(2))
    law, left, right = np.eye(5)[pairs.start], 0.0, tau**2
    for _ in range(steps):
        left, right = left + float(law @ (best.V - own.V)), right + tau * float(law @ advantage)
        law = law @ chain
    return left, right


@claim(
    "lemma:q-init-condition",
    "Q_* minus the horizon does not increase with the horizon",
    paper="for all discount factors; rewards are at most 1",
    how="exact optimal values at growing horizons",
)
def q_init() -> Finding:
    least = np.inf
    for theory in map(theory_of, (*SEEDS, "service-station", "alternating")):
        shifted = [theory.values(tau).Q - tau for tau in HORIZONS]
        least = min(least, min(float((shorter - longer).min()) for shorter, longer in pairwise(shifted)))
    text = f"the least difference is {least:.3g}, over 8 random worlds, the station and the alternating task"
    return Finding(text, verdict(least >= -1e-7))


@claim(
    "lemma:aleatoric-vs-global",
    "what aleatoric states cost the best policy over them is at most the distortion",
    paper="lambda_* - lambda_pi~ <= sup of the distortion, for all tau >= 1",
    how="exact optima, a search over randomised policies (which can only understate), distortion at long horizons",
)
def aleatoric_loss() -> Finding:
    least, sharp, where = np.inf, np.inf, ""
    for theory in (*map(theory_of, ("service-station", "alternating", "aggregation")), *map(hidden_world, SEEDS)):
        loss = theory.optimal_average_reward - theory.best_aleatoric.average_reward
        distortion = min(theory.distortion(tau).value for tau in (100.0, 1000.0, 10_000.0))
        sharp = min(sharp, (1 - 1 / len(theory.task.actions)) * distortion - loss)
        if distortion - loss < least:
            least, where = distortion - loss, f"{theory.task.name}, {loss:.4f} against {distortion:.4f}"
    text = f"the distortion at horizons of 100 to 10,000 exceeds the loss by {least:.4f} or more (least on {where});"
    text += f" (1 - 1/A) times the distortion by {sharp:.4f} or more"
    return Finding(text, verdict(least >= -1e-6 and sharp >= -1e-6, least >= -1e-6))


@claim(
    "Section 2.2.1, span",
    "the averaging time of an optimal policy is essentially the span",
    paper="essentially equivalent to the notion of span introduced by Bartlett and Tewari",
    how="both, exactly, on random worlds, RiverSwim and the station",
)
def span() -> Finding:
    theories = [theory_of(name) for name in (*SEEDS, "riverswim", "service-station")]
    ratios = [theory.optimal_averaging_time.value / theory.clairvoyant.span for theory in theories]
    station = theories[-1]
    text = f"tau is between {min(ratios):.3f} and {max(ratios):.3f} times the span, where 1/2 and 1 can be proved; on"
    text += f" the station it is {station.optimal_averaging_time.value:.2f} and the span {station.clairvoyant.span:.2f}"
    return Finding(text, verdict(min(ratios) >= 0.5 - 1e-9 and max(ratios) <= 1 + 1e-9))


def hidden_world(seed: int) -> Theory:
    """Return the theory of a random world whose aleatoric state says only in which half of the states it is."""
    task, paid = random_world(seed), np.random.default_rng([21, seed]).random((5, 2))
    halves = AleatoricState(0, lambda _s, _a, o: int(o >= 3), (0, 1))
    reward = replace(task.reward, function=lambda _s, action, observation: float(paid[observation, action]))
    return Theory(replace(task, aleatoric=halves, arrays=None, reward=reward))
