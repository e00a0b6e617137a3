"""Maintenance as a task: seen through the last observation, or through what is known of the wear and the age since."""

from __future__ import annotations

from everlearn.aleatoric.reward import Reward
from everlearn.aleatoric.state import AleatoricState, last_observation
from everlearn.environments.maintenance import ACTIONS, FAILURE, NEW, PRODUCT, REPLACED, Machine, found
from everlearn.errors import require
from everlearn.tasks.task import Task

OBSERVATION, AGE = "observation", "age"
VIEWS = (OBSERVATION, AGE)

MOST_PAID = 1e300
"""Rewards of more are refused: their sums would not be finite."""


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
        how many levels of wear there are
    wear:
        the probability that a step of production adds one
    new_failure, worn_failure:
        the probability that a step of production fails, with a new machine and with one that is worn out
    limit:
        the age, in steps of production since wear was last known, at which an overhaul is due
    revenue:
        what a product earns
    inspection_cost, replacement_cost, failure_cost:
        what each costs; a failure costs its replacement too, in one sum
    see:
        what the agent keeps: ``observation`` is the last alone, ``age`` the wear that was last known and the age, which
        is all there is to know

    Examples
    --------
    >>> import everlearn as el
    >>> last, age = el.Theory(maintenance()), el.Theory(maintenance(see="age"))
    >>> round(age.optimal_average_reward, 6), round(last.distortion(10).value, 6), age.distortion(10).value
    (0.301124, 5.071056, 0.0)

    """
    parameters = dict(locals())
    require(see in VIEWS, "see", see, f"give one of {', '.join(VIEWS)}")
    require(0 < revenue <= MOST_PAID, "revenue", revenue, f"give a positive number of at most {MOST_PAID:g}")
    costs = {"inspection": inspection_cost, "replacement": replacement_cost, "failure": failure_cost}
    for name, cost in costs.items():
        require(0 <= cost <= MOST_PAID, f"{name}_cost", cost, f"give a number of at least 0, at most {MOST_PAID:g}")
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
        source="after Eckles (1968), and the machine of Smallwood and Sondik (1973)",
        parameters=parameters,
    )


def _age(machine: Machine) -> AleatoricState:
    known = {found(wear): (wear, 0) for wear in range(machine.levels)}

    def update(kept: tuple[int, int], _action: str, observation: str) -> tuple[int, int]:
        if observation == PRODUCT:
            return kept[0], min(kept[1] + 1, machine.limit)
        return known.get(observation, NEW)

    return AleatoricState(NEW, update, machine.memories)
