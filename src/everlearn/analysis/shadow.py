"""``shadow_report(DIR)``: how an agent in shadow mode compares with the controller in charge, from its journal.

It says how often the two agree, and by how much the policy of the agent is better, with an interval; see
:mod:`everlearn.analysis.gain`.  Where the controller hardly ever did what the agent would do, the journal cannot tell,
and the report names these states.
"""

from __future__ import annotations

import math
import os
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from everlearn.analysis.evaluation import FEWEST_VISITS, assumptions, confidence_level, reasons_against, require_listed
from everlearn.analysis.gain import Gain, estimate_gain
from everlearn.durable import database
from everlearn.durable.core import Core
from everlearn.durable.entry import Kind, Mode
from everlearn.durable.reader import Reader, opened
from everlearn.durable.transitions import Transitions, read_transitions, step_range
from everlearn.durable.views import greedy_actions, promotion
from everlearn.errors import InputError
from everlearn.protocol import Table
from everlearn.registry import MOST_STEPS

RECENT = 1_000
"""How many of the last steps are recent."""

NOTABLE = 0.001
"""The least share of the steps of the policy for which missing observations of a state and an action are listed."""

IN_SAMPLE = (
    "the agent learned its policy from the same steps, so that the gain looks greater than it is; "
    "a promotion rule judges a policy by later steps"
)

PRICED = "the gain is in reward per step; the durations and the costs of this agent are not considered"

_SHADOWED = "SELECT max(step) FROM journal WHERE agent = ? AND kind = ? AND step <= ? AND mode "
_AGREEMENT = """SELECT state, count(*), count(proposed), coalesce(sum(proposed = executed), 0) FROM journal
WHERE agent = ? AND kind = ? AND step BETWEEN ? AND ? GROUP BY state"""
_EXECUTED = """SELECT state, executed, count(*) FROM journal
WHERE agent = ? AND kind = ? AND step BETWEEN ? AND ? GROUP BY state, executed"""


