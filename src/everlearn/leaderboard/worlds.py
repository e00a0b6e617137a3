"""Tasks that only ``fresh.toml`` has: random mazes, and systems that change with a season."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from everlearn.errors import require
from everlearn.tasks.access_control import access_control
from everlearn.tasks.arrays import mdp
from everlearn.tasks.changing import changing
from everlearn.tasks.inventory import inventory
from everlearn.tasks.maintenance import maintenance
from everlearn.tasks.riverswim import riverswim
from everlearn.tasks.service_station import service_station
from everlearn.tasks.task import Task

PLACE, WALLS = "place", "walls"
VIEWS = (PLACE, WALLS)

MOST_SIDE = 20
"""The greatest side of a maze, with 400 places."""

MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
"""Up, right, down, left."""


def maze(*, side: int = 8, loops: int = 6, slip: float = 0.0, see: str = PLACE, seed: int = 0) -> Task:
    """Find the farthest place of a random maze, again and again.

    A depth-first walk opens walls of a square grid until all places are joined; then walls drawn at random are opened.
    To arrive in the place farthest from the first pays 1, and the next step leads to the first place.

    Parameters
    ----------
    side:
        the number of places along a side
    loops:
        how many more walls are drawn and opened; some of them may be open already
    slip:
        the probability that a move goes into a direction drawn from all four
    see:
        ``place``: the agent sees where it is; ``walls``: it sees only which of the four directions are open, and
        whether this is the farthest place
    seed:
        determines the maze

    Examples
    --------
    >>> import everlearn as el
    >>> task = maze(side=4, seed=1)
    >>> len(task.states), round(1 / el.Theory(task).optimal_average_reward, 6)
    (16, 12.0)

    """
    parameters = dict(locals())
    require(2 <= side <= MOST_SIDE, "side", side, f"give 2 to {MOST_SIDE}")
    require(loops >= 0, "loops", loops, "give at least 0")
    require(0 <= slip < 1, "slip", slip, "give a probability less than 1")
    require(see in VIEWS, "see", see, f"give one of {', '.join(VIEWS)}")
    require(seed >= 0, "seed", seed, "give a whole number of at least 0")
    random = np.random.Generator(np.random.SFC64(seed))
    ways = _ways(random, side, loops)
    places, far = side * side, _farthest(ways)
    moves = np.zeros((len(MOVES), places, places))
    for place, around in enumerate(ways):
        for action, following in enumerate(around):
            moves[action, place, 0 if place == far else following] = 1.0
    law = (1 - slip) * moves + slip * moves.mean(axis=0)
    rewards = np.zeros((places, len(MOVES), places))
    rewards[:, :, far] = 1.0
    looks = [("far" if place == far else tuple(int(to != place) for to in ways[place])) for place in range(places)]
    task = mdp(
        law, rewards, actions=("up", "right", "down", "left"), aggregate=looks if see == WALLS else None, name="maze"
    )
    return replace(task, summary="find the farthest place of a random maze, again and again", parameters=parameters)


def _ways(random: np.random.Generator, side: int, loops: int) -> list[list[int]]:
    """Return where each move leads from each place; a move against a wall leads nowhere."""
    places = side * side
    ways = [[place] * len(MOVES) for place in range(places)]
    path, reached = [0], {0}
    while path:
        around = [
            (move, to) for move in range(4) if (to := _beside(path[-1], move, side)) is not None and to not in reached
        ]
        if not around:
            path.pop()
            continue
        move, to = around[int(random.integers(len(around)))]
        ways[path[-1]][move], ways[to][(move + 2) % 4] = to, path[-1]
        path.append(to)
        reached.add(to)
    for _ in range(loops):
        place, move = int(random.integers(places)), int(random.integers(4))
        beside = _beside(place, move, side)
        if beside is not None:
            ways[place][move], ways[beside][(move + 2) % 4] = beside, place
    return ways


def _beside(place: int, move: int, side: int) -> int | None:
    row, column = place // side + MOVES[move][0], place % side + MOVES[move][1]
    return row * side + column if 0 <= row < side and 0 <= column < side else None


def _farthest(ways: list[list[int]]) -> int:
    """Return the last place that a breadth-first walk from the first reaches."""
    order = [0]
    for place in order:
        order += [to for to in dict.fromkeys(ways[place]) if to not in order]
    return order[-1]


def flood(*, year: int, change: str) -> Task:
    """Swim upstream in summer; in winter the current is so strong that it is better to stay at the left end."""
    summer = riverswim(left_reward=0.1)
    winter = riverswim(left_reward=0.1, advance=0.05, back=0.6, first_advance=0.1, last_back=0.9)
    return changing(summer, winter, year=year, change=change)


def customers(*, year: int, change: str) -> Task:
    """Accept customers for servers that are soon free in summer, and late in winter."""
    summer, winter = (access_control(servers=6, free_probability=chance) for chance in (0.15, 0.02))
    return changing(summer, winter, year=year, change=change)


def demand(*, year: int, change: str) -> Task:
    """Order stock, two steps ahead, for a demand that is four times as high in summer; only the stock is seen."""
    summer, winter = (
        inventory(mean_demand=mean, capacity=10, most_ordered=5, lead_time=2, see="on-hand") for mean in (4.0, 1.0)
    )
    return changing(summer, winter, year=year, change=change)


def station(*, year: int, change: str) -> Task:
    """Serve customers of whom the hasty come in summer, and the patient in winter."""
    summer, winter = (
        service_station(arrival_decay=decay, window=2, cap=4, slow_completion=0.6, raw=False) for decay in (2.0, 0.02)
    )
    return changing(summer, winter, year=year, change=change)


def machine(*, year: int, change: str) -> Task:
    """Maintain a machine that wears out sixteen times as fast in winter."""
    summer, winter = (maintenance(wear=wear, levels=4, limit=8, revenue=2.0, see="age") for wear in (0.04, 0.64))
    return changing(summer, winter, year=year, change=change)
