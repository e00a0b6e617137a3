"""What most people call: one function that runs an agent on a task and returns the result."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from everlearn.agents.agent import split, whole
from everlearn.agents.registry import make_design
from everlearn.engine.plan import Plan, Progress
from everlearn.engine.runner import choose_engine, simulate
from everlearn.engine.table import MOST_PAIRS
from everlearn.results.result import Result
from everlearn.tasks.registry import make_task


def run(
    task: object,
    agent: object = "growing-horizon",
    *,
    schedule: object = None,
    steps: float = 100_000,
    runs: int = 1,
    seed: int = 0,
    engine: str = "auto",
    threads: int | None = None,
    max_pairs: float = MOST_PAIRS,
    parameters: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Result:
    """Run an agent on a task, several times independently, and return the result.

    Parameters
    ----------
    task, agent, schedule:
        registry names, ``module:attribute``, or the things themselves
    steps, runs, seed:
        how long, how often, and from which seed
    engine:
        ``reference``, ``compiled``, or ``auto`` for the fastest that can do it
    threads:
        how many threads the compiled engine uses; as many as there are cores unless given.  It changes no result.
    max_pairs:
        how many pairs of a memory and an aleatoric state the compiled engine may expand
    parameters:
        of task, agent and schedule, as in ``{"task.window": 6, "agent.phase": 1e4, "schedule.horizon_scale": 3}``
    progress:
        called now and then with the number of steps done since it was last called

    Examples
    --------
    >>> result = run("service-station", "growing-horizon", schedule="smooth", steps=2000, runs=2, seed=1)
    >>> result.times[-1], result.average_reward.shape == result.times.shape
    (np.int64(2000), True)

    """
    chosen = split(parameters or {})
    length = whole(steps, "steps", least=1)
    made_task = make_task(task, chosen["task"])
    design = make_design(agent, chosen["agent"], schedule=schedule, schedule_chosen=chosen["schedule"], duration=length)
    plan = Plan(made_task, design, length, whole(runs, "runs", least=1), whole(seed, "seed"))
    working = choose_engine(plan, engine)
    pairs = whole(max_pairs, "max_pairs", least=1)
    workers = None if threads is None else whole(threads, "threads", least=1)
    began = time.perf_counter()
    expanded: list[int] = []
    options = {"threads": workers, "max_pairs": pairs, "progress": progress, "expanded": expanded.append}
    finished = list(simulate(plan, working, **options))  # type: ignore[arg-type]  # as their names say
    seconds = time.perf_counter() - began
    timetable = design.schedule
    named = [("task", made_task.parameters), ("agent", design.parameters)]
    if timetable is not None:
        named.append(("schedule", timetable.parameters))
    return Result(
        task=task if isinstance(task, str) else made_task.name,
        agent=design.name,
        schedule=None if timetable is None else timetable.name,
        parameters={f"{kind}.{key}": _plain(value) for kind, values in named for key, value in values.items()},
        steps=plan.steps,
        runs=plan.runs,
        seed=plan.seed,
        engine=working,
        scaling=made_task.reward.scaling,
        times=plan.times,
        total_reward=np.array([one.total_reward for one in finished]),
        policies=None if finished[0].policies is None else np.array([one.policies for one in finished]),
        pairs=expanded[0] if expanded else None,
        references=dict(made_task.references),
        seconds=seconds,
    )


def _plain(value: Any) -> Any:
    """Return a parameter as JSON can hold it."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return value if value is None or isinstance(value, bool | int | float | str | list) else repr(value)
