"""Everything known of a task in one place: consistent with its parts, and asked for only once."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import everlearn as el
from everlearn.errors import InputError
from everlearn.tasks.names import CONTROL, NETWORKS
from everlearn.theory.aleatoric import average_reward
from everlearn.theory.averaging import averaging_time
from everlearn.theory.distortion import distortion
from tests.few import few
from tests.refusal import refusal
from tests.worlds import pendulum, random_mdp, shop

SMALL = ("alternating", "maintenance", "riverswim", "tiger")
"""Tasks that are simulated in every run of the tests."""

LABELS = {
    "theorem:average-reward-discounted-algorithm",
    "theorem:average-reward-any-policy",
    "theorem:discounted",
    "theorem:main",
    "cor:avg-time-upper-bound",
    "cor:global-optimum",
    "lemma:aleatoric-vs-global",
}


@pytest.fixture(scope="module")
def station() -> el.Theory:
    return el.Theory("service-station", {"cap": 3})


def test_it_says_what_its_parts_say(station):
    policy = np.array([[0.0, 1.0], [0.5, 0.5]])
    assert station.average_reward("0=slow,1=fast:0.5") == average_reward(station.pairs, policy)
    assert station.averaging_time(policy) == averaging_time(station.pairs.chain(station.pairs.policy(policy)))
    assert station.distortion(10) == distortion(station.pairs, 10)


def test_reference_classes_grow_with_the_horizon(station):
    short, long = station.reference_class(10), station.reference_class(100)
    assert set(short) < set(long)
    assert len(long) == 4
    assert all(one.averaging_time.value <= 10 for one in short.values())
    assert "0=fast,1=fast" in long


def test_the_best_policy_over_aleatoric_states_is_always_fast(station):
    assert station.written(station.best_aleatoric.policy) == {"0": {"fast": 1.0}, "1": {"fast": 1.0}}


def test_bounds_have_every_label_and_the_tasks_own_units(station):
    found = station.bounds(1e6)
    assert set(found) == LABELS
    doubled = el.Theory("service-station", {"cap": 3, "revenue": 2.0, "fast_cost": 1.0}).bounds(1e6)
    for label, bound in found.items():
        assert doubled[label].value == pytest.approx(2 * bound.value, rel=1e-6)


def test_no_steps_and_no_horizons_share_a_key():
    steps, horizons = [1_234_567, 1_234_568, 100_000, 10**16, 10**30], [10, 1.00000001, 1.00000002]
    document = el.Theory("riverswim").to_dict([], horizons, steps)
    assert list(document["bounds"]) == ["1234567", "1234568", "100000", "1e+16", "1e+30"]
    assert list(document["distortion"]) == list(document["distortion_sup"]) == ["10", "1.00000001", "1.00000002"]


def test_it_is_json_with_the_promised_keys(station):
    document = json.loads(json.dumps(station.to_dict(["slow"], [10], [1000]), allow_nan=False))
    assert set(document) >= {
        "task",
        "memory_states",
        "pairs",
        "optimal_average_reward",
        "best_aleatoric",
        "policies",
        "distortion",
        "distortion_sup",
        "bounds",
    }
    assert set(document["best_aleatoric"]) >= {"average_reward", "policy", "averaging_time", "randomised"}
    assert set(document["policies"]["slow"]) == {"average_reward", "averaging_time"}
    assert set(document["bounds"]["1000"]) == LABELS
    main = document["bounds"]["1000"]["theorem:main"]
    assert list(main) == ["value", "terms", "horizon", "name", "bounded", "status", "why", "repaired"]
    assert set(main["repaired"]) == {"value", "terms", "horizon", "status"}
    assert main["status"] == main["repaired"]["status"] == "not applicable"


@pytest.mark.parametrize("seed", few(range(3), range(2)))
def test_simulated_averages_agree_with_exact_ones(seed):
    task = random_mdp(seed, states=5, actions=2)
    exact = el.Theory(task).average_reward(None)
    result = el.run(task, "always", steps=20_000, runs=50, seed=seed)
    assert result.final["mean"] == pytest.approx(exact, abs=4 * result.final["standard_error"] + 1e-3)


@pytest.mark.parametrize("name", few(sorted(el.TASKS.keys() - NETWORKS.keys() - CONTROL.keys()), SMALL))
def test_simulation_agrees_with_theory_on_every_registered_task(name):
    exact = el.Theory(name).policy(None)
    result = el.run(name, "always", steps=50_000, runs=50, seed=1)
    within = 4 * result.final["standard_error"] + exact.averaging_time.value / 50_000
    assert abs(result.final["mean"] - exact.average_reward) <= within


def test_a_task_of_ones_own():
    theory = el.Theory(shop())
    assert theory.optimal_average_reward == pytest.approx(0.4)
    assert theory.diameter < np.inf or len(theory.pairs.labels) > 2
    assert theory.gaps.shape == (2, theory.pairs.size)


def test_a_task_without_a_model_is_refused():
    with pytest.raises(el.EverlearnError, check=refusal("task", "pendulum")):
        _ = el.Theory(pendulum()).optimal_average_reward


def absorbing() -> el.Task:
    """A coin decides once and for all whether there is anything to earn."""
    matrix = [[0.0, 0.5, 0.5], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    return el.mdp([matrix], [[0.0], [1.0], [0.0]], reward_range=(0, 1), name="absorbing")


def test_where_the_average_depends_on_the_start_it_says_so():
    found = el.Theory(absorbing()).policy(None)
    assert found.average_reward == pytest.approx(0.5)
    assert found.averaging_time.value == np.inf
    assert found.depends_on_start == "it depends on the start: 2 recurrent classes, from 0 to 1"
    assert found.chain.gain.tolist() == pytest.approx([0.5, 1, 0])


def test_where_it_does_not_there_is_nothing_to_say(station):
    assert station.policy("slow").depends_on_start == ""


def test_a_policy_that_sees_memories_can_be_optimal(station):
    best = station.policy_over_pairs(station.optimum.policy)
    assert best.average_reward == pytest.approx(0.5)
    with pytest.raises(el.EverlearnError, check=refusal("policy", (3, 2))):
        station.policy_over_pairs(np.ones((3, 2)))


def test_values_are_optimal_or_those_of_a_policy(station):
    best, slow = station.values(20), station.values(20, "slow")
    assert np.all(best.V >= slow.V - 1e-9)
    assert best.V[station.pairs.start] > slow.V[station.pairs.start]


@pytest.mark.parametrize("ask", ["distortion", "distortion_sup", "reference_class"])
def test_a_horizon_may_be_a_text_but_must_be_a_number(ask):
    theory = el.Theory("riverswim")
    assert repr(getattr(theory, ask)("1e1")) == repr(getattr(theory, ask)(10))
    for wrong in ("ten", None):
        with pytest.raises(InputError, check=refusal("horizon", wrong)):
            getattr(theory, ask)(wrong)
    with pytest.raises(InputError, check=lambda error: error.argument == "horizon"):  # a NaN equals nothing
        getattr(theory, ask)(math.nan)
