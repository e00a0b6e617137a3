"""What an agent knows as a table."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from everlearn.agents.registry import AGENTS, make_design
from everlearn.page.knowledge import MOST_ROWS, draw_table, look, numbers
from everlearn.page.run import ReferenceRun
from everlearn.tasks.registry import make_task
from tests.few import AGENTS_OF_EVERY_KIND, few


def watch(agent="growing-horizon", task="service-station", **parameters) -> ReferenceRun:
    schedule = "smooth" if agent == "growing-horizon" else None
    return ReferenceRun(make_task(task, parameters), make_design(agent, duration=1000, schedule=schedule), 1)


def test_a_step_changes_one_count_and_marks_it():
    run = watch()
    for _ in range(40):
        before = look(run)
        run.advance(1)
        text = draw_table(run, look(run), before)
        assert len(re.findall('class="count rose"', text)) == 1
        assert len(re.findall('class="count fell"', text)) == 0
        s, a = run.latest.experience.aleatoric_state, run.latest.experience.action
        rows = re.findall(r"<tr.*?</tr>", text)[1:]
        cells = re.findall(r"<td>.*?</td>", rows[s])
        assert 'class="count rose"' in cells[a]


def test_it_is_a_table_with_heads_that_says_where_the_agent_is():
    run = watch()
    run.advance(500)
    root = ElementTree.fromstring(f"<div>{draw_table(run, look(run), None)}</div>")
    assert [one.text for one in root.iter("th")] == ["state", "fast", "slow", "nobody is there", "a customer is there"]
    assert [row.get("aria-current") for row in root.iter("tr")].count("true") == 1
    shown = [float(one.text.replace(",", "")) for one in root.iter("span") if one.get("class") == "count"]
    assert sum(shown) == 500


def test_nothing_is_marked_the_first_time_or_when_nothing_changed():
    run = watch()
    run.advance(10)
    known = look(run)
    for before in (None, known):
        assert "rose" not in draw_table(run, known, before)


def test_of_many_states_those_about_the_present_one_are_shown():
    run = watch(task="garnet", states=300)
    run.advance(50)
    known = look(run)
    assert len(known.states) == MOST_ROWS
    assert run.aleatoric_state in known.states
    assert "276 more states are not shown" in draw_table(run, known, None)


@pytest.mark.parametrize("agent", few(AGENTS, AGENTS_OF_EVERY_KIND))
def test_every_agent_has_something_to_show(agent):
    run = watch(agent)
    run.advance(60)
    text = draw_table(run, look(run), look(run))
    ElementTree.fromstring(f"<div>{text}</div>")
    assert "<td>" in text or "<dd>" in text


def test_before_the_first_step_there_is_no_step_size():
    assert [value for _, value, _ in numbers(watch().now, None)] == ["1.5", "0.3333", "0.3663", "–"]
