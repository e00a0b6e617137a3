"""The hallway: a robot with unreliable wheels and sensors looks for one of four alcoves (Littman et al., 1995)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any, TypeAlias

from everlearn.aleatoric.reward import Reward
from everlearn.aleatoric.state import last_observation
from everlearn.environments.model import Model
from everlearn.protocol import Label
from everlearn.tasks.portrait import Portrait
from everlearn.tasks.task import Task

LENGTH = 11
ALCOVES = {2: "landmark 1", 4: "landmark 2", 6: "landmark 3"}
"""The alcoves south of the hallway, by column, and what a robot in them sees when it faces south."""

GOAL, CARRIED = "goal", "carried"
GOAL_COLUMN = 8

STEPS = ((-1, 0), (0, 1), (1, 0), (0, -1))
"""North, east, south and west, in rows and columns."""

ACTIONS = ("stay", "forward", "turn right", "turn around", "turn left")
TURNS = {"turn right": 1, "turn around": 2, "turn left": 3}

SUCCEEDS = 0.8
SEES_A_WALL, IMAGINES_A_WALL = 0.9, 0.05

Pose: TypeAlias = tuple[int, int, int]
"""Row (1 in an alcove), column and heading."""

POSES: tuple[Pose, ...] = tuple(
    (row, column, heading)
    for row, columns in ((0, range(LENGTH)), (1, ALCOVES))
    for column in columns
    for heading in range(4)
)


def hallway() -> Task:
    """Drive through a hallway to one of four alcoves, with unreliable wheels and sensors.

    The hallway has eleven places in a row, and alcoves south of four of them: the last is the goal, and the others have
    a landmark, which the robot sees in them when it faces south.  Elsewhere the robot sees the walls ahead, on its
    right, behind and on its left: a wall is seen with probability 0.9, and imagined with probability 0.05.  ``stay`` is
    reliable. Every other action succeeds with probability 0.8; otherwise it has the effect of one of the other four,
    each equally likely.  The goal is worth 1; then the robot is carried to any other place and heading, each equally
    likely, which takes a step in which it sees nothing.  In the source it sees the walls there at once.

    Examples
    --------
    >>> len(POSES), len(hallway().observations)
    (56, 21)

    """
    walls = tuple(_text(seen) for seen in product((False, True), repeat=4))
    observations = (*walls, *ALCOVES.values(), GOAL, CARRIED)
    return Task(
        ACTIONS,
        observations,
        last_observation(),
        Reward(_paid, 0.0, 1.0),
        Model(ACTIONS, observations, GOAL, _rho, hidden=True),
        name="hallway",
        summary="drive through a hallway to one of four alcoves, with unreliable wheels and sensors",
        portrait=Portrait(
            "Wheels slip and sensors lie: in which of four alcoves does the drive end?",
            preset={"agent": "q-learning", "task.aleatoric": "window:2"},
            note="Hard: within 20 seconds, this agent comes to arrive not quite twice as often, and still seldom.",
        ),
        source="Littman, Cassandra and Kaelbling (1995)",
    )


def _rho(pose: Any, action: str) -> Iterator[tuple[Label, float, Label]]:
    if pose == GOAL:
        yield from ((CARRIED, 1 / len(POSES), start) for start in POSES)
        return
    chances: dict[Label, float] = {}
    for following, chance in _moves(pose, action):
        chances[following] = chances.get(following, 0.0) + chance
    for following, chance in chances.items():
        for observation, share in _seen(following):
            yield observation, chance * share, following


def _moves(pose: Pose, action: str) -> Iterator[tuple[Label, float]]:
    if action == "stay":
        yield pose, 1.0
    else:
        for other in ACTIONS:
            yield _effect(pose, other), SUCCEEDS if other == action else (1 - SUCCEEDS) / (len(ACTIONS) - 1)


def _effect(pose: Pose, action: str) -> Label:
    row, column, heading = pose
    if action == "forward" and not _wall(row, column, heading):
        row, column = row + STEPS[heading][0], column + STEPS[heading][1]
        return GOAL if (row, column) == (1, GOAL_COLUMN) else (row, column, heading)
    return row, column, (heading + TURNS.get(action, 0)) % 4


def _wall(row: int, column: int, heading: int) -> bool:
    row, column = row + STEPS[heading][0], column + STEPS[heading][1]
    hall = row == 0 and 0 <= column < LENGTH
    return not (hall or (row == 1 and (column in ALCOVES or column == GOAL_COLUMN)))


@cache
def _seen(pose: Any) -> tuple[tuple[Label, float], ...]:
    """Return what can be observed at a pose, with probabilities."""
    if pose == GOAL:
        return ((GOAL, 1.0),)
    row, column, heading = pose
    if row == 1 and heading == 2:
        return ((ALCOVES[column], 1.0),)
    chances = [SEES_A_WALL if _wall(row, column, (heading + turn) % 4) else IMAGINES_A_WALL for turn in range(4)]
    seen = []
    for walls in product((False, True), repeat=4):
        share = 1.0
        for wall, chance in zip(walls, chances, strict=True):
            share *= chance if wall else 1 - chance
        seen.append((_text(walls), share))
    return tuple(seen)


def _text(walls: tuple[bool, ...]) -> str:
    names = ("ahead", "right", "behind", "left")
    return "walls: " + (", ".join(name for name, wall in zip(names, walls, strict=True) if wall) or "none")


def _paid(_aleatoric_state: Label, _action: str, observation: str) -> float:
    return float(observation == GOAL)
