"""Mazes in which the agent cannot see where it is: it sees the walls around it, or nothing but whether it arrived.

A maze is drawn as text: ``#`` is a wall, as is the outside, ``.`` a place, and other marks are goals.  The memory is
the place.  At a goal the agent is put at another place at random, as one step or in the same one, so that there is no
end.  An observation says what happened and what can be seen at the place where the agent is then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from everlearn.aleatoric.reward import Reward
from everlearn.aleatoric.state import last_observation
from everlearn.environments.model import Model
from everlearn.errors import require
from everlearn.protocol import Label
from everlearn.tasks.portrait import Board, Portrait
from everlearn.tasks.task import Task

Place: TypeAlias = tuple[int, int]

MOVES: dict[str, Place] = {"north": (-1, 0), "east": (0, 1), "south": (1, 0), "west": (0, -1)}
"""The step of each action, in rows and columns, clockwise."""

PLACE, WALL = ".", "#"


@dataclass(frozen=True)
class Maze:
    """A maze, and what happens in it.

    Parameters
    ----------
    rows:
        the drawing
    goals:
        what is observed at the goals, by their marks
    seen:
        what is seen at a place, from the maze and the place
    bump:
        whether running into a wall is observed
    slip:
        the probability of going to the right of where one wants to go, and as much to its left
    stays:
        whether the agent sees the goal and is put elsewhere by the next action, instead of at once

    Examples
    --------
    >>> maze = Maze((".G.",), {"G": "prize"}, lambda maze, place: "")
    >>> [(outcome.observation, outcome.memory) for outcome in maze.model().outcomes((0, 0), "east")]
    [('prize', (0, 0)), ('prize', (0, 2))]

    """

    rows: tuple[str, ...]
    goals: Mapping[str, str]
    seen: Callable[[Maze, Place], str]
    bump: bool = False
    slip: float = 0.0
    stays: bool = False
    moves: tuple[str, ...] = tuple(MOVES)

    @property
    def starts(self) -> list[Place]:
        """The places that are not goals."""
        return [place for place in self.places if self.mark(place) == PLACE]

    @property
    def places(self) -> list[Place]:
        """All places, goals included."""
        every = [(row, column) for row, marks in enumerate(self.rows) for column in range(len(marks))]
        return [place for place in every if self.mark(place) != WALL]

    def mark(self, place: Place) -> str:
        """Return the mark at a place."""
        row, column = place
        inside = 0 <= row < len(self.rows) and 0 <= column < len(self.rows[row])
        return self.rows[row][column] if inside else WALL

    def ahead(self, place: Place, move: str) -> Place:
        """Return the place to which a move leads, or past a wall would."""
        return place[0] + MOVES[move][0], place[1] + MOVES[move][1]

    def model(self) -> Model:
        """Return the environment, with the agent at any place that is not a goal."""
        rows = [row for place in self.places for move in self.moves for row in self.rho(place, move)]
        first: Any = {place: 1 / len(self.starts) for place in self.starts}
        return Model(self.moves, tuple(dict.fromkeys(row[0] for row in rows)), first, self.rho, hidden=True)

    def rho(self, place: Place, action: str) -> Iterator[tuple[str, float, Label]]:
        """Yield every outcome of an action at a place."""
        if self.mark(place) != PLACE:
            yield from self._elsewhere("", 1.0)
            return
        turn = tuple(MOVES)
        where = turn.index(action)
        wanted = {action: 1 - 2 * self.slip, turn[(where + 1) % 4]: self.slip, turn[where - 1]: self.slip}
        for move, chance in wanted.items():
            following = self.ahead(place, move)
            mark = self.mark(following)
            if mark == WALL:
                yield self._observed("bump" if self.bump else "", place), chance, place
            elif mark == PLACE or self.stays:
                yield self._observed(self.goals.get(mark, ""), following), chance, following
            else:
                yield from self._elsewhere(self.goals[mark], chance)

    def _elsewhere(self, event: str, chance: float) -> Iterator[tuple[str, float, Label]]:
        for place in self.starts:
            yield self._observed(event, place), chance / len(self.starts), place

    def _observed(self, event: str, place: Place) -> str:
        seen = self.seen(self, place) if self.mark(place) == PLACE else ""
        return ", ".join(filter(None, (event, seen))) or "nothing"

    def task(self, rewards: Mapping[str, float], otherwise: float, portrait: Portrait, **names: Any) -> Task:
        """Return the task with these rewards of what is observed."""
        model = self.model()

        def reward(_aleatoric_state: Label, _action: str, observation: str) -> float:
            return rewards.get(observation.partition(",")[0], otherwise)

        paid = Reward(reward, min(otherwise, *rewards.values()), max(otherwise, *rewards.values()))
        portrait = replace(portrait, drawing=Board(self.rows, self.goals))
        return Task(model.actions, model.observations, last_observation(), paid, model, portrait=portrait, **names)


def _walls(maze: Maze, place: Place) -> str:
    return "walls " + "".join(move[0].upper() for move in MOVES if maze.mark(maze.ahead(place, move)) == WALL)


def _sides(maze: Maze, place: Place) -> str:
    return {"walls EW": "both", "walls E": "right", "walls W": "left", "walls ": "neither"}[
        "walls " + "".join(move[0].upper() for move in ("east", "west") if maze.mark(maze.ahead(place, move)) == WALL)
    ]


def _nothing(_maze: Maze, _place: Place) -> str:
    return ""


def cheese_maze() -> Task:
    """Find the cheese in a maze where only the adjacent walls are visible; many places look alike (McCallum).

    A step costs 1, running into a wall 10, and the cheese is worth 10.  Then the agent is put at another place, each
    equally likely, and sees the walls there.

    Examples
    --------
    >>> len(cheese_maze().observations)
    18

    """
    maze = Maze((".....", ".#.#.", ".#C#."), {"C": "cheese"}, _walls, bump=True)
    return maze.task(
        {"cheese": 10.0, "bump": -10.0},
        -1.0,
        name="cheese-maze",
        summary="find the cheese in a maze where only the adjacent walls are visible",
        portrait=Portrait("Many places look the same. Where is the cheese?", preset={"task.aleatoric": "window:2"}),
        source="McCallum (1993), with the rewards of Veness et al. (2011)",
    )


def maze_4x3(*, slip: float = 0.1) -> Task:
    """Reach the good end of a small maze and avoid the bad one, moving unreliably and seeing two walls (Parr, Russell).

    A step costs 0.04, the good end is worth 1 and the bad one -1.  Only walls to the east and the west are seen.  After
    either end, the next action leads to any other place, each equally likely.

    Parameters
    ----------
    slip:
        the probability of going to the right of where one wants to go, and as much to its left

    Examples
    --------
    >>> maze_4x3().observations
    ('left', 'neither', 'both', 'good', 'right', 'bad')

    """
    parameters = dict(locals())
    require(0 <= slip <= 0.5, "slip", slip, "give a probability from 0 to 0.5")
    maze = Maze(("...G", ".#.B", "...."), {"G": "good", "B": "bad"}, _sides, slip=slip, stays=True)
    return maze.task(
        {"good": 1.0, "bad": -1.0},
        -0.04,
        name="maze-4x3",
        summary="reach the good end of a small maze, moving unreliably and seeing only two of the walls",
        portrait=Portrait(
            "The short way passes the bad end, and every step may go astray.", preset={"task.aleatoric": "window:2"}
        ),
        source="Parr and Russell (1995); Russell and Norvig (1994)",
        parameters=parameters,
    )


def maze_1d() -> Task:
    """Find the third of four places in a row, observing only whether it has been reached.

    The third place is worth 1, and the agent is put at another place, each equally likely.

    Examples
    --------
    >>> maze_1d().observations
    ('nothing', 'goal')

    """
    return Maze(("..G.",), {"G": "goal"}, _nothing, moves=("west", "east")).task(
        {"goal": 1.0},
        0.0,
        name="maze-1d",
        summary="find the third of four places in a row, observing only whether it has been reached",
        portrait=Portrait("Four places in a row, and nothing tells them apart."),
        source="Cassandra, Kaelbling and Littman (1994); Veness et al. (2011)",
    )


def grid_4x4() -> Task:
    """Find the corner of a 4 by 4 grid, observing only whether it has been reached.

    The corner is worth 1, and the agent is put at another place, each equally likely.

    Examples
    --------
    >>> grid_4x4().observations
    ('nothing', 'goal')

    """
    return Maze(("....", "....", "....", "...G"), {"G": "goal"}, _nothing).task(
        {"goal": 1.0},
        0.0,
        name="grid-4x4",
        summary="find the corner of a 4 by 4 grid, observing only whether it has been reached",
        portrait=Portrait("The goal is in one corner, and nothing says where you are.", preset={"agent": "learned"}),
        source="Veness, Ng, Hutter, Uther and Silver (2011), Section 7.1",
    )
