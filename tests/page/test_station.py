"""The station drawn as a station."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from everlearn.agents.registry import make_design
from everlearn.page.run import CompiledRun, ReferenceRun
from everlearn.page.station import Condition, describe, draw, read
from everlearn.tables import make_table
from everlearn.tasks.registry import make_task


def watch(task_parameters=None, policy="slow", task="service-station") -> CompiledRun:
    made = make_task(task, task_parameters)
    return CompiledRun(
        made, make_design("always", {"policy": policy}), 1, make_table(made, eager=64), ThreadPoolExecutor(1)
    )


def test_what_is_drawn_is_what_happened():
    """The customer is there when the aleatoric state says so; W follows from the services as they were served."""
    run = watch({"window": 4})
    served, clock = [], 0
    for _ in range(400):
        run.advance(1)
        seen = run.task.observations[run.latest.experience.observation]
        clock += 1
        if "departure" in seen:
            served.append(min(clock, 5))
        if "arrival" in seen:
            clock = 0
        found = read(run)
        longest = max(served[-4:], default=1)
        assert found.present == (run.task.states[run.aleatoric_state] == 1)
        assert found.longest == longest
        assert found.arrival == pytest.approx(min(1, 0.1 + 0.9 * 2.718281828 ** (-10 * (longest - 1))))
        assert found.waited == (min(clock, 4) if found.present else 0)
        assert all(served[-ago] >= steps for ago, steps in found.services)
        assert (found.mode, found.window) == ("slow", 4)


def test_before_anything_happened_it_has_no_mode():
    found = read(watch())
    assert (found.mode, found.present, found.longest, found.arrival) == (None, False, 1, 1.0)
    assert "has not begun" in describe(found)


def test_another_task_is_no_station():
    assert read(watch(task="riverswim", policy="right")) is None
    namesake = replace(make_task("riverswim"), name="service-station")
    assert read(ReferenceRun(namesake, make_design("always"), 0)) is None


@pytest.mark.parametrize("window", [1, 12, 100])
@pytest.mark.parametrize("present", [True, False])
def test_it_is_well_formed_says_itself_and_stays_inside(present, window):
    condition = Condition(present, 3, "slow", 4, 0.1, ((1, 4), (window, 2)) if window > 1 else (), window)
    root = ElementTree.fromstring(draw(condition))
    assert root.get("aria-label") == describe(condition)
    assert "probability 0.1" in describe(condition)
    for element in root.iter():
        assert 0 <= float(element.get("x", 0)) <= 420
        assert 0 <= float(element.get("y", 0)) <= 310
    faces = [element.get("class").split()[1] for element in root.iter("circle") if "face" in element.get("class")]
    assert faces == (["sour", *["blank"] * (window - 2), "sour"] if window > 1 else ["happy"])
    drawn = "".join(root.itertext())
    assert ("nobody" in drawn) != present
    assert "SLOW" in drawn


def test_the_crowd_is_as_large_as_the_next_customer_is_probable():
    likely, unlikely = (draw(Condition(True, 0, "fast", 1, p, (), 12)) for p in (1.0, 0.1))
    assert (likely.count('class="passer away"'), unlikely.count('class="passer away"')) == (0, 8)
