"""Section 1.4 and Appendix B: the service station, its optimum, the law of W, and what the baselines do there."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from everlearn.agents.static import predicted_average
from everlearn.api import run
from everlearn.environments.service_station import VACANT, ServiceStation, longest_service
from everlearn.paper import appendix_b
from everlearn.paper.claims.claim import Finding, claim, repaired, verdict
from everlearn.paper.claims.values import theory_of
from everlearn.protocol import Table
from everlearn.tasks.service_station import renewal_average

RUNS = 60
LONG, SHORT = 166_000, 6_667
"""Steps in a phase of a baseline: enough to measure an average, and far too few."""


@claim(
    "Section 1.4.4, optimum",
    "no policy earns more than 0.5 per step, and always fast does",
    paper="the maximal average reward is $0.50 per timestep",
    how="relative value iteration over all memories, with certified bounds",
)
def optimum() -> Finding:
    theory = theory_of("service-station")
    best, fast = theory.optimum, theory.average_reward("fast")
    text = f"lambda_* is certified between {best.lower:.10f} and {best.upper:.10f}; always fast earns {fast:.10f}"
    attained = abs(fast - 0.5) < 1e-9
    return Finding(text, verdict(attained and best.lower <= 0.5 <= best.upper and best.upper - best.lower < 1e-8))


def _policy(epsilon: float) -> str:
    """Return pi_epsilon."""
    return f"0=slow,1=fast:{epsilon!r}" if epsilon else "slow"


@lru_cache(maxsize=64)
def exact_average(epsilon: float) -> float:
    """Return the exact average reward of pi_epsilon."""
    return theory_of("service-station").average_reward(_policy(epsilon))


@lru_cache(maxsize=4)
def _laws(epsilon: float) -> tuple[Table, Table]:
    """Return P(W = 1), ..., P(W = 5) under pi_epsilon: as customers leave it behind, and in time."""
    theory = theory_of("service-station")
    recurrent = theory.policy(_policy(epsilon)).chain.classes[0]
    weights = np.zeros(theory.pairs.size)
    weights[recurrent.members] = recurrent.stationary
    by_time, by_customer = np.zeros(5), np.zeros(5)
    completion = (1 + epsilon) / 2
    labels: Any = theory.pairs.labels  # a memory is the serving clock and the ages
    for ((clock, ages), _), weight in zip(labels, weights, strict=True):
        by_time[longest_service(ages) - 1] += weight
        if clock != VACANT:
            left = longest_service(_served(ages, min(clock + 1, 5)))
            by_customer[left - 1] += weight * completion
    return by_customer / by_customer.sum(), by_time


def _served(ages: tuple[int, ...], service: int) -> tuple[int, ...]:
    older = (0 if age in (0, 12) else age + 1 for age in ages)
    return tuple(1 if service >= j else age for j, age in enumerate(older, start=2))


@claim(
    "Appendix B.2, P(W = 1)",
    "under always slow the longest of twelve services takes one step with probability 1/4096",
    paper="in the steady state of W_t",
    how="the exact stationary distribution, in time and as customers leave",
)
def one_step_services() -> Finding:
    by_customer, by_time = (law[0] for law in _laws(0.0))
    text = f"as customers leave it behind, P(W = 1) = 1/{1 / by_customer:.1f}; in time it is 1/{1 / by_time:.1f}, since"
    text += " the next customer comes at once while W = 1: the steady state of W_t is not that of customers"
    right = math.isclose(by_customer, 1 / 4096, rel_tol=1e-6)
    return Finding(text, verdict(math.isclose(by_time, 1 / 4096, rel_tol=1e-3), right))


@claim(
    "eq:prob_W_inf",
    "the law of W is that of the largest of twelve geometric service times",
    paper="in the steady state of W_t, for all epsilon",
    how="the exact stationary distribution, in time and as customers leave",
)
def law_of_w() -> Finding:
    off_customer = off_time = 0.0
    for epsilon in (0.0, 0.1, 0.5):
        printed = np.array([appendix_b.law_of_longest_service(w, epsilon) for w in range(1, 5)])
        by_customer, by_time = (np.cumsum(law)[:4] for law in _laws(epsilon))
        off_customer = max(off_customer, float(np.abs(by_customer - printed).max()))
        off_time = max(off_time, float(np.abs(by_time - printed).max()))
    text = f"as customers leave it behind the law is off by at most {off_customer:.0e}, in time by up to {off_time:.3f}"
    text += ", for epsilon of 0, 0.1 and 0.5 and w up to 4"
    return Finding(text, verdict(off_time < 1e-6, off_customer < 1e-9))


@claim(
    "eq:average_reward1",
    "the average reward of pi_epsilon has a closed form",
    paper="G / ((1 - epsilon) G + 1 + epsilon)",
    how="the stationary distribution over all memories",
)
def closed_form() -> Finding:
    texts, off, off_renewal = [], 0.0, 0.0
    for epsilon in (0.0, 0.1, 0.5, 0.9):
        exact, printed = exact_average(epsilon), float(appendix_b.closed_form_average(epsilon))
        renewal = renewal_average(ServiceStation(slow_completion=(1 + epsilon) / 2), 1.0, 0.5 * epsilon)
        off, off_renewal = max(off, abs(exact - printed)), max(off_renewal, abs(exact - renewal))
        texts.append(f"{exact:.7f} against {printed:.7f} at {epsilon:g}")
    text = f"exact against printed: {', '.join(texts)}; by renewal over customers, (1 - 0.5 epsilon / c) / (1/c +"
    text += f" E[(1 - P(W)) / P(W')]), W and W' before and after a departure, is off by at most {off_renewal:.0e}"
    return Finding(text, repaired(off < 1e-9, off_renewal < 1e-9))


def _derivatives() -> tuple[float, float]:
    """Return the first derivative at 0 and half the second of the exact average, by one-sided differences."""
    h = 1e-3
    values = np.array([exact_average(k * h) for k in range(5)])
    first = values @ np.array([-25, 48, -36, 16, -3]) / (12 * h)
    second = values @ np.array([35, -104, 114, -56, 11]) / (12 * h * h)
    return float(first), float(second) / 2


@claim(
    "eq:average-reward-estimate-formula",
    "the first baseline's estimate falls strictly as epsilon grows, so that it stays slow",
    paper="strictly decreasing on [0, 1], since E[P] < 1",
    how="the estimate on a grid, with the printed mean arrival probability and with the exact one",
)
def estimate_falls() -> Finding:
    grid = np.linspace(0, 1, 101).tolist()
    printed = float(appendix_b.mean_arrival_probability())
    law, station = _laws(0.0)[1], ServiceStation()
    exact = float(sum(share * station.arrival_probability(w) for w, share in enumerate(law, start=1)))
    known = np.array([1.0, 0.0, 0.5, 0.5, 1.0])  # revenue, costs and completion probabilities of slow and fast
    curves = [[predicted_average(known, rate, epsilon) for epsilon in grid] for rate in (printed, exact)]
    steepest = np.diff(curves, axis=1).max(axis=1)
    ends = [predicted_average(known, printed, epsilon) for epsilon in (0.0, 1.0)]
    text = f"from {ends[0]:.6f} to {ends[1]:.6f} with E[P] = {printed:.6f};"
    text += (
        f" the least fall over a hundredth is {-steepest[0]:.2e}, {-steepest[1]:.2e} with the exact mean {exact:.6f}"
    )
    return Finding(text, verdict(bool(steepest.max() < 0)))


@claim(
    "eq:average_reward_second_agent",
    "the derivative of average reward at epsilon = 0 is below -0.072",
    paper="below -0.072, so that the second baseline stays slow",
    how="a complex step on the closed form, differences of exact averages",
)
def first_derivative() -> Finding:
    printed, exact = appendix_b.closed_form_derivative(), _derivatives()[0]
    text = f"that of the closed form is {printed:.7f}; that of the average reward itself {exact:.5f}"
    return Finding(f"{text}, negative all the same", verdict(printed < -0.072 and exact < -0.072, exact < 0))


@claim(
    "Appendix B.2, second derivative",
    "half the second derivative at epsilon = 0 is below 0.0716",
    paper="below 0.0716",
    how="differences of the closed form's derivative, and of exact averages",
)
def second_derivative() -> Finding:
    printed, exact = appendix_b.closed_form_half_second_derivative(), _derivatives()[1]
    text = f"that of the closed form is {printed:.7f}; that of the average reward itself {exact:.4f}"
    return Finding(text, verdict(printed < 0.0716 and exact < 0.0716, printed < 0.0716))


@claim(
    "Appendix B.2, Taylor expansion",
    "the second-order expansion is below lambda_{pi_0} for all epsilon in (0, 1]",
    paper="lambda_{pi_0} - 0.072 epsilon + 0.0716 epsilon^2, so that the third baseline stays slow",
    how="the largest gain over a grid, for the closed form and for the average itself",
)
def taylor() -> Finding:
    grid = np.linspace(0.01, 1, 100)
    printed = appendix_b.closed_form_derivative(), appendix_b.closed_form_half_second_derivative()
    expansions = {"the closed form": printed, "the average reward": _derivatives()}
    gains = {name: float((slope * grid + bend * grid**2).max()) for name, (slope, bend) in expansions.items()}
    text = "; ".join(f"of {name} it gains at most {gain:+.5f} over epsilon = 0" for name, gain in gains.items())
    text += "; the printed expansion has a minus before the derivative, and ends in < 0 where < lambda_{pi_0} is meant"
    as_printed = float((-printed[0] * grid).max()) <= 0
    return Finding(text, verdict(as_printed, all(gain < 0 for gain in gains.values())))


@claim(
    "Section 1.4.5, baselines",
    "the baselines never deviate from slow service",
    paper="never, with long durations of data",
    how="60 runs of each, with long phases; short ones are shown too",
)
def baselines() -> Finding:
    (long, settled), (short, _) = _phases(LONG), _phases(SHORT)
    text = f"runs of {RUNS} that ended with some fast service: {long} with phases of {LONG:,} steps; {short}"
    return Finding(f"{text} with phases of {SHORT:,}, where the data are too few", verdict(settled))


def _phases(phase: int) -> tuple[str, bool]:
    """Return which share of runs of each baseline ends with some fast service, and whether none does."""
    shares = {}
    for agent in ("static", "gradient", "curvature"):
        parameters = {"agent.phase": phase}
        result = run("service-station", agent, parameters=parameters, steps=4 * phase, runs=RUNS, seed=1)
        policies: Any = result.policies  # recorded: there are two states and two actions
        shares[agent] = float((policies[:, -1, 1, 0] > 0).mean())
    return ", ".join(f"{agent} {share:.0%}" for agent, share in shares.items()), not any(shares.values())
