"""The alternating environment of Appendix D: it rewards an action that differs from the previous one.

The observation is 1 if the action differs from the previous action, else 0; it is 0 at the first step.  The paper gives
rho for every history, so nothing is left to interpret.
"""

from __future__ import annotations

from collections.abc import Iterator

from everlearn.environments.model import Model

ACTIONS = (1, 2)
OBSERVATIONS = (0, 1)
NONE = 0
"""The memory of the empty history; otherwise the memory is the last action."""


def alternating_model() -> Model:
    """Return the environment."""
    return Model(ACTIONS, OBSERVATIONS, NONE, _rho)


def _rho(last: int, action: int) -> Iterator[tuple[int, float, int]]:
    yield int(last not in (NONE, action)), 1.0, action
