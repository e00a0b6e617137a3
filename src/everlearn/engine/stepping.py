"""Call the compiled functions of a design one step at a time, for an environment that has no table.

The reference engine interprets ``act`` and ``learn``, which is slow for an agent with many features.  Here both are
compiled for the design, and called with the same arguments; the stream is that of NumPy, in place.  The results are the
same, bit for bit.
"""

from __future__ import annotations

from typing import Any

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
