"""Restart any agent, by a clock or when its rewards fall: a remedy for environments that change.

The agent is made from another, and knows what that one knows.  Besides, it keeps a copy of the initial arrays, the time
of the last restart and the record of :mod:`everlearn.agents.alarm`.  To restart is to copy the initial arrays back, and
to begin another record.  Until then the agent takes the same actions as the other, to the last bit.

The idea, and the windows of doubling lengths, are those of MASTER (Chen-Yu Wei and Haipeng Luo, "Non-stationary
Reinforcement Learning without Prior Knowledge: An Optimal Black-box Approach", COLT 2021).  MASTER runs instances of
the other agent on many time scales and compares rewards with the optimistic values that each instance computes, which
bounds the regret.  Here there is one instance, and rewards are compared with earlier rewards, because few agents compute
such values.  So no bound holds, and a change that only offers something better goes unnoticed.

The other agent counts its steps from the restart: its ``now.t`` is 1 at the first step after it.  The other values of a
schedule are those of the whole run, because they are computed once for all runs, from t alone.  So a horizon stays as
long as it has become.  The random stream continues.
"""

from __future__ import annotations

import importlib
from collections import namedtuple
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

import numpy as np

from everlearn.agents.alarm import begin_record, falls
from everlearn.agents.checks import check_at_least
from everlearn.agents.design import Design
from everlearn.agents.guard import build_knowledge
from everlearn.agents.knowledge import arrays
from everlearn.agents.names import DEFAULT_AGENT
from everlearn.agents.registry import make_design
from everlearn.errors import InputError
from everlearn.protocol import Act, Experience, Knowledge, Learn, ScheduleValues, Table
from everlearn.tasks.indexed import IndexedTask

INITIAL = "initial_"
"""What precedes the name of an array in the name of the copy to which a restart returns it."""

OWN = ("restarts", "record", "every", "alarm")
"""The fields that are not of the other agent: the step of the last restart and their number, the record of rewards, and
the two parameters."""


@cache
def class_for(kind: type) -> Any:
    """Return the class of the knowledge of an agent that is made from another: the fields of both."""
    fields = kind._fields  # type: ignore[attr-defined]
    made: Any = namedtuple("Restarting", [*fields, *(INITIAL + name for name in fields), *OWN])  # noqa: PYI024
    made.__name__ = made.__qualname__ = f"{kind.__module__}:{kind.__qualname__}".replace(".", "/")
    made.__module__ = __name__ if kind.__module__ != "__main__" else "__main__"
    return made


def __getattr__(name: str) -> Any:
    """Find such a class by its name, as what is cached on disk does."""
    module, colon, attribute = name.replace("/", ".").partition(":")
    if not colon:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return class_for(getattr(importlib.import_module(module), attribute))


def since_restart(knowledge: Any, now: ScheduleValues) -> ScheduleValues:
    """Return the values of the schedule, with the time since the last restart."""
    return ScheduleValues(
        now.t - int(knowledge.restarts[0]),
        now.horizon,
        now.discount,
        now.optimism,
        now.drift,
        now.ceiling,
        now.scale,
        now.unscale,
        now.exponent,
    )


def is_due(knowledge: Any, reward: float, t: int) -> bool:
    """Count a reward, and return whether the clock or the alarm says that it is time to restart."""
    fallen = knowledge.alarm > 0.0 and falls(knowledge.record, reward, knowledge.alarm)
    return bool(fallen or (knowledge.every > 0 and t - int(knowledge.restarts[0]) >= knowledge.every))


def note_restart(knowledge: Any, t: int) -> None:
    """Note the step of a restart, and begin another record."""
    knowledge.restarts[0] = t
    knowledge.restarts[1] += 1
    knowledge.record[:, :] = 0.0


def copy_initial(knowledge: Any) -> None:
    """Copy the initial arrays back; ``everlearn.engine.restoring`` has the same for compiled code.

    A table of records may come as the views of its fields (:func:`everlearn.agents.tabular.by_field`).
    """
    for name, value in knowledge._asdict().items():
        if name.startswith(INITIAL) and isinstance(value, dict):
            for field, view in value.items():
                np.asarray(getattr(knowledge, name.removeprefix(INITIAL))[field])[...] = view
        elif name.startswith(INITIAL) and isinstance(value, np.ndarray):
            getattr(knowledge, name.removeprefix(INITIAL))[...] = value


@lru_cache(maxsize=256)
def _with_restarts(inner_act: Act, inner_learn: Learn) -> tuple[Act, Learn]:
    """Return ``act`` and ``learn`` made from those of another agent; the same for the same, which compile once."""

    def act(knowledge: Any, aleatoric_state: int, now: ScheduleValues, stream: Any) -> int:
        return inner_act(knowledge, aleatoric_state, since_restart(knowledge, now), stream)

    def learn(knowledge: Any, experience: Experience, now: ScheduleValues, stream: Any) -> None:
        inner_learn(knowledge, experience, since_restart(knowledge, now), stream)
        if is_due(knowledge, experience.reward, now.t):
            copy_initial(knowledge)
            note_restart(knowledge, now.t)

    return act, learn


def restarting(
    design: object = DEFAULT_AGENT,
    *,
    every: int = 0,
    alarm: float = 5.0,
    parameters: Mapping[str, Any] | None = None,
    schedule: object = None,
) -> Design:
    """Return a design made from another, which begins anew by a clock or when its rewards fall.

    Parameters
    ----------
    design:
        the design, or the name of one
    """
    chosen = {**(parameters or {}), "of": design, "every": every, "alarm": alarm}
    return make_design("restarting", chosen, schedule=schedule)


def restarting_agent(*, of: object = DEFAULT_AGENT, every: int = 0, alarm: float = 5.0) -> Design:
    """Restart another agent by a clock, or when its rewards fall (in the spirit of MASTER, Wei and Luo, 2021).

    Parameters
    ----------
    of:
        the other agent.  All other parameters are passed to it, and so is the schedule
    every:
        the number of steps after which it restarts; 0: never
    alarm:
        it restarts if recent rewards fall by about so many standard errors; 0: never.  See
        :mod:`everlearn.agents.alarm`

    """
    inner = of if isinstance(of, Design) else make_design(of)
    check_at_least(0, every=every, alarm=alarm)

    def build(indexed: IndexedTask) -> Knowledge:
        knowledge = build_knowledge(inner, indexed)
        initial = {name: array.copy() for name, array in arrays(knowledge).items()}
        for array in initial.values():
            array.flags.writeable = False
        own = np.zeros(2, dtype=np.int64), begin_record(), every, float(alarm)
        copies = [initial.get(name, ()) for name in knowledge._fields]
        return class_for(type(knowledge))(*knowledge, *copies, *own)

    def inspect(knowledge: Any, now: ScheduleValues) -> dict[str, Table]:
        tables = {} if inner.inspect is None else inner.inspect(knowledge, since_restart(knowledge, now))
        return {**tables, "restarts": knowledge.restarts[1:].astype(float)}

    act, learn = _with_restarts(inner.act, inner.learn)
    return replace(inner, build=build, act=act, learn=learn, inspect=inspect, by_state=False, inner=inner, name="restarting")
