"""Puckworld as a task: agents that generalise see 256 levels per coordinate, and tables see a few bins."""

from __future__ import annotations

import functools
import math
from itertools import product

from everlearn.aleatoric.reward import Reward
from everlearn.aleatoric.state import AleatoricState
from everlearn.environments.puckworld import LEVELS, MIDDLE, OBSERVED, POINTS, PUSHES, RADIUS, SIDE, Puckworld
from everlearn.errors import require
from everlearn.protocol import Label
from everlearn.tasks.portrait import Bars, Portrait
from everlearn.tasks.task import Task

MOST_BINS = 10

FARTHEST = math.hypot(SIDE - RADIUS, SIDE - RADIUS)


def puckworld(*, interval: int = 300, bins: int = 4) -> Task:
    """Push a puck towards a goal that keeps moving elsewhere.

    The reward is minus the distance between the puck and the goal, computed from the levels that are observed, so that
    it is wrong by at most 0.03.  The environment has no model, so that its optimum is not known.

    Parameters
    ----------
    interval:
        the number of steps after which the goal moves
    bins:
        the number of bins per coordinate that an agent with a table sees

    Examples
    --------
    >>> task = puckworld()
    >>> len(task.states), task.fine.states.sizes
    (4096, (256, 256, 256, 256, 256, 256))

    """
    parameters = dict(locals())
    require(interval >= 1, "interval", interval, "give at least 1 step")
    require(2 <= bins <= MOST_BINS, "bins", bins, f"give 2 to {MOST_BINS}")
    binned, detailed = functools.partial(_binned, bins), AleatoricState(MIDDLE, _seen, POINTS)
    return Task(
        tuple(PUSHES),
        OBSERVED,  # type: ignore[arg-type]  # used as a tuple
        AleatoricState((bins // 2,) * 6, binned, tuple(product(range(bins), repeat=6)), detailed),
        Reward(_paid, -FARTHEST - 0.1, 0.0),
        None,
        functools.partial(Puckworld, interval),
        name="puckworld",
        summary="push a puck towards a goal that keeps moving elsewhere",
        portrait=Portrait(
            "A push changes the speed, and must be undone in time.",
            "puck in column {}, row {}; speed {} across, {} down; goal in column {}, row {}",
            drawing=Bars(("x", "y", "speed x", "speed y", "goal x", "goal y"), bins - 1),
            preset={"agent": "linear"},
        ),
        source="csuite (Google DeepMind, 2022), puckworld",
        parameters=parameters,
    )


def _seen(_aleatoric_state: Label, _action: Label, observation: Label) -> Label:
    return observation


def _binned(bins: int, _aleatoric_state: Label, _action: Label, observation: tuple[int, ...]) -> Label:
    return tuple(level * bins // LEVELS for level in observation)


def _paid(_aleatoric_state: Label, _action: Label, observation: tuple[int, ...]) -> float:
    x, y, _, _, goal_x, goal_y = observation
    return -math.hypot(x - goal_x, y - goal_y) * SIDE / LEVELS
