"""Section 4.3: the two schedules on the service station, and what is said of Algorithm 3."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from everlearn.api import run
from everlearn.paper.claims.claim import Claim, Finding, verdict
from everlearn.results.result import Result

RUNS, STEPS = 200, 1_000_000
LONG_RUNS, LONG_STEPS = 2, 700_000_000


@lru_cache(maxsize=4)
def _run(schedule: str, steps: int, runs: int) -> Result:
    return run("service-station", "growing-horizon", schedule=schedule, steps=steps, runs=runs, seed=1)


def smooth_improves() -> Finding:
    """The smooth schedule earns more than that of the theorem, over a million steps."""
    smooth, theorem = (_run(schedule, STEPS, RUNS) for schedule in ("smooth", "change-points"))
    gain = smooth.per_run[:, -1] - theorem.per_run[:, -1]
    error = float(gain.std(ddof=1) / math.sqrt(RUNS))
    text = f"{smooth.final['mean']:.4f} against {theorem.final['mean']:.4f} a step over {STEPS:,} steps, {RUNS} runs"
    return Finding(
        f"{text}, a difference of {gain.mean():.4f} (standard error {error:.4f})", verdict(gain.mean() > 4 * error)
    )


def finds_out() -> Finding:
    """The agent eventually figures out that its choices drive arrivals."""
    result = _run("smooth", STEPS, RUNS)
    slow = result.references["always slow"]
    worst = result.final["min"]
    at = {t: float(result.average_reward[np.searchsorted(result.times, t)]) for t in (10**3, 10**4, 10**5, 10**6)}
    curve = ", ".join(f"{value:.3f} at 1e{round(math.log10(t))}" for t, value in at.items())
    text = f"the mean over {RUNS} runs is {curve}; always slow earns {slow:.4f}, and the worst run {worst:.3f}"
    return Finding(text, verdict(worst > slow))


def theorem_improves() -> Finding:
    """The schedule of the theorem eventually improves."""
    result = _run("change-points", LONG_STEPS, LONG_RUNS)
    early = result.average_reward[np.searchsorted(result.times, 10**6)]
    before = np.searchsorted(result.times, 630_957_344)
    late = (result.total_reward[:, -1] - result.total_reward[:, before]) / (result.times[-1] - result.times[before])
    since = int(result.times[before])
    text = (
        f"over the first million steps it earns {early:.3f} a step, from {since:,} to {LONG_STEPS:,} {late.mean():.3f}"
    )
    worst = float(late.min())
    return Finding(f"{text} ({worst:.3f} in the worse of {LONG_RUNS} runs)", verdict(worst > 2 * early))


def same_algorithm() -> Finding:
    """Algorithm 3 is said to be Algorithm 1 but for its initial history and values."""
    common = {"agent.horizon": 3.0}
    first, third = (
        run("service-station", agent, parameters=common, steps=200_000, runs=20, seed=1)
        for agent in ("discounted", "discounted-subroutine")
    )
    apart = int((first.total_reward != third.total_reward).any(axis=1).sum())
    gap = float(np.abs(first.per_run - third.per_run)[:, -1].max())
    text = f"begun alike, {apart} of 20 runs part within 200,000 steps, their averages by up to {gap:.3f}"
    return Finding(f"{text}: Algorithm 3 clips V and leaves Q, Algorithm 1 clips Q", verdict(apart == 0))


CLAIMS = (
    Claim(
        "fig:agent-comparison",
        "optimistic Q-learning learns that fast service brings customers, and earns more than always slow",
        "it eventually figures out that its choices drive future arrival rates",
        "200 runs of a million steps with the smooth schedule",
        finds_out,
    ),
    Claim(
        "fig:better-schedules",
        "the smooth schedule improves on that of the theorem",
        "each plot an average over two hundred trajectories",
        "200 runs of each over a million steps, paired",
        smooth_improves,
    ),
    Claim(
        "Section 4.3, eventually",
        "with the schedule of the theorem the agent eventually improves",
        "that requires a very long time; no figure shows it",
        "2 runs of 700 million steps",
        theorem_improves,
    ),
    Claim(
        "Appendix C.3, Algorithm 3",
        "Algorithm 3 is Algorithm 1 but for the initial history and values",
        "identical, except for these",
        "both on the station from the empty history with equal values and random numbers",
        same_algorithm,
    ),
)
