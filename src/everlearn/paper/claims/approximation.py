"""Appendix D: what aleatoric states may cost, and what fitted value iteration may do with them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from everlearn.environments.aggregation import Aggregation
from everlearn.paper.appendix_d import Example
from everlearn.paper.claims.claim import Claim, Finding, verdict
from everlearn.paper.claims.values import theory_of
from everlearn.protocol import Table

GAMMA, HALF = 0.9, 300


def loss_equals_distortion() -> Finding:
    """The first theorem of Appendix D: lambda_* - lambda_pi~ equals the distortion, on the alternating environment."""
    theory = theory_of("alternating")
    best, fixed = theory.best_aleatoric.average_reward, theory.best_deterministic.average_reward
    distortions = [theory.distortion(tau).value for tau in (1.0, 2.0, 10.0, 100.0)]
    loss, narrow = theory.optimal_average_reward - best, theory.optimal_average_reward - fixed
    text = f"the distortion is {min(distortions):.4f} to {max(distortions):.4f}; the best policy over aleatoric states"
    text += f" takes either action with probability 1/2, and loses {loss:.4f}; the best deterministic one {narrow:.4f}"
    equal = all(abs(loss - one) < 1e-6 for one in distortions)
    return Finding(text, verdict(equal, all(abs(narrow - one) < 1e-6 for one in distortions)))


def rows_sum_to_one() -> Finding:
    """The rows of rho, as printed and as described in words."""
    printed, described = _printed_rows(5, 0.1, 0.1).sum(axis=2), Aggregation(5, 0.1, 0.1).transitions().sum(axis=2)
    short = 1 - printed.min()
    text = (
        f"as printed rows sum to {printed.min():.4f} up to {printed.max():.4f}, short by epsilon_1 / 2N = {short:.4f}"
    )
    text += " wherever a reset reaches 1 or 2 from elsewhere; with that added they sum to one"
    return Finding(text, verdict(np.allclose(printed, 1), np.allclose(described, 1) and np.isclose(short, 0.1 / 10)))


def _printed_rows(half: int, reset: float, slip: float) -> Table:
    """Return rho as the displayed equations have it."""
    P = np.zeros((2, 2 * half, 2 * half))
    P[:, :, 2:] = reset / (2 * half)
    for a, action in enumerate((1, 2)):
        for o in range(1, 2 * half + 1):
            if o == 1:
                P[a, 0, :2] = (1 - reset) * (1 - slip) + reset / (2 * half), (1 - reset) * slip + reset / (2 * half)
            elif o > 2:
                P[a, o - 1, 1 - o % 2] = 1 - reset + reset / (2 * half)
            else:
                P[a, 1, action - 1] = 1 - reset + reset / (2 * half)
    return P


def reward_of_state() -> Finding:
    """The reward is no function of (s, a, o) with o the next state."""
    system = Aggregation(3)
    paid: dict[tuple[int, int], set[str]] = {}
    for state in system.states:
        for action in (1, 2):
            paid.setdefault((2 - state % 2, action), set()).add(system.paid(state, action))
    torn = {f"s = {s}, a = {a}": sorted(found) for (s, a), found in paid.items() if len(found) > 1}
    found = "; ".join(f"{where}: {' or '.join(payments)}" for where, payments in torn.items())
    model = system.model()
    seen: dict[object, set[str]] = {}
    for state in system.states:
        for action in (1, 2):
            for outcome in model.outcomes(state, action):
                key = (2 - state % 2, action, outcome.observation)
                seen.setdefault(key, set()).add(system.paid(state, action))
    told = all(len(payments) == 1 for payments in seen.values())
    text = f"one aleatoric state and action pay differently: {found}; where the observation tells what was paid, it is"
    return Finding(f"{text} a function of it", verdict(not torn, told))


def example(ratio: float, half: int = HALF) -> Example:
    """Return the example with a penalty that is so many times the threshold of docs/paper.md."""
    bare = Example(Aggregation(half, 1 - GAMMA, 0.1), gain=0.1, discount=GAMMA)
    return replace(bare, penalty=ratio * bare.threshold())


def kappa() -> Finding:
    """The condition on kappa under which fitted value iteration stays in state 2."""
    bare = example(1.0)
    printed = 2 * GAMMA * bare.gain / (1 - GAMMA)
    chosen = {}
    penalties = {"below": 0.95 * bare.penalty, "above": 1.05 * bare.penalty, "below the printed": 0.95 * printed}
    for name, penalty in penalties.items():
        one = replace(bare, penalty=penalty)
        chosen[name] = int(one.greedy(one.fitted(np.zeros(2)).last)[1])
    ours = chosen["below"] == 2 and chosen["above"] == 1
    text = f"at gamma = {GAMMA} and delta = {bare.gain} it stays in state 2 below kappa = {bare.penalty:.4f}, where"
    text += f" {printed:.2f} is printed; with g = gamma (1 - epsilon_1) the threshold is 2 g delta / (1 - g)"
    return Finding(text, verdict(chosen["below the printed"] == 2, ours))


def averaging_time() -> Finding:
    """The averaging time of pi', by the definition of Section 2.2.1."""
    one = example(0.6)
    own, printed = one.averaging_time(one.misled(), 2000), 1 / one.system.reset
    doubled = replace(one, gain=2 * one.gain, penalty=2 * one.penalty)
    scaled = doubled.averaging_time(doubled.misled(), 2000)
    text = (
        f"tau = {own:.3f} with kappa = {one.penalty:.3f}, where 1 / epsilon_1 = {printed:g} is printed; it scales with"
    )
    text += f" rewards ({scaled:.3f} when they double), so that no formula without kappa can be right"
    return Finding(text, verdict(abs(own - printed) < 1e-3 * printed))


