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
from everlearn.agents.spec import split
from everlearn.errors import InputError, require
from everlearn.play.contender import Contender, told, written
from everlearn.play.offer import REGISTERED, Offer
from everlearn.play.pace import FASTEST, SPEEDS
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
    'task=riverswim&seed=3&agent=growing-horizon&schedule=practical&speed=10&growing=yes'
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

    def checked(self, offer: Offer = REGISTERED) -> Configuration:
        """Return the same with every value converted to its type and defaults left out; raise for what cannot be."""
        offer.refuse_unknown("task", self.task)
        number = len(self.contenders)
        require(1 <= number <= MOST, "agents", number, f"compare 1 to {MOST} agents")
        contenders = tuple(one.checked(offer) for one in self.contenders)
        labels = [one.label for one in contenders]
        for place, label in enumerate(labels):
            require(label not in labels[:place], "agent", label, "appears twice; compare agents that differ")
        seed = whole(self.seed, "seed")
        require(seed < LARGEST_SEED, "seed", self.seed, "give a whole number below 2 ** 63")
        require(self.speed in SPEEDS, "speed", self.speed, f"give one of {', '.join(map(name_of_speed, SPEEDS))}")
        chosen = offer.differing("task", self.task, _short(self.task_parameters))
        return replace(self, task_parameters=chosen, contenders=contenders, seed=seed)

    def make_task(self, offer: Offer = REGISTERED) -> Task:
        """Return the task."""
        return offer.task(self.task, _short(self.task_parameters))

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

    def spec(self, steps: int, offer: Offer = REGISTERED) -> str:
        """Return the spec of an experiment that repeats what was seen until a time, in TOML."""
        task = {**offer.chosen("task", self.task), **_short(self.task_parameters)}
        lines = [f"steps = {steps}", "runs = 1", f"seed = {self.seed}", "", "[[task]]"]
        lines += [f"name = {_named(offer, 'task', self.task)}", *_entries("parameters", task)]
        for one in self.contenders:
            chosen = split(told(one, offer))
            agent = {**offer.chosen("agent", one.agent), **chosen["agent"]}
            schedule = {**offer.chosen("schedule", one.schedule), **chosen["schedule"]}
            lines += ["", "[[agent]]", f"name = {_named(offer, 'agent', one.agent)}", f"label = {toml(one.label)}"]
            if one.schedule is not None:
                lines.append(f"schedule = {_named(offer, 'schedule', one.schedule)}")
            lines += [*_entries("parameters", agent), *_entries("schedule_parameters", schedule)]
        return "\n".join(lines) + "\n"


def name_of_speed(speed: int) -> str:
    """Return a speed as an address carries it."""
    return "fastest" if speed == FASTEST else str(speed)


def _texts(chosen: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name, written(value)) for name, value in chosen.items()]


def _short(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters without their prefix."""
    return {name.partition(".")[2]: value for name, value in chosen.items()}


def _named(offer: Offer, kind: str, name: str) -> str:
    """Return the name by which a spec finds something; raise for what was passed from Python and has none."""
    given = offer.given(kind, name)
    if isinstance(given, str):
        return str(toml(given))
    remedy = (
        "was passed from Python, and a spec finds things by name; put it into a module and name it module:attribute"
    )
    raise InputError(kind, name, remedy)


def _entries(table: str, chosen: Mapping[str, Any]) -> list[str]:
    return [f"{table}.{name} = {toml('none' if value is None else value)}" for name, value in chosen.items()]
