"""Shuttle docking: carry supplies back and forth between two space stations, and dock backwards (Chrisman, 1992)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from everlearn.aleatoric.reward import Reward
from everlearn.aleatoric.state import last_observation
from everlearn.environments.model import Model
from everlearn.protocol import Label
from everlearn.tasks.portrait import Portrait
from everlearn.tasks.task import Task

TURN, FORWARD, BACK = "turn around", "go forward", "back up"

LAST, OTHER = "last", "other"
"""The stations: the one that was visited last, and the other, where supplies are due."""

DOCKED, FACING, SPACE, BACKED = "docked", "facing", "space", "backed"
"""The positions: docked; outside a station, facing it; in space, facing it; outside it, with the back to it."""

Position = tuple[str, str]

TURNED: dict[Position, Position] = {
    (DOCKED, OTHER): (FACING, LAST),
    (DOCKED, LAST): (FACING, LAST),
    (FACING, LAST): (BACKED, LAST),
    (BACKED, LAST): (FACING, LAST),
    (FACING, OTHER): (BACKED, OTHER),
    (BACKED, OTHER): (FACING, OTHER),
    (SPACE, LAST): (SPACE, OTHER),
    (SPACE, OTHER): (SPACE, LAST),
}

FORWARDS: dict[Position, Position] = {
    (DOCKED, OTHER): (BACKED, LAST),
    (DOCKED, LAST): (BACKED, LAST),
    (FACING, LAST): (FACING, LAST),
    (FACING, OTHER): (FACING, OTHER),
    (SPACE, LAST): (FACING, LAST),
    (SPACE, OTHER): (FACING, OTHER),
    (BACKED, LAST): (SPACE, OTHER),
    (BACKED, OTHER): (SPACE, LAST),
}

BACKWARDS: dict[Position, dict[Position, float]] = {
    (DOCKED, OTHER): {(DOCKED, LAST): 1.0},
    (DOCKED, LAST): {(DOCKED, LAST): 1.0},
    (FACING, LAST): {(FACING, LAST): 0.4, (SPACE, LAST): 0.3, (BACKED, LAST): 0.3},
    (FACING, OTHER): {(FACING, OTHER): 0.4, (SPACE, OTHER): 0.3, (BACKED, OTHER): 0.3},
    (SPACE, LAST): {(BACKED, OTHER): 0.8, (SPACE, LAST): 0.1, (FACING, OTHER): 0.1},
    (SPACE, OTHER): {(BACKED, LAST): 0.8, (SPACE, OTHER): 0.1, (FACING, LAST): 0.1},
    (BACKED, OTHER): {(DOCKED, OTHER): 0.7, (BACKED, OTHER): 0.3},
    (BACKED, LAST): {(DOCKED, LAST): 0.7, (BACKED, LAST): 0.3},
}
"""Thrusters are unreliable: backing up may fail, or turn the shuttle."""

NOTHING, DELIVERED, CRASHED = "see nothing", "delivered", "crashed"
SEEN_FROM_SPACE = 0.7

REWARDS = {DELIVERED: 10.0, CRASHED: -3.0}


def shuttle() -> Task:
    """Carry supplies between two space stations: dock backwards at the less recently visited one; crash into neither.

    A delivery earns 10 and running into a station costs 3.  A station ahead is seen from outside it, and from space
    with probability 0.7; the dock is seen from within.  Whether a station is the one that was visited last is seen
    whenever it is.

    Examples
    --------
    >>> shuttle().model.outcomes(("backed", "other"), "back up")[0]
    Outcome(observation='delivered', probability=0.7, memory=('docked', 'other'))

    """
    model = Model((TURN, FORWARD, BACK), tuple(_observations()), (DOCKED, LAST), _rho, hidden=True)
    return Task(
        model.actions,
        model.observations,
        last_observation(),
        Reward(_paid, -3.0, 10.0),
        model,
        name="shuttle",
        summary="carry supplies between two space stations, backing into the one that was visited less recently",
        portrait=Portrait(
            "Supplies are due at the station that was visited less recently, and the shuttle must back into it.",
            preset={"task.aleatoric": "window:3"},
        ),
        source="Chrisman (1992); Littman, Cassandra and Kaelbling (1995)",
    )


def _rho(position: Any, action: str) -> Iterator[tuple[str, float, Label]]:
    if action == BACK:
        for following, chance in BACKWARDS[position].items():
            yield from _seen(following, chance, DELIVERED if following == (DOCKED, OTHER) else "")
    else:
        following = (TURNED if action == TURN else FORWARDS)[position]
        yield from _seen(following, 1.0, CRASHED if action == FORWARD and position[0] == FACING else "")


def _seen(position: Position, chance: float, event: str) -> Iterator[tuple[str, float, Label]]:
    """Yield what can be seen at a position."""
    where, station = position
    if event == DELIVERED:
        yield DELIVERED, chance, position
    elif where == DOCKED:
        yield f"docked at the {station}", chance, position
    elif where == FACING:
        yield f"{CRASHED} into the {station}" if event else f"see the {station}", chance, position
    elif where == SPACE:
        yield f"see the {station}", chance * SEEN_FROM_SPACE, position
        yield NOTHING, chance * (1 - SEEN_FROM_SPACE), position
    else:
        yield NOTHING, chance, position


def _observations() -> dict[str, None]:
    return dict.fromkeys(row[0] for place in TURNED for action in (TURN, FORWARD, BACK) for row in _rho(place, action))


def _paid(_aleatoric_state: Label, _action: str, observation: str) -> float:
    return REWARDS.get(observation.partition(" ")[0], 0.0)
