"""What theory says of a task, against the theory itself."""

from __future__ import annotations

import pytest

import everlearn as el
from everlearn.play import facts
from everlearn.play.facts import find_facts
from everlearn.tasks.registry import make_task


@pytest.mark.parametrize("name", ["riverswim", "alternating", "aggregation", "t-maze"])
def test_the_facts_are_those_of_the_theory(name):
    found, theory = find_facts(make_task(name)), el.Theory(name)
    told = {fact.name: fact.value for fact in found.facts}
    assert float(told["λ*"]) == pytest.approx(theory.optimal_average_reward, abs=1e-5)
    assert float(told["distortion at horizon 10"]) == pytest.approx(theory.distortion(10).value, rel=1e-3, abs=1e-9)
    assert found.lines["optimum"] == theory.optimal_average_reward
    best = theory.best_aleatoric.average_reward
    assert found.lines.get("best aleatoric policy", found.lines["optimum"]) == pytest.approx(best, abs=1e-8)
    assert found.refusal == ""


def test_a_task_that_is_too_large_keeps_the_lines_that_it_tells(monkeypatch):
    monkeypatch.setattr(facts, "MOST_PAIRS", 100)
    task = make_task("service-station")
    found = find_facts(task)
    assert found.facts == ()
    assert "100" in found.refusal
    assert found.lines == task.references
