"""Section 1.4 and Appendix B: the service station, its optimum, the law of W, and what the baselines do there."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from everlearn.api import run
from everlearn.environments.service_station import VACANT, ServiceStation, longest_service
from everlearn.paper import appendix_b
from everlearn.paper.claims.claim import Claim, Finding, verdict
from everlearn.paper.claims.values import theory_of
from everlearn.protocol import Table
from everlearn.tasks.service_station import renewal_average

RUNS = 60
LONG, SHORT = 166_000, 6_667
"""Steps in a phase of a baseline: long enough to tell, and far from it."""


def optimum() -> Finding:
    """The maximal average reward is 0.5, attained by always fast."""
    theory = theory_of("service-station")
    found, fast = theory.optimum, theory.average_reward("fast")
    text = f"lambda_* is certified between {found.lower:.10f} and {found.upper:.10f}; always fast earns {fast:.10f}"
    return Finding(text, verdict(found.lower <= 0.5 <= found.upper and found.upper - found.lower < 1e-8))


@lru_cache(maxsize=4)
def _laws(epsilon: float) -> tuple[Table, Table]:
    """Return P(W = 1), ..., P(W = 5) under pi_epsilon: as customers leave it behind, and in time."""
    theory = theory_of("service-station")
    policy = f"0=slow,1=fast:{epsilon}" if epsilon else "slow"
    recurrent = theory.policy(policy).chain.classes[0]
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


def one_step_services() -> Finding:
    """P(W = 1) = 1/4096 under always slow."""
    by_customer, by_time = _laws(0.0)
    text = f"as customers leave it behind, P(W = 1) = 1/{1 / by_customer[0]:.1f}; in time it is 1/{1 / by_time[0]:.1f}"
    note = "since the next customer comes at once while W = 1: the steady state of W_t is not that of customers"
    right = math.isclose(by_customer[0], 1 / 4096, rel_tol=1e-6)
    return Finding(f"{text}, {note}", verdict(math.isclose(by_time[0], 1 / 4096, rel_tol=1e-3), right))


def law_of_w() -> Finding:
    """``eq:prob_W_inf``: P(W <= w) = (1 - ((1 - epsilon) / 2)^w)^12."""
    off_customer = off_time = 0.0
    for epsilon in (0.0, 0.1, 0.5):
        by_customer, by_time = (np.cumsum(law) for law in _laws(epsilon))
        for w in range(1, 5):
            printed = appendix_b.law_of_longest_service(w, epsilon)
            off_customer = max(off_customer, abs(by_customer[w - 1] - printed))
            off_time = max(off_time, abs(by_time[w - 1] - printed))
    text = f"as customers leave it behind the law is off by at most {off_customer:.0e}, in time by up to {off_time:.3f}"
    text += ", for epsilon of 0, 0.1 and 0.5 and w up to 4"
    return Finding(text, verdict(off_time < 1e-6, off_customer < 1e-9))


def closed_form() -> Finding:
    """``eq:average_reward1``: the closed form of the average reward of pi_epsilon."""
    texts, off, renewal = [], 0.0, 0.0
    for epsilon in (0.0, 0.1, 0.5, 0.9):
        exact, printed = _exact(epsilon), float(appendix_b.closed_form_average(epsilon))
        station = ServiceStation(slow_completion=(1 + epsilon) / 2)
        off, renewal = max(off, abs(exact - printed)), max(renewal, abs(exact - _renewal(station, epsilon)))
        texts.append(f"{exact:.7f} against {printed:.7f} at {epsilon:g}")
    note = "(1 - 0.5 epsilon / c) / (1/c + E[(1 - P(W)) / P(W')]), W and W' before and after a departure, is off by"
    text = f"exact against printed: {', '.join(texts)}; by renewal over customers, {note} at most {renewal:.0e}"
    return Finding(text, verdict(off < 1e-9, renewal < 1e-9))


def _renewal(station: ServiceStation, epsilon: float) -> float:
    return renewal_average(station, 1.0, 0.5 * epsilon)


@lru_cache(maxsize=32)
def _exact(epsilon: float) -> float:
    policy = f"0=slow,1=fast:{epsilon!r}" if epsilon else "slow"
    return theory_of("service-station").average_reward(policy)


def _derivatives() -> tuple[float, float]:
    """Return the first derivative at 0 and half the second of the exact average, by one-sided differences."""
    h = 1e-3
    values = np.array([_exact(k * h) for k in range(5)])
    first = values @ np.array([-25, 48, -36, 16, -3]) / (12 * h)
    second = values @ np.array([35, -104, 114, -56, 11]) / (12 * h * h)
    return float(first), float(second) / 2


def first_derivative() -> Finding:
    """``eq:average_reward_second_agent``: the derivative at 0 is below -0.072."""
    printed, exact = appendix_b.closed_form_derivative(), _derivatives()[0]
    text = f"that of the closed form is {printed:.7f}; that of the average reward itself {exact:.5f}"
    return Finding(f"{text}, negative all the same", verdict(printed < -0.072 and exact < -0.072, exact < 0))


def second_derivative() -> Finding:
    """Half the second derivative at 0 is below 0.0716."""
    printed, exact = appendix_b.closed_form_half_second_derivative(), _derivatives()[1]
    text = f"that of the closed form is {printed:.7f}; that of the average reward itself {exact:.4f}"
    return Finding(text, verdict(printed < 0.0716 and exact < 0.0716, printed < 0.0716))


def taylor() -> Finding:
    """The second-order expansion at 0 stays below lambda_{pi_0} over (0, 1], so that the third baseline stays slow."""
    grid = np.linspace(0.01, 1, 100)
    gains = {}
    for name, (slope, bend) in {
        "the closed form": (appendix_b.closed_form_derivative(), appendix_b.closed_form_half_second_derivative()),
        "the average reward": _derivatives(),
    }.items():
        gains[name] = float((slope * grid + bend * grid**2).max())
    text = "; ".join(f"of {name} it gains at most {gain:+.5f} over epsilon = 0" for name, gain in gains.items())
    slips = "the printed expansion has a minus before the derivative, and ends in < 0 where < lambda_{pi_0} is meant"
    as_printed = float((-appendix_b.closed_form_derivative() * grid).max()) <= 0
    return Finding(f"{text}; {slips}", verdict(as_printed, all(gain < 0 for gain in gains.values())))


def baselines() -> Finding:
    """Every baseline stays with slow service."""
    shares = {}
    for phase in (LONG, SHORT):
        for agent in ("static", "gradient", "curvature"):
            parameters = {"agent.phase": phase}
            result = run("service-station", agent, parameters=parameters, steps=4 * phase, runs=RUNS, seed=1)
            policies: Any = result.policies  # recorded: there are two states and two actions
            shares[agent, phase] = float((policies[:, -1, 1, 0] > 0).mean())
    long, short = ({agent: shares[agent, phase] for agent, at in shares if at == phase} for phase in (LONG, SHORT))
    texts = [", ".join(f"{agent} {share:.0%}" for agent, share in group.items()) for group in (long, short)]
    text = f"runs of {RUNS} that ended with some fast service: {texts[0]} with phases of {LONG:,} steps; {texts[1]}"
    settled = not any(long.values())
    always = settled and not any(short.values())
    return Finding(f"{text} with phases of {SHORT:,}, where noise decides", verdict(always, settled))


CLAIMS = (
    Claim(
        "Section 1.4.4, optimum",
        "no policy earns more than 0.5 a step, and always fast does",
        "the maximal average reward is $0.50 per timestep",
        "relative value iteration over all memories, with certified bounds",
        optimum,
    ),
    Claim(
        "Appendix B.2, P(W = 1)",
        "under always slow the longest of twelve services takes one step with probability 1/4096",
        "in the steady state of W_t",
        "the exact stationary distribution, in time and as customers leave",
        one_step_services,
    ),
    Claim(
        "eq:prob_W_inf",
        "the law of W is that of the largest of twelve geometric service times",
        "in the steady state of W_t, for all epsilon",
        "the exact stationary distribution, in time and as customers leave",
        law_of_w,
    ),
    Claim(
        "eq:average_reward1",
        "the average reward of pi_epsilon has a closed form",
        "G / ((1 - epsilon) G + 1 + epsilon)",
        "the stationary distribution over all memories",
        closed_form,
    ),
    Claim(
        "eq:average_reward_second_agent",
        "the derivative of average reward at epsilon = 0 is below -0.072",
        "below -0.072, so that the second baseline stays slow",
        "a complex step on the closed form, differences of exact averages",
        first_derivative,
    ),
    Claim(
        "Appendix B.2, second derivative",
        "half the second derivative at epsilon = 0 is below 0.0716",
        "below 0.0716",
        "differences of the closed form's derivative, and of exact averages",
        second_derivative,
    ),
    Claim(
        "Appendix B.2, Taylor expansion",
        "the second-order expansion is below lambda_{pi_0} for all epsilon in (0, 1]",
        "lambda_{pi_0} - 0.072 epsilon + 0.0716 epsilon^2, so that the third baseline stays slow",
        "the largest gain over a grid, for the closed form and for the average itself",
        taylor,
    ),
    Claim(
        "Section 1.4.5, baselines",
        "the baselines never deviate from slow service",
        "never, with long durations of data",
        "60 runs of each, with long phases and with short ones",
        baselines,
    ),
)
