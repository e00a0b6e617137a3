"""Let an agent learn from recorded experiences, in compiled code, with the same result as step by step.

Nothing is simulated and no action is chosen: ``learn`` is called for one experience after the other.  A design that
cannot be compiled, a user's design, and an installation without Numba take the interpreted loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.agent import Agent
from everlearn.agents.clock import BLOCK, Block, Carry
from everlearn.errors import InputError
from everlearn.protocol import Experience, Knowledge, Table
from everlearn.randomness import set_words, words

Progress = Callable[[int], None]
"""Called now and then with the number of experiences learned from since the last call."""


class Lessons(NamedTuple):
    """Experiences in order, in the indices of a task; rewards are as the design learns from them."""

    states: NDArray[np.int64]
    actions: NDArray[np.int64]
    observations: NDArray[np.int64]
    rewards: Table
    following: NDArray[np.int64]


def study(agent: Agent, lessons: Lessons, engine: str = "auto", progress: Progress | None = None) -> str:
    """Let a new agent learn from all lessons, as ``Agent.learn`` does; return the engine: compiled or reference.

    Examples
    --------
    >>> agent, other = Agent("service-station", seed=1), Agent("service-station", seed=1)
    >>> actions = np.arange(100) % 2
    >>> lessons = Lessons(actions, actions, 0 * actions, actions / 2, 1 - actions)
    >>> study(agent, lessons), study(other, lessons, "reference"), agent.to_bytes() == other.to_bytes()
    ('compiled', 'reference', True)

    """
    if agent.t:
        raise InputError("agent", agent.t, "it has learned before; give a new one")
    learn = None if engine == "reference" or not len(lessons.rewards) else _compiled_learn(agent)
    if learn is None:
        _interpret(agent, lessons, progress)
        return "reference"
    from everlearn.engine.timeline import Timeline

    timeline, carry, four = Timeline(agent.design.schedule), Carry(), words(agent.stream)
    for begin in range(0, len(lessons.rewards), BLOCK):
        carry = timeline.carry
        part = Lessons._make(column[begin : begin + BLOCK] for column in lessons)
        learn(agent.knowledge, timeline.next(len(part.rewards)), part, four.ctypes.data)
        if progress is not None:
            progress(len(part.rewards))
    _arrive(agent, lessons, four, carry)
    return "compiled"


def _arrive(agent: Agent, lessons: Lessons, four: NDArray[np.uint64], carry: Carry) -> None:
    """Set time, clock, random stream and aleatoric state of an agent that knows all lessons already."""
    t = len(lessons.rewards)
    agent.situation, agent.pending = int(lessons.following[-1]), None
    state = agent.snapshot()
    clock = {"block": (t - 1) // BLOCK if agent.design.schedule is not None else 0, **carry._asdict()}
    changed = {"t": t, "stream": [int(word) for word in four], "clock": clock}
    agent.restore(state._replace(algorithmic={**state.algorithmic, **changed}))
    set_words(agent.stream, four)


def _interpret(agent: Agent, lessons: Lessons, progress: Progress | None) -> None:
    for begin in range(0, len(lessons.rewards), BLOCK):
        rows = [*zip(*(column[begin : begin + BLOCK].tolist() for column in lessons), strict=True)]
        for row in rows:
            agent.learn(Experience(*row))
        if progress is not None:
            progress(len(rows))


def _compiled_learn(agent: Agent) -> Callable[[Knowledge, Block, Lessons, int], None] | None:
    """Return a function that learns from one block of lessons; None if there is no compiled one."""
    if agent.design.own:
        return None
    try:
        from numba.core.errors import NumbaError

        from everlearn.engine.compiling import compiled
        from everlearn.engine.kernels import Token
        from everlearn.engine.stepping import learn_block
    except ImportError:
        return None
    token = Token(agent.design.act, agent.design.learn)
    function: Any = compiled(learn_block, token)
    try:
        none = Lessons(*(np.zeros(0, dtype=kind) for kind in (int, int, int, float, int)))
        function(token, agent.knowledge, Block(1, *(np.zeros(0) for _ in Block._fields[1:])), none, 0)
    except NumbaError:
        return None
    return lambda *arguments: function(token, *arguments)
