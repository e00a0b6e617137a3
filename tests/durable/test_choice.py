"""Allowed actions: by state for good, or with one call; whatever the design."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest

import everlearn as el
from everlearn.agents.registry import AGENTS
from everlearn.durable.core import Core
from everlearn.durable.setup import make_setup
from everlearn.errors import AgentError, InputError, UserCodeError
from everlearn.protocol import Experience
from tests.few import AGENTS_OF_EVERY_KIND, few
from tests.refusal import refusal

ACTIONS, STATES = ["a", "b", "c"], ["low", "high"]
PARAMETERS = {
    "discounted": {"agent.duration": 1000},
    "optimistic-q": {"agent.duration": 1000, "agent.horizon": 10},  # which else follows from the number of actions
}
PARAMETERS |= {name: {"agent.duration": 1000} for name in ("ucb-h", "discounted-subroutine", "focus")}


def make(design: str, actions: list[str] = ACTIONS, **more: object) -> Core:
    given = {"actions": actions, "observations": STATES, "reward_range": (0, 1), "seed": 2, "agent": design}
    return Core(make_setup(**given, parameters=PARAMETERS.get(str(design)), **more))


class Counts(NamedTuple):
    n: np.ndarray


def build_counts(indexed) -> Counts:
    return Counts(np.zeros(indexed.states))


def drive(core: Core, steps: int, allowed=None) -> list[str]:
    rng, taken = np.random.default_rng(1), []
    for _ in range(steps):
        taken.append(str(core.act(allowed)))
        core.apply(core.prepare(STATES[rng.integers(2)], reward=float(rng.random())))
    return taken


MASKING = sorted(name for name in AGENTS if make(name).agent.design.masks)
FORBIDDEN = {state: ["a", "b"] for state in ("start", *STATES)}


def test_thirteen_designs_leave_out_actions():
    horizons = ["growing-horizon", "growing-horizon-v", "lattice", "learned", "optimistic-q", "planner"]
    assert [
        *("differential-q", "discounted"),
        *horizons,
        "q-learning",
        "r-learning",
        "remembering",
        "restarting",
        "versatile",
    ] == MASKING


@pytest.mark.parametrize("design", ["growing-horizon", "discounted", "optimistic-q"])  # others explore at random
def test_an_action_forbidden_everywhere_might_as_well_not_be_there(design):
    restricted, without = make(design, allowed=FORBIDDEN), make(design, ACTIONS[:2])
    assert drive(restricted, 400) == drive(without, 400)
    for name in ("Q", "N"):
        table = restricted.agent.inspect()[name]
        assert table[:, :2].tolist() == without.agent.inspect()[name].tolist()
    agent = restricted.agent
    assert (agent.design.values(agent.knowledge)[:, 2] == -math.inf).all()


@pytest.mark.parametrize("design", MASKING)
def test_what_is_forbidden_in_a_state_is_never_proposed_there(design):
    core = make(design, allowed={"low": ["b"], "high": ["a", "c"]})
    rng, taken = np.random.default_rng(3), {"start": set(), "low": set(), "high": set()}
    for _ in range(400):
        taken[core.agent.aleatoric_state].add(core.act())
        core.apply(core.prepare(STATES[rng.integers(2)], reward=float(rng.random())))
    assert taken["low"] == {"b"}
    assert taken["high"] == {"a", "c"}
    values = core.agent.inspect()["Qhat" if design == "optimistic-q" else "Q"]
    assert np.isfinite(values[1, 1])
    assert np.isfinite(values[2, [0, 2]]).all()


def test_what_is_forbidden_and_done_all_the_same_teaches_nothing():
    core = make("growing-horizon", allowed={"low": ["b"], "start": ["a"]})
    before = core.agent.snapshot().epistemic["cells"].tolist()
    core.apply(core.prepare("low", executed="c", reward=1.0))
    core.apply(core.prepare("high", executed="a", reward=1.0))
    assert core.agent.snapshot().epistemic["cells"].tolist() == before
    assert (core.step, core.t, core.agent.aleatoric_state) == (2, 0, "high")


@pytest.mark.parametrize("design", sorted(set(AGENTS) - set(MASKING)))
def test_designs_that_cannot_leave_out_say_so(design):
    with pytest.raises(InputError, check=refusal("allowed")):
        make(design, allowed=FORBIDDEN)


@pytest.mark.parametrize("design", few(sorted(AGENTS), AGENTS_OF_EVERY_KIND))
def test_any_design_can_be_narrowed_with_a_call(design):
    core = make(design)
    taken = []
    rng = np.random.default_rng(5)
    for step in range(200):
        allowed = [["a"], ["b", "c"], None][step % 3]
        taken.append((core.act(allowed), allowed))
        assert core.act(allowed) == core.act()
        core.apply(core.prepare(STATES[rng.integers(2)], reward=float(rng.random())))
    assert all(allowed is None or action in allowed for action, allowed in taken)
    assert {action for action, allowed in taken if allowed == ["b", "c"]} <= {"b", "c"}


def test_narrowed_it_takes_the_best_that_is_left():
    core = make("q-learning")
    core.agent.knowledge.cells["value"] = [3.0, 2.0, 1.0]
    taken = []
    for _ in range(100):
        taken.append(core.act(["b", "c"]))
        core.apply(core.prepare("low", executed="a", reward=0.5))
    assert taken.count("b") > 85  # but for one draw in thirty that explores


def test_ties_among_what_is_left_are_broken_uniformly():
    core = make("growing-horizon")
    taken = []
    for _ in range(3000):
        taken.append(core.act(["a", "b"]))
        core.agent.move(0)
        core.agent.knowledge.cells["value"] = 0.0
    assert abs(taken.count("a") / 3000 - 0.5) < 4 * 0.5 / math.sqrt(3000)


def test_narrowed_to_what_the_setup_forbids_there_is_nothing_to_do():
    core = make("growing-horizon", allowed={"start": ["a"]})
    with pytest.raises(InputError, check=refusal("allowed", "0b10")):
        core.act(["b"])
    for wrong in ([], ["d"], "a"):
        with pytest.raises(InputError):
            core.act(wrong)
    assert core.act(["a", "b"]) == "a"
    with pytest.raises(InputError, check=refusal("allowed", ["b", "a", "c"])):
        core.act(["b", "a", "c"])


@pytest.mark.parametrize("design", few(sorted(AGENTS), AGENTS_OF_EVERY_KIND))
def test_every_design_can_be_frozen(design):
    core = make(design)
    drive(core, 100)
    core.apply(core.change_mode("frozen"))
    before, shown = core.agent.snapshot(), core.agent.inspect()
    for _ in range(50):
        assert core.act() == core.act()
        core.apply(core.prepare("low", reward=0.5))
    after = core.agent.snapshot()
    assert before.algorithmic["stream"] == after.algorithmic["stream"]
    if core.agent.design.carry is not None:  # it has moved a number from row to row
        np.testing.assert_equal(core.agent.inspect(), shown)
        return
    kept = set(before.epistemic) - {*core.agent.design.memories}
    assert all(np.array_equal(before.epistemic[name], after.epistemic[name]) for name in kept)


def test_a_design_without_values_or_policy_cannot_be_frozen():
    plain = el.Design(lambda _: Experience(0, 0, 0, 0.0, 0), lambda *_: 0, lambda *_: None, name="plain")
    core = Core(make_setup(actions=ACTIONS, observations=STATES, reward_range=(0, 1), agent=plain))
    with pytest.raises(InputError, check=refusal("agent", "plain")):
        core.change_mode("frozen")
    assert core.act(["b"]) == "b"


@pytest.mark.parametrize("values", [lambda k: 3, lambda k: k.n, lambda k: k.n[:, None], lambda k: {}["q"]])
def test_values_of_ones_own_design_are_checked(values):
    design = el.Design(build_counts, lambda *_: 0, lambda *_: None, name="mine", values=values, masks=True)
    with pytest.raises((AgentError, UserCodeError)) as caught:
        make(design, allowed=FORBIDDEN)
    assert caught.value.function in ("values", "agent 'mine': values")


def test_a_design_that_masks_needs_values():
    design = el.Design(build_counts, lambda *_: 0, lambda *_: None, name="mine", masks=True)
    with pytest.raises(InputError, check=refusal("allowed", "mine")):
        make(design, allowed=FORBIDDEN)


def test_a_frozen_network_computes_the_row_of_one_state_only(monkeypatch):
    core = make("network")
    drive(core, 30)
    agent = core.agent
    rows = [agent.design.policy_at(agent.knowledge, s).tolist() for s in range(agent.indexed.states)]
    assert rows == agent.policy.tolist()
    best = int(agent.policy[agent.situation].argmax())
    core.apply(core.change_mode("frozen"))
    monkeypatch.setattr("everlearn.agents.network.require_table", None)
    assert core.act() == ACTIONS[best]
