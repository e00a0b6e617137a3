"""What the page shows: a task, up to four agents on it, a seed and a speed.

It is written as a query string, which the address bar carries, and as the spec of an experiment, which repeats on the
command line what was seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

from everlearn.agents.agent import whole
from everlearn.errors import require
from everlearn.play.contender import Contender, differing, refuse_unknown, told, written
from everlearn.play.pace import FASTEST, SPEEDS
from everlearn.tasks.registry import make_task
from everlearn.tasks.task import Task
from everlearn.tuning.snippet import toml

MOST = 4
"""How many agents are compared at most."""

LARGEST_SEED = 2**63


@dataclass(frozen=True)
class Configuration:
    """Everything that the page shows follows from this.

    Examples
    --------
    >>> shown = Configuration(task="riverswim", seed=3)
    >>> shown.query()
    'task=riverswim&seed=3&agent=growing-horizon&schedule=smooth&speed=10&growing=yes'
    >>> from everlearn.play.reading import read_query
    >>> read_query(shown.query()) == shown
    True

    """

    task: str = "service-station"
    task_parameters: Mapping[str, Any] = field(default_factory=dict)
    contenders: tuple[Contender, ...] = (Contender(),)
    seed: int = 1
    speed: int = 10
    growing: bool = True

    def checked(self) -> Configuration:
        """Return the same with every value of its own type and defaults left out; what cannot be is refused."""
        refuse_unknown("task", self.task)
        number = len(self.contenders)
        require(1 <= number <= MOST, "agents", number, f"compare 1 to {MOST} agents")
        contenders = tuple(one.checked() for one in self.contenders)
        labels = [one.label for one in contenders]
        for place, label in enumerate(labels):
            require(label not in labels[:place], "agent", label, "is there twice; compare agents that differ")
        fine = number == 1 or any(one.is_of_the_paper for one in contenders)
        remedy = "one of several must be the paper's: growing-horizon with smooth or change-points, unchanged"
        require(fine, "agents", labels, remedy)
        seed = whole(self.seed, "seed")
        require(seed < LARGEST_SEED, "seed", self.seed, "give a whole number below 2 ** 63")
        require(self.speed in SPEEDS, "speed", self.speed, f"give one of {', '.join(map(name_of_speed, SPEEDS))}")
        own = {name.partition(".")[2]: value for name, value in self.task_parameters.items()}
        chosen = differing("task", self.task, own)
        return replace(self, task_parameters=chosen, contenders=contenders, seed=seed)

    def make_task(self) -> Task:
        """Return the task."""
        return make_task(self.task, {name.partition(".")[2]: value for name, value in self.task_parameters.items()})

    def query(self) -> str:
        """Return the configuration as the address bar carries it."""
        pairs = [("task", self.task), *_texts(self.task_parameters), ("seed", str(self.seed))]
        for number, one in enumerate(self.contenders, start=1):
            prefix = "" if number == 1 else f"{number}."
            pairs.append((f"{prefix}agent", one.agent))
            if one.schedule is not None:
                pairs.append((f"{prefix}schedule", one.schedule))
            pairs += [(prefix + name, text) for name, text in _texts(one.parameters)]
        pairs += [("speed", name_of_speed(self.speed)), ("growing", "yes" if self.growing else "no")]
        return urlencode(pairs, safe=":,=")

    def spec(self, steps: int) -> str:
        """Return the spec of an experiment that repeats what was seen until a time, in TOML."""
        lines = [f"steps = {steps}", "runs = 1", f"seed = {self.seed}", "", "[[task]]", f"name = {toml(self.task)}"]
        lines += _entries("parameters", "task", self.task_parameters)
        for one in self.contenders:
            lines += ["", "[[agent]]", f"name = {toml(one.agent)}", f"label = {toml(one.label)}"]
            if one.schedule is not None:
                lines.append(f"schedule = {toml(one.schedule)}")
            lines += _entries("parameters", "agent", told(one))
            lines += _entries("schedule_parameters", "schedule", one.parameters)
        return "\n".join(lines) + "\n"


def name_of_speed(speed: int) -> str:
    """Return a speed as an address carries it."""
    return "fastest" if speed == FASTEST else str(speed)


def _texts(chosen: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name, written(value)) for name, value in chosen.items()]


def _entries(table: str, kind: str, chosen: Mapping[str, Any]) -> list[str]:
    mine = {name.partition(".")[2]: value for name, value in chosen.items() if name.startswith(f"{kind}.")}
    return [f"{table}.{name} = {toml('none' if value is None else value)}" for name, value in mine.items()]
