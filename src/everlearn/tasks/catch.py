"""Catch as a task: agents that generalise see the whole board, and tables see the ball that falls next."""

from __future__ import annotations

from everlearn.aleatoric.reward import Reward
from everlearn.aleatoric.state import AleatoricState
from everlearn.environments import catch as board
from everlearn.environments.catch import CAUGHT, MISSED, NEITHER, NONE
from everlearn.protocol import Label
from everlearn.tasks.portrait import Bars, Portrait
from everlearn.tasks.task import Task

PAID = {CAUGHT: 1.0, MISSED: -1.0, NEITHER: 0.0}


def catch(*, rows: int = 10, columns: int = 5, spawn: float = 0.1) -> Task:
    """Move a paddle to catch falling balls, of which there may be several.

    A ball that is caught earns 1, and one that is missed costs 1.  Balls come at the rate ``spawn``, so that no policy
    earns more than ``spawn`` per step; if two fall close together, one may be out of reach.

    The aleatoric state of an agent with a table is (column of the paddle, column of the lowest ball, its height above
    the paddle).  An agent whose values generalise, such as ``linear``, sees the whole board, which is the memory.

    Parameters
    ----------
    rows:
        the number of rows, that of the paddle included
    columns:
        the number of columns
    spawn:
        the probability that a ball appears in a step

    Examples
    --------
    >>> task = catch()
    >>> len(task.states), len(task.fine.states)
    (230, 50388480)

    """
    parameters = dict(locals())
    made = board.Catch(rows, columns, spawn)
    model = made.model()
    heights = [(NONE, 0), *((column, height) for height in range(1, rows) for column in range(1, columns + 1))]
    states = tuple((paddle, *ball) for paddle in range(1, columns + 1) for ball in heights)
    return Task(
        model.actions,
        model.observations,
        AleatoricState(lowest(made.start), _lowest, states, AleatoricState(made.start, _board, made.boards)),
        Reward(_paid, -1.0, 1.0),
        model,
        name="catch",
        summary="move a paddle to catch falling balls, of which there may be several",
        portrait=Portrait(
            "The ball that is lowest counts first, and the next one may then be out of reach.",
            "paddle in column {}, lowest ball in column {} at height {}",
            Bars(("paddle", *(f"row {row}" for row in range(1, rows))), columns),
        ),
        source="csuite (Google DeepMind, 2022), catch",
        parameters=parameters,
    )


def lowest(memory: tuple[int, ...]) -> Label:
    """Return the column of the paddle, the column of the lowest ball, and its height; (paddle, 0, 0) if there is none.

    Examples
    --------
    >>> lowest((3, 0, 5, 1)), lowest((3, 0, 0, 0))
    ((3, 5, 2), (3, 0, 0))

    """
    ball = next(((column, height) for height, column in enumerate(memory) if height and column != NONE), (NONE, 0))
    return memory[0], *ball


def _lowest(_aleatoric_state: Label, _action: str, observation: tuple[str, tuple[int, ...]]) -> Label:
    return lowest(observation[1])


def _board(_aleatoric_state: Label, _action: str, observation: tuple[str, tuple[int, ...]]) -> Label:
    return observation[1]


def _paid(_aleatoric_state: Label, _action: str, observation: tuple[str, tuple[int, ...]]) -> float:
    return PAID[observation[0]]
