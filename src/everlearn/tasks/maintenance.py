"""A machine whose wear is hidden: it produces until it fails, and only an inspection reveals how worn it is.

The machine has wear 0, 1, ..., ``levels`` - 1.  A step of production fails with a probability that grows with the wear,
evenly from ``new_failure`` to ``worn_failure``.  A failure is seen, and the machine is replaced at once.  Otherwise
there is a product, and the wear increases by one with probability ``wear``, up to the last level.  Instead of
producing, a step can replace the machine, which makes it new, or inspect it, which only reveals its wear.

Wear is known after a replacement, a failure and an inspection.  From then on, production only reveals that the machine
has not failed yet: the belief over wear is a function of the wear that was last known and of the steps since then, its
*age*.  At the age ``limit`` an overhaul is due, and a machine that should produce is replaced.  So there are ``levels``
(``limit`` + 1) beliefs, whatever the parameters.  They are computed by adding, multiplying and dividing nonnegative
numbers, so that nothing cancels: each step of production adds a few rounding errors to the relative error.

This is maintenance with incomplete information, as posed by Eckles (1968): decisions depend on the age of the machine
and the posterior distribution of its state.  The machine of Smallwood and Sondik (1973) makes products too, and can be
examined, inspected and replaced.  There a worn machine makes defective products, which can be observed in any sequence,
so that there are infinitely many beliefs; here it fails, so that there are few.

As a task: the agent sees the last observation, or the wear that was last known and the age since.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from everlearn.aleatoric.reward import Reward
from everlearn.aleatoric.state import AleatoricState, last_observation
from everlearn.environments.model import Model
from everlearn.errors import require
from everlearn.tasks.portrait import Portrait
from everlearn.tasks.task import Task, check_amount

PRODUCE, INSPECT, REPLACE = "produce", "inspect", "replace"
ACTIONS = (PRODUCE, INSPECT, REPLACE)

PRODUCT, FAILURE, REPLACED = "product", "failure", "replaced"

NEW = (0, 0)
"""The memory of a new machine: its wear is known to be 0, and its age is 0."""

MOST_LEVELS, OLDEST = 20, 200

Belief: TypeAlias = tuple[float, ...]
"""The probability of each wear."""


@dataclass(frozen=True)
class Machine:
    """The constants of a machine, and its dynamics.  A memory is (wear when it was last known, age).

    Examples
    --------
    >>> machine = Machine()
    >>> machine.belief((0, 1))
    (0.9, 0.1, 0.0)
    >>> machine.model().outcomes((0, 1), "inspect")[1]
    Outcome(observation='wear 1', probability=0.1, memory=(1, 0))

    """

    levels: int = 3
    wear: float = 0.1
    new_failure: float = 0.01
    worn_failure: float = 0.4
    limit: int = 20
    _beliefs: dict[tuple[int, int], Belief] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require(2 <= self.levels <= MOST_LEVELS, "levels", self.levels, f"give 2 to {MOST_LEVELS}")
        require(0 < self.wear <= 1, "wear", self.wear, "give a probability in (0, 1]")
        least, most = self.new_failure, self.worn_failure
        require(0 <= least < 1, "new_failure", least, "give a probability in [0, 1)")
        require(least < most < 1, "worn_failure", most, f"give a probability above {least:g} and below 1")
        require(1 <= self.limit <= OLDEST, "limit", self.limit, f"give 1 to {OLDEST} steps")
        object.__setattr__(self, "_beliefs", dict(self._all_beliefs()))

    @property
    def observations(self) -> tuple[str, ...]:
        """Every observation."""
        return (PRODUCT, FAILURE, REPLACED, *(revealed(wear) for wear in range(self.levels)))

    @property
    def memories(self) -> tuple[tuple[int, int], ...]:
        """Every (wear when it was last known, age)."""
        return tuple(self._beliefs)

    def belief(self, memory: tuple[int, int]) -> Belief:
        """Return the distribution of the wear after production without a failure."""
        return self._beliefs[memory]

    def failures(self) -> Belief:
        """Return the probability that a step of production fails, for each wear; rounding never makes it 1."""
        least, most = float(self.new_failure), float(self.worn_failure)
        return tuple(min(most, least + (most - least) * wear / (self.levels - 1)) for wear in range(self.levels))

    def model(self) -> Model:
        """Return the environment, with a new machine."""
        return Model(ACTIONS, self.observations, NEW, self._rho)

    def _rho(self, memory: tuple[int, int], action: str) -> Iterator[tuple[str, float, tuple[int, int]]]:
        known, age = memory
        belief = self.belief(memory)
        if action == INSPECT:
            for wear, probability in enumerate(belief):
                yield revealed(wear), probability, (wear, 0)
        elif action == REPLACE or age == self.limit:
            yield REPLACED, 1.0, NEW
        else:
            failure = math.fsum(p * q for p, q in zip(belief, self.failures(), strict=True))
            yield FAILURE, failure, NEW
            yield PRODUCT, 1 - failure, (known, age + 1)

    def _all_beliefs(self) -> Iterator[tuple[tuple[int, int], Belief]]:
        for known in range(self.levels):
            belief = tuple(float(wear == known) for wear in range(self.levels))
            for age in range(self.limit + 1):
                yield (known, age), belief
                belief = self._after_a_product(belief)

    def _after_a_product(self, belief: Belief) -> Belief:
        """Return the posterior after a step without a failure: Bayes' rule, then one step of wear."""
        survived = [p * (1 - q) for p, q in zip(belief, self.failures(), strict=True)]
        total = math.fsum(survived)
        moved = [self.wear * p for p in survived[:-1]]
        kept = [(1 - self.wear) * p for p in survived[:-1]] + survived[-1:]
        return tuple((k + m) / total for k, m in zip(kept, [0.0, *moved], strict=True))


