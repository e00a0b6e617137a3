"""Memory is counted before it is taken; nothing here takes any."""

from __future__ import annotations

import pytest

import everlearn as el
from everlearn import tables
from everlearn.agents.registry import make_design
from everlearn.engine import memory
from everlearn.engine.memory import MEMORY, OVERHEAD, bytes_known, need, refuse_beyond_memory
from everlearn.engine.plan import Plan
from everlearn.errors import InputError, TableFull
from everlearn.machine import cores
from everlearn.tables import ArrayTable, PairTable
from everlearn.tasks.indexed import IndexedTask
from everlearn.tasks.registry import make_task
from tests.worlds import random_mdp, shop

STATION = make_task("service-station")


def plan_of(runs: int, agent: str = "q-learning", steps: int = 1000) -> Plan:
    return Plan(STATION, make_design(agent), steps, runs, 0)


def test_what_is_recorded_is_counted_as_it_is_allocated():
    plan = plan_of(3)
    policies = plan.blank_curves(1).policies
    assert need(plan, 0).per_run == OVERHEAD + 2 * (8 * plan.times.size + policies.nbytes)
    assert need(plan, 0).total == 3 * need(plan, 0).per_run


@pytest.mark.parametrize(
    ("runs", "known", "batch"),
    [(10, 100, 1000), (10**9, 1000, MEMORY), (10**9, MEMORY, 2 * MEMORY), (1, 3 * MEMORY, 3 * MEMORY)],
)
def test_knowledge_is_that_of_the_runs_that_advance_together(runs, known, batch):
    plan = plan_of(runs)
    assert need(plan, known, workers=2).total - need(plan, 0).total == batch


def test_the_table_of_a_task_that_is_made_from_arrays():
    task = random_mdp(1)
    made, plan = ArrayTable(task), Plan(task, make_design("q-learning"), 10, 1, 0)
    assert need(plan, 0).total - need(plan, 0).per_run == made.rows.nbytes + made.probabilities.nbytes
    assert tables.OUTCOME_BYTES == 48


def test_what_fits_is_run(monkeypatch):
    plans = [plan_of(4), plan_of(4, "always")]
    taken = [need(plan, bytes_known(plan.design, IndexedTask(STATION)), cores()).total for plan in plans]
    rows = sum(64 * plan.times.size * plan.runs for plan in plans)
    for jobs, total in ((1, max(taken) + rows), (2, sum(taken) + rows)):
        monkeypatch.setattr(memory, "available", lambda total=total: total)
        refuse_beyond_memory(plans, jobs=jobs, row=64)
        monkeypatch.setattr(memory, "available", lambda total=total: total - 1)
        with pytest.raises(InputError):
            refuse_beyond_memory(plans, jobs=jobs, row=64)


@pytest.mark.parametrize(
    "asked",
    [
        lambda: el.run(STATION, "always", runs=10**12),
        lambda: el.experiment(STATION, "always", runs=10**12),
        lambda: el.tune({**SEARCH, "runs": 10**12}),
        lambda: el.tune({**SEARCH, "final_runs": 10**12}),
    ],
    ids=["run", "compare", "tune", "tune at last"],
)
def test_too_many_runs_are_refused_before_any_work(asked):
    with pytest.raises(InputError) as caught:
        asked()
    assert (caught.value.argument, caught.value.value) == ("runs", 10**12)


SEARCH = {
    "steps": 100,
    "candidates": 2,
    "task": "service-station",
    "agent": "growing-horizon",
    "search": {"schedule.horizon_scale": [12, 24]},
}


def test_an_agent_that_knows_too_much(monkeypatch):
    monkeypatch.setattr(memory, "bytes_known", lambda *_: 10**15)
    with pytest.raises(InputError) as caught:
        el.run(STATION, "always")
    assert (caught.value.argument, caught.value.value) == ("task", "service-station")


def test_an_agent_that_cannot_even_begin(monkeypatch):
    def build(*_):
        raise MemoryError("no room")

    monkeypatch.setattr(memory, "build_knowledge", build)
    with pytest.raises(InputError) as caught:
        bytes_known(make_design("always"), IndexedTask(STATION))
    assert caught.value.argument == "agent"


def test_a_table_that_grows_beyond_what_there_is(monkeypatch):
    grown = PairTable(shop().finish())
    monkeypatch.setattr(tables, "available", lambda: 10**9)
    grown._refuse_beyond_memory(10**9 // tables.OUTCOME_BYTES)
    with pytest.raises(TableFull):
        grown._refuse_beyond_memory(10**9 // tables.OUTCOME_BYTES + 1)
