"""RiverSwim as a task: a little for resting at the left bank, much for swimming against the current to the right.

Swimming left always succeeds; swimming right may fail, and may lose ground.  Strehl and Littman (2008) introduced it.
The numbers here are those of Osband, Russo and Van Roy (2013), which Ouyang et al. (2017) use too.  In the original the
rewards are 5 and 10,000, the latter paid only when the swimmer stays at the right end, which happens there with
probability 0.3 and not 0.6; inside, right succeeds with probability 0.3 and fails backwards with 0.1; at the left end
it succeeds with 0.3; and the stream begins in the second or the third state at random, where here it is the first.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from everlearn.errors import require
from everlearn.protocol import Table
from everlearn.tasks.arrays import mdp
from everlearn.tasks.portrait import Portrait
from everlearn.tasks.task import Task

ACTIONS = ("left", "right")

MOST_STATES = 1000


def riverswim(
    *,
    states: int = 6,
    advance: float = 0.35,
    back: float = 0.05,
    first_advance: float = 0.6,
    last_back: float = 0.4,
    left_reward: float = 0.005,
    right_reward: float = 1.0,
) -> Task:
    """Swim upstream past states without reward to a large reward, or stay downstream for a small one.

    Parameters
    ----------
    states:
        the number of states, from the left end to the right
    advance:
        the probability that swimming right succeeds, between the ends
    back:
        the probability that swimming right loses ground, between the ends
    first_advance:
        the probability that swimming right succeeds at the left end
    last_back:
        the probability that swimming right loses ground at the right end
    left_reward:
        what is paid for swimming left at the left end
    right_reward:
        what is paid for swimming right at the right end, successful or not

    Examples
    --------
    >>> task = riverswim()
    >>> {name: round(value, 6) for name, value in task.references.items()}
    {'optimum': 0.428622, 'always right': 0.428622, 'always left': 0.005}

    """
    parameters = dict(locals())
    require(2 <= states <= MOST_STATES, "states", states, f"give 2 to {MOST_STATES}")
    require(0 < advance <= 1, "advance", advance, "give a probability in (0, 1]")
    require(0 <= back <= 1 - advance + 1e-12, "back", back, f"give 0 to {1 - advance:.6g}")
    require(0 < first_advance <= 1, "first_advance", first_advance, "give a probability in (0, 1]")
    require(0 <= last_back <= 1, "last_back", last_back, "give a probability")
    require(0 <= left_reward < np.inf, "left_reward", left_reward, "give a finite number of at least 0")
    require(0 < right_reward < np.inf, "right_reward", right_reward, "give a positive, finite number")
    up, down = np.full(states - 1, advance), np.full(states - 1, back)
    up[0], down[-1] = first_advance, last_back
    moves = np.diag(up, 1) + np.diag(down, -1)
    right = moves + np.diag(np.maximum(0.0, 1 - moves.sum(axis=1)))
    left = np.eye(states, k=-1)
    left[0, 0] = 1.0
    rewards = np.zeros((states, len(ACTIONS)))
    rewards[0, 0], rewards[-1, 1] = left_reward, right_reward
    largest = max(left_reward, right_reward)
    task = mdp([left, right], rewards, actions=ACTIONS, reward_range=(0.0, largest), name="riverswim")
    return replace(
        task,
        summary=f"swim against the current past {states - 2} states that pay nothing, or stay for a small reward",
        portrait=Portrait("Rest for a crumb, or swim against the current for a meal that is far away.", "place {}"),
        source="Strehl and Littman (2008), with the numbers of Osband, Russo and Van Roy (2013)",
        parameters=parameters,
        references=_references(right, left_reward, right_reward),
    )


def riverswim_12(
    *,
    advance: float = 0.35,
    back: float = 0.05,
    first_advance: float = 0.6,
    last_back: float = 0.4,
    left_reward: float = 0.005,
    right_reward: float = 1.0,
) -> Task:
    """Swim upstream past twice as many states as in riverswim; undirected exploration fails here.

    Parameters
    ----------
    advance:
        as in :func:`riverswim`
    back:
        as in :func:`riverswim`
    first_advance:
        as in :func:`riverswim`
    last_back:
        as in :func:`riverswim`
    left_reward:
        as in :func:`riverswim`
    right_reward:
        as in :func:`riverswim`

    Examples
    --------
    >>> round(riverswim_12().references["optimum"], 9)
    0.428571429

    """
    parameters = dict(locals())
    return replace(riverswim(states=12, **parameters), name="riverswim-12", parameters=parameters)


def _references(right: Table, small: float, large: float) -> dict[str, float]:
    """Return the averages of the two policies that may be optimal, and the larger of them.

    Always right makes a chain that moves one state at a time, so the flow up between two neighbours equals the flow
    down: weights in the ratio of those probabilities are stationary, and the average g is ``large`` times the weight of
    the last state.

    That is the optimum if ``small`` is at most g.  The relative values h of always right increase, h(s + 1) > h(s):
    by d = g / up at the first state, and from there by (g + down d) / up.  So left, which pays nothing and leads one
    state down, is nowhere better than g, except perhaps at the left end, where it pays ``small``.  If ``small`` is
    more than g, a policy that goes left at the left end and gets there earns ``small``; any other never collects
    ``small``, and so earns at most g.
    """
    share = 1.0  # of the last state, relative to all so far
    for here, there in pairwise(range(len(right))):
        share = 1 / (1 + right[there, here] / (right[here, there] * share))
    average = float(large * share)
    return {"optimum": max(average, float(small)), "always right": average, "always left": float(small)}
