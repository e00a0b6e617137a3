"""Random tasks of any size, seen exactly or through groups of memories that behave more or less alike."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from everlearn.errors import require
from everlearn.protocol import Table
from everlearn.tasks.arrays import mdp
from everlearn.tasks.portrait import Portrait
from everlearn.tasks.task import Task

MOST_MEMORIES, MOST_BRANCHES, MOST_ENTRIES = 2_000_000, 1_000, 10_000_000
"""Bounds on sizes: a task takes up to 170 bytes per branch and 400 per memory, less than 3 GB; the time to draw subsets
is proportional to branches times branching."""


def garnet(
    *,
    states: int = 20,
    actions: int = 3,
    branching: int = 3,
    group: int = 1,
    distortion: float = 0.0,
    seed: int = 0,
) -> Task:
    """Act in a random Markov decision process (Garnet), whose memories may be lumped into groups.

    Each action in each aleatoric state leads to ``branching`` others, drawn without replacement, with probabilities cut
    from the unit interval at uniform places (Archibald, McKinnon and Thomas, 1995; Bhatnagar et al., 2009).  Rewards,
    by aleatoric state and action, are uniform in [0, 1]; in the second paper they are normal.  One action of each state
    can lead to the next state, in a ring, so that every state can be reached from every other.

    An aleatoric state is a group of memories.  The distribution of what follows a memory is (1 - d) times one that its
    group has in common, plus d times its own, where d is ``distortion``: at 0 the members of a group behave
    alike, and nothing is lost by treating them as one.

    Parameters
    ----------
    states:
        the number of aleatoric states
    actions:
        the number of actions
    branching:
        the number of aleatoric states that can follow
    group:
        the number of memories per aleatoric state; with 1 it determines the memory
    distortion:
        how much members of a group differ, from 0 to 1
    seed:
        determines the task, in all versions: uniform numbers of NumPy's SFC64, in the order of the source

    Examples
    --------
    >>> import everlearn as el
    >>> alike, different = el.Theory(garnet(group=2)), el.Theory(garnet(group=2, distortion=0.5))
    >>> alike.pairs.size, round(alike.distortion(10).value, 9), round(different.distortion(10).value, 3) > 0.1
    (40, 0.0, True)

    """
    parameters = dict(locals())
    for name in ("states", "actions", "branching", "group"):
        require(parameters[name] >= 1, name, parameters[name], "give at least 1")
    require(branching <= states, "branching", branching, f"give at most the number of states, {states}")
    require(branching <= MOST_BRANCHES, "branching", branching, f"give at most {MOST_BRANCHES:,}")
    remedy = f"give at most {MOST_MEMORIES:,} memories in all"
    require(states * group <= MOST_MEMORIES, "states and group", (states, group), remedy)
    remedy = f"give at most {MOST_ENTRIES:,} branches, states times group times actions times branching"
    given = (states, group, actions, branching)
    require(math.prod(given) <= MOST_ENTRIES, "states, group, actions and branching", given, remedy)
    require(0 <= distortion <= 1, "distortion", distortion, "give a number from 0 to 1")
    require(seed >= 0, "seed", seed, "give a whole number of at least 0")
    random = np.random.Generator(np.random.SFC64(seed))
    common = random_law(random, np.arange(states), states, actions, branching)
    rewards = random.random((states, actions))
    classes = np.repeat(np.arange(states), group)
    own = random_law(random, classes, states, actions, branching)
    targets = np.concatenate([common[0][classes], own[0]], axis=2)
    chances = np.concatenate([(1 - distortion) * common[1][classes], distortion * own[1]], axis=2)
    following = targets * group + _members(random.random((states * group, actions)), targets, states, group)
    task = mdp(
        [_matrix(following[:, action], chances[:, action]) for action in range(actions)],
        rewards[classes],
        aggregate=classes.tolist(),
        reward_range=(0.0, 1.0),
        name="garnet",
        source="Archibald, McKinnon and Thomas (1995); Bhatnagar, Sutton, Ghavamzadeh and Lee (2009)",
    )
    return replace(
        task,
        summary="a random Markov decision process, seen in groups of memories",
        portrait=Portrait(
            "A world made at random: nothing about it can be guessed, everything must be tried.", "place {}"
        ),
        parameters=parameters,
    )


def random_law(
    random: np.random.Generator, classes: NDArray[np.int64], states: int, actions: int, branching: int
) -> tuple[NDArray[np.int64], Table]:
    """Return next states and their probabilities, by memory, action and branch; one action can follow the ring."""
    targets = _subsets(random, (classes.size, actions), states, branching)
    ring = np.broadcast_to(((classes + 1) % states)[:, None], targets.shape[:2])
    goes = np.arange(actions) == (classes % actions)[:, None]
    absent = goes & ~(targets == ring[..., None]).any(axis=2)
    targets[..., 0] = np.where(absent, ring, targets[..., 0])
    cuts = np.sort(random.random((classes.size, actions, branching - 1)), axis=2)
    return targets, np.diff(cuts, axis=2, prepend=0.0, append=1.0)


def _subsets(random: np.random.Generator, shape: tuple[int, int], number: int, size: int) -> NDArray[np.int64]:
    """Return subsets of 0, ..., number - 1, all equally likely, one for each place of the shape (Floyd's algorithm)."""
    chosen = np.full((*shape, size), -1, dtype=np.int64)
    for place, last in enumerate(range(number - size, number)):
        drawn = (random.random(shape) * (last + 1)).astype(np.int64)
        taken = (chosen[..., :place] == drawn[..., None]).any(axis=2)
        chosen[..., place] = np.where(taken, last, drawn)
    return chosen


def _members(draws: Table, targets: NDArray[np.int64], states: int, group: int) -> NDArray[np.int64]:
    """Return which member of a group follows: a random one, or the next one along the ring.

    A memory and an action have one draw, rotated by the number of the next state, so that two branches to the same
    state lead to the same member.  The ring passes through the members in turn, and so through all memories.
    """
    memories = np.arange(states * group)
    own, classes = memories % group, memories // group
    drawn = ((draws[..., None] * group).astype(np.int64) + targets) % group
    onwards = (own + (classes == states - 1)) % group
    along = (targets == ((classes + 1) % states)[:, None, None]) & (
        np.arange(draws.shape[1])[:, None] == (classes % draws.shape[1])[:, None, None]
    )
    return np.where(along, onwards[:, None, None], drawn)


def _matrix(following: NDArray[np.int64], chances: Table) -> object:
    from scipy.sparse import csr_array

    memories, width = following.shape
    starts = np.arange(0, memories * width + 1, width)
    return csr_array((chances.ravel(), following.ravel(), starts), shape=(memories, memories))
