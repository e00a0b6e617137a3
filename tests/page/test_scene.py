"""Any task drawn."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from everlearn.agents.registry import make_design
from everlearn.page.explanation import explain
from everlearn.page.run import ReferenceRun
from everlearn.page.scene import describe, draw
from everlearn.tasks.portrait import words
from everlearn.tasks.registry import TASKS, make_task
from tests.few import TASKS_OF_EVERY_KIND, few
from tests.worlds import shop


def test_few_states_have_their_names_below_them():
    drawn = draw(ReferenceRun(shop().finish(), make_design("growing-horizon"), 1), None)
    assert all(f">{name}</text>" in drawn for name in ("start", "idle", "busy"))


@pytest.mark.parametrize("name", few(TASKS, TASKS_OF_EVERY_KIND))
def test_every_task_is_drawn_and_says_where_the_agent_is(name):
    task = make_task(name)
    run = ReferenceRun(task, make_design("growing-horizon"), 1)
    for steps in (0, 1, 30):
        run.advance(steps)
        root = ElementTree.fromstring(draw(run, explain(run)))
        assert root.get("role") == "img"
        assert root.get("aria-label")
        assert all(0 <= float(one.get("cx", 0)) <= 420 for one in root.iter())
    if name != "service-station":
        drawn = "".join(root.itertext())
        seen = run.latest.experience
        assert f"aleatoric state {task.portrait.name(task.states[run.aleatoric_state])}." in describe(run, explain(run))
        assert words(task.actions[seen.action])[:10] in drawn
        assert sum("here" in one.get("class", "") and one.tag == "circle" for one in root.iter()) in (0, 1)
