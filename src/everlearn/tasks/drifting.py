"""Options that are good in turn: their chances of success rise and fall slowly, no matter what the agent does.

A bandit whose means drift, as in Garivier and Moulines (2011, where they jump) and Besbes, Gur and Zeevi (2014, where
they may change at any pace within a budget).  Here they are periodic, so that averages over an endless stream are
defined.  At phase x, a fraction of the period, option k of K succeeds with probability floor + height wave(x - k / K),
where the wave is 1 at 0, falls to 0 at 1/2 and rises to 1 again: as a triangle |1 - 2 x|, or as a cosine
(1 + cos(2 pi x)) / 2.

As a task: the aleatoric state keeps the last few outcomes, but not the phase.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from everlearn.aleatoric import state
from everlearn.aleatoric.reward import Reward
from everlearn.aleatoric.state import AleatoricState
from everlearn.environments.model import Model
from everlearn.errors import require
from everlearn.protocol import Label
from everlearn.tasks.portrait import Portrait
from everlearn.tasks.task import Task

FAILURE, SUCCESS = 0, 1
TRIANGLE, COSINE = "triangle", "cosine"

MOST_CHANCES = 1_000_000
"""The largest number of chances, one per option and phase."""


@dataclass(frozen=True)
class Drifting:
    """The constants of the drift, and its dynamics; a memory is the phase, 0 to ``period`` - 1.

    Examples
    --------
    >>> options = Drifting(period=4, floor=0.1, height=0.8)
    >>> [[round(options.chance(phase, option), 3) for phase in range(4)] for option in range(2)]
    [[0.9, 0.5, 0.1, 0.5], [0.1, 0.5, 0.9, 0.5]]

    """

    options: int = 2
    period: int = 500
    floor: float = 0.1
    height: float = 0.8
    wave: str = TRIANGLE

    def __post_init__(self) -> None:
        require(self.options >= 1, "options", self.options, "give at least 1")
        require(self.period >= 1, "period", self.period, "give at least 1 step")
        given, remedy = (self.options, self.period), f"give at most {MOST_CHANCES:,} as their product"
        require(self.options * self.period <= MOST_CHANCES, "options and period", given, remedy)
        require(0 <= self.floor <= 1, "floor", self.floor, "give a probability")
        room = 1 - self.floor
        require(0 <= self.height <= room + 1e-12, "height", self.height, f"give 0 to {room:.6g}")
        require(self.wave in (TRIANGLE, COSINE), "wave", self.wave, f"give {TRIANGLE} or {COSINE}")

    def chance(self, phase: int, option: int) -> float:
        """Return the probability that an option succeeds at a phase."""
        x = (phase / self.period - option / self.options) % 1.0
        high = abs(1 - 2 * x) if self.wave == TRIANGLE else (1 + math.cos(2 * math.pi * x)) / 2
        return min(1.0, self.floor + self.height * high)

    def model(self) -> Model:
        """Return the environment, at phase 0."""
        return Model(tuple(range(self.options)), (FAILURE, SUCCESS), 0, self._rho)

    def _rho(self, phase: int, option: int) -> Iterator[tuple[int, float, int]]:
        chance, following = self.chance(phase, option), (phase + 1) % self.period
        yield SUCCESS, chance, following
        yield FAILURE, 1 - chance, following


MOST_CHOICES = 1_000_000
"""The largest number of pairs of an aleatoric state and an option."""


def drifting(
    *,
    options: int = 2,
    period: int = 500,
    window: int = 1,
    floor: float = 0.1,
    height: float = 0.8,
    wave: str = TRIANGLE,
) -> Task:
    """Choose among options whose chances of success slowly rise and fall in turn.

    No action changes the phase, so the optimum is the best chance, averaged over a period.  An agent without memory
    earns at most the average of an option.  An agent that knows the last option and its outcome can stay after a
    success and leave after a failure (Robbins, 1952): with two options whose chances of failure at a phase are p and q,
    it fails at a rate of 2 p q / (p + q) if the drift is slow.

    Parameters
    ----------
    options:
        the number of options
    period:
        the number of steps after which the chances repeat
    window:
        how many of the last options, with their outcomes, the aleatoric state keeps; 0: none
    floor:
        the least chance of success of an option
    height:
        how much higher its greatest chance is: it falls from floor + height to floor and rises again
    wave:
        the shape of the drift: ``triangle``, at a constant pace, or ``cosine``

    Examples
    --------
    >>> import everlearn as el
    >>> task = drifting(period=100)
    >>> {name: round(value, 9) for name, value in task.references.items()}
    {'optimum': 0.7, 'best option': 0.5}
    >>> best = el.Theory(task).best_deterministic
    >>> best.exact, round(best.average_reward, 4)
    (True, 0.6065)

    """
    parameters = dict(locals())
    world = Drifting(options, period, floor, height, wave)
    longest = _longest_window(options)
    remedy = f"give 0 to {longest}: with {options} options, more would make too many aleatoric states"
    require(0 <= window <= longest, "window", window, remedy)
    model = world.model()
    return Task(
        model.actions,
        model.observations,
        state.window(window, actions=True) if window else AleatoricState((), _nothing, ((),)),
        Reward(_success, 0.0, 1.0),
        model,
        name="drifting",
        summary="choose among options whose chances of success slowly rise and fall",
        portrait=Portrait(
            "The better option of today may be the worse one of tomorrow.",
            {((k, won),): f"{k} {'succeeded' if won else 'failed'}" for k in range(options) for won in (0, 1)},
        ),
        source="after Garivier and Moulines (2011) and Besbes, Gur and Zeevi (2014)",
        parameters=parameters,
        references=_references(world),
    )


def _longest_window(options: int) -> int:
    """Return the longest window whose sequences of options and outcomes, with shorter ones, are not too many states."""
    length, states = 0, 1
    while (states := 1 + 2 * options * states) * options <= MOST_CHOICES:
        length += 1
    return length


def _references(world: Drifting) -> dict[str, float]:
    """Return the average rewards of an agent that knows the phase, and of always choosing the best option."""
    chances = [[world.chance(phase, option) for option in range(world.options)] for phase in range(world.period)]
    means = [math.fsum(column) / world.period for column in zip(*chances, strict=True)]
    return {"optimum": math.fsum(map(max, chances)) / world.period, "best option": max(means)}


def _nothing(_aleatoric_state: Label, _action: int, _observation: int) -> Label:
    return ()


def _success(_aleatoric_state: Label, _action: int, observation: int) -> float:
    return float(observation == SUCCESS)
