"""The best policies over aleatoric states: exhaustive search, randomisation, and what distortion says they lose."""

from __future__ import annotations

import numpy as np
import pytest

import everlearn as el
from everlearn.agents.policies import policy_table
from everlearn.theory import aleatoric
from everlearn.theory.aleatoric import average_reward, best_deterministic, best_randomised
from everlearn.theory.distortion import distortion_sup
from everlearn.theory.optimum import optimum
from everlearn.theory.pairs import tabulate
from tests import chains
from tests.few import few
from tests.theory.dense import alternation, deterministic, limit, random_coarse, random_policy, station, under
from tests.worlds import random_mdp


def gain(pairs, table) -> float:
    P, r = under(pairs, table[pairs.states])
    return float((limit(P) @ r)[pairs.start])


@pytest.mark.parametrize(
    ("policy", "expected"),
    [("slow", 0.0909364893), ("0=slow,1=fast:0.5", 0.0667843929), ("fast", 0.5)],
    ids=["slow", "half", "fast"],
)
def test_baselines_at_the_station(policy, expected):
    pairs = station()
    assert average_reward(pairs, policy_table(pairs.task, policy)) == pytest.approx(expected, abs=6e-11)
    small = station(3)
    assert average_reward(small, policy_table(small.task, policy)) == pytest.approx(expected, abs=3e-8)


@pytest.mark.parametrize("seed", few(range(5), range(2)))
def test_the_average_agrees_with_a_stationary_distribution_found_otherwise(seed):
    task = random_coarse(seed, memories=5)
    table = random_policy(seed, len(task.states), 2)
    expected = chains.average_reward(task, lambda s, a: table[task.states.index(s), task.actions.index(a)])
    assert average_reward(tabulate(task), table) == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize("seed", few(range(6), range(2)))
def test_few_deterministic_policies_are_all_tried(seed):
    pairs = tabulate(random_coarse(seed, memories=5, groups=3))
    found = best_deterministic(pairs)
    assert found.average_reward == pytest.approx(max(gain(pairs, one) for one in deterministic(3, 2)), abs=1e-10)
    assert (found.exact, found.randomised) == (True, False)
    assert gain(pairs, found.policy) == pytest.approx(found.average_reward, abs=1e-10)
    assert set(found.policy.ravel().tolist()) <= {0.0, 1.0}


def test_many_deterministic_policies_are_searched_and_exact_where_the_optimum_is_attained(monkeypatch):
    """Where the memory is known, changing one state at a time cannot get stuck, so the search finds the optimum."""
    monkeypatch.setattr(aleatoric, "FEW", 31)
    pairs = tabulate(random_mdp(4, states=5, actions=2))
    for found in (best_deterministic(pairs), best_deterministic(pairs, optimum(pairs))):
        assert (found.exact, found.randomised) == (True, False)
        assert found.average_reward == pytest.approx(optimum(pairs).average_reward, abs=1e-9)
        assert gain(pairs, found.policy) == pytest.approx(found.average_reward, abs=1e-10)


@pytest.mark.parametrize(("groups", "exact"), [(3, True), (4, False)], ids=["few", "many"])
def test_only_as_many_policies_as_are_few_are_exact(groups, exact, monkeypatch):
    monkeypatch.setattr(aleatoric, "FEW", 8)
    pairs = tabulate(random_coarse(1, memories=8, groups=groups))
    found = best_deterministic(pairs)
    assert found.average_reward < optimum(pairs).average_reward - 1e-6
    assert found.exact is exact


@pytest.mark.parametrize("seed", few(range(8), range(4)))
def test_the_search_finds_what_trying_all_finds(seed, monkeypatch):
    monkeypatch.setattr(aleatoric, "FEW", 1)
    pairs = tabulate(random_coarse(seed, memories=9, groups=5))
    best = max(gain(pairs, one) for one in deterministic(5, 2))
    assert best_deterministic(pairs).average_reward == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("least", [1, 3, 12])
def test_a_search_of_many_pairs_evaluates_few_policies(least, monkeypatch):
    """As many as are allowed and no more: by the climbs together, and by either ascent."""
    counted, evaluate = [], aleatoric._gradient
    monkeypatch.setattr(aleatoric, "_gradient", lambda *given: counted.append(1) or evaluate(*given))
    for name, value in (("FEW", 1), ("BUDGET", 1), ("LEAST", least)):
        monkeypatch.setattr(aleatoric, name, value)
    pairs = tabulate(random_coarse(1, memories=9, groups=5))
    fixed = best_deterministic(pairs)
    assert len(counted) == least
    assert gain(pairs, fixed.policy) == pytest.approx(fixed.average_reward, abs=1e-10)
    found = best_randomised(pairs, fixed)
    assert least < len(counted) <= 3 * least
    assert found.average_reward >= fixed.average_reward


