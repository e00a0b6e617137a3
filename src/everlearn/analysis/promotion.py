"""The looks of a promotion rule at its evidence: whether the candidate is better than the controller in charge.

A look is a function of the journal between two steps and of the candidate, so that it can be taken by any thread or
process with a connection of its own, and taken again after a crash.  ``question`` says what is to be looked at,
``answer`` computes the evidence, and ``entry_of`` returns the journal row that records the evidence and its
consequence: a new candidate, a promotion or a demotion.
"""

from __future__ import annotations

import math
import time
from typing import Any, NamedTuple

import numpy as np

from everlearn.analysis.evaluation import reasons_against
from everlearn.analysis.gain import Earned, estimate_earned, estimate_gain
from everlearn.durable import database
from everlearn.durable.core import Core
from everlearn.durable.entry import Entry, Kind
from everlearn.durable.promotion import MOST_CHANGED, MOST_EVIDENCE, Rule
from everlearn.durable.reader import Reader
from everlearn.durable.transitions import Transitions, read_transitions
from everlearn.durable.views import greedy_actions
from everlearn.errors import EverlearnError, LiveError
from everlearn.protocol import Table
from everlearn.tasks.task import Task

HOUR = 3600.0

OBEYED = 0.9
"""If less than this share of the actions of an agent in control is executed, there is a warning."""

_OBEYED = """SELECT count(*), coalesce(sum(proposed = executed), 0) FROM journal
WHERE agent = ? AND kind = ? AND step BETWEEN ? AND ?"""


class Question(NamedTuple):
    """What is to be looked at: the steps after ``after`` up to ``last`` of an agent, by its number."""

    agent: int
    after: int
    last: int
    candidate: int  # its number
    look: int
    policy: tuple[int, ...]  # the candidate; empty if the agent is in control, and is watched
    level: float  # with which probability a bound may be wrong
    controller: Earned | None = None  # what the controller earned, if the agent is watched


class Look(NamedTuple):
    """The evidence, as a JSON document, and the share of the steps of the candidate in each state."""

    evidence: dict[str, Any]
    shares: Table


def question(core: Core) -> Question | None:
    """Return what the rule of an agent is to look at; None if a first candidate is to be fixed, or nothing is due."""
    state, rule = core.rule_state, core.setup.promotion
    if rule is None or core.step < core.look_at or (core.mode == "shadow" and not state.policy):
        return None
    look, controller = state.looks + 1, None
    if state.in_control and state.promoted is not None:
        known = state.promoted
        controller = Earned(known["controller"], known["controller_error"], known["freedom"])
    which = max(state.candidates, 1)
    level = rule.level(which if controller is None else 1, look)
    after = max(state.anchor, core.look_at - MOST_EVIDENCE)
    return Question(core.number, after, core.look_at, which, look, state.policy, level, controller)


def answer(reader: Reader, task: Task, asked: Question) -> Look:
    """Return the evidence of a journal.  What cannot be computed is no evidence, and the reason is recorded."""
    try:
        data = read_transitions(reader, asked.agent, asked.after + 1, asked.last, warm=False)
        look = judge(data, task, asked)
        return look if asked.controller is None else look._replace(evidence=look.evidence | _obeyed(reader, asked))
    except LiveError:  # it names files, which whoever reads the evidence need not know
        reason = "the journal cannot be read; everlearn check says why"
        return Look(nothing_known(asked, reason), np.zeros(len(task.states)))
    except (EverlearnError, ArithmeticError, ValueError, RuntimeError, MemoryError) as error:
        return Look(nothing_known(asked, f"it could not be computed ({error})"), np.zeros(len(task.states)))


def _obeyed(reader: Reader, asked: Question) -> dict[str, Any]:
    """Return in which share of the steps the action of the agent in control was executed."""
    with database.errors(reader.path):
        steps, obeyed = reader.connection.execute(
            _OBEYED, (asked.agent, Kind.OBSERVED, asked.after + 1, asked.last)
        ).fetchone()
    return {"obeyed": obeyed / steps if steps else None}


def disobeyed(evidence: dict[str, Any] | None) -> str | None:
    """Return a warning if a look found that what the agent in control proposes is often not executed."""
    obeyed = None if evidence is None else evidence.get("obeyed")
    if obeyed is None or obeyed >= OBEYED:
        return None
    return (
        f"the agent is in control, but what it proposed was executed in only {obeyed:.1%} of the steps; "
        "does the controller look at the mode?"
    )


def nothing_known(asked: Question, reason: str) -> dict[str, Any]:
    """Return the evidence of a look that could not be computed."""
    return {**_about(asked), **_unknown(reason)}


