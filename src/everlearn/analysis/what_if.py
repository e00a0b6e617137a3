"""What other setups would have earned: each learns from the first half of a journal, and is judged on the second.

A policy that was learned from some steps looks better on the same steps than it is.  So no step serves for both.  What
is judged is the greedy policy that a setup has learned, frozen, over its own aleatoric state; see
:mod:`everlearn.analysis.off_policy` for what is assumed.  All setups are judged by the same rewards: those of the
journal, unless others are given.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from everlearn.analysis.evaluation import (
    ANY,
    Evaluation,
    confidence_level,
    judge,
    other_rewards,
    require_per_step,
)
from everlearn.analysis.past import Past, lessons, read_past, retell
from everlearn.durable.core import Core
from everlearn.durable.transitions import step_range
from everlearn.durable.variation import varied
from everlearn.durable.views import policy_table
from everlearn.engine.studying import study
from everlearn.errors import LiveError
from everlearn.protocol import Table

UNKNOWN = "the data cannot tell"


def evaluate_setups(
    directory: str | os.PathLike[str],
    setups: Mapping[str, Mapping[str, Any]],
    *,
    agent: str | None = None,
    confidence: float = 0.95,
    first: int | None = None,
    last: int | None = None,
    reward: object = None,
) -> list[Evaluation]:
    """Return an evaluation of each setup, which is named and given by what differs from that of the journal."""
    level = confidence_level(confidence)
    steps = step_range(first, last)
    past = read_past(directory, agent, *steps)
    rewards, limits = past.data.rewards, (past.task.reward.low, past.task.reward.high)
    if reward is not None:
        rewards, limits = other_rewards(past.data, past.task, reward), ANY
    half = len(rewards) // 2
    if not (np.isfinite(rewards[:half]).any() and np.isfinite(rewards[half:]).any()):
        raise LiveError(
            "there are too few steps with a reward to learn from one half and judge by the other", directory
        )
    return [_evaluated(past, half, rewards, level, limits, name, changes) for name, changes in setups.items()]


def _evaluated(
    past: Past,
    half: int,
    rewards: Table,
    level: float,
    limits: tuple[float, float],
    name: str,
    changes: Mapping[str, Any],
) -> Evaluation:
    core = Core(varied(past.stored, past.task, changes))
    require_per_step(core.setup, name)
    retold, late = retell(past, core.setup), np.arange(len(rewards)) >= half
    study(core.agent, lessons(retold.where(~late), core))
    task = core.agent.task
    actions = [task.actions.index(row["action"]) for row in policy_table(core)["actions"]]
    data = retold._replace(rewards=rewards).where(late)
    return replace(judge(data, task, np.eye(len(task.actions))[actions], level, limits, name), trained=core.t)


def verdict(evaluation: Evaluation, reference: Evaluation) -> str:
    """Return whether a setup would have been better than another: only if their intervals do not overlap."""
    if None in (evaluation.lower, evaluation.upper, reference.lower, reference.upper):
        return UNKNOWN
    lower, upper, low, high = (x or 0.0 for x in (evaluation.lower, evaluation.upper, reference.lower, reference.upper))
    return "better" if lower > high else "worse" if upper < low else UNKNOWN
