"""Appendix D: what aleatoric states may cost, and how fitted value iteration may fail with them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from everlearn.environments.aggregation import ACTIONS, Aggregation
from everlearn.paper.appendix_d import Example
from everlearn.paper.claims.claim import Finding, claim, verdict
from everlearn.paper.claims.values import theory_of
from everlearn.protocol import Table
from everlearn.tasks.aggregation import parity

GAMMA, HALF = 0.9, 300


@claim(
    "Appendix D, first theorem",
    "what the best policy over aleatoric states loses can equal the distortion",
    paper="lambda_* - lambda_pi~ = Delta-bar_tau = 1 for all tau >= 1, there being only two policies in the class",
    how="exact optimum, distortion, and the best policies over aleatoric states, randomised and not",
)
def loss_equals_distortion() -> Finding:
    theory = theory_of("alternating")
    loss = theory.optimal_average_reward - theory.best_aleatoric.average_reward
    narrow = theory.optimal_average_reward - theory.best_deterministic.average_reward
    distortions = np.array([theory.distortion(tau).value for tau in (1.0, 2.0, 10.0, 100.0)])
    least, most = distortions.min(), distortions.max()
    text = f"the distortion is {least:.4f} to {most:.4f}; the best policy over aleatoric states"
    text += f" takes either action with probability 1/2, and loses {loss:.4f}; the best deterministic one {narrow:.4f}"
    equal, narrowly = (bool((np.abs(lost - distortions) < 1e-6).all()) for lost in (loss, narrow))
    return Finding(text, verdict(equal, narrowly))


@claim(
    "Appendix D, rho",
    "the displayed observation probabilities are a distribution",
    paper="rho(1 | o, a) and rho(2 | o, a) are 0 in all other cases",
    how="summation of the rows",
)
def rows_sum_to_one() -> Finding:
    printed, described = _printed_rows(5, 0.1, 0.1).sum(axis=2), Aggregation(5, 0.1, 0.1).transitions().sum(axis=2)
    least, short = printed.min(), 1 - printed.min()
    text = f"as printed rows sum to {least:.4f} up to {printed.max():.4f}, short by epsilon_1 / 2N = {short:.4f}"
    text += " wherever a reset reaches 1 or 2 from elsewhere; with that added they sum to one"
    return Finding(text, verdict(np.allclose(printed, 1), np.allclose(described, 1) and np.isclose(short, 0.1 / 10)))


def _printed_rows(half: int, reset: float, slip: float) -> Table:
    """Return rho as the displayed equations have it."""
    P, uniform = np.zeros((2, 2 * half, 2 * half)), reset / (2 * half)
    P[:, :, 2:] = uniform
    P[:, 0, :2] = (1 - reset) * (1 - slip) + uniform, (1 - reset) * slip + uniform
    for action in ACTIONS:
        P[action - 1, 1, action - 1] = 1 - reset + uniform
        for o in range(3, 2 * half + 1):
            P[action - 1, o - 1, parity(o) - 1] = 1 - reset + uniform
    return P


@claim(
    "Appendix D, reward",
    "the reward is a function of aleatoric state, action and observation",
    paper="r(s, a, o), as Section 1.3 asks",
    how="enumeration of states that share an aleatoric state",
)
def reward_of_state() -> Finding:
    system = Aggregation(3)
    model = system.model()
    by_pair: dict[tuple[int, int], set[str]] = {}
    by_observation: dict[object, set[str]] = {}
    for state in system.states:
        for action in ACTIONS:
            pair, paid = (parity(state), action), system.paid(state, action)
            by_pair.setdefault(pair, set()).add(paid)
            for outcome in model.outcomes(state, action):
                by_observation.setdefault((*pair, outcome.observation), set()).add(paid)
    torn = {pair: " or ".join(sorted(payments)) for pair, payments in by_pair.items() if len(payments) > 1}
    where = "; ".join(f"s = {s}, a = {a}: {payments}" for (s, a), payments in torn.items())
    text = f"one aleatoric state and action pay differently: {where}; if the observation contains the reward, it is"
    text += " a function of it"
    return Finding(text, verdict(not torn, all(len(payments) == 1 for payments in by_observation.values())))


def _example(ratio: float) -> Example:
    """Return the example with a penalty of ``ratio`` times the threshold of docs/paper.md."""
    bare = Example(Aggregation(HALF, 1 - GAMMA, 0.1), gain=0.1, discount=GAMMA)
    return replace(bare, penalty=ratio * bare.threshold())


@claim(
    "Appendix D, kappa",
    "fitted value iteration stays in state 2 if the penalty is below a threshold",
    paper="kappa < 2 gamma delta / (1 - gamma), with epsilon_1 = 1 - gamma",
    how="the expected iteration on 600 states, on both sides of both thresholds",
)
def kappa() -> Finding:
    bare = _example(1.0)
    printed = 2 * GAMMA * bare.gain / (1 - GAMMA)
    chosen = []  # the greedy action in state 2, for a penalty below and above our threshold, and below the printed one
    for penalty in (0.95 * bare.penalty, 1.05 * bare.penalty, 0.95 * printed):
        example = replace(bare, penalty=penalty)
        chosen.append(int(example.greedy(example.fitted(np.zeros(2)).last)[1]))
    text = f"at gamma = {GAMMA} and delta = {bare.gain} it stays in state 2 below kappa = {bare.penalty:.4f}, where"
    text += f" {printed:.2f} is printed; with g = gamma (1 - epsilon_1) the threshold is 2 g delta / (1 - g)"
    return Finding(text, verdict(chosen[2] == 2, chosen[:2] == [2, 1]))


@claim(
    "Appendix D, tau",
    "the averaging time of pi' is 1 / epsilon_1",
    paper="tau_{pi'} = 1 / epsilon_1 = 1 / (1 - gamma)",
    how="the definition of Section 2.2.1, evaluated over 2,000 steps from every state",
)
def averaging_time() -> Finding:
    example = _example(0.6)
    doubled = replace(example, gain=2 * example.gain, penalty=2 * example.penalty)
    own, scaled = (each.averaging_time(each.misled(), 2000) for each in (example, doubled))
    printed = 1 / example.system.reset
    text = f"tau = {own:.3f} with kappa = {example.penalty:.3f}, where 1 / epsilon_1 = {printed:g} is printed; it"
    text += f" scales with rewards ({scaled:.3f} when they double), so that no formula without kappa can be right"
    return Finding(text, verdict(abs(own - printed) < 1e-3 * printed))


@claim(
    "theorem:adp-fail",
    "fitted value iteration may lose tau gamma Delta-bar, however good the best policy over aleatoric states",
    paper="lambda_* - lambda_{pi^(inf)} >= tau_{pi^(inf)} gamma Delta-bar_tau - epsilon, with pi^(inf) = pi'",
    how="the expected iteration, the exact average of its greedy policy, and its averaging time by definition",
)
def failure() -> Finding:
    example = _example(0.6)
    iteration = example.fitted(np.zeros(2))
    greedy, misled = example.greedy(iteration.last), example.misled()
    loss, misled_loss = -example.average_reward(greedy), -example.average_reward(misled)
    right = example.averaging_time(greedy, 2000) * GAMMA * example.gain
    printed = GAMMA * example.gain / example.system.reset
    text = f"the iteration {iteration.outcome}; the greedy policy stays in state 2 but takes action 1 in 4, 6, ..., so"
    text += f" it is not pi'; it loses {loss:.4f} (pi' {misled_loss:.4f}), where tau gamma Delta-bar is {right:.4f}"
    text += f" with its own tau and {printed:.4f} with 1 / epsilon_1"
    return Finding(text, verdict(loss >= printed and bool((greedy == misled).all()), loss >= right))
