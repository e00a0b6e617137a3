"""Maintenance as a task: the agent sees the last observation, or the wear that was last known and the age since."""

from __future__ import annotations

from everlearn.aleatoric.reward import Reward
from everlearn.aleatoric.state import AleatoricState, last_observation
from everlearn.environments.maintenance import ACTIONS, FAILURE, NEW, PRODUCT, REPLACED, Machine, found
from everlearn.errors import require
from everlearn.tasks.portrait import Portrait
from everlearn.tasks.task import Task, check_amount

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
    known = {found(wear): (wear, 0) for wear in range(machine.levels)}

    def update(kept: tuple[int, int], _action: str, observation: str) -> tuple[int, int]:
        if observation == PRODUCT:
            return kept[0], min(kept[1] + 1, machine.limit)
        return known.get(observation, NEW)

    return AleatoricState(NEW, update, machine.memories)
