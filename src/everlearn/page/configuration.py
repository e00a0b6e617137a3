"""The configuration: what the page shows, which is a task, up to four agents on it, a seed and a speed.

It is written to and read from a query string, which the address bar carries, and the spec of an experiment, which
repeats on the command line what was seen.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

from everlearn.agents.agent import whole
from everlearn.agents.names import DEFAULT_SCHEDULE, SCHEDULED_AGENT
from everlearn.agents.spec import AgentSpec, TaskSpec, read_specs
from everlearn.errors import InputError, UnknownName, require
from everlearn.experiments.spec import read_spec
from everlearn.page.offer import DURATION, REGISTERED, Offer
from everlearn.page.pace import FASTEST, SPEEDS
from everlearn.registry import convert
from everlearn.tuning.snippet import toml

MOST_AGENTS = 4
LARGEST_SEED = 2**63
LONGEST_QUERY, LONGEST_VALUE, LONGEST_SPEC = 4000, 2000, 20_000

LATEST = 10**9
"""The last step to which an address can return: seconds away for the compiled engine."""

_OF_PAGE = ("task", "seed", "speed", "growing", "at")
_OF_AGENT = ("agent", "schedule")


FIRST = AgentSpec(SCHEDULED_AGENT, DEFAULT_SCHEDULE)
"""The agent that a page starts with: the paper's, whose values it can draw, with the schedule that learns fast."""


@dataclass(frozen=True)
class Configuration:
    """Everything that the page shows follows from this."""

    task: TaskSpec = field(default=TaskSpec("service-station"))
    agents: tuple[AgentSpec, ...] = (FIRST,)
    seed: int = 1
    speed: int = 10
    growing: bool = True
    at: int = 0
    """The step to which to return when the page is opened again."""

    def checked(self, offer: Offer = REGISTERED) -> Configuration:
        """Return the same with values of the right types and without defaults; raise for what cannot be shown."""
        task, number = offer.check_task(self.task), len(self.agents)
        require(1 <= number <= MOST_AGENTS, "agents", number, f"compare 1 to {MOST_AGENTS} agents")
        agents = tuple(offer.check_agent(agent) for agent in self.agents)
        labels = [label(agent) for agent in agents]
        for name in labels:
            require(labels.count(name) == 1, "agent", name, "appears twice; compare agents that differ")
        seed = whole(self.seed, "seed")
        require(seed < LARGEST_SEED, "seed", self.seed, "give a whole number below 2 ** 63")
        require(self.speed in SPEEDS, "speed", self.speed, f"give one of {', '.join(map(_write_speed, SPEEDS))}")
        require(0 <= self.at <= LATEST, "at", self.at, f"give a step from 0 to {LATEST:,}")
        return replace(self, task=task, agents=agents, seed=seed)

    @property
    def kinds(self) -> tuple[object, ...]:
        """What determines which choices there are."""
        return self.task.given, *((agent.given, agent.schedule) for agent in self.agents)

    def query(self) -> str:
        """Return the configuration as the address bar carries it."""
        settings = [("task", self.task.given), *self.task.settings.items(), ("seed", self.seed)]
        for number, agent in enumerate(self.agents, start=1):
            prefix = "" if number == 1 else f"{number}."
            settings.append((f"{prefix}agent", agent.given))
            if agent.schedule is not None:
                settings.append((f"{prefix}schedule", agent.schedule))
            settings += [(prefix + name, value) for name, value in agent.settings.items()]
        settings += [("speed", _write_speed(self.speed)), ("growing", self.growing)]
        settings += [("at", self.at)] if 0 < self.at <= LATEST else []
        return urlencode([(name, write(value)) for name, value in settings], safe=":,=")

    def spec(self, steps: int, offer: Offer = REGISTERED) -> str:
        """Return the spec of an experiment that repeats what was seen until a time, in TOML."""
        task = offer.task(self.task)
        lines = [f"steps = {steps}", "runs = 1", f"seed = {self.seed}", "", "[[task]]"]
        lines += [f"name = {_name('task', task.given, self.task.given)}", *_entries("parameters", task.parameters)]
        for shown in self.agents:
            agent = offer.agent(shown)
            name = _name("agent", agent.given, shown.given)
            lines += ["", "[[agent]]", f"name = {name}", f"label = {toml(label(shown))}"]
            if agent.schedule is not None:
                lines.append(f"schedule = {_name('schedule', agent.schedule, shown.schedule)}")
            duration = {} if agent.make(DURATION).duration is None else {"duration": DURATION}
            lines += _entries("parameters", {**duration, **agent.parameters})
            lines += _entries("schedule_parameters", agent.schedule_parameters)
        return "\n".join(lines) + "\n"


def label(agent: AgentSpec) -> str:
    """Return a name for an agent that differs from that of any other."""
    names = [agent.given] if agent.schedule is None else [agent.given, agent.schedule]
    settings = [f"{name.partition('.')[2]} {write(value)}" for name, value in agent.settings.items()]
    return ", ".join([*map(str, names), *settings])


