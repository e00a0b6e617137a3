"""The update written out is what the agent did, and what the paper says."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from everlearn.agents.registry import AGENTS, SCHEDULES, make_design
from everlearn.page.explanation import explain
from everlearn.page.run import CompiledRun, ReferenceRun
from everlearn.tables import make_table
from everlearn.tasks.registry import make_task
from tests.few import AGENTS_OF_EVERY_KIND, few

TASKS = {name: make_task(name) for name in ("service-station", "riverswim")}
TABLES = {id(task): make_table(task, eager=64) for given in TASKS.values() for task in (given, given.scaled)}


@pytest.fixture(scope="module")
def pool():
    with ThreadPoolExecutor(2) as made:
        yield made


def begin(pool, agent="growing-horizon", task="service-station", **chosen) -> CompiledRun:
    design = make_design(agent, duration=1000, **chosen)
    return CompiledRun(TASKS[task], design, 1, TABLES[id(design.view(TASKS[task]))], pool)


def test_nothing_is_explained_before_anything_happened(pool):
    assert explain(begin(pool)) is None


def test_the_first_step_by_hand(pool):
    """Smooth at t = 1: tau = 1.5, beta = 0.44 sqrt(log 2); Q = 1 + 1.5 everywhere; alpha = 1 at the first visit.

    At the station of the paper the first customer comes for certain, and pays 1.
    """
    run = begin(pool, schedule="smooth")
    run.advance(1)
    found = explain(run)
    update = found.update
    beta = 0.44 * math.sqrt(math.log(2))
    assert (found.t, found.aleatoric_state, found.observation, found.following) == (
        1,
        "nobody is there",
        "arrival",
        "a customer is there",
    )
    assert (update.reward, update.step_size, update.count, update.horizon, update.shift) == (1.0, 1.0, 1.0, 1.5, 1.5)
    assert update.value == update.following == 2.5
    assert update.discount == pytest.approx(1 / 3)
    assert update.bonus == pytest.approx(beta)
    assert update.unclipped == pytest.approx(1 + 2.5 / 3 + beta)
    assert update.clipped
    assert update.after == pytest.approx(1.5)


@pytest.mark.parametrize("task", few(TASKS, ["service-station"]))
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_terms_make_up_what_the_agent_did(pool, schedule, task):
    """The right-hand side from the terms, against the value that the agent tells after its own update."""
    run = begin(pool, schedule=schedule, task=task)
    clipped = 0
    for number in range(200):
        before = run.known(range(len(TASKS[task].states)))["N"]
        run.advance(1 if number % 4 else 37)
        found = explain(run)
        update = found.update
        assert update is not None
        right = (1 - update.step_size) * update.value + update.step_size * (
            update.reward + update.discount * update.following + update.bonus
        )
        assert update.after == pytest.approx(min(right, update.horizon), rel=1e-9)
        states = range(len(TASKS[task].states))
        s, a = run.latest.experience.aleatoric_state, run.latest.experience.action
        assert update.after == pytest.approx(run.known(states)["Q"][s, a], rel=1e-12)
        assert update.count == run.known(states)["N"][s, a]
        assert schedule == "change-points" or update.count >= before[s, a] + 1
        raw = schedule == "practical" and task == "service-station"  # profit from -0.5 to 1, brought into [0, 1]
        assert update.reward == pytest.approx((found.reward + 0.5) / 1.5 if raw else found.reward)
        clipped += update.clipped
    assert clipped < 200 or schedule == "change-points"  # whose optimism is that of the theorem


def test_what_cannot_be_told_is_left_over_for_another_bonus(pool):
    """An agent whose schedule says something else of the bonus than what it does: the rest is told, and named so."""
    run = begin(pool, schedule="practical")
    run.advance(300)
    told = explain(run).update
    run.design = replace(run.design, schedule=replace(run.design.schedule, rarity=5.0))
    found = explain(run).update
    assert "what is left" in found.bonus_from
    assert found.bonus == pytest.approx(told.bonus, rel=1e-6)


def test_an_update_that_is_not_the_papers_is_not_told_as_it(pool):
    run = begin(pool, schedule="smooth")
    run.advance(300)
    run.design = replace(run.design, schedule=replace(run.design.schedule, step_weight=9.0))
    found = explain(run)
    assert found.update is None
    assert [one.name for one in found.changes] == ["Q", "N"]


@pytest.mark.parametrize("agent", few(AGENTS, AGENTS_OF_EVERY_KIND))
def test_every_agent_tells_what_changed(agent):
    run = ReferenceRun(TASKS["service-station"], make_design(agent, duration=1000), 1)
    run.advance(100)
    found = explain(run)
    assert (found.update is not None) == (agent in ("growing-horizon", "discounted"))
    counts = [one for one in found.changes if one.name == "N"]
    assert all(one.after == one.before + 1 for one in counts)