def judge(data: Transitions, task: Task, asked: Question) -> Look:
    """Return the evidence of transitions."""
    data, nothing = data.where(np.isfinite(data.rewards)), np.zeros(len(task.states))
    about = {**_about(asked), "steps": len(data.rewards)}
    if not len(data.rewards):
        return Look({**about, **_unknown("the journal has no complete observations among these steps")}, nothing)
    if asked.controller is not None:
        return Look({**about, **_watched(data, task, asked.controller, asked.level)}, nothing)
    return _compared(data, task, asked, about)


def _about(asked: Question) -> dict[str, Any]:
    about = {"candidate": asked.candidate, "look": asked.look, "first": asked.after + 1, "last": asked.last}
    return {**about, "steps": 0, "confidence": 1 - 2 * asked.level}


def _unknown(*reasons: str) -> dict[str, Any]:
    return {"gain": None, "lower": None, "upper": None, "supported": False, "reasons": list(reasons)}


def _compared(data: Transitions, task: Task, asked: Question, about: dict[str, Any]) -> Look:
    policy = np.eye(len(task.actions))[list(asked.policy)]
    gain = estimate_gain(data, policy, 1 - 2 * asked.level, task.reward.high - task.reward.low)
    paired, earned = gain.paired, estimate_earned(data)
    reasons = reasons_against(paired, task, float(np.ptp(data.rewards)))
    middle, half = paired.average, paired.half_width
    interval = {"gain": middle, "lower": middle - half, "upper": middle + half, "supported": True, "reasons": []}
    interval = _unknown(*reasons) if reasons else interval
    more = {"policy": gain.policy, "controller": earned.average, "controller_error": earned.error}
    return Look({**about, **interval, **more, "freedom": earned.freedom}, paired.weights.sum(axis=1))


def _watched(data: Transitions, task: Task, controller: Earned, level: float) -> dict[str, Any]:
    """Compare what the agent earns in control with what the controller earned before.

    As in ``estimate``, no bound is closer than what so many steps can exclude: they may have missed a rare reward.
    """
    from scipy.special import stdtrit

    earned = estimate_earned(data)
    gain, error = earned.average - controller.average, math.hypot(earned.error, controller.error)
    half = float(stdtrit(max(1.0, min(earned.freedom, controller.freedom)), 1 - level)) * error
    half = max(half, (task.reward.high - task.reward.low) * -math.log(level) / len(data.rewards))
    interval = {"gain": gain, "lower": gain - half, "upper": gain + half, "supported": True, "reasons": []}
    return {**interval, "policy": earned.average, "controller": controller.average}


def entry_of(core: Core, look: Look | None = None) -> Entry:
    """Return the row that records a look, and changes what follows from it; without a look, it fixes a candidate.

    The agent must be as it was when the question was asked, but for observations since.
    """
    rule = core.setup.promotion or Rule()
    if look is None:
        return core.change_mode(core.mode, {"event": "candidate", "policy": greedy_actions(core)})
    evidence = look.evidence
    if core.rule_state.in_control:
        worse = evidence["supported"] and evidence["upper"] < 0
        event = "demoted" if worse else "look"
        why = {"reason": _worse(evidence)} if worse else {}
        return core.change_mode("shadow" if worse else core.mode, {"event": event, **why, "evidence": evidence})
    now = greedy_actions(core)
    changed = float(look.shares[np.array(now) != np.array(core.rule_state.policy)].sum())
    note = {"event": "look", "evidence": {**evidence, "changed": changed}, "since": _since(core, rule, evidence)}
    if changed <= MOST_CHANGED:
        if note["since"] is None or not _held(rule, evidence["last"], *note["since"]):
            return core.change_mode(core.mode, note)
        return core.change_mode(rule.to, {**note, "event": "promoted"})
    state = core.rule_state
    if evidence["last"] - state.anchor < state.anchor - (state.began or 0):  # it deserves as many steps as came before
        return core.change_mode(core.mode, note)
    return core.change_mode(core.mode, {**note, "event": "candidate", "policy": now})


def _worse(evidence: dict[str, Any]) -> str:
    earned = (
        f"it earned {evidence['policy']:.4g} per step in control, the controller {evidence['controller']:.4g} before"
    )
    return f"{earned}; the difference is at most {evidence['upper']:.4g}"


def _since(core: Core, rule: Rule, evidence: dict[str, Any]) -> tuple[int, float] | None:
    """Return the step and the time since which the lower bound has exceeded the gain at every look."""
    if not evidence["supported"] or evidence["lower"] <= rule.gain:
        return None
    return core.rule_state.since or (evidence["last"], time.time())


def _held(rule: Rule, last: int, step: int, at: float) -> bool:
    return last - step >= rule.steps and time.time() - at >= rule.hours * HOUR
