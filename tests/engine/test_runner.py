"""Runs, each with its own streams, in the reference engine."""

from __future__ import annotations

import numpy as np

from everlearn.agents.agent import Agent
from everlearn.agents.registry import make_design
from everlearn.engine import runner
from everlearn.engine.plan import Plan
from everlearn.engine.reference import ReferenceLoop
from everlearn.engine.runner import choose_engine, simulate
from everlearn.tables import settled_table
from everlearn.tasks.registry import make_task
from tests.worlds import environment_stream


def test_each_run_is_the_reference_loop_on_its_own_streams():
    plan = Plan(make_task("service-station"), make_design("growing-horizon"), 200, 3, 7)
    curves = simulate(plan, None)
    for run in range(3):
        agent = Agent(plan.task, plan.design, seed=7, run=run)
        loop = ReferenceLoop(plan.task.start(environment_stream(7, run)), agent, agent.indexed)
        for t, total_reward, policy in zip(plan.times, curves.total_reward[run], curves.policies[run], strict=True):
            loop.advance(t)
            assert loop.total_reward == total_reward
            assert np.array_equal(agent.policy, policy)


def test_progress_is_told_as_it_is_made():
    plan, told = Plan(make_task("service-station"), make_design("always"), 50, 2, 0), []
    simulate(plan, None, progress=told.append)
    assert sum(told) == 100
    assert len(told) >= 4  # at least twice per run


def test_a_table_that_is_there_is_not_made_again(monkeypatch):
    plan = Plan(make_task("service-station", {"window": 2}), make_design("always"), 50, 2, 0)
    table = settled_table(plan.task)
    monkeypatch.setattr(runner, "make_table", None)
    assert choose_engine(plan, "auto", table) == "compiled"
