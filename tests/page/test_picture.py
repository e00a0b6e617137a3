"""What the page shows, part by part."""

from __future__ import annotations

from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from everlearn.page import picture, scene
from everlearn.page.configuration import read_query
from everlearn.page.facts import Facts, find_facts
from everlearn.page.picture import Painter, write_theory
from everlearn.page.race import Workshop
from everlearn.page.run import SeenStep
from everlearn.tasks.registry import make_task


@pytest.fixture(scope="module")
def workshop():
    return Workshop()


@pytest.mark.soak
def test_every_part_is_well_formed_at_any_time(workshop):
    race = workshop.race(read_query("2.agent=q-learning&3.agent=always&4.agent=growing-horizon&4.schedule=smooth"))
    painter = Painter(lines={"a < b": 0.5})
    for steps in (0, 1, 1, 500):
        race.advance(steps)
        for name, text in painter.paint(race).items():
            ElementTree.fromstring(f"<div>{text}</div>"), name


@pytest.mark.soak
def test_what_changed_stays_marked_when_the_same_is_painted_again(workshop):
    race, painter = workshop.race(read_query("")), Painter()
    painter.paint(race)
    race.advance(1)
    first = painter.paint(race)
    painter.width = 400
    again = painter.paint(race)
    assert first["known0"] == again["known0"]
    assert first["known0"].count("count rose") == 1
    assert first["chart"] != again["chart"]


def test_moments_are_found_again_only_when_more_was_recorded(workshop, monkeypatch):
    race, painter, found = workshop.race(read_query("")), Painter(), []
    monkeypatch.setattr(picture, "find_moments", lambda run, _lines: found.append(run.t) or [])
    for t in (999, 1000, 1000, 1001, 1122):  # of these, 1000 and 1122 are recorded
        race.advance(t - race.t)
        painter.paint(race)
    assert found == [999, 1000, 1122]


def test_the_update_is_written_out_with_its_numbers(workshop):
    race = workshop.race(read_query("schedule=smooth"))
    race.advance(1)
    text = "".join(ElementTree.fromstring(f"<div>{Painter().paint(race)['explained0']}</div>").itertext())
    for part in (
        "Q(nobody is there, ",
        "min( 1.5, 0 · 2.5 + 1 · ( 1 + 0.33333 · 2.5 + 0.3663 ) )",
        "β / √N = 0.3663 / √1",
    ):
        assert part in text


def test_a_reward_that_was_scaled_says_so(workshop):
    """At the station, nothing earned is learned from as 1/3."""
    race, painter = workshop.race(read_query("seed=1")), Painter()
    texts = []
    for _ in range(12):
        race.advance(1)
        texts.append((race.runs[0].latest.reward, painter.paint(race)["explained0"]))
    assert {reward for reward, _ in texts} > {1.0}
    for reward, text in texts:
        assert ("scaled to [0, 1]" in text) == (reward != 1.0)
    assert "CLOSED" not in painter.paint(race)["drawing0"]


def test_names_from_outside_are_escaped(workshop):
    race = workshop.race(read_query("agent=always&agent.policy=fast"))
    race.configuration.agents[0].parameters["policy"] = "<script>"
    assert "<script>" not in Painter().paint(race)["chart"]


def test_theory_says_what_it_found_or_why_not():
    text = write_theory(find_facts(make_task("riverswim")))
    for part in ("λ*, optimum over all policies", "0.428622", "right everywhere", "averaging time", "horizon 100"):
        assert part in text
    assert "too large" in write_theory(Facts((), {}, "too large"))
    assert "Computing" in write_theory(None)


def test_a_scene_that_would_flicker_stays_and_is_drawn_now_and_then(workshop, monkeypatch):
    race, painter = workshop.race(read_query("seed=1")), Painter()

    def drawing(seconds: float) -> str:
        monkeypatch.setattr(picture, "SNAPSHOT", seconds)
        race.advance(100)
        return painter.paint(race)["drawing0"]

    painter.brief = True
    first = drawing(3600.0)
    assert "till" in first, "the station is drawn at any speed"
    assert 'class="lately"' in first
    assert drawing(3600.0) == first
    second = drawing(0.0)
    assert second != first
    painter.brief = False
    assert drawing(3600.0) != second, "what stands still is the latest step"


def test_a_summary_counts_the_actions_that_have_no_row():
    task = SimpleNamespace(actions=[f"a{k}" for k in range(9)], model=None)
    seen = [SeenStep(0, action, 0, 0.0) for action in (0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 6)]
    rows = scene._shares(SimpleNamespace(task=task, seen=seen, decisions=(), latest=None, memory=None))
    assert [name for name, _ in rows] == ["a0", "a1", "a2", "a3", "a4", "4 others"]
    assert sum(share for _, share in rows) == pytest.approx(1)
    assert rows[-1][1] == pytest.approx(2 / 12)
