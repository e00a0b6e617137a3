"""The loop over recorded experiences, to be compiled for each design; see :mod:`everlearn.engine.studying`."""

from __future__ import annotations

from typing import Any

from everlearn.agents.clock import Block
from everlearn.engine.kernels import learn_by
from everlearn.engine.sfc64 import stream_at
from everlearn.protocol import Experience, Knowledge, ScheduleValues


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
