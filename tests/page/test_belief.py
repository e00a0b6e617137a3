"""What an agent believes, against what it keeps."""

from __future__ import annotations

import re

import pytest

from everlearn.agents.spec import AgentSpec, TaskSpec
from everlearn.page import belief, knowledge
from everlearn.page.configuration import Configuration
from everlearn.page.explanation import explain
from everlearn.page.race import Workshop
from everlearn.page.start import open_workshop


@pytest.fixture(scope="module")
def workshop():
    return Workshop()


def run_of(workshop, agent, steps, task="service-station"):
    race = workshop.race(Configuration(TaskSpec(task), (agent,)).checked())
    race.advance(steps)
    return race.runs[0]


def test_the_bars_are_the_values_the_best_first(workshop):
    run = run_of(workshop, AgentSpec("growing-horizon", "practical"), 2000)
    known = knowledge.look(run)
    values = known.tables["Q"][known.states.index(run.aleatoric_state)]
    drawn = [float(text.replace(",", "")) for text in re.findall(r"<b>([-\d.,]+)</b><small>", belief.draw(run, known))]
    assert drawn == pytest.approx(sorted(values, reverse=True), abs=0.005)
    widths = [float(text) for text in re.findall(r'<i style="width:([\d.]+)%', belief.draw(run, known))]
    assert widths == sorted(widths, reverse=True)
    assert all(0 < width <= 100 for width in widths)


def test_the_bonus_is_that_of_the_next_visit(workshop):
    """As the explanation of the step has it, once that visit has been made."""
    run = run_of(workshop, AgentSpec("growing-horizon", "smooth"), 500)
    state, known = run.aleatoric_state, knowledge.look(run)
    run.advance(1)
    update = explain(run).update
    action = run.latest.experience.action
    assert belief._bonus(run, known, known.states.index(state), action) == pytest.approx(update.bonus, rel=1e-9)


def test_an_agent_without_values_says_so(workshop):
    run = run_of(workshop, AgentSpec("always"), 10)
    assert "keeps no values" in belief.draw(run, knowledge.look(run))


@pytest.mark.soak
def test_an_agent_of_ones_own_is_told_how_to_show_values():
    workshop = open_workshop("service-station", "examples.own_agent:r_learning")
    race = workshop.race(workshop.start)
    drawn = belief.draw(race.runs[0], knowledge.look(race.runs[0]))
    assert "pass <code>values=</code> or <code>inspect=</code> to <code>el.Design</code>" in drawn
    assert "keeps no" not in drawn
