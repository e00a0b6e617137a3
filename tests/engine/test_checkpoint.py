"""Runs that are stopped anywhere, parted, joined and put back go on as if never stopped, bit for bit."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import everlearn as el
from everlearn.agents.registry import make_design
from everlearn.engine.checkpoint import Checkpoint, merge
from everlearn.engine.compiled import CompiledBatch
from everlearn.engine.curves import Curves
from everlearn.engine.plan import Plan
from everlearn.engine.reference import ReferenceBatch
from everlearn.errors import SnapshotError
from everlearn.registry import locate, parameters
from everlearn.tables import AnyTable, PairTable, settled_table
from everlearn.tasks.registry import make_task
from tests.conformance.brief import brief_parameters
from tests.few import AGENTS_OF_EVERY_KIND, few
from tests.refusal import has
from tests.worlds import pendulum, random_mdp

EXAMPLES = Path(__file__).parents[2] / "examples"
STATION = make_task("service-station", {"window": 2})
WORLDS = {"station": STATION, "mdp": random_mdp(5, states=3, actions=2)}
"""Rows of three outcomes in both, so that they share compiled code."""
RUNS = 5


def plan_of(task: el.Task, agent: str, steps: int, seed: int = 1, schedule: str | None = None) -> Plan:
    known = parameters(locate(agent, el.AGENTS, "agent"))
    brief = {name.removeprefix("agent."): value for name, value in brief_parameters(agent).items()}
    design = make_design(agent, brief, schedule=schedule if "schedule" in known else None)
    return Plan(task, design, steps, RUNS, seed)


def stored(checkpoint: Checkpoint) -> Checkpoint:
    """A checkpoint as a file gives it back."""
    shared, each = json.loads(json.dumps([checkpoint.shared, checkpoint.each]))
    return replace(checkpoint, shared=shared, each=tuple(each))


class Engine:
    """Makes batches of one engine, and advances them."""

    def __init__(self, name: str, table: Callable[[el.Task], AnyTable] = settled_table) -> None:
        self.name, self.table = name, table

    def advanced(
        self, plan: Plan, runs: Sequence[int], checkpoint: Checkpoint | None, until: int, threads: int = 1
    ) -> Checkpoint:
        """The checkpoint of some runs at a time, from the beginning or from an earlier checkpoint."""
        if self.name == "reference":
            batch = ReferenceBatch(plan, runs, checkpoint)
        else:
            batch = CompiledBatch(plan, self.table(plan.task), runs, threads, checkpoint)
        with ThreadPoolExecutor(threads) as pool:
            for _ in batch.advance(pool, until=until):
                pass
        return stored(batch.checkpoint())


LAZY = Engine("compiled", lambda task: PairTable(task, eager=4))
"""Of four pairs, which is enough to see how many outcomes a row has."""
ENGINES = {"compiled": Engine("compiled"), "expanded as visited": LAZY, "reference": Engine("reference")}


def same(one: Checkpoint, other: Checkpoint) -> bool:
    """Whether two checkpoints are the same to the last bit."""
    plain = ("engine", "t", "runs", "shared", "each")
    names = [field.name for field in fields(Curves)]
    tables = [(getattr(one.curves, name), getattr(other.curves, name)) for name in names]
    tables += [(one.arrays[name], other.arrays[name]) for name in one.arrays]
    return (
        all(getattr(one, name) == getattr(other, name) for name in plain)
        and one.arrays.keys() == other.arrays.keys()
        and all(first.tobytes() == second.tobytes() for first, second in tables if first is not None)
    )


def stopped(engine: Engine, plan: Plan, stops: list[int], cuts: list[int], threads: int) -> Checkpoint:
    """Go through time, stopping now and then, each time with the runs parted at another place."""
    whole = None
    for stop, cut in zip([*stops, plan.steps], cuts, strict=True):
        parts = [runs for runs in (range(cut), range(cut, RUNS)) if runs]
        befores = [None if whole is None else whole.of(runs) for runs in parts]
        advanced = [engine.advanced(plan, *part, stop, threads) for part in zip(parts, befores, strict=True)]
        whole = merge(advanced)
    return whole


def check(engine: str, world: str, agent: str, schedule: str, steps: int, draw: st.DataObject) -> None:
    plan = plan_of(WORLDS[world], agent, steps, schedule=schedule)
    stops = sorted(draw.draw(st.sets(st.integers(1, steps - 1), max_size=3)))
    cuts = [draw.draw(st.integers(0, RUNS)) for _ in range(len(stops) + 1)]
    found = stopped(ENGINES[engine], plan, stops, cuts, draw.draw(st.integers(1, 3)))
    assert same(found, ENGINES[engine].advanced(plan, range(RUNS), None, steps))


anywhere = {
    "world": st.sampled_from(sorted(WORLDS)),
    "agent": st.sampled_from(sorted(el.AGENTS)),
    "schedule": st.sampled_from(sorted(el.SCHEDULES)),
    "draw": st.data(),
}
somewhere = {**anywhere, "agent": st.sampled_from(["growing-horizon", "tsde"]), "schedule": st.just("smooth")}
"""Few agents, since each is compiled anew for each kind of table."""
engines = pytest.mark.parametrize("engine", ENGINES)
fast = pytest.mark.parametrize("engine", few(ENGINES, ("compiled", "reference")))


@engines
@settings(max_examples=8)
@given(steps=st.integers(2, 300), **somewhere)
def test_stopped_anywhere_is_never_stopped(engine, world, agent, schedule, steps, draw):
    check(engine, world, agent, schedule, steps, draw)


@pytest.mark.soak
@engines
@settings(max_examples=75)
@given(steps=st.integers(2, 3000), **anywhere)
def test_stopped_anywhere_is_never_stopped_at_length(engine, world, agent, schedule, steps, draw):
    check(engine, world, agent, schedule, steps, draw)


@pytest.mark.parametrize("agent", few(sorted(el.AGENTS), AGENTS_OF_EVERY_KIND))
@fast
def test_every_agent_goes_on(engine, agent):
    steps = 120 if engine == "reference" else 400
    plan = plan_of(STATION, agent, steps)
    found = stopped(ENGINES[engine], plan, [63, 100], [2, 0, 4], threads=2)
    assert same(found, ENGINES[engine].advanced(plan, range(RUNS), None, steps))


@pytest.mark.parametrize("stop", few([1023, 1024, 1025, 5120], [1023, 1024]))
@pytest.mark.parametrize("schedule", sorted(el.SCHEDULES))
def test_stopped_where_a_stretch_ends(schedule, stop):
    plan, engine = plan_of(STATION, "growing-horizon", 6000, schedule=schedule), ENGINES["compiled"]
    found = stopped(engine, plan, [stop], [2, 3], threads=2)
    assert same(found, engine.advanced(plan, range(RUNS), None, 6000))


@engines
def test_a_schedule_in_which_everything_accumulates(engine):
    own = el.Schedule(lambda t: 2 + t**0.25, lambda t: 0.1, lambda t: 0.3 / t, lambda t: 0.0 if t % 90 == 0 else 0.99)
    plan = Plan(STATION, make_design("growing-horizon", schedule=own), 300, RUNS, 1)
    assert same(
        stopped(ENGINES[engine], plan, [89, 90, 200], [1, 2, 3, 4], threads=1),
        ENGINES[engine].advanced(plan, range(RUNS), None, 300),
    )


@pytest.mark.soak
def test_endless_memories_are_put_back_by_name(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import uncapped_station

    plan = plan_of(uncapped_station.station.finish(), "growing-horizon", 2500)
    found = stopped(LAZY, plan, [700, 1500], [2, 4, 0], threads=2)
    expected = LAZY.advanced(plan, range(RUNS), None, 2500)
    assert same(found, expected)
    assert all(isinstance(name, list) for name in found.each)


@engines
@pytest.mark.parametrize(("short", "long"), [(123, 300), (100, 101), (1, 50)], ids=str)
def test_a_finished_run_goes_on_in_a_longer_plan(engine, short, long):
    plans = [plan_of(STATION, "growing-horizon", steps) for steps in (short, long)]
    before = ENGINES[engine].advanced(plans[0], range(RUNS), None, short)
    assert same(
        ENGINES[engine].advanced(plans[1], range(RUNS), before, long),
        ENGINES[engine].advanced(plans[1], range(RUNS), None, long),
    )


def test_runs_may_be_put_back_in_another_order():
    plan, engine = plan_of(STATION, "growing-horizon", 200), ENGINES["compiled"]
    before = engine.advanced(plan, range(RUNS), None, 80).of([4, 0, 2])
    assert same(engine.advanced(plan, [4, 0, 2], before, 200), engine.advanced(plan, [4, 0, 2], None, 200))


def test_an_environment_that_cannot_be_saved_is_told():
    plan = plan_of(pendulum().finish(), "growing-horizon", 50)
    checkpoint = ENGINES["reference"].advanced(plan, range(RUNS), None, 20)
    assert not checkpoint.resumable
    with pytest.raises(SnapshotError, check=has(part="environment")):
        ReferenceBatch(plan, range(RUNS), checkpoint)


def test_what_was_recorded_until_other_times():
    plan = plan_of(STATION, "always", 123)
    checkpoint = ENGINES["compiled"].advanced(plan, range(RUNS), None, 123)
    curves = checkpoint.until(np.array([1, 10, 500]))
    assert (curves.total_reward.shape, curves.policies.shape[:2]) == ((RUNS, 2), (RUNS, 2))
    with pytest.raises(SnapshotError, check=has(part="curves")):
        checkpoint.until(np.array([1, 121]))
