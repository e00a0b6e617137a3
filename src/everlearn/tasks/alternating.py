"""The alternating environment of Appendix D: it rewards an action that differs from the previous one.

The observation is 1 if the action differs from the previous action, else 0; it is 0 at the first step.  The paper gives
rho for every history, so nothing is left to interpret.

As a task: the best action depends on the previous one, and the aleatoric state does not keep it.
"""

from __future__ import annotations

from collections.abc import Iterator

from everlearn.aleatoric.reward import Reward
from everlearn.aleatoric.state import AleatoricState
from everlearn.environments.model import Model
from everlearn.tasks.portrait import Portrait
from everlearn.tasks.task import Task

ACTIONS = (1, 2)
OBSERVATIONS = (0, 1)
NONE = 0
"""The memory of the empty history; otherwise the memory is the last action."""


def alternating() -> Task:
    """Take the action that was not taken last, without remembering which it was (Appendix D).

    There is one aleatoric state.  A policy over aleatoric states can alternate only by chance: the best takes either
    action with probability 1/2, and earns 1/2 per step whereas 1 is possible.

    Examples
    --------
    >>> import everlearn as el
    >>> theory = el.Theory(alternating())
    >>> round(theory.optimal_average_reward, 9), round(theory.best_aleatoric.average_reward, 6)
    (1.0, 0.5)

    """
    return Task(
        ACTIONS,
        OBSERVATIONS,
        AleatoricState(1, _always_one, (1,)),
        Reward(_observed, 0.0, 1.0),
        Model(ACTIONS, OBSERVATIONS, NONE, _rho),
        name="alternating",
        summary="take the action that was not taken last, without remembering which it was (Appendix D)",
        portrait=Portrait(
            "Do what you did not do last: who does not remember that earns half as much.",
            {1: "the same", (1, ()): "nothing yet", (1, (1,)): "after 1", (1, (2,)): "after 2"},
            preset={"task.aleatoric": "actions:1"},
        ),
        source="Dong, Van Roy and Zhou (2022), Appendix D",
        references={"optimum": 1.0, "either action at random": 0.5},
    )


def _rho(last: int, action: int) -> Iterator[tuple[int, float, int]]:
    yield int(last not in (NONE, action)), 1.0, action


def _always_one(_aleatoric_state: int, _action: int, _observation: int) -> int:
    return 1


def _observed(_aleatoric_state: int, _action: int, observation: int) -> float:
    return float(observation)
