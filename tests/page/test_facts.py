"""What theory says of a task, against the theory itself."""

from __future__ import annotations

import pytest

import everlearn as el
from everlearn.page import facts
from everlearn.page.facts import find_facts
from everlearn.tasks.registry import make_task


@pytest.mark.parametrize("name", ["riverswim", "alternating", "aggregation", "t-maze"])
def test_the_facts_are_those_of_the_theory(name):
    found, theory = find_facts(make_task(name)), el.Theory(name)
    told = {fact.name: fact.value for fact in found.facts}
    assert float(told["λ*, optimum over all policies"]) == pytest.approx(theory.optimal_average_reward, abs=1e-5)
    assert float(told["distortion at horizon 10"]) == pytest.approx(theory.distortion(10).value, rel=1e-3, abs=1e-9)
    optimum = found.lines["optimum over all policies"]
    assert optimum == theory.optimal_average_reward
    best = theory.best_aleatoric.average_reward
    seen = [value for name, value in found.lines.items() if name.startswith("best over aleatoric states")]
    assert seen == pytest.approx([best] if optimum - best > 1e-8 else [], abs=1e-8)
    assert found.refusal == ""


def test_a_task_that_is_too_large_keeps_the_lines_that_it_tells(monkeypatch):
    monkeypatch.setattr(facts, "MOST_PAIRS", 100)
    task = make_task("service-station")
    found = find_facts(task)
    assert found.facts == ()
    assert "100" in found.refusal
    assert found.lines == facts.known_lines(task)


@pytest.mark.parametrize("name", ["riverswim", "alternating"])
def test_an_optimum_says_over_which_policies_it_is(name):
    """Every name that speaks of an optimum or a best policy, before anything was computed and after."""
    task = make_task(name)
    found = find_facts(task)
    names = [*facts.known_lines(task), *found.lines, *(fact.name for fact in found.facts)]
    spoken = [one for one in names if "optimum" in one or "best" in one]
    assert spoken
    assert all("over all policies" in one or "over aleatoric states" in one for one in spoken)
