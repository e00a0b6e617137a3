"""The timeline: what is found in a run, and that a race can be shown at an earlier step."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from everlearn.page import moments
from everlearn.page.configuration import read_query
from everlearn.page.moments import Moment, _earning, find_moments, recent, write_moments
from everlearn.page.race import Workshop
from everlearn.page.run import find_decisions
from everlearn.tables import make_table
from everlearn.tasks.registry import make_task
from tests.page.test_session import Watcher

LINES = {"optimum over all policies": 0.5, "always slow": 0.09}


@pytest.fixture(scope="module")
def workshop():
    return Workshop()


def test_moments_are_those_of_the_rewards():
    times = np.array([50, 100, 200, 400, 800, 1600, 3200, 6400])
    rewards = [0.0, 0.0, 0.2, 0.5, 0.5, 0.0, 0.5, 0.5]
    totals = np.cumsum(np.diff(times, prepend=0) * rewards)
    assert recent(times, totals).tolist() == pytest.approx(rewards)
    told = [(t, text) for t, text in _earning(times, totals, LINES)]
    assert told == [
        (200, "lately earns more than “always slow”"),
        (400, "lately earns nearly the optimum"),
        (1600, "lately earns much less than the optimum"),
        (3200, "lately earns nearly the optimum again"),
    ]
    alone = [t for t, text in _earning(times, totals, {"optimum": 0.5}) if "half" in text]
    assert alone == [400]


def test_the_optimum_is_reached_if_that_lasts():
    """An average over few steps is near the optimum by chance; at the end nobody knows yet."""
    times = np.array([50, 100, 141, 200, 400, 800, 1600])
    for rewards, reached in (([0.5, 0.5, 0.0, 0.2, 0.5, 0.5, 0.5], [400]), ([0.0] * 6 + [0.5], [])):
        totals = np.cumsum(np.diff(times, prepend=0) * rewards)
        told = list(_earning(times, totals, LINES))
        assert [t for t, text in told if "nearly the optimum" in text] == reached
        assert not [t for t, text in told if "much less" in text]
        lines = {"optimum": 0.5, "slow": 0.2}
        assert [t for t, text in _earning(times, totals, lines) if "more than" in text] == reached


def test_an_agent_comes_to_prefer_what_pays_however_it_was_advanced(workshop):
    one, other = (workshop.race(read_query("seed=1")) for _ in range(2))
    one.advance(20_000)
    for steps in (7, 993, 4, 18_996):
        other.advance(steps)
    found = find_moments(one.runs[0], LINES)
    assert found == find_moments(other.runs[0], LINES)
    assert Moment(3548, "prefers fast (a customer is there)") in found
    assert not any("nobody" in moment.text for moment in found)  # what is done there makes no difference
    page = write_moments([("<b>", found)], 10_000)
    assert page.count("data-at=") == len(found)
    assert page.count("aria-current") == 1
    assert "<b>" not in page


def test_a_preference_is_shown_while_it_lasts_and_the_latest_moments_are_kept(workshop, monkeypatch):
    """At place 0 the agent turns left at step 12,589, and right again for good at step 50,119."""
    race, shown = workshop.race(read_query("task=riverswim")), {}
    for t in (30_000, 60_000, 120_000):
        race.advance(t - race.t)
        shown[t] = find_moments(race.runs[0], {})
    at_0 = [[moment for moment in found if "place 0" in moment.text] for found in shown.values()]
    assert at_0 == [[Moment(12_589, "prefers left (place 0)")], [], [Moment(50_119, "prefers right (place 0)")]]
    monkeypatch.setattr(moments, "MOST", 1)
    assert find_moments(race.runs[0], {}) == at_0[-1]


def test_decisions_are_where_actions_differ():
    assert find_decisions(make_table(make_task("service-station"))) == [1]
    assert find_decisions(make_table(make_task("riverswim"))) == list(range(6))


def test_a_race_goes_back_and_forth_to_the_same_bits(workshop):
    async def scenario():
        watcher = Watcher(workshop)
        session = watcher.session
        await session.open(read_query("seed=1&speed=fastest"))
        await session._advance(5000)
        farthest = session.race
        await session.go(700)
        await session._loop
        back = session.race
        assert (session.t, session.last) == (700, 5000)
        assert 'class="later"' in watcher.shown[-1].get("chart", "") + "".join(
            parts.get("chart", "") for parts in watcher.shown[-2:]
        )
        fresh = workshop.race(read_query("seed=1"))
        fresh.advance(700)
        assert fresh.runs[0].recorded() == back.runs[0].recorded()
        await session.go(5000)
        assert session.race is farthest
        assert session.last == session.t == 5000

    asyncio.run(scenario())