def revealed(wear: int) -> str:
    """Return the observation of an inspection that reveals the wear."""
    return f"wear {wear}"


OBSERVATION, AGE = "observation", "age"
VIEWS = (OBSERVATION, AGE)


def maintenance(
    *,
    levels: int = 3,
    wear: float = 0.1,
    new_failure: float = 0.01,
    worn_failure: float = 0.4,
    limit: int = 20,
    revenue: float = 1.0,
    inspection_cost: float = 0.2,
    replacement_cost: float = 3.0,
    failure_cost: float = 10.0,
    see: str = OBSERVATION,
) -> Task:
    """Produce with a machine whose wear is hidden: inspect it at a cost, replace it in time, or let it fail.

    Parameters
    ----------
    levels:
        the number of levels of wear
    wear:
        the probability that a step of production adds a level
    new_failure:
        the probability that a step of production fails with a new machine
    worn_failure:
        the probability that it fails with a machine that is worn out
    limit:
        the age, in steps of production since wear was last known, at which an overhaul is due
    revenue:
        the price of a product
    inspection_cost:
        the cost of an inspection
    replacement_cost:
        the cost of a replacement
    failure_cost:
        the cost of a failure, which includes the replacement
    see:
        what the agent keeps: ``observation`` is the last one, ``age`` the wear that was last known and the age, which
        determine the belief

    Examples
    --------
    >>> import everlearn as el
    >>> last, age = el.Theory(maintenance()), el.Theory(maintenance(see="age"))
    >>> round(age.optimal_average_reward, 6), round(last.distortion(10).value, 6), age.distortion(10).value
    (0.301124, 5.071056, 0.0)

    """
    parameters = dict(locals())
    require(see in VIEWS, "see", see, f"give one of {', '.join(VIEWS)}")
    check_amount("revenue", revenue, positive=True)
    for name in ("inspection_cost", "replacement_cost", "failure_cost"):
        check_amount(name, parameters[name])
    machine = Machine(levels, wear, new_failure, worn_failure, limit)
    earned = dict.fromkeys(machine.observations, -inspection_cost)
    earned |= {PRODUCT: revenue, FAILURE: -failure_cost, REPLACED: -replacement_cost}

    def reward(_aleatoric_state: object, _action: str, observation: str) -> float:
        return earned[observation]

    return Task(
        ACTIONS,
        machine.observations,
        last_observation(REPLACED) if see == OBSERVATION else _age(machine),
        Reward(reward, min(earned.values()), revenue),
        machine.model(),
        name="maintenance",
        summary="inspect or replace in time a machine whose wear is hidden",
        portrait=Portrait("Replace too early, and you waste a machine. Too late, and it breaks."),
        source="after Eckles (1968), and the machine of Smallwood and Sondik (1973)",
        parameters=parameters,
    )


def _age(machine: Machine) -> AleatoricState:
    known = {revealed(wear): (wear, 0) for wear in range(machine.levels)}

    def update(kept: tuple[int, int], _action: str, observation: str) -> tuple[int, int]:
        if observation == PRODUCT:
            return kept[0], min(kept[1] + 1, machine.limit)
        return known.get(observation, NEW)

    return AleatoricState(NEW, update, machine.memories)
