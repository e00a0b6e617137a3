"""Make one task of two: the environment changes from one to the other and back with a season that is not observed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from everlearn.environments.model import Model
from everlearn.errors import InputError, require
from everlearn.protocol import Label
from everlearn.tasks.task import Task

SUDDEN, SLOW = "sudden", "slow"


def changing(summer: Task, winter: Task, *, year: int, change: str = SUDDEN) -> Task:
    """Return a task whose law is that of one task in summer, and that of another in winter.

    The aleatoric state and the reward are those of the first task, which also begins.  The memory of the environment is
    that of the two tasks, and the step of the year.  So both must have the same actions and memories, and the first all
    observations; they may differ in probabilities.  The optimum is over policies that know the step of the year.

    Parameters
    ----------
    summer:
        a task that has a model
    winter:
        another, with the same actions and memories
    year:
        the number of steps after which the law repeats
    change:
        ``sudden``: half a year is summer and half is winter; ``slow``: the probabilities move from one to the other at
        a constant pace and back

    Examples
    --------
    A shop whose demand changes with the season:

    >>> from everlearn.tasks.inventory import inventory
    >>> shop = {"capacity": 6, "most_ordered": 4}
    >>> task = changing(inventory(mean_demand=3.0, **shop), inventory(mean_demand=1.0, **shop), year=40)
    >>> [round(task.model.outcomes((step, (0,)), "order 0")[0].probability, 3) for step in (0, 20)]
    [0.05, 0.368]

    """
    require(year >= 2, "year", year, "give at least 2 steps")
    require(change in (SUDDEN, SLOW), "change", change, f"give {SUDDEN} or {SLOW}")
    first, second = modelled("summer", summer), modelled("winter", winter)
    same = summer.actions == winter.actions
    require(same, "winter", winter.actions, f"give a task with the actions of the other, {summer.actions}")

    def rho(memory: tuple[int, Label], action: Label) -> Iterator[tuple[Label, float, Label]]:
        step, inner = memory
        following = (step + 1) % year
        share = wintry(step / year, change)
        chances: dict[tuple[Label, Label], float] = {}
        for law, weight in ((first, 1 - share), (second, share)):
            for outcome in law.outcomes(inner, action) if weight else ():
                key = outcome.observation, outcome.memory
                chances[key] = chances.get(key, 0.0) + weight * outcome.probability
        for (observation, after), chance in chances.items():
            yield observation, chance, (following, after)

    model = Model(summer.actions, summer.observations, (0, first.memory), rho, hidden=first.hidden)
    parameters = {"summer": dict(summer.parameters), "winter": dict(winter.parameters), "year": year, "change": change}
    summary = f"{summer.summary}, with a law that changes"
    name = f"changing-{summer.name}"
    return replace(summer, model=model, name=name, summary=summary, parameters=parameters, references={}, arrays=None)


def modelled(name: str, task: Task) -> Model:
    """Return the model of a task; raise if it has none."""
    if task.model is None:
        raise InputError(name, task.name, "give a task that has a model")
    return task.model


def wintry(x: float, change: str) -> float:
    """Return the share of winter at a fraction of the year."""
    return 1 - abs(1 - 2 * x) if change == SLOW else float(x >= 0.5)
