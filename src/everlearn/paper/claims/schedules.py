"""Section 4.3: the two schedules on the service station, and how Algorithm 3 differs from Algorithm 1."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from everlearn.api import run
from everlearn.paper.claims.claim import Finding, claim, verdict
from everlearn.results.result import Result

RUNS, STEPS = 200, 1_000_000
LONG_RUNS, LONG_STEPS = 6, 700_000_000


@lru_cache(maxsize=4)
def _run(schedule: str, steps: int, runs: int) -> Result:
    return run("service-station", "growing-horizon", schedule=schedule, steps=steps, runs=runs, seed=1)


@claim(
    "fig:agent-comparison",
    "optimistic Q-learning learns that fast service brings customers, and earns more than always slow",
    paper="it eventually figures out that its choices drive future arrival rates",
    how="200 runs of a million steps with the smooth schedule",
)
def finds_out() -> Finding:
    result = _run("smooth", STEPS, RUNS)
    slow, worst = result.references["always slow"], result.final["min"]
    means = [float(result.average_reward[np.searchsorted(result.times, 10**power)]) for power in (3, 4, 5, 6)]
    curve = ", ".join(f"{mean:.3f} at 1e{power}" for power, mean in enumerate(means, start=3))
    text = f"the mean over {RUNS} runs is {curve}; always slow earns {slow:.4f}, and the worst run {worst:.3f}"
    return Finding(text, verdict(worst > slow))


@claim(
    "fig:better-schedules",
    "the smooth schedule improves on that of the theorem",
    paper="each plot an average over two hundred trajectories",
    how="200 runs of each over a million steps, paired",
)
def smooth_improves() -> Finding:
    smooth, theorem = (_run(schedule, STEPS, RUNS) for schedule in ("smooth", "change-points"))
    gain = smooth.per_run[:, -1] - theorem.per_run[:, -1]
    error = float(gain.std(ddof=1) / math.sqrt(RUNS))
    text = f"{smooth.final['mean']:.4f} against {theorem.final['mean']:.4f} per step over {STEPS:,} steps, {RUNS} runs"
    text += f", a difference of {gain.mean():.4f} (standard error {error:.4f})"
    return Finding(text, verdict(gain.mean() > 4 * error))


@claim(
    "Section 4.3, eventually",
    "with the schedule of the theorem the agent eventually improves",
    paper="that requires a very long time; no figure shows it",
    how="6 runs of 700 million steps, the worst of which counts",
)
def theorem_improves() -> Finding:
    result = _run("change-points", LONG_STEPS, LONG_RUNS)
    early = result.average_reward[np.searchsorted(result.times, 10**6)]
    before = np.searchsorted(result.times, 630_957_344)
    since = int(result.times[before])
    late = (result.total_reward[:, -1] - result.total_reward[:, before]) / (result.times[-1] - since)
    worst = float(late.min())
    text = f"over the first million steps it earns {early:.3f} per step, from {since:,} to {LONG_STEPS:,}"
    text += f" {late.mean():.3f} ({worst:.3f} in the worst of {LONG_RUNS} runs)"
    return Finding(text, verdict(worst > 2 * early))


@claim(
    "Appendix C.3, Algorithm 3",
    "Algorithm 3 is Algorithm 1 but for the initial history and values",
    paper="identical, except for these",
    how="both on the station from the empty history with equal values and random numbers",
)
def same_algorithm() -> Finding:
    first, third = (
        run("service-station", agent, parameters={"agent.horizon": 3.0}, steps=200_000, runs=20, seed=1)
        for agent in ("discounted", "discounted-subroutine")
    )
    apart = int((first.total_reward != third.total_reward).any(axis=1).sum())
    gap = float(np.abs(first.per_run - third.per_run)[:, -1].max())
    text = f"begun alike, {apart} of 20 runs part within 200,000 steps, their averages by up to {gap:.3f}"
    return Finding(f"{text}: Algorithm 3 clips V and leaves Q, Algorithm 1 clips Q", verdict(apart == 0))
