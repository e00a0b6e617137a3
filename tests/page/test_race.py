"""Several agents in step on common random numbers."""

from __future__ import annotations

import threading

import pytest

import everlearn as el
from everlearn.page import race as module
from everlearn.page.configuration import read_query
from everlearn.page.race import Cache, Workshop
from everlearn.tasks.registry import TASKS


@pytest.fixture(scope="module")
def workshop():
    return Workshop()


@pytest.mark.soak
def test_agents_that_do_the_same_meet_the_same_luck(workshop):
    """Common random numbers: a policy and its twin, told another way, earn the same to the last bit."""
    race = workshop.race(
        read_query("agent=always&agent.policy=slow&2.agent=always&2.agent.policy=0=slow,1=slow&3.agent=growing-horizon")
    )
    race.advance(5000)
    assert race.runs[0].recorded() == race.runs[1].recorded() != race.runs[2].recorded()


@pytest.mark.soak
def test_each_of_several_is_what_it_is_alone(workshop):
    race = workshop.race(read_query("seed=4&2.agent=q-learning"))
    race.advance(1000)
    for run, agent, schedule in zip(race.runs, ("growing-horizon", "q-learning"), ("practical", None), strict=True):
        alone = el.run("service-station", agent, schedule=schedule, steps=1000, seed=4)
        assert run.recorded()[1] == alone.average_reward.tolist()


def test_tasks_are_shared_and_not_kept_for_ever(workshop, monkeypatch):
    monkeypatch.setattr(module, "MOST_KEPT", 2)
    one, other = (workshop.race(read_query("task=riverswim")) for _ in range(2))
    assert one.task is other.task
    for states in (7, 8, 9):
        workshop.race(read_query(f"task=riverswim&task.states={states}"))
    assert workshop.race(read_query("task=riverswim")).task is not one.task
    assert len(workshop._tasks) == len(workshop._tables) == 2


def test_a_value_that_takes_long_is_waited_for_by_those_who_ask_for_it_alone():
    cache = Cache[list[str]]()

    def make_slowly() -> list[str]:
        other = threading.Thread(target=cache.get, args=("other", lambda: made.append("other") or made), daemon=True)
        other.start()
        other.join(5)
        made.append("slow")
        return made

    made: list[str] = []
    same = threading.Thread(target=cache.get, args=("slow", make_slowly))
    same.start()
    assert cache.get("slow", make_slowly) == ["other", "slow"]
    same.join()
    assert made == ["other", "slow"]
    assert cache._making == {}


@pytest.mark.soak
def test_preparing_the_gallery_leaves_most_of_the_time_to_races_and_ends_when_the_page_does(monkeypatch):
    workshop, rests, cards = Workshop(), [], []
    monkeypatch.setattr(module, "write_card", lambda offer, name: cards.append(name) or name)
    monkeypatch.setattr(workshop._closing, "wait", lambda seconds: rests.append(seconds) or len(rests) == 3)
    workshop.warm_up()
    assert len(cards) == len(rests) == 3
    assert cards == workshop.offer.names("task")[:3]
    assert all(rest > 0 for rest in rests)
    workshop.close()
    assert workshop._closing.is_set()


def test_each_card_of_the_gallery_is_written_once(monkeypatch):
    workshop, cards = Workshop(), []
    monkeypatch.setattr(module, "write_card", lambda offer, name: cards.append(name) or f"<{name}>")
    for _ in range(2):
        assert "".join(f"<{name}>" for name in TASKS) in workshop.gallery()
    assert cards == list(TASKS)
