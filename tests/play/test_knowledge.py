"""What an agent knows as a table."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from everlearn.agents.registry import AGENTS, make_design
from everlearn.play.interpreted import Interpreted
from everlearn.play.knowledge import MOST_ROWS, look, numbers, table
from everlearn.tasks.registry import make_task


def watch(agent="growing-horizon", task="service-station", **parameters) -> Interpreted:
    schedule = "smooth" if agent == "growing-horizon" else None
    return Interpreted(make_task(task, parameters), make_design(agent, duration=1000, schedule=schedule), 1)


def test_a_step_changes_one_count_and_marks_it():
    stream = watch()
    for _ in range(40):
        before = look(stream)
        stream.advance(1)
        text = table(stream, look(stream), before)
        assert len(re.findall('class="count rose"', text)) == 1
        assert len(re.findall('class="count fell"', text)) == 0
        s, a = stream.taken.experience.aleatoric_state, stream.taken.experience.action
        rows = re.findall(r"<tr.*?</tr>", text)[1:]
        cells = re.findall(r"<td>.*?</td>", rows[s])
        assert 'class="count rose"' in cells[a]


def test_it_is_a_table_with_heads_that_says_where_the_agent_is():
    stream = watch()
    stream.advance(500)
    root = ElementTree.fromstring(f"<div>{table(stream, look(stream), None)}</div>")
    assert [one.text for one in root.iter("th")] == ["state", "fast", "slow", "0: nobody", "1: customer"]
    assert [row.get("aria-current") for row in root.iter("tr")].count("true") == 1
    shown = [float(one.text.replace(",", "")) for one in root.iter("span") if one.get("class") == "count"]
    assert sum(shown) == 500


def test_nothing_is_marked_the_first_time_or_when_nothing_changed():
    stream = watch()
    stream.advance(10)
    known = look(stream)
    for before in (None, known):
        assert "rose" not in table(stream, known, before)


def test_of_many_states_those_about_the_present_one_are_shown():
    stream = watch(task="garnet", states=300)
    stream.advance(50)
    known = look(stream)
    assert len(known.states) == MOST_ROWS
    assert stream.aleatoric_state in known.states
    assert "276 more states are not shown" in table(stream, known, None)


@pytest.mark.parametrize("agent", AGENTS)
def test_every_agent_has_something_to_show(agent):
    stream = watch(agent)
    stream.advance(60)
    text = table(stream, look(stream), look(stream))
    ElementTree.fromstring(f"<div>{text}</div>")
    assert "<td>" in text or "<dd>" in text


def test_before_the_first_step_there_is_no_step_size():
    assert [value for _, value, _ in numbers(watch().now, None)] == ["1.5", "0.3333", "0.3663", "–"]
