"""The alternating environment of Appendix D: it rewards doing otherwise than just before.

The observation is 1 if the action differs from the one before it, else 0; it is 0 at the first step.  The paper gives
rho for every history, so that nothing is open here.
"""

from __future__ import annotations

from collections.abc import Iterator

from everlearn.environments.model import Model

ACTIONS = (1, 2)
OBSERVATIONS = (0, 1)
NONE = 0
"""The memory of the empty history; else it is the last action."""


def alternating_model() -> Model:
    """Return the environment."""
    return Model(ACTIONS, OBSERVATIONS, NONE, _rho)


def _rho(last: int, action: int) -> Iterator[tuple[int, float, int]]:
    yield int(last not in (NONE, action)), 1.0, action