def failure() -> Finding:
    """``theorem:adp-fail``: the loss of the greedy policy against tau gamma Delta-bar."""
    one = example(0.6)
    iteration = one.fitted(np.zeros(2))
    greedy = one.greedy(iteration.last)
    loss, misled = -one.average_reward(greedy), -one.average_reward(one.misled())
    tau = one.averaging_time(greedy, 2000)
    right, printed = tau * GAMMA * one.gain, GAMMA * one.gain / one.system.reset
    text = f"the iteration {iteration.outcome}; the greedy policy stays in state 2 but takes action 1 in 4, 6, ..., so"
    text += f" it is not pi'; it loses {loss:.4f} (pi' {misled:.4f}), where tau gamma Delta-bar is {right:.4f} with"
    text += f" its own tau and {printed:.4f} with 1 / epsilon_1"
    return Finding(text, verdict(loss >= printed and bool((greedy == one.misled()).all()), loss >= right))


CLAIMS = (
    Claim(
        "Appendix D, first theorem",
        "what the best policy over aleatoric states loses can equal the distortion",
        "lambda_* - lambda_pi~ = Delta-bar_tau = 1 for all tau >= 1, there being only two policies in the class",
        "exact optimum, distortion, and the best policies over aleatoric states, randomised and not",
        loss_equals_distortion,
    ),
    Claim(
        "Appendix D, rho",
        "the displayed observation probabilities are a distribution",
        "rho(1 | o, a) and rho(2 | o, a) are 0 in all other cases",
        "summation of the rows",
        rows_sum_to_one,
    ),
    Claim(
        "Appendix D, reward",
        "the reward is a function of aleatoric state, action and observation",
        "r(s, a, o), as Section 1.3 asks",
        "enumeration of states that share an aleatoric state",
        reward_of_state,
    ),
    Claim(
        "Appendix D, kappa",
        "fitted value iteration stays in state 2 if the penalty is below a threshold",
        "kappa < 2 gamma delta / (1 - gamma), with epsilon_1 = 1 - gamma",
        "the expected iteration on 600 states, on both sides of both thresholds",
        kappa,
    ),
    Claim(
        "Appendix D, tau",
        "the averaging time of pi' is 1 / epsilon_1",
        "tau_{pi'} = 1 / epsilon_1 = 1 / (1 - gamma)",
        "the definition of Section 2.2.1, evaluated over 2,000 steps from every state",
        averaging_time,
    ),
    Claim(
        "theorem:adp-fail",
        "fitted value iteration may lose tau gamma Delta-bar, however good the best policy over aleatoric states",
        "lambda_* - lambda_{pi^(inf)} >= tau_{pi^(inf)} gamma Delta-bar_tau - epsilon, with pi^(inf) = pi'",
        "the expected iteration, the exact average of its greedy policy, and its averaging time by definition",
        failure,
    ),
)
