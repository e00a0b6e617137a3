"""Sections 4.2 and 4.3: how the algorithms are related, and the two schedules on the service station."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from everlearn.agents.agent import Agent
from everlearn.agents.schedule import Schedule, change_points, fixed
from everlearn.api import run
from everlearn.paper.claims.claim import Finding, claim, verdict
from everlearn.protocol import Label
from everlearn.randomness import ENVIRONMENT, stream
from everlearn.results.result import Result

RUNS, STEPS = 200, 1_000_000
LONG_RUNS, LONG_STEPS = 6, 700_000_000
EPISODE_RUNS, EPISODE_STEPS = 12, 200


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
    "Section 4.2, restarts",
    "Algorithm 2 with change points applies Algorithm 1 anew in each episode between them",
    paper="it can be thought of as instantiating and applying Algorithm 1 over each episode",
    how="both on the station, side by side, with values set to tau at each change point, and with values carried over",
)
def restarts() -> Finding:
    parted = {}
    for scale in (4.0, 0.04):
        schedule = change_points(optimism_scale=scale)
        wholes = [_whole(schedule, seed) for seed in range(EPISODE_RUNS)]
        for carried in (False, True):
            episodes = [_in_episodes(schedule, seed, carried) for seed in range(EPISODE_RUNS)]
            parted[scale, carried] = sum(whole != other for whole, other in zip(wholes, episodes, strict=True))
    text = f"of {EPISODE_RUNS} runs of {EPISODE_STEPS:,} steps, {parted[4.0, False]} differ if Q begins at tau in each"
    text += (
        f" episode, as in Algorithm 1, and {parted[4.0, True]} if it begins at the last Q plus the growth of tau; with"
    )
    text += f" a hundredth of the optimism {parted[0.04, False]} and {parted[0.04, True]}"
    anew, carried_over = (parted[4.0, carried] == parted[0.04, carried] == 0 for carried in (False, True))
    return Finding(text, verdict(anew, carried_over))


def _whole(schedule: Schedule, seed: int) -> tuple[list[Label], list[float]]:
    """Return the actions of Algorithm 2 and its last values."""
    agent = Agent("service-station", schedule=schedule, seed=seed)
    actions = _episode(agent, agent.task.start(stream(seed, 0, ENVIRONMENT)), EPISODE_STEPS)
    return actions, agent.inspect()["Q"].ravel().tolist()


def _in_episodes(schedule: Schedule, seed: int, carried: bool) -> tuple[list[Label], list[float]]:
    """Return the same of Algorithm 1, instantiated at each change point with the horizon and the optimism there."""
    previous: Any = None
    actions: list[Label] = []
    t = 1
    while t <= EPISODE_STEPS:
        constants = {"horizon": schedule.horizon(t), "optimism": schedule.optimism(t)}
        agent: Any = Agent("service-station", schedule=fixed(**constants), seed=seed)
        if previous is None:
            environment = agent.task.start(stream(seed, 0, ENVIRONMENT))
        else:
            agent.move(previous.situation)
            agent.stream = previous.stream
            if carried:
                np.copyto(agent.values, previous.values)  # both are Q - tau, so that the growth of tau is added
        steps = (
            next(k for k in range(t + 1, EPISODE_STEPS + 2) if k > EPISODE_STEPS or schedule.count_scale(k) == 0) - t
        )
        actions += _episode(agent, environment, steps)
        previous, t = agent, t + steps
    return actions, agent.inspect()["Q"].ravel().tolist()


def _episode(agent: Agent, environment: Any, steps: int) -> list[Label]:
    actions: list[Label] = []
    for _ in range(steps):
        actions.append(agent.act())
        agent.observe(environment.step(actions[-1]))
    return actions


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
