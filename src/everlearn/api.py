"""The functions that most users need: run an agent on a task, run an experiment, search for parameters."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, TypeVar

from everlearn.agents.agent import Agent
from everlearn.agents.knowledge import copied
from everlearn.agents.spec import read_specs
from everlearn.calls import explained
from everlearn.engine.memory import refuse_beyond_memory
from everlearn.engine.plan import Plan, Progress
from everlearn.engine.runner import simulate, table_for
from everlearn.protocol import Knowledge
from everlearn.registry import MOST_STEPS, plain, whole
from everlearn.results.references import References
from everlearn.results.result import Result
from everlearn.tables import MOST_PAIRS
from everlearn.tasks.task import Task

if TYPE_CHECKING:
    from everlearn.experiments.execute import Watcher
    from everlearn.experiments.experiment import Experiment
    from everlearn.experiments.work import Workforce
    from everlearn.tuning.tuned import Tuned

Finished = TypeVar("Finished")


@explained("el.run(task, agent, steps=...)")
def run(
    task: object,
    agent: object = None,
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
    finished: Callable[[Agent], object] | None = None,
) -> Result:
    """Run an agent on a task, several times independently, and return the result.

    Parameters
    ----------
    task:
        registry name, ``module:attribute``, or object
    agent:
        registry name, ``module:attribute``, or object; by default ``versatile``; if a schedule is named, or
        one of its parameters is set, ``growing-horizon``
    schedule:
        registry name, ``module:attribute``, or object, for agents that take one; by default ``practical``
    steps:
        number of steps per run
    runs:
        number of independent runs
    seed:
        the random seed
    engine:
        ``reference``, ``compiled``, or ``auto``: the compiled engine if possible, otherwise the reference engine
    threads:
        number of threads of the compiled engine; by default the number of cores. Results do not depend on it.
    max_pairs:
        maximum number of pairs (memory, aleatoric state) that the compiled engine stores; if the runs visit more, an
        error is raised
    parameters:
        parameters by name: ``task.NAME``, ``agent.NAME`` and ``schedule.NAME``, as in
        ``{"task.window": 6, "schedule.horizon_scale": 3}``
    progress:
        function that is called repeatedly with the number of steps since the last call
    finished:
        function that is called once at the end.  Its argument is an agent with the knowledge of the first run, as in
        ``finished=lambda agent: print(agent.explain())``

    Examples
    --------
    >>> result = run("service-station", "growing-horizon", schedule="smooth", steps=2000, runs=2, seed=1)
    >>> result.times[-1], result.average_reward.shape == result.times.shape
    (np.int64(2000), True)

    """
    task_spec, agent_spec = read_specs(task, agent, schedule, parameters)
    length = whole(steps, "steps", least=1, most=MOST_STEPS)
    made_task, design = task_spec.make(), agent_spec.make(duration=length)
    plan = Plan(made_task, design, length, whole(runs, "runs", least=1), whole(seed, "seed"))
    refuse_beyond_memory([plan])
    pairs = whole(max_pairs, "max_pairs", least=1)
    workers = None if threads is None else whole(threads, "threads", least=1)
    table = table_for(plan, engine, pairs)
    began = time.perf_counter()
    curves = simulate(plan, table, threads=workers, progress=progress, finished=_hand_over(plan, finished))
    seconds = time.perf_counter() - began
    timetable = design.schedule
    named = [("task", made_task.parameters), ("agent", design.parameters)]
    if timetable is not None:
        named.append(("schedule", timetable.parameters))
    return Result(
        task=task if isinstance(task, str) else made_task.name,
        agent=design.name,
        schedule=None if timetable is None else timetable.name,
        parameters={f"{kind}.{key}": plain(value) for kind, values in named for key, value in values.items()},
        steps=plan.steps,
        runs=plan.runs,
        seed=plan.seed,
        engine="reference" if table is None else "compiled",
        scaling=design.scaling(made_task.reward),
        times=curves.times,
        total_reward=curves.total_reward,
        policies=curves.policies,
        pairs=None if table is None else table.expanded,
        references=References(made_task.references, partial(_best_averages, made_task)),
        seconds=seconds,
    )


def _hand_over(plan: Plan, finished: Callable[[Agent], object] | None) -> Callable[[Knowledge], object] | None:
    """Return a function that puts knowledge into an agent and passes this to another function."""
    if finished is None:
        return None

    def hand_over(knowledge: Knowledge) -> None:
        agent = Agent(plan.task, plan.design, seed=plan.seed)
        agent.knowledge, agent.t = copied(knowledge), plan.steps
        finished(agent)

    return hand_over


def _best_averages(task: Task) -> dict[str, float]:
    from everlearn.experiments.references import reference_lines

    return reference_lines(task)


@explained("el.experiment(tasks, agents, steps=...)")
def experiment(
    tasks: object,
    agents: object,
    *,
    steps: float = 100_000,
    runs: int = 1,
    seed: int = 0,
    out: str | Path | None = None,
    threads: int | None = None,
    cluster: str | None = None,
    watcher: Watcher | None = None,
    **others: Any,
) -> Experiment:
    """Run several agents on several tasks, and return an experiment with tables, comparisons and figures.

    Parameters
    ----------
    tasks:
        one item or a list; an item is a name, ``module:attribute``, an object, or a mapping with the keys of a spec
    agents:
        one item or a list, as for ``tasks``; a mapping may be ``{"name": "growing-horizon", "schedule": ["smooth",
        "change-points"], "label": "ours"}``
    steps:
        number of steps per run
    runs:
        number of independent runs (of each agent on each task)
    seed:
        the random seed
    out:
        directory to store the experiment in. If you pass the same directory again, the experiment is resumed and only
        new parts run
    threads:
        number of threads; results do not depend on it
    cluster:
        address of a cluster to run on instead; results do not depend on it
    watcher:
        object that receives progress reports
    others:
        further keys of a spec: ``name``, ``recording``, ``engine``, ``max_pairs``

    Examples
    --------
    >>> river = experiment("riverswim", ["growing-horizon", "always"], steps=1000, runs=4, seed=1)
    >>> river.table(["final"])[0]["units"]  # the number of runs
    4

    """
    from everlearn.experiments.execute import execute
    from everlearn.experiments.experiment import Experiment
    from everlearn.experiments.spec import read_spec

    document = {"steps": steps, "runs": runs, "seed": seed, "task": _listed(tasks), "agent": _listed(agents)}
    spec = read_spec({**document, **others})
    force = workforce(threads, cluster)

    def run_in(folder: str | Path) -> Experiment:
        execute(spec, folder, workforce=force, watcher=watcher)
        return Experiment(folder, temporary=out is None)

    return _in_folder(out, run_in)


@explained("el.tune(spec, out=...)")
def tune(
    spec: str | Path | Mapping[str, Any],
    *,
    out: str | Path | None = None,
    threads: int | None = None,
    cluster: str | None = None,
    watcher: Watcher | None = None,
) -> Tuned:
    """Search for good parameters of an agent on tasks, and return the result.

    Parameters
    ----------
    spec:
        a TOML file, or a mapping with the keys of one: ``agent``, ``task``, ``search``, ``steps``, and optional keys
    out:
        directory to store the search in. If you pass the same directory again, the search is resumed
    threads:
        number of threads; results do not depend on it
    cluster:
        address of a cluster to run on instead; results do not depend on it
    watcher:
        object that receives progress reports

    Examples
    --------
    >>> tuned = tune({"steps": 200, "runs": 2, "candidates": 3, "final_runs": 4, "task": "riverswim",
    ...               "agent": "growing-horizon", "search": {"schedule.optimism_scale": [0.1, 0.2, 0.44]}})
    >>> [row["candidate"] for row in tuned.table()][-1]
    'default'

    """
    from everlearn.tuning.spec import load_tuning, read_tuning
    from everlearn.tuning.tuned import search

    tuning = read_tuning(spec) if isinstance(spec, Mapping) else load_tuning(spec)
    force = workforce(threads, cluster, tuning.experiment.folder)
    return _in_folder(out, lambda folder: search(tuning, folder, workforce=force, watcher=watcher))


def _in_folder(out: str | Path | None, run_in: Callable[[str | Path], Finished]) -> Finished:
    """Run something in ``out``, by default in a temporary folder that is removed together with what is returned."""
    if out is not None:
        return run_in(out)
    folder = mkdtemp(prefix="everlearn-")
    try:
        finished = run_in(folder)
    except BaseException:
        rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(finished, rmtree, folder, ignore_errors=True)
    return finished


def workforce(threads: int | None = None, cluster: str | None = None, folder: str | None = None) -> Workforce:
    """Return the workforce: the threads of this machine, or the cluster at an address.

    ``folder`` is the folder of the user's own modules, for workers that can read the same disk.
    """
    if cluster is None:
        from everlearn.experiments.work import Threads

        return Threads(None if threads is None else whole(threads, "threads", least=1))
    from everlearn.cluster.workforce import Cluster

    return Cluster(cluster, threads, folder)


def _listed(given: object) -> Sequence[object]:
    return list(given) if isinstance(given, list | tuple) else [given]
