"""Reading a configuration from an address and from a spec."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn.agents.registry import AGENTS, SCHEDULES
from everlearn.errors import EverlearnError, InputError
from everlearn.play.configuration import Configuration
from everlearn.play.contender import Contender
from everlearn.play.pace import SPEEDS
from everlearn.play.reading import read_query, read_text
from everlearn.tasks.registry import TASKS


def test_nothing_said_is_the_default():
    assert read_query("") == read_query("?") == Configuration()


def test_what_is_not_said_is_what_the_page_began_with():
    start = Configuration("riverswim", {"task.states": 8}, (Contender("q-learning", None),), seed=5)
    assert read_query("", blank=start) == start
    assert read_query("seed=9", blank=start) == replace(start, seed=9)
    assert read_query("task=t-maze", blank=start) == replace(start, task="t-maze", task_parameters={})
    assert read_query("2.agent=always", blank=start).contenders == (*start.contenders, Contender("always", None))


others = st.lists(
    st.one_of(
        st.sampled_from([name for name in AGENTS if name != "growing-horizon"]).map(lambda name: Contender(name, None)),
        st.floats(1, 100).map(lambda x: Contender("growing-horizon", "smooth", {"schedule.horizon_scale": x})),
        st.sampled_from(sorted(SCHEDULES)).map(lambda name: Contender("growing-horizon", name)),
    ),
    max_size=3,
    unique_by=lambda one: one.checked().label,
)


@given(st.sampled_from(sorted(TASKS)), others, st.integers(0, 2**63 - 1), st.sampled_from(SPEEDS), st.booleans())
def test_an_address_carries_the_whole_configuration(task, several, seed, speed, growing):
    contenders = (Contender(), *(one for one in several if one.checked() != Contender()))
    shown = Configuration(task, {}, contenders, seed, speed, growing).checked()
    assert read_query(shown.query()) == shown


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("task=rivrswim", "did you mean riverswim"),
        ("task=os%3Asystem", "registered names and what it was started with"),
        ("nonsense=1", "key: 'nonsense'; known:"),
        ("agent=always&agent=static", "agent: 'static'; appears twice"),
        ("seed=many", "seed: 'many'; give a whole number"),
        ("speed=warp", "speed: 'warp'; give a whole number"),
        ("growing=perhaps", "growing: 'perhaps'; give true or false"),
        ("3.agent=always", "number them 1, 2, 3, 4 without a gap"),
        ("5.agent=always", "key: '5.agent'"),
        ("schedule.horizon_scale=" + "9" * 300, "give at most 200 characters"),
        ("x" * 5000, "give at most 4000 characters"),
        ("task.window=0x10", "task.window: '0x10'; give a whole number"),
    ],
)
def test_nonsense_is_refused_with_the_remedy(query, message):
    with pytest.raises(InputError, match=message):
        read_query(query)


@given(st.text(max_size=60))
def test_whatever_is_sent_is_read_or_refused(text):
    with suppress(EverlearnError):
        assert read_query(text).checked() is not None


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("steps = ", "is not TOML"),
        ("a = " + "[" * 9000, "is not TOML"),
        ("#" * 20_001, "give at most 20,000 characters"),
        ('steps = 1\ntask = "os:system"\nagent = "always"', "the page offers registered names"),
        ('steps = 1\ntask = ["riverswim", "t-maze"]\nagent = "always"', "the page shows one task"),
        ('steps = 1\nagent = "always"\n[[task]]\nname = "garnet"\nfamily.seed = 3', "shows no families"),
        (
            'steps = 1\ntask = "garnet"\n[[agent]]\nname = "growing-horizon"\nschedule = ["smooth", "fixed"]',
            "the page shows no grids",
        ),
    ],
)
def test_a_spec_that_a_page_cannot_show_is_refused(spec, message):
    with pytest.raises(InputError, match=message):
        read_text(spec)
