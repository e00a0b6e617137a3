"""Logged exploration: random proposals with recorded propensities, which recovery restores to the last bit."""

from __future__ import annotations

import math
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import everlearn as el
from everlearn.durable.core import Core
from everlearn.durable.entry import Entry, Kind, checksum
from everlearn.durable.reader import Reader
from everlearn.durable.setup import make_setup
from everlearn.durable.transitions import read_transitions
from everlearn.errors import Changed, Corrupt, InputError
from tests.durable.worlds import whole
from tests.refusal import has, refusal

PUMP = {"actions": ["off", "on", "flush"], "observations": ["dry", "full"], "reward_range": (0, 1), "seed": 3}


def level(step: int, action: str) -> str:
    return random.Random(f"{step} {action}").choice(["dry", "full"])


def steps(agent: el.Live, number: int, **act: object) -> None:
    for _ in range(number):
        action = str(agent.act(**act))
        agent.observe(level(agent.step + 1, action), reward=0.5 * (action == "on"))


def rows(place: Path) -> list[Entry]:
    with Reader(place) as reader:
        return list(reader.rows(1))


@pytest.fixture
def place(tmp_path) -> Path:
    return tmp_path / "agent"


def test_without_exploration_nothing_is_recorded_or_drawn(tmp_path):
    with el.live(tmp_path / "a", **PUMP) as one, el.live(tmp_path / "b", **PUMP, explore=0) as other:
        steps(one, 60)
        steps(other, 60)
        assert one.core.export_state() == other.core.export_state()
    assert all(entry.payload is None for entry in rows(tmp_path / "a"))


@pytest.mark.parametrize("agent", ["growing-horizon", "q-learning", "tsde"])
def test_propensities_are_those_with_which_actions_are_proposed(agent):
    """Of 4,000 choices in one agent state, how often each was proposed; tolerance five standard deviations."""
    core = Core(make_setup(**PUMP, agent=agent, explore=0.3))
    counts: Counter[tuple[int, float]] = Counter()
    for _ in range(4000):
        core.agent.pending = None
        counts[core.propose(["off", "on"]), core.noted["propensity"]] += 1
    assert {round(propensity, 12) for _, propensity in counts} == {0.15, 0.85}
    for action in (0, 1):
        kept = counts[action, 0.85]
        chosen = kept + counts[1 - action, 0.15]  # so often the design chose this action
        assert abs(kept - 0.85 * chosen) <= 5 * np.sqrt(0.85 * 0.15 * max(chosen, 1))


def test_recovery_restores_the_agent_and_its_pending_proposal(tmp_path):
    setup = {**PUMP, "explore": 0.4, "snapshot_every": 7}
    with el.live(tmp_path / "steady", **setup) as steady:
        steps(steady, 100)
        steady.act()
        expected, noted = whole(steady.core), steady.core.noted
    for _ in range(100):
        with el.live(tmp_path / "reopened", **setup) as agent:
            agent.act()
            agent.snapshot()
            steps(agent, 1)
    with el.live(tmp_path / "reopened") as agent:
        agent.act()
        assert whole(agent.core) == expected
        assert agent.core.noted == noted
    journals = ([row._replace(at=0.0, check=0) for row in rows(tmp_path / name)] for name in ("steady", "reopened"))
    assert next(journals) == next(journals)


def test_the_journal_shows_and_exports_propensities(place):
    with el.live(place, **PUMP, explore=0.5) as agent:
        steps(agent, 20, allowed=["off", "on"])
        agent.act()
        agent.observe("dry", executed="flush", reward=0)  # overridden
        agent.observe("dry", executed="flush", reward=0)  # never asked
        agent.freeze()
        steps(agent, 1)
        shown = list(agent.journal())
        agent.learn()
        agent.shadow()
        agent.observe("full", executed=agent.act(), reward=1)
    assert {row["propensity"] for row in shown[:20]} == {0.25, 0.75}
    assert shown[20]["propensity"] in (0.5 / 3, 0.5 / 3 + 0.5)
    assert "propensity" not in shown[21]
    assert shown[-1]["propensity"] == 1.0
    with Reader(place) as reader:
        known = ~np.isnan(read_transitions(reader, 1).numbers["propensity"])
        assert known.tolist() == [True] * 20 + [shown[20]["proposed"] == "flush", False, False, False]
        assert not read_transitions(reader, 1, first=22).numbers


def test_a_withdrawn_proposal_takes_its_propensity_with_it(place):
    with el.live(place, **PUMP, explore=0.5) as agent:
        agent.act()
        agent.act(allowed=["on"], again=True)
        agent.observe("dry", reward=0)
    found = [(row.kind, row.numbers) for row in rows(place)]
    assert found == [(Kind.FORGOTTEN, {}), (Kind.OBSERVED, {"propensity": 1.0})]


def test_the_rate_can_be_changed(place):
    with el.live(place, **PUMP, explore=0.5) as agent:
        steps(agent, 30)
        agent.act()
    with pytest.raises(Changed, check=has(keys=["explore"])):
        el.live(place, explore=0.1)
    with el.live(place, explore=0.1, accept_changes=True) as agent:
        steps(agent, 30)
        before = whole(agent.core)
    with el.live(place) as agent:
        assert whole(agent.core) == before
    assert rows(place)[-1].numbers["propensity"] > 0.9


def test_without_a_rate_no_proposal_has_the_propensity_of_an_earlier_one(place):
    with el.live(place, **PUMP, explore=0.5) as agent:
        steps(agent, 2)
        agent.act()
        agent.snapshot()
    with el.live(place, explore=0.0, accept_changes=True) as agent:
        before = agent.step
        steps(agent, 3)
    noted = [row.numbers for row in rows(place) if row.is_observation and row.step > before]
    assert len(noted) == 3
    assert "propensity" in noted[0]  # it was proposed before the change
    assert noted[1:] == [{}, {}]


def test_it_survives_a_late_reward(place):
    with el.live(place, **PUMP, explore=0.5, reward_delay=5) as agent:
        agent.act()
        agent.observe("dry")
        agent.act()
        noted = agent.core.noted
        agent.reward(1, 0.5)
        agent.observe("full", reward=1)
    assert [row.numbers for row in rows(place)][-1] == noted


@pytest.mark.parametrize("rate", [-0.1, 1.5, math.inf, True, "0.1"])
def test_a_rate_is_a_probability(rate):
    with pytest.raises(InputError, check=refusal("explore", rate)):
        make_setup(**PUMP, explore=rate)


@pytest.mark.parametrize("payload", [b"", b"{", b"[1]", b'{"a": "x"}', b'{"a": NaN}', b'{"a": [1]}', b"\xff"])
def test_damaged_numbers_are_refused(payload):
    fields = (1, Kind.OBSERVED, 1, 0, 0.0, 0, None, 0, 0, 0, 0.5, 0, payload)
    with pytest.raises(Corrupt, check=has(row=1)):
        Entry(*fields, checksum(0, fields)).numbers  # noqa: B018