@dataclass(frozen=True, repr=False)
class ShadowReport:
    """How an agent in shadow mode compares with the controller in charge; see :func:`shadow_report`.

    Examples
    --------
    >>> agreement, gain = {"overall": 0.75}, {"supported": False, "reasons": ["too few visits"]}
    >>> ShadowReport("agent", "shadow", 100, 1, 100, agreement, gain, (), (), (), None)
    ShadowReport(steps 1 to 100; agreement 0.75; gain not supported: too few visits)

    """

    agent: str
    mode: str
    step: int
    first: int  # the steps that are compared: those of the last time in shadow mode
    last: int
    agreement: dict[str, Any]
    gain: dict[str, Any]
    states: tuple[dict[str, Any], ...]
    missing: tuple[dict[str, Any], ...]  # where the controller hardly ever did what the agent would do
    warnings: tuple[str, ...]
    promotion: dict[str, Any] | None

    def __repr__(self) -> str:
        gain, share = self.gain, self.agreement["overall"]
        if gain["supported"]:
            result = f"{gain['estimate']:.4g}, {gain['lower']:.4g} to {gain['upper']:.4g} at {gain['confidence']:g}"
        else:
            result = f"not supported: {gain['reasons'][0]}"
        agreed = "unknown" if share is None else f"{share:.4g}"
        return f"ShadowReport(steps {self.first:,} to {self.last:,}; agreement {agreed}; gain {result})"

    def to_dict(self) -> dict[str, Any]:
        """Return it as a JSON document."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}


def shadow_report(
    directory: str | os.PathLike[str],
    *,
    agent: str | None = None,
    confidence: float = 0.95,
    first: int | None = None,
    last: int | None = None,
) -> ShadowReport:
    """Compare an agent in shadow mode with the controller in charge, from its journal.

    If the agent has a promotion rule, the policy is the candidate of the rule, and the gain is estimated from the steps
    since the candidate was fixed.  Otherwise it is the greedy policy of the agent now.

    Parameters
    ----------
    directory:
        directory of durable agents; it may be in use
    agent:
        the name of the agent, if there are several
    confidence:
        the probability with which the interval covers the true gain; unlike that of a promotion rule, it is for one
        look at the evidence
    first:
        the first step to use; by default the first of the last time in shadow mode
    last:
        the last step to use; by default the last of that time

    Examples
    --------
    >>> import random, tempfile
    >>> from everlearn.durable.live import live
    >>> directory, draw = tempfile.mkdtemp(), random.Random(1)
    >>> setup = {"actions": ["slow", "fast"], "observations": ["idle", "busy"], "reward_range": (0, 1)}
    >>> with live(directory, **setup) as agent:
    ...     agent.shadow()
    ...     for _ in range(300):
    ...         action, observation = draw.choice(["slow", "fast"]), draw.choice(["idle", "busy"])
    ...         _ = agent.act(), agent.observe(observation, executed=action, reward=float(action == "fast"))
    >>> report = shadow_report(directory)
    >>> report.gain["supported"], round(report.gain["estimate"], 1), report.agreement["steps"]
    (True, 0.5, 300)

    """
    with opened(directory, agent) as (reader, name):
        return report_of(reader, name, reader.look(name), confidence, first, last)


def report_of(
    reader: Reader,
    name: str,
    core: Core,
    confidence: float = 0.95,
    first: int | None = None,
    last: int | None = None,
) -> ShadowReport:
    """Return the report of an agent that is open or was read."""
    level = confidence_level(confidence)
    require_listed(core.agent.task, name)
    period = _period(reader, core, first, last)
    if period is None:
        raise InputError(
            "agent", name, "has no observations in shadow mode among these steps; call shadow(), or choose other steps"
        )
    policy, fixed_at = _policy(core, period)
    since = period[0] if fixed_at is None else max(period[0], fixed_at + 1)
    data = read_transitions(reader, core.number, since, period[1], warm=False)
    complete = np.isfinite(data.rewards)
    data = data.where(complete)
    if not data.rewards.size:
        raise InputError("agent", name, f"has no complete observations from step {since} on")
    table = np.eye(len(core.agent.task.actions))[policy]
    gain = estimate_gain(data, table, level, core.agent.task.reward.high - core.agent.task.reward.low)
    priced = [] if core.setup.prices is None else [PRICED]
    in_sample = [] if fixed_at is not None else [IN_SAMPLE]
    return ShadowReport(
        agent=name,
        mode=core.mode,
        step=core.step,
        first=period[0],
        last=period[1],
        agreement=_agreement(reader, core, period),
        gain={
            **_gain(gain, data, core, level),
            "policy_step": core.step if fixed_at is None else fixed_at,
            "first": since,
            "last": period[1],
        },
        states=tuple(_states(reader, core, period, policy)),
        missing=tuple(_missing(gain, core, policy, len(data.rewards))),
        warnings=(*assumptions(data, gain.paired, int((~complete).sum())), *priced, *in_sample),
        promotion=promotion(core),
    )


def _period(reader: Reader, core: Core, first: int | None, last: int | None) -> tuple[int, int] | None:
    """Return the first and the last step of the last time in shadow mode, within bounds."""
    bounds = step_range(first, last)
    with database.errors(reader.path):
        values = (core.number, Kind.OBSERVED, core.step if bounds[1] is None else bounds[1])
        (end,) = reader.connection.execute(f"{_SHADOWED} = {Mode.SHADOW}", values).fetchone()
        if end is None:
            return None
        (before,) = reader.connection.execute(f"{_SHADOWED} <> {Mode.SHADOW}", (*values[:2], end)).fetchone()
    begin = max((before or 0) + 1, bounds[0] or 1)
    return (begin, end) if begin <= end else None


def _policy(core: Core, period: tuple[int, int]) -> tuple[list[int], int | None]:
    """Return the policy to judge, and the step at which it was fixed, if only later steps judge it."""
    state = core.rule_state
    if state.policy and state.anchor < period[1]:
        return list(state.policy), state.anchor
    return greedy_actions(core), None


def _counts(reader: Reader, core: Core, first: int, last: int) -> dict[int, tuple[int, int, int]]:
    """Return by state: its visits, the number of proposals, and how often they were executed."""
    rows = _grouped(reader, _AGREEMENT, core, first, last)
    return {state: (visits, proposals, executed) for state, visits, proposals, executed in rows}


def _grouped(reader: Reader, query: str, core: Core, first: int, last: int) -> list[tuple[int, ...]]:
    with database.errors(reader.path):
        return list(reader.connection.execute(query, (core.number, Kind.OBSERVED, first, last)))


def _agreement(reader: Reader, core: Core, period: tuple[int, int]) -> dict[str, Any]:
    first, last = period
    overall = _counts(reader, core, first, last)
    recent = _counts(reader, core, max(first, last - RECENT + 1), last)
    (steps, proposals, share), (recent_steps, _, recent_share) = (_share(counts) for counts in (overall, recent))
    shares = {"overall": share, "recent": recent_share, "steps": steps, "recent_steps": recent_steps}
    return {**shares, "proposals": proposals}


def _share(counts: dict[int, tuple[int, int, int]]) -> tuple[int, int, float | None]:
    steps, proposals, executed = (sum(row[place] for row in counts.values()) for place in range(3))
    return steps, proposals, executed / proposals if proposals else None


def _gain(gain: Gain, data: Transitions, core: Core, level: float) -> dict[str, Any]:
    paired, steps = gain.paired, len(data.rewards)
    reasons = reasons_against(paired, core.agent.task, float(np.ptp(data.rewards)))
    middle, half = paired.average, paired.half_width
    undecided = not reasons and middle > 0 and half >= middle
    return {
        "estimate": None if reasons else middle,
        "lower": None if reasons else middle - half,
        "upper": None if reasons else middle + half,
        "supported": not reasons,
        "reasons": reasons,
        "confidence": level,
        "policy": None if reasons else gain.policy,
        "controller": gain.controller,
        "steps": steps,
        "more_steps": min(MOST_STEPS, math.ceil(steps * ((half / middle) ** 2 - 1))) if undecided else None,
    }


def _states(reader: Reader, core: Core, period: tuple[int, int], policy: list[int]) -> list[dict[str, Any]]:
    """Return by state what the agent would do, how often the controller did that, and how often they agreed."""
    task, rows = core.agent.task, []
    counts = {(state, action): count for state, action, count in _grouped(reader, _EXECUTED, core, *period)}
    for state, (visits, proposals, executed) in _counts(reader, core, *period).items():
        row = {"state": task.states[state], "visits": visits, "action": task.actions[policy[state]]}
        row["executed"] = counts.get((state, policy[state]), 0)
        rows.append({**row, "agreement": executed / proposals if proposals else None})
    return sorted(rows, key=lambda row: -int(row["visits"]))


def _missing(gain: Gain, core: Core, policy: list[int], steps: int) -> list[dict[str, Any]]:
    """Return the states that matter and in which the action of the policy was hardly ever executed."""
    task, rows = core.agent.task, []
    shares: Table = gain.paired.weights.sum(axis=1)
    for state in np.argsort(-shares).tolist():
        visits = int(gain.paired.visits[state, policy[state]])
        if shares[state] < NOTABLE:
            break
        if visits < FEWEST_VISITS:
            needed = FEWEST_VISITS - visits
            row = {"state": task.states[state], "action": task.actions[policy[state]], "visits": visits}
            row |= {"needed": needed, "share": float(shares[state])}
            rows.append({**row, "steps": math.ceil(needed * steps / visits) if visits else None})
    return rows
