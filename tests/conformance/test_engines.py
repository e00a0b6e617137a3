"""Compiled is interpreted, bit for bit: every registered agent under every schedule, and every registered task."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import everlearn as el
from everlearn.registry import locate, parameters
from tests.conformance.brief import brief_parameters
from tests.few import AGENTS_OF_EVERY_KIND, few
from tests.worlds import random_mdp, shop

SMALL = {"riverswim": "riverswim", "service-station": "service-station", "mdp": random_mdp(5, states=3, actions=2)}
"""Rows of three outcomes, and two actions, in all of them, so that they share compiled code."""

TASKS = [name for name in el.TASKS if name != "puckworld"]
"""Those that have a model, without which no compiled engine runs them."""

WORLDS = {**{name: name for name in TASKS}, **SMALL, "shop": shop(), "actions": random_mdp(5, states=4, actions=3)}


def takes_a_schedule(agent: str) -> bool:
    return "schedule" in parameters(locate(agent, el.AGENTS, "agent"))


CASES = [
    (agent, schedule)
    for agent, schedule in product(sorted(el.AGENTS), [None, *sorted(el.SCHEDULES)])
    if (schedule is not None) == takes_a_schedule(agent)
]


def check(agent: str, schedule: str | None, world: str, seed: int, steps: int, runs: int, threads: int) -> None:
    arguments = {
        "schedule": schedule,
        "parameters": brief_parameters(agent),
        "steps": steps,
        "runs": runs,
        "seed": seed,
    }
    fast = el.run(WORLDS[world], agent, engine="compiled", threads=threads, **arguments)
    slow = el.run(WORLDS[world], agent, engine="reference", **arguments)
    assert fast.total_reward.tolist() == slow.total_reward.tolist()
    assert (fast.policies is None) == (slow.policies is None)
    assert fast.policies is None or fast.policies.tolist() == slow.policies.tolist()


IDS = ["-".join(filter(None, case)) for case in CASES]
cases = pytest.mark.parametrize(("agent", "schedule"), CASES, ids=IDS)
EVERY_DAY = (*AGENTS_OF_EVERY_KIND, "discounted", "ucb-h")
"""The others, each of which takes two to ten seconds to compile, are left to the soak."""
FEW = [
    case for case in CASES if case[0] == "growing-horizon" or (case[0] in EVERY_DAY and case[1] in (None, "practical"))
]
"""Every schedule with one agent: some schedules need another kind of table, for which every agent is compiled again."""
drawn = {
    "seed": st.integers(0, 2**40),
    "steps": st.integers(1, 200),
    "runs": st.integers(1, 5),
    "threads": st.integers(1, 3),
}
QUICK = ("access-control", "aggregation", "alternating", "drifting", "n-model", "riverswim", "t-maze", "tiger")
"""Tasks of every kind that share compiled code with others and have a small table: finite, hidden, and a network."""
unhurried = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@pytest.mark.parametrize(("agent", "schedule"), few(CASES, FEW), ids=IDS)
@settings(unhurried, max_examples=4)
@given(world=st.sampled_from(sorted(SMALL)), **drawn)
def test_compiled_is_interpreted(agent, schedule, world, seed, steps, runs, threads):
    check(agent, schedule, "t-maze" if agent == "learned" else world, seed, steps, runs, threads)


@pytest.mark.parametrize("name", few(TASKS, QUICK))
@settings(unhurried, max_examples=2)
@given(**drawn)
def test_compiled_is_interpreted_on_every_task(name, seed, steps, runs, threads):
    check("growing-horizon", "smooth", name, seed, steps, runs, threads)


@pytest.mark.soak
@cases
@settings(unhurried, max_examples=150)
@given(world=st.sampled_from(sorted(WORLDS)), **(drawn | {"steps": st.integers(1, 6000)}))
def test_compiled_is_interpreted_at_length(agent, schedule, world, seed, steps, runs, threads):
    check(agent, schedule, world, seed, steps, runs, threads)
