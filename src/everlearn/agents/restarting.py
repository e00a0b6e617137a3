"""Restart any agent, by a clock or when its rewards fall: a remedy for environments that change.

The agent is made from another, and knows what that one knows.  Besides, it keeps a copy of the initial arrays, the time
of the last restart and the record of :mod:`everlearn.agents.alarm`.  To restart is to copy the initial arrays back, and
to begin another record.  Until then the agent takes the same actions as the other, to the last bit.

The idea, and the windows of doubling lengths, are those of MASTER (Chen-Yu Wei and Haipeng Luo, "Non-stationary
Reinforcement Learning without Prior Knowledge: An Optimal Black-box Approach", COLT 2021).  MASTER runs instances of
the other agent on many time scales, and compares rewards with the optimistic values that each instance computes, which
bounds the regret.  Here there is one instance, and rewards are compared with earlier rewards, because few agents have
such values.  So no bound holds, and a change that only offers something better goes unnoticed.

The other agent counts its steps from the restart: its ``now.t`` is 1 at the first step after it.  The other values of a
schedule are those of the whole run, because they are computed once for all runs, from t alone.  So a horizon stays as
long as it has become.  The random stream continues.
"""

from __future__ import annotations

import importlib
from collections import namedtuple
from collections.abc import Mapping
from dataclasses import replace
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any

import numpy as np

from everlearn.agents.alarm import begin_record, falls
from everlearn.agents.checks import check_at_least
from everlearn.agents.design import Design
from everlearn.agents.guard import build_knowledge
from everlearn.agents.knowledge import arrays
from everlearn.agents.names import SCHEDULED_AGENT
from everlearn.agents.registry import make_design
from everlearn.agents.spec import split
from everlearn.errors import require
from everlearn.protocol import Act, Experience, Knowledge, Learn, ScheduleValues, Table
from everlearn.tasks.indexed import IndexedTask

INITIAL = "initial_"
"""What precedes the name of an array in the name of the copy to which a restart returns it."""

OWN = ("restarts", "record", "every", "alarm")
"""The fields that are not of the other agent: the step of the last restart and their number, the record of rewards, and
the two parameters."""


@cache
def class_for(kind: Any) -> Any:
    """Return the class of the knowledge of an agent that is made from another: the fields of both."""
    make: Any = namedtuple
    made = make("Restarting", [*kind._fields, *(INITIAL + name for name in kind._fields), *OWN])
    for name in {*vars(kind)}.difference(dir(made)):  # what a user's class has besides
        setattr(made, name, vars(kind)[name])
    made.__name__ = made.__qualname__ = f"{kind.__module__}:{kind.__qualname__}".replace(".", "/")
    made.__module__ = __name__ if kind.__module__ != "__main__" else "__main__"
    return made


def __getattr__(name: str) -> Any:
    """Find such a class by its name, as what is cached on disk does."""
    module, colon, attribute = name.replace("/", ".").partition(":")
    if not colon:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return class_for(attrgetter(attribute)(importlib.import_module(module)))


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
    """Copy the initial arrays back; ``everlearn.engine.parts`` has the same for compiled code.

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
    design: object = SCHEDULED_AGENT,
    *,
    every: int = 0,
    alarm: float = 3.0,
    schedule: object = None,
    parameters: Mapping[str, Any] | None = None,
) -> Design:
    """Return a design made from another, which begins anew by a clock, or when its rewards fall.

    It is for environments that change.  As long as it does not restart, it takes the same actions as the other.

    Parameters
    ----------
    design:
        the other design: a design, a function that makes one, or the name of one.  It may be user-defined
    every:
        the number of steps after which it restarts; 0: never
    alarm:
        it restarts if recent rewards are lower than earlier ones by more than so many standard errors
        (``everlearn.agents.alarm`` says how); 0: never
    schedule:
        the schedule of the other design, if it takes one
    parameters:
        parameters of the other design and of its schedule, as in ``{"agent.prior": 1}``

    Examples
    --------
    >>> import everlearn as el
    >>> design = el.restarting("tsde", every=1000, parameters={"agent.prior": 1})
    >>> agent = el.Agent("riverswim", design)
    >>> for _ in range(2500):
    ...     reward = agent.observe(1, executed="right")
    >>> agent.inspect()["restarts"].tolist(), agent.inspect()["N"].sum()
    ([2.0], np.float64(500.0))

    """
    parts = split(parameters or {})
    require(not parts["task"], "parameters", next(iter(parts["task"]), None), "give parameters of the agent only")
    other = make_design(design, parts["agent"], schedule=schedule, schedule_chosen=parts["schedule"])
    return make_design("restarting", {"of": other, "every": every, "alarm": alarm})


def restarting_agent(*, of: str | Design = SCHEDULED_AGENT, every: int = 0, alarm: float = 3.0) -> Design:
    """Restart another agent by a clock, or when its rewards fall (in the spirit of MASTER, Wei and Luo, 2021).

    All parameters but these, and the schedule, are those of the other agent.

    Parameters
    ----------
    of:
        the other agent, by its name; :func:`everlearn.restarting` also takes designs
    every:
        the number of steps after which it restarts; 0: never
    alarm:
        it restarts if recent rewards are lower than earlier ones by more than so many standard errors; 0: never

    """
    other = of if isinstance(of, Design) else make_design(of)
    check_at_least(0, every=every, alarm=alarm)
    require(other.inner is None, "agent.of", other.name, "restarts already; give the agent that it is made from")

    def build(indexed: IndexedTask) -> Knowledge:
        knowledge = build_knowledge(other, indexed)
        taken = {*OWN, *(INITIAL + name for name in knowledge._fields)}.intersection(knowledge._fields)
        require(not taken, "agent.of", other.name, f"has fields with names that are used here: {sorted(taken)}")
        initial = {name: array.copy() for name, array in arrays(knowledge).items()}
        for array in initial.values():
            array.flags.writeable = False
        copies = [initial.get(name, ()) for name in knowledge._fields]
        own = np.zeros(2, dtype=np.int64), begin_record(), every, float(alarm)
        kind: Any = type(knowledge)
        return class_for(kind)(*knowledge, *copies, *own)

    def inspect(knowledge: Any, now: ScheduleValues) -> dict[str, Table]:
        tables = {} if other.inspect is None else other.inspect(knowledge, since_restart(knowledge, now))
        return {**tables, "restarts": knowledge.restarts[1:].astype(np.float64)}

    act, learn = _with_restarts(other.act, other.learn)
    made: dict[str, Any] = {"build": build, "act": act, "learn": learn, "inspect": inspect, "by_state": False}
    return replace(other, **made, inner=other, name="restarting")
