"""Random tasks: their draws, their groups, and what telling members apart is worth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components

import everlearn as el
from everlearn.errors import InputError
from everlearn.tasks.garnet import _subsets, garnet
from tests.few import few
from tests.refusal import refusal

sizes = {
    "states": st.integers(1, 9),
    "actions": st.integers(1, 4),
    "branching": st.integers(1, 9),
    "group": st.integers(1, 4),
    "distortion": st.sampled_from([0.0, 0.3, 1.0]),
    "seed": st.integers(0, 10**6),
}


@settings(max_examples=60, deadline=None)
@given(**sizes)
def test_everything_is_reached_from_everywhere(states, actions, branching, group, distortion, seed):
    task = garnet(
        states=states,
        actions=actions,
        branching=min(branching, states),
        group=group,
        distortion=distortion,
        seed=seed,
    )
    matrices = task.arrays.matrices
    assert connected_components(sum(matrices), directed=True, connection="strong")[0] == 1
    assert matrices[0].shape == (states * group, states * group)


@pytest.mark.parametrize("branching", [1, 2, 5, 20])
def test_it_branches_as_often_as_asked(branching):
    for matrix in garnet(branching=branching).arrays.matrices:
        assert (np.diff(matrix.indptr) == branching).all()
    for matrix in garnet(branching=branching, group=3).arrays.matrices:
        assert (np.diff(matrix.indptr) == branching).all()


def test_subsets_are_equally_likely():
    # 10 subsets of 3 out of 5, 20,000 draws: 2,000 each, standard deviation 42; within five of these.
    drawn = np.sort(_subsets(np.random.Generator(np.random.SFC64(1)), (20_000, 1), 5, 3)[:, 0], axis=1)
    kinds, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(kinds) == 10
    assert (np.abs(counts - 2000) < 212).all()


def test_the_first_draws_are_those_of_the_stream():
    # 20 states, 3 actions, 3 branches: three rounds of 60 targets, then 120 cuts, then the rewards.
    stream = np.random.Generator(np.random.SFC64(5))
    stream.random(180 + 120)
    rewards = stream.random((20, 3))
    task = garnet(seed=5)
    assert all(
        task.reward(s, a, int(task.arrays.matrices[a][[s]].indices[0])) == rewards[s, a]
        for s in (0, 19)
        for a in range(3)
    )


def test_the_same_seed_gives_the_same_task_and_another_another():
    tables = [[matrix.toarray().tolist() for matrix in garnet(seed=seed).arrays.matrices] for seed in (3, 3, 4)]
    assert tables[0] == tables[1] != tables[2]


@pytest.mark.parametrize("seed", few(range(4), range(2)))
def test_members_that_behave_alike_are_lumped_without_loss(seed):
    single, lumped = (el.Theory(garnet(group=group, seed=seed)) for group in (1, 3))
    assert lumped.pairs.size == 3 * single.pairs.size
    for horizon in (1, 10, 1000):
        assert lumped.distortion(horizon).value == pytest.approx(0.0, abs=1e-9)
    assert lumped.optimal_average_reward == pytest.approx(single.optimal_average_reward, abs=1e-10)
    law = [matrix.toarray().reshape(20, 3, 20, 3).sum(axis=3) for matrix in lumped.task.arrays.matrices]
    for matrix, sums in zip(single.task.arrays.matrices, law, strict=True):
        np.testing.assert_allclose(sums, np.repeat(matrix.toarray()[:, None], 3, axis=1), atol=1e-15)


def test_members_that_differ_more_distort_more():
    found = [el.Theory(garnet(group=2, distortion=d, seed=2)).distortion(10).value for d in (0.0, 0.1, 0.3, 1.0)]
    assert found[0] < 1e-9 < found[1]
    assert found == sorted(found)


@pytest.mark.parametrize("seed", few(range(3), range(2)))
def test_the_optimum_is_that_of_discounting_ever_less(seed):
    # (1 - gamma) V_* tends to the optimum, at a distance of at most (1 - gamma) times the span of the bias.
    theory = el.Theory(garnet(states=6, group=2, distortion=0.5, seed=seed))
    discounted = theory.values(1e6).V / 1e6
    assert theory.optimum.certified
    assert abs(discounted - theory.optimal_average_reward).max() <= theory.optimum.span / 1e6


@pytest.mark.parametrize(
    ("arguments", "refused"),
    [
        ({"states": 0}, ("states", 0)),
        ({"branching": 21}, ("branching", 21)),
        ({"distortion": 1.5}, ("distortion", 1.5)),
        ({"seed": -1}, ("seed", -1)),
        ({"states": 2000, "branching": 1001}, ("branching", 1001)),
        ({"states": 10**9}, ("states and group", (1000000000, 1))),
        ({"group": 10**400}, ("states and group",)),
        (
            {"states": 10**6, "actions": 4},
            ("states, group, actions and branching", (1000000, 1, 4, 3)),
        ),
    ],
)
def test_what_is_refused(arguments, refused):
    with pytest.raises(InputError, check=refusal(*refused)):
        garnet(**arguments)
