"""Arms: what is replicated is the run, or the member of a family."""

from __future__ import annotations

import numpy as np

from everlearn.results.arm import Arm, arms

TIMES = np.array([1, 4])


def recorded(rewards, *, member=None, optimum=None, agent="smooth", settings=None) -> Arm:
    table = np.asarray(rewards, dtype=float)
    optima = None if optimum is None else np.full(len(table), optimum)
    return Arm("shop", agent, settings or {}, TIMES, table, optima, references={"optimum": 1.0}, member=member)


def test_a_run_is_a_unit():
    (arm,) = arms([recorded([[0, 2], [1, 3]], optimum=1.0)])
    assert (arm.unit, arm.units, arm.references) == ("run", 2, {"optimum": 1.0})
    assert arm.optimum.tolist() == [1.0, 1.0]
    assert arm.average_reward.tolist() == [[0, 0.5], [1, 0.75]]
    assert arm.regret.tolist() == [[1, 2], [0, 1]]


def test_a_member_of_a_family_is_a_unit_with_the_mean_of_its_runs():
    members = [recorded([[0, 2], [1, 3]], member=0, optimum=1.0), recorded([[1, 1], [1, 4]], member=1, optimum=2.0)]
    (arm,) = arms(members)
    assert (arm.unit, arm.units, arm.references) == ("member", 2, {})
    assert arm.total_reward.tolist() == [[0.5, 2.5], [1.0, 2.5]]
    assert arm.optimum.tolist() == [1.0, 2.0]
    assert arm.regret.tolist() == [[0.5, 1.5], [1.0, 5.5]]


def test_one_member_is_still_a_member():
    (arm,) = arms([recorded([[0, 2], [1, 3]], member=0)])
    assert (arm.unit, arm.units) == ("member", 1)


def test_regret_is_not_known_where_an_optimum_is_not():
    members = [recorded([[0, 2]], member=0, optimum=1.0), recorded([[1, 1]], member=1)]
    (arm,) = arms(members)
    assert arm.optimum is None
    assert arm.regret is None


def test_arms_differ_in_agent_task_or_settings_and_keep_their_order():
    found = arms(
        [
            recorded([[0, 1]], agent="b"),
            recorded([[0, 1]], agent="a"),
            recorded([[0, 1]], agent="a", settings={"agent.phase": 1}),
            recorded([[0, 1]], agent="a", settings={"agent.phase": 1.5}),
        ]
    )
    assert [(arm.agent, arm.settings) for arm in found] == [
        ("b", {}),
        ("a", {}),
        ("a", {"agent.phase": 1}),
        ("a", {"agent.phase": 1.5}),
    ]


def test_an_arm_of_ones_own():
    arm = Arm("shop", "smooth", {}, TIMES, np.array([[1.0, 2.0]]))
    assert (arm.unit, arm.units, arm.regret) == ("run", 1, None)
