"""What tests of durable agents share: a stream that depends on step and action alone, and comparisons."""

from __future__ import annotations

import random
from typing import Any

from everlearn.durable.agent import Live
from everlearn.durable.core import Core

OBSERVATIONS = ("nothing", "departure", "arrival", "arrival+departure")


def seen(step: int, action: str, seed: int = 0) -> str:
    """Return what follows an action at a step: the same whenever it is asked, as after a crash of the controller."""
    return OBSERVATIONS[random.Random(f"{seed} {step} {action}").randrange(4)]


def advance(agent: Live, steps: int, seed: int = 0) -> None:
    """Let an agent control the station up to a step."""
    while agent.step < steps:
        action = agent.act()
        agent.observe(seen(agent.step + 1, str(action), seed))


def whole(core: Core) -> dict[str, Any]:
    """Return all that an agent is, to the last bit; not when it was made, nor what depends on that."""
    _, more, state = core.snapshot()
    del more["check"]
    seen = {"mode": core.mode, "t": core.t, "step": core.step, "asked": core.asked, "pending": core.agent.pending}
    return {**more, **seen, "state": state, "seq": core.seq}
