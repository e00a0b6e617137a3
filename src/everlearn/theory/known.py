"""Compute the optima of a task automatically, if this takes at most a few seconds.

It takes a second or two, and about five seconds for a task that hides its memory and whose bounds do not meet.

Counts decide whether a task is small enough, never the clock, so that the result is the same on every machine:

- lambda_*, the optimum over all policies, is computed for up to ``MOST_PAIRS`` pairs and ``MOST_OUTCOMES`` outcomes;
  if the memory is hidden, its bounds are, from a set of beliefs that takes up to ``MOST_WORK``.  That is a twentieth of
  what :class:`everlearn.Theory` spends, so bounds that have not met may be narrower there: both are certified;
- lambda_pi~, the best over aleatoric states, is known if a policy over aleatoric states attains lambda_*.  Otherwise it
  is computed if there are few deterministic policies (``MOST_TRIED``, times the number of pairs), or by a search for up
  to ``MOST_SEARCHED`` pairs.
"""

from __future__ import annotations

import weakref
from typing import NamedTuple

from everlearn.errors import EverlearnError
from everlearn.tasks.task import Task
from everlearn.theory.aleatoric import (
    FEW,
    attained,
    best_deterministic,
    best_randomised,
    count_policies,
    projected_average,
)
from everlearn.theory.beliefs import Bracket, bracket
from everlearn.theory.optimum import Optimum, optimum
from everlearn.theory.pairs import Pairs, tabulate

MOST_PAIRS = 1 << 14
"""The largest number of pairs (memory, aleatoric state) for which the optimum is computed automatically."""

MOST_OUTCOMES = 1 << 17
"""The same for the number of outcomes, over all pairs and actions."""

MOST_WORK = 10_000_000
"""Up to how much work the set of beliefs grows, from which the optimum of a hidden task is computed."""

MOST_TRIED = 100_000
"""The largest number of deterministic policies, times pairs, for which all policies are evaluated."""

MOST_SEARCHED = 1_000
"""The largest number of pairs for which the best policy over aleatoric states is searched for."""


class Known(NamedTuple):
    """The known optima of a task: lambda_* with its bounds, and lambda_pi~; each is None if it is not known.

    If the bounds of a hidden task have not met, they are known and lambda_* is not.

    Examples
    --------
    >>> from everlearn.tasks.t_maze import t_maze
    >>> found = known(t_maze(window=1))
    >>> round(found.optimum, 9), round(found.best, 9), found.proved
    (0.166666667, 0.083333333, False)

    """

    optimum: float | None = None
    lower: float | None = None
    upper: float | None = None
    best: float | None = None
    proved: bool = False
    """Whether no policy over aleatoric states is better than ``best``."""


_KNOWN: dict[object, Known] = {}


def known(task: Task, identity: str | None = None) -> Known:
    """Return the optima of a task that can be computed in a few seconds; results are cached per task.

    Parameters
    ----------
    task:
        any task; without a model, nothing is known
    identity:
        a text that identifies the task, so that an equal task that is made again is not computed again; by default
        the task's own, if it has one

    Examples
    --------
    >>> from everlearn.tasks.riverswim import riverswim
    >>> round(known(riverswim()).optimum, 6)
    0.428622

    """
    name = identity or task.identity
    key: object = name or id(task)
    if key not in _KNOWN:
        _KNOWN[key] = _solved(task)
        if name is None:  # the number may be another task's once this one is gone
            weakref.finalize(task, _KNOWN.pop, key, None)
    return _KNOWN[key]


def _solved(task: Task) -> Known:
    if (task.model is None and task.arrays is None) or task.network is not None:
        return Known()
    try:
        pairs = tabulate(task, MOST_PAIRS)
        if sum(matrix.nnz for matrix in pairs.transitions) > MOST_OUTCOMES:
            return Known()
        seeing = optimum(pairs)
        over_histories = bracket(task, MOST_PAIRS, MOST_WORK) if task.hidden else seeing
        best, proved = _best(pairs, seeing, over_histories)
    except EverlearnError:
        return Known()
    if isinstance(over_histories, Bracket):
        lower = over_histories.lower if best is None else max(over_histories.lower, best)
        upper = max(lower, min(over_histories.upper, seeing.upper))
        return Known(lower if over_histories.certified else None, lower, upper, best, proved)
    if not over_histories.certified:
        return Known(best=best, proved=proved)
    return Known(over_histories.average_reward, over_histories.lower, over_histories.upper, best, proved)


def _best(pairs: Pairs, seeing: Optimum, over_histories: Optimum | Bracket) -> tuple[float | None, bool]:
    """Return the best average reward of a policy over aleatoric states, and whether it is proved to be the best.

    ``seeing`` is the optimum over pairs, where a search begins, and ``over_histories`` that over histories.
    """
    value = projected_average(pairs, seeing)
    if attained(value, over_histories):
        return value, True
    policies = count_policies(len(pairs.visited), len(pairs.task.actions))
    if pairs.size > MOST_SEARCHED and (policies > FEW or policies * pairs.size > MOST_TRIED):
        return None, False
    best = best_randomised(pairs, best_deterministic(pairs, seeing), seeing)
    return best.average_reward, attained(best.average_reward, over_histories)
