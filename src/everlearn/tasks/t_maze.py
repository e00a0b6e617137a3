"""An endless sequence of T-mazes: a cue at the start says which way to turn at the end of a corridor.

After Bakker (2002), on one stream: each trial is followed by another.  The cue, left or right with equal probability,
is seen only at the start.  Then come ``length`` - 1 places that look alike, and then the junction, where the turn that
the cue indicated leads to a prize.  Elsewhere every action moves forward, as in the memory length experiment of bsuite
(Osband et al., 2020), so that a trial always takes ``length`` + 2 steps.

As a task: the aleatoric state is a window of observations, whose length limits what can be earned.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from everlearn.aleatoric import state
from everlearn.aleatoric.reward import Reward
from everlearn.environments.model import Model
from everlearn.errors import require
from everlearn.protocol import Label
from everlearn.tasks.portrait import Board, Portrait
from everlearn.tasks.task import Task
from everlearn.tasks.views import reached

LEFT, RIGHT = "left", "right"
ACTIONS = (LEFT, RIGHT)

CORRIDOR, JUNCTION, PRIZE, NOTHING = "corridor", "junction", "prize", "nothing"
OBSERVATIONS = (LEFT, RIGHT, CORRIDOR, JUNCTION, PRIZE, NOTHING)

LONGEST_CORRIDOR = 10_000

END = (-1, NOTHING)
"""The memory at the end of a trial, and at the start; otherwise the memory is the place and the cue."""


@dataclass(frozen=True)
class TMaze:
    """The length of the maze, and its dynamics.

    Examples
    --------
    >>> maze = TMaze(length=2).model()
    >>> [outcome.observation for outcome in maze.outcomes(END, "left")]
    ['left', 'right']
    >>> maze.outcomes((0, "left"), "right")[0].observation, maze.outcomes((2, "left"), "right")[0].observation
    ('corridor', 'nothing')

    """

    length: int = 4

    def __post_init__(self) -> None:
        require(1 <= self.length <= LONGEST_CORRIDOR, "length", self.length, f"give 1 to {LONGEST_CORRIDOR:,}")

    def model(self) -> Model:
        """Return the environment, before the first cue."""
        return Model(ACTIONS, OBSERVATIONS, END, self._rho)

    def _rho(self, memory: tuple[int, str], action: str) -> Iterator[tuple[str, float, Label]]:
        place, cue = memory
        if memory == END:
            for drawn in (LEFT, RIGHT):
                yield drawn, 0.5, (0, drawn)
        elif place == self.length:
            yield PRIZE if action == cue else NOTHING, 1.0, END
        else:
            yield JUNCTION if place + 1 == self.length else CORRIDOR, 1.0, (place + 1, cue)


LONGEST_DRAWN = 10
"""Longer mazes are drawn by their aleatoric states."""

MOST_KEPT = 20_000_000
"""The largest number of observations in all windows together."""


def t_maze(*, length: int = 4, window: int = 5) -> Task:
    """Remember the cue from the beginning of a corridor until its end (Bakker, 2002).

    A trial takes ``length`` + 2 steps and earns at most 1, so that the optimum is 1 / (length + 2).  At the junction
    the cue lies ``length`` observations back.  A longer window contains it, determines the place and the cue, and has
    no distortion: the best policy over aleatoric states is optimal.  With a shorter one every policy over aleatoric
    states earns half of the optimum.  Its distortion is 1, the value of the right turn, at every horizon.

    Parameters
    ----------
    length:
        the number of steps from the cue to the junction
    window:
        the number of observations that the aleatoric state keeps

    Examples
    --------
    >>> import everlearn as el
    >>> for size in (4, 5):
    ...     theory = el.Theory(t_maze(length=4, window=size))
    ...     earned = theory.optimal_average_reward, theory.best_aleatoric.average_reward, theory.distortion(10).value
    ...     print([round(value, 9) for value in earned])
    [0.166666667, 0.083333333, 1.0]
    [0.166666667, 0.166666667, 0.0]

    """
    parameters = dict(locals())
    model = TMaze(length).model()
    _check_window(length, window)
    kept = state.window(window)
    optimum = 1 / (length + 2)
    return Task(
        ACTIONS,
        OBSERVATIONS,
        replace(kept, states=reached(model, kept)),
        Reward(_prize, 0.0, 1.0),
        model,
        name="t-maze",
        summary="remember the cue from the beginning of a corridor until its end",
        portrait=Portrait(
            "The cue at the entrance says which way pays at the end. Will the agent remember it?",
            drawing=_board(length) if length <= LONGEST_DRAWN else None,
        ),
        source="Bakker (2002); Osband et al. (2020)",
        parameters=parameters,
        references={
            "optimum": optimum,
            "best with this window": optimum if window > length else optimum / 2,
            "turning at random": optimum / 2,
        },
    )


def _board(length: int) -> Board:
    """Return the maze as it is drawn: before the cue, the cue, the corridor, and the two ways at the junction."""
    walls = "#" * (length + 1)
    rows = f"{walls}l", f"sc{'.' * length}", f"{walls}r"
    cues = (LEFT, RIGHT)
    places: dict[Label, tuple[int, int]] = {(k, cue): (1, k + 1) for k in range(length + 1) for cue in cues}
    return Board(rows, {"s": "start", "c": "cue", "l": LEFT, "r": RIGHT}, {**places, END: (1, 0)})


def _check_window(length: int, window: int) -> None:
    """Raise if there are too many windows: one can begin at any place of a trial, and a trial can end in four ways."""
    require(1 <= window <= LONGEST_CORRIDOR, "window", window, f"give 1 to {LONGEST_CORRIDOR:,}")
    trial = length + 2
    places = math.log10(window * trial) + (window // trial + 1) * math.log10(4)
    remedy = f"with a length of {length}, there are too many windows; give less"
    require(places <= math.log10(MOST_KEPT), "window", window, remedy)


def _prize(_aleatoric_state: Label, _action: str, observation: str) -> float:
    return float(observation == PRIZE)