def test_a_search_of_few_pairs_is_not_cut_short(monkeypatch):
    monkeypatch.setattr(aleatoric, "FEW", 1)
    pairs = tabulate(random_coarse(2, memories=9, groups=5))
    within = best_randomised(pairs, best_deterministic(pairs))
    monkeypatch.setattr(aleatoric, "BUDGET", 10**12)
    assert best_randomised(pairs, best_deterministic(pairs)).average_reward == within.average_reward


@pytest.mark.soak
def test_thousands_of_aleatoric_states_are_no_obstacle():
    theory = el.Theory("service-station", {"aleatoric": "memory", "cap": 4})
    assert len(theory.task.states) > 2_000
    assert theory.best_aleatoric.average_reward == pytest.approx(0.5, abs=1e-9)
    assert theory.best_deterministic.exact


@pytest.mark.parametrize("seed", few(range(4), range(2)))
def test_where_the_memory_is_known_nothing_is_better_than_a_deterministic_policy(seed):
    pairs = tabulate(random_mdp(seed))
    found = best_deterministic(pairs)
    assert found.average_reward == pytest.approx(optimum(pairs).average_reward, abs=1e-9)
    assert best_randomised(pairs, found).average_reward == found.average_reward
    assert not best_randomised(pairs, found).randomised


def test_two_doors_need_a_coin():
    """Deterministic policies are stuck behind one door; a fair coin goes through one every other step."""
    pairs = tabulate(alternation())
    fixed = best_deterministic(pairs)
    found = best_randomised(pairs, fixed)
    assert (fixed.average_reward, fixed.exact) == (0, True)
    assert found.average_reward == pytest.approx(0.5, abs=1e-4)
    assert (found.exact, found.randomised) == (False, True)
    assert optimum(pairs).average_reward == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("success", [0.25, 0.04], ids=str)
def test_a_heavy_door_needs_a_loaded_coin(success):
    """Both take 1 / p + 1 / (c (1 - p)) steps, p the chance of trying door 0: best at p = 1 / (1 + 1 / sqrt c)."""
    pairs = tabulate(alternation(success))
    found = best_randomised(pairs, best_deterministic(pairs))
    p = 1 / (1 + success**-0.5)
    best = 2 / (1 / p + 1 / (success * (1 - p)))
    assert best * (1 - 1e-2) <= found.average_reward <= best + 1e-10
    assert found.average_reward == pytest.approx(gain(pairs, found.policy), abs=1e-10)
    assert found.policy[0, 0] == pytest.approx(p, abs=0.05)


@pytest.mark.parametrize("seed", few(range(10), range(4)))
def test_aleatoric_policies_lose_at_most_the_distortion(seed):
    """lambda_* - lambda_pi~ <= Delta-bar, for the class with randomised policies (``lemma:aleatoric-vs-global``)."""
    pairs = tabulate(random_coarse(seed))
    found = best_randomised(pairs, best_deterministic(pairs))
    lost = optimum(pairs).average_reward - found.average_reward
    assert -1e-10 <= lost <= distortion_sup(pairs, 50).value + 1e-9


def test_two_doors_lose_at_most_the_distortion():
    """The lemma allows for the loss of the coin, one half; that of deterministic policies would be one."""
    pairs = tabulate(alternation())
    found = best_randomised(pairs, best_deterministic(pairs))
    assert 0.5 - 1e-9 <= 1 - found.average_reward <= distortion_sup(pairs, 1).value


@pytest.mark.parametrize("seed", few(range(6), range(2)))
def test_randomised_policies_are_valid_and_never_worse(seed):
    pairs = tabulate(random_coarse(seed, memories=5, groups=2))
    fixed = best_deterministic(pairs)
    found = best_randomised(pairs, fixed)
    assert found.average_reward >= fixed.average_reward
    np.testing.assert_allclose(found.policy.sum(axis=1), 1, atol=1e-12)
    assert (found.policy >= 0).all()
    assert gain(pairs, found.policy) == pytest.approx(found.average_reward, abs=1e-10)


@pytest.mark.parametrize("seed", few(range(6), range(2)))
def test_no_policy_on_a_grid_is_better_than_what_was_found(seed):
    """One aleatoric state over three memories: a line of policies, all of them looked at."""
    pairs = tabulate(random_coarse(seed, memories=3, groups=1))
    found = best_randomised(pairs, best_deterministic(pairs))
    grid = [gain(pairs, np.array([[p, 1 - p]])) for p in np.linspace(0, 1, 201)]
    assert found.average_reward >= max(grid) - 1e-3
