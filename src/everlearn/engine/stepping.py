"""Call the compiled functions of a design without a table: step by step, or to learn from recorded experiences.

The reference engine interprets ``act`` and ``learn``, which is slow for an agent with many features.  Here both are
compiled for the design, and called with the same arguments; the stream is that of NumPy, in place.  The results are the
same, bit for bit.  :mod:`everlearn.engine.studying` lets an agent learn from experiences.
"""

from __future__ import annotations

from typing import Any

from everlearn.agents.clock import Block
from everlearn.agents.design import Design
from everlearn.engine.compiling import compiled
from everlearn.engine.kernels import Token, act_by, learn_by
from everlearn.engine.sfc64 import stream_at
from everlearn.protocol import Experience, Knowledge, ScheduleValues


def act_once(token: Any, knowledge: Knowledge, s: int, now: ScheduleValues, address: int) -> int:
    """Call ``act``."""
    return act_by(token, knowledge, s, now, stream_at(address), 0)  # type: ignore[no-any-return]


def learn_once(token: Any, knowledge: Knowledge, experience: Experience, now: ScheduleValues, address: int) -> None:
    """Call ``learn``."""
    learn_by(token, knowledge, experience, now, stream_at(address))


def learn_block(token: Any, knowledge: Knowledge, block: Block, lessons: Any, agent: int) -> None:
    """Learn from lessons at the steps of a block; ``agent`` is the address of the agent's stream."""
    stream = stream_at(agent)
    for i in range(len(block.horizon)):
        now = ScheduleValues(
            block.first + i,
            block.horizon[i],
            block.discount[i],
            block.optimism[i],
            block.drift[i],
            block.ceiling[i],
            block.scale[i],
            block.unscale[i],
            block.exponent[i],
        )
        lesson = Experience(
            lessons.states[i],
            lessons.actions[i],
            lessons.observations[i],
            lessons.rewards[i],
            lessons.following[i],
        )
        learn_by(token, knowledge, lesson, now, stream)


class CompiledFunctions:
    """The functions of a built-in design, of which ``act`` and ``learn`` are compiled."""

    def __init__(self, design: Design) -> None:
        self._design = design
        self._token = Token(design.act, design.learn)
        self._act, self._learn = compiled(act_once, self._token), compiled(learn_once, self._token)

    def act(self, knowledge: Knowledge, s: int, now: ScheduleValues, stream: Any) -> int:
        """Return the index of the action that the design chooses."""
        return self._act(self._token, knowledge, s, now, stream.bit_generator.ctypes.state_address)  # type: ignore[no-any-return]

    def learn(self, knowledge: Knowledge, experience: Experience, now: ScheduleValues, stream: Any) -> None:
        """Let the design learn from one step."""
        self._learn(self._token, knowledge, experience, now, stream.bit_generator.ctypes.state_address)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._design, name)
