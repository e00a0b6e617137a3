"""A race that somebody watches, without a browser."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

import everlearn as el
from everlearn.errors import ScheduleError, UserCodeError
from everlearn.page.configuration import read_query
from everlearn.page.pace import FASTEST
from everlearn.page.race import Workshop
from everlearn.page.session import Session
from everlearn.page.start import open_workshop
from tests.refusal import has
from tests.worlds import pendulum

PATIENCE = 120.0
"""Seconds after which something is taken to hang."""

FAST = replace(read_query(""), speed=FASTEST)


class Watcher:
    """Somebody who looks; ``patient`` ones look again at once."""

    def __init__(self, workshop: Workshop, patient: bool = True) -> None:
        self.shown: list[dict[str, str]] = []
        self.said: list[str] = []
        self.patient = patient
        self.session = Session(workshop, ThreadPoolExecutor(2), self.show, self.said.append)

    def show(self, parts):
        self.shown.append(dict(parts))
        if self.patient:
            self.session.wanting = True


@pytest.fixture(scope="module")
def workshop():
    return Workshop()


@pytest.mark.soak
def test_it_runs_pauses_steps_and_ends_up_where_a_run_of_that_length_does(workshop):
    async def scenario():
        watcher = Watcher(workshop)
        session = watcher.session
        await session.open(FAST)
        session.run()
        while session.race.t < 20_000:
            await asyncio.sleep(0.01)
        await session.pause()
        t = session.race.t
        await asyncio.sleep(0.1)
        assert (session.race.t, session.running) == (t, False)
        for _ in range(3):
            await session.step()
        assert session.race.t == t + 3
        return watcher, session.race

    watcher, race = asyncio.run(scenario())
    other = workshop.race(FAST)
    other.advance(race.t)
    assert other.runs[0].recorded() == race.runs[0].recorded()
    assert watcher.shown[-1]["time"] == f"{race.t:,}"
    assert len(watcher.shown) > 5


def test_nothing_is_painted_while_nobody_looks(workshop):
    async def scenario():
        watcher = Watcher(workshop, patient=False)
        await watcher.session.open(FAST)
        watcher.session.run()
        while watcher.session.race.t < 20_000:
            await asyncio.sleep(0.01)
        unseen = len(watcher.shown)
        await watcher.session.look()
        while len(watcher.shown) == unseen:
            await asyncio.sleep(0.01)
        t = watcher.session.race.t
        while watcher.session.race.t < t + 20_000:
            await asyncio.sleep(0.01)
        seen = len(watcher.shown)
        await watcher.session.close()
        return unseen, seen

    assert asyncio.run(scenario()) == (1, 2)


def test_what_did_not_change_is_not_shown_again(workshop):
    async def scenario():
        watcher = Watcher(workshop)
        await watcher.session.open(FAST)
        await watcher.session.paint()
        await watcher.session.paint()
        await watcher.session.look(width=500)
        return watcher.shown

    first, second = asyncio.run(scenario())
    assert len(first) == 11
    assert list(second) == ["chart"]


def test_a_schedule_that_leaves_its_domain_stops_it_and_is_said(workshop):
    async def scenario():
        watcher = Watcher(workshop)
        await watcher.session.open(replace(read_query("schedule=smooth&schedule.horizon_power=-0.1"), speed=FASTEST))
        watcher.session.run()
        while watcher.session.running:
            await asyncio.sleep(0.01)
        return watcher.said

    said = asyncio.run(scenario())
    assert "must be at least 1" in said[0]


class Nothing(NamedTuple):
    count: np.ndarray


def no_action_later(knowledge, aleatoric_state, now, stream):
    return 7 if now.t == 300 else 0


def count(knowledge, experience, now, stream):
    knowledge.count[0] += 1.0


def test_a_users_own_agent_that_fails_later_stops_it_and_is_said_in_one_line():
    design = el.Design(lambda indexed: Nothing(np.zeros(1)), no_action_later, count, name="mine")
    workshop = open_workshop(pendulum(), design)

    async def scenario():
        watcher = Watcher(workshop)
        await watcher.session.open(replace(workshop.start, speed=FASTEST))
        watcher.session.run()
        while watcher.session.running:
            await asyncio.sleep(0.01)
        await watcher.session.pause()
        return watcher

    watcher = asyncio.run(scenario())
    assert watcher.said == ["agent 'mine': act returned 7 at step 300; return an index from 0 to 1", ""]
    assert watcher.shown[-1]["time"] == "299"


def test_what_is_refused_leaves_what_was_there(workshop):
    async def scenario():
        watcher = Watcher(workshop)
        await watcher.session.open(FAST)
        before = watcher.session.race
        with pytest.raises(ScheduleError):
            await watcher.session.open(read_query("schedule.horizon_scale=0.5"))
        assert watcher.session.race is before

    asyncio.run(scenario())


def shows_two_states(knowledge, now):
    if len(knowledge.count) != 2:
        raise ValueError("two only")
    return {"Q": knowledge.count}


@pytest.mark.soak
def test_what_cannot_be_painted_leaves_what_was_there():
    def build(indexed):
        return Nothing(np.zeros(indexed.states))

    design = el.Design(build, lambda *_: 0, count, name="mine", inspect=shows_two_states)
    workshop = open_workshop("service-station", design)

    async def scenario():
        watcher = Watcher(workshop)
        session = watcher.session
        await session.open(workshop.start)
        before = session.race, session.painter, session.pace.speed
        with pytest.raises(UserCodeError, check=has(function="agent 'mine': inspect")):
            await session.open(read_query("task=riverswim&agent=mine&speed=fastest", workshop.offer))
        assert (session.race, session.painter, session.pace.speed) == before
        await session.step()
        assert watcher.shown[-1]["time"] == "1"

    asyncio.run(scenario())


@pytest.mark.soak
def test_the_lines_of_theory_are_drawn_when_they_are_known(workshop):
    async def scenario():
        watcher = Watcher(workshop)
        await watcher.session.open(read_query("task=alternating"))
        before = watcher.shown[-1]["chart"]
        facts = await watcher.session.facts()
        return before, watcher.shown[-1]["chart"], facts

    before, after, facts = asyncio.run(scenario())
    assert facts.lines["best over aleatoric states, by search"] == 0.5
    assert "best over aleatoric states" in after
    assert "best over aleatoric states" not in before


def test_a_page_that_is_gone_stops_and_lets_everything_go(workshop):
    async def scenario():
        watcher = Watcher(workshop)
        await watcher.session.open(FAST)
        watcher.session.run()
        await asyncio.sleep(0.05)
        await watcher.session.close()
        shown = len(watcher.shown)
        await asyncio.sleep(0.1)
        assert (watcher.session.race, watcher.session.running, len(watcher.shown)) == (None, False, shown)

    asyncio.run(scenario())


def test_pressing_in_haste_leaves_one_that_runs_or_none(workshop):
    """Run and pause many times, without waiting for either: in the end it does what was said last."""

    async def scenario():
        watcher = Watcher(workshop)
        session = watcher.session
        await session.open(FAST)
        for _ in range(5):
            session.run()
            await asyncio.sleep(0)
            pausing = asyncio.create_task(session.pause())
            await asyncio.sleep(0)
            session.run()
            await asyncio.sleep(0.005)
        await asyncio.wait_for(pausing, PATIENCE)
        assert session.running
        await asyncio.wait_for(session.pause(), PATIENCE)
        t = session.race.t
        await asyncio.sleep(0.2)
        assert (session.race.t, session.running) == (t, False)
        others = [one for one in asyncio.all_tasks() if one is not asyncio.current_task()]
        assert others == []

    asyncio.run(scenario())


def test_run_before_it_is_opened_runs_as_soon_as_it_is(workshop):
    async def scenario():
        watcher = Watcher(workshop)
        watcher.session.run()
        await watcher.session.open(FAST)
        while watcher.session.race.t < 1000:
            await asyncio.sleep(0.01)
        await watcher.session.close()

    asyncio.run(asyncio.wait_for(scenario(), PATIENCE))


def test_a_page_that_goes_while_it_is_opened_leaves_nothing(workshop):
    async def scenario():
        watcher = Watcher(workshop)
        start = asyncio.create_task(watcher.session.open(FAST))
        await asyncio.sleep(0)
        await watcher.session.close()
        await start
        assert (watcher.session.race, watcher.shown) == (None, [])

    asyncio.run(scenario())


def test_another_race_that_is_opened_while_it_goes_back_stays(workshop, monkeypatch):
    async def scenario():
        session = Watcher(workshop).session
        await session.open(FAST)
        await session._advance(100)
        made, opened = session.workshop.race, asyncio.Event()
        loop = asyncio.get_running_loop()

        def make_late(configuration):
            if configuration == FAST:
                asyncio.run_coroutine_threadsafe(opened.wait(), loop).result(PATIENCE)
            return made(configuration)

        monkeypatch.setattr(session.workshop, "race", make_late)
        going = asyncio.create_task(session.go(10))
        await asyncio.sleep(0)
        await session.open(read_query("seed=5"))
        opened.set()
        await going
        assert session.race.configuration.seed == 5

    asyncio.run(scenario())


def test_of_two_steps_to_go_to_the_latest_counts(workshop):
    async def scenario():
        session = Watcher(workshop).session
        await session.open(FAST)
        await session._advance(100)
        arrivals = await asyncio.gather(session.go(10), session.go(20))
        assert arrivals[0] is None
        await arrivals[1]
        assert (session.t, session.last) == (20, 100)

    asyncio.run(scenario())
