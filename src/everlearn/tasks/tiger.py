"""The tiger, a classic of hidden state: it waits behind one of two doors; listening tells which, with some errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from everlearn.aleatoric.reward import Reward
from everlearn.aleatoric.state import last_observation
from everlearn.environments.model import Model
from everlearn.errors import require
from everlearn.protocol import Label, RewardFunction
from everlearn.tasks.portrait import Portrait
from everlearn.tasks.task import Task

LEFT, RIGHT = "left", "right"
SIDES = (LEFT, RIGHT)
LISTEN, STAND = "listen", "stand"
OPEN = {f"open {side}": side for side in SIDES}
HEARD = {side: f"hear {side}" for side in SIDES}
TREASURE, TIGER, NOTHING = "treasure", "tiger", "nothing"

LISTENING, MAULED = -1.0, -100.0


def tiger(*, accuracy: float = 0.85) -> Task:
    """Listen until it is worth opening one of two doors: one hides a treasure, the other a tiger.

    To listen costs 1, and tells the side of the tiger with probability ``accuracy``.  To open a door earns 10 for the
    treasure and costs 100 for the tiger; then both are hidden again.  The observation says which of
    them it was, as the reward would; the sound at that moment, which means nothing in the source, is left out.

    Parameters
    ----------
    accuracy:
        the probability that listening tells the right side

    Examples
    --------
    >>> tiger().model.outcomes("left", "listen")[0]
    Outcome(observation='hear left', probability=0.85, memory='left')

    """
    parameters = dict(locals())
    _check_accuracy(accuracy)

    def rho(side: str, action: str) -> Iterator[tuple[str, float, Label]]:
        if action == LISTEN:
            yield from _sounds(side, accuracy, side)
        else:
            for hidden in SIDES:
                yield TIGER if OPEN[action] == side else TREASURE, 0.5, hidden

    model = Model((LISTEN, *OPEN), (*HEARD.values(), TREASURE, TIGER), _anywhere(), rho, hidden=True)
    return Task(
        model.actions,
        model.observations,
        last_observation(),
        Reward(_paid({TREASURE: 10.0, TIGER: MAULED}), MAULED, 10.0),
        model,
        name="tiger",
        summary="listen until it is worth opening a door, behind which may be a tiger",
        portrait=Portrait(
            "Listening costs a little, and the wrong door costs a lot.", preset={"task.aleatoric": "belief:10"}
        ),
        source="Cassandra, Kaelbling and Littman (1994)",
        parameters=parameters,
    )


def extended_tiger(*, accuracy: float = 0.85) -> Task:
    """Listen while seated, stand up, and open one of two doors: one hides a treasure, the other a tiger.

    As in ``tiger``, except that the treasure is worth 30, that listening tells something to who is seated only, and
    that a door can be opened by who stands only.  To stand up costs 1, as every action that opens no door.  After a
    door was opened, one is seated again.

    Parameters
    ----------
    accuracy:
        the probability that listening tells the right side

    Examples
    --------
    >>> [outcome.memory for outcome in extended_tiger().model.outcomes(("left", "seated"), "stand")]
    [('left', 'standing')]

    """
    parameters = dict(locals())
    _check_accuracy(accuracy)
    seated, standing = "seated", "standing"

    def rho(memory: tuple[str, str], action: str) -> Iterator[tuple[str, float, Label]]:
        side, posture = memory
        if action == LISTEN and posture == seated:
            yield from _sounds(side, accuracy, memory)
        elif action in OPEN and posture == standing:
            for hidden in SIDES:
                yield TIGER if OPEN[action] == side else TREASURE, 0.5, (hidden, seated)
        else:
            yield NOTHING, 1.0, (side, standing if action == STAND else posture)

    observations = (NOTHING, *HEARD.values(), TREASURE, TIGER)
    model = Model((LISTEN, STAND, *OPEN), observations, _anywhere(seated), rho, hidden=True)
    return Task(
        model.actions,
        observations,
        last_observation(),
        Reward(_paid({TREASURE: 30.0, TIGER: MAULED}), MAULED, 30.0),
        model,
        name="extended-tiger",
        summary="listen while seated, stand up, and open a door, behind which may be a tiger",
        portrait=Portrait(
            "It costs to listen and to stand up, and the wrong door costs a lot.",
            preset={"task.aleatoric": "belief:10"},
        ),
        source="Veness, Ng, Hutter, Uther and Silver (2011), Section 7.1",
        parameters=parameters,
    )


def _check_accuracy(accuracy: float) -> None:
    require(0.5 <= accuracy <= 1, "accuracy", accuracy, "give a probability from 0.5 to 1")


def _sounds(side: str, accuracy: float, memory: Label) -> Iterator[tuple[str, float, Label]]:
    for heard, sound in HEARD.items():
        yield sound, accuracy if heard == side else 1 - accuracy, memory


def _anywhere(posture: str | None = None) -> Any:
    """Return the distribution of the first memory: the tiger is on either side."""
    return {side if posture is None else (side, posture): 0.5 for side in SIDES}


def _paid(prizes: dict[str, float]) -> RewardFunction:
    def paid(_aleatoric_state: Label, _action: str, observation: str) -> float:
        return prizes.get(observation, LISTENING)

    return paid
