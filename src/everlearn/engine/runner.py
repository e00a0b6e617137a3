"""Runs of a design on a task: independent, each with its own streams, by the engine that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.agent import Agent
from everlearn.agents.design import Design
from everlearn.engine.reference import reference_loop
from everlearn.engine.times import recording_times
from everlearn.errors import InputError, require
from everlearn.protocol import Table
from everlearn.randomness import ENVIRONMENT, stream
from everlearn.tasks.task import Task

ENGINES = ("auto", "compiled", "reference")

Progress = Callable[[int], None]
"""Called now and then with the number of steps done since it was last called."""


@dataclass(frozen=True)
class Plan:
    """What is to be run: everything on which the outcome depends."""

    task: Task
    design: Design
    steps: int
    runs: int
    seed: int
    times: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        require(self.steps >= 1, "steps", self.steps, "give at least 1")
        require(self.runs >= 1, "runs", self.runs, "give at least 1")
        object.__setattr__(self, "times", recording_times(self.steps))


class Finished(NamedTuple):
    """A run at its end: its number, and the sum of rewards at each recording time."""

    run: int
    total_reward: Table


def choose_engine(engine: str) -> str:
    """Return the engine that will do the work.

    Examples
    --------
    >>> choose_engine("auto")
    'reference'

    """
    if engine not in ENGINES:
        raise InputError("engine", engine, f"give one of {', '.join(ENGINES)}")
    if engine == "compiled":
        raise InputError("engine", engine, "there is no compiled engine yet; give auto or reference")
    return "reference"


def simulate(plan: Plan, engine: str = "auto", progress: Progress | None = None) -> Iterator[Finished]:
    """Do the runs of a plan, and yield each when it is finished.

    Examples
    --------
    >>> from everlearn.agents.registry import make_design
    >>> from everlearn.tasks.registry import make_task
    >>> plan = Plan(make_task("service-station"), make_design("always", {"policy": "fast"}), 100, 2, 1)
    >>> [float(finished.total_reward[-1]) for finished in simulate(plan)]
    [50.5, 50.5]

    """
    choose_engine(engine)
    for run in range(plan.runs):
        yield _reference_run(plan, run, progress)


def _reference_run(plan: Plan, run: int, progress: Progress | None) -> Finished:
    agent = Agent(plan.task, plan.design, seed=plan.seed, run=run)
    environment = plan.task.start(stream(plan.seed, run, ENVIRONMENT))
    totals, reported = [], 0
    for record in reference_loop(environment, agent, agent.interface, plan.times.tolist()):
        totals.append(record.total_reward)
        if progress is not None:
            progress(record.t - reported)
            reported = record.t
    return Finished(run, np.array(totals))