def is_papers(agent: AgentSpec) -> bool:
    """Return whether this is the agent of the paper with a schedule of the paper, as printed."""
    return agent.given == SCHEDULED_AGENT and agent.schedule in ("smooth", "change-points") and not agent.settings


def write(value: object) -> str:
    """Write a value as a person types it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return "none" if value is None else str(value)


def read_query(query: str, offer: Offer = REGISTERED, blank: Configuration | None = None) -> Configuration:
    """Return the configuration that an address carries; ``blank`` has the values that it leaves out."""
    text = query.removeprefix("?")
    require(len(text) <= LONGEST_QUERY, "address", f"{text[:40]}...", f"give at most {LONGEST_QUERY} characters")
    given: dict[str, str] = {}
    for key, value in parse_qsl(text, keep_blank_values=True):
        require(key not in given, key, value, "appears twice; give it once")
        require(len(value) <= LONGEST_VALUE, key, f"{value[:40]}...", f"give at most {LONGEST_VALUE} characters")
        given[key] = value
    blank = blank or Configuration()
    of_task = {name.removeprefix("task."): value for name, value in given.items() if name.startswith("task.")}
    of_agents = {name: value for name, value in given.items() if name not in _OF_PAGE and not name.startswith("task.")}
    task = TaskSpec(given["task"], of_task) if "task" in given else None
    speed = given.get("speed", str(blank.speed))
    return Configuration(
        task or TaskSpec(blank.task.given, {**blank.task.parameters, **of_task}),
        _read_agents(of_agents, blank.agents[0]) if of_agents else blank.agents,
        whole(given.get("seed", blank.seed), "seed"),
        FASTEST if speed == "fastest" else whole(speed, "speed", least=1),
        convert(given.get("growing", blank.growing), bool, "growing"),
        whole(given.get("at", blank.at), "at"),
    ).checked(offer)


def _read_agents(given: Mapping[str, str], first: AgentSpec) -> tuple[AgentSpec, ...]:
    """Read the agents of an address: the number of an agent stands before the first dot, and 1 may be left out."""
    agents: dict[int, dict[str, str]] = {1: {}}
    for key, value in given.items():
        number, dot, name = key.partition(".")
        place, name = (int(number), name) if dot and number in ("1", "2", "3", "4") else (1, key)
        if name not in _OF_AGENT and not name.startswith(("agent.", "schedule.")):
            known = [*_OF_PAGE, *_OF_AGENT, "task.NAME", "agent.NAME", "schedule.NAME", "2.agent"]
            raise UnknownName("key", key, known)
        agents.setdefault(place, {})[name] = value
    places = sorted(agents)
    require(places == list(range(1, len(places) + 1)), "agents", places, "number them 1, 2, 3, 4 without a gap")
    return tuple(_read_agent(agents[place]) if agents[place] else first for place in places)


def _read_agent(given: Mapping[str, str]) -> AgentSpec:
    settings = {name: value for name, value in given.items() if name not in _OF_AGENT}
    return read_specs(None, given.get("agent", SCHEDULED_AGENT), given.get("schedule"), settings)[1]


def read_toml(text: str, offer: Offer = REGISTERED) -> Configuration:
    """Return what the spec of an experiment describes, if a page can show it: one task, no grids, no families."""
    require(len(text) <= LONGEST_SPEC, "spec", f"{text[:40]}...", f"give at most {LONGEST_SPEC:,} characters")
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError("spec", f"{text[:40]}...", f"is not TOML: {error}") from None
    spec = read_spec(document)
    require(len(spec.tasks) == 1, "task", [entry.label for entry in spec.tasks], "the page shows one task; leave one")
    [task] = spec.tasks
    require(not task.family, f"{task.key}.family", dict(task.family), "the page shows no families; name one member")
    agents = []
    for entry in spec.agents:
        schedule = _single(entry.schedules, f"{entry.key}.schedule")
        parameters = _singles(entry.parameters, entry.key)
        if parameters.get("duration") == DURATION:
            del parameters["duration"]
        agents.append(AgentSpec(str(entry.given), schedule, parameters, _singles(entry.schedule_parameters, entry.key)))
    shown = TaskSpec(str(task.given), _singles(task.parameters, task.key))
    return Configuration(shown, tuple(agents), spec.seed).checked(offer)


def _single(values: Sequence[Any], key: str) -> Any:
    require(len(values) == 1, key, list(values), "the page shows no grids; give one value")
    return values[0]


def _singles(grid: Mapping[str, Sequence[Any]], key: str) -> dict[str, Any]:
    return {name: _single(values, f"{key}.{name}") for name, values in grid.items()}


def _write_speed(speed: int) -> str:
    return "fastest" if speed == FASTEST else str(speed)


def _name(kind: str, given: object, shown: object) -> str:
    """Return the name by which a spec finds something; raise for what was passed from Python and has none."""
    if isinstance(given, str):
        return str(toml(given))
    remedy = (
        "was passed from Python, and a spec finds things by name; put it into a module and name it module:attribute"
    )
    raise InputError(kind, shown, remedy)


def _entries(table: str, parameters: Mapping[str, Any]) -> list[str]:
    return [f"{table}.{name} = {toml('none' if value is None else value)}" for name, value in parameters.items()]
