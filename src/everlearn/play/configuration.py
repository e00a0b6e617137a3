"""What the page shows: a task, up to four agents on it, a seed and a speed.

It is written as a query string, which the address bar carries, and as the spec of an experiment, which repeats on the
command line what was seen.  What a browser sends is refused like any other input; and since an address may come from
anybody, it names nothing but what has a name here: no ``module:attribute``, which would import it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

from everlearn.agents.agent import split, whole
from everlearn.agents.design import Design
from everlearn.agents.registry import AGENTS, DEFAULT_SCHEDULE, SCHEDULES, make_design, takes_schedule
from everlearn.errors import InputError, UnknownName, require
from everlearn.experiments.spec import Spec, read_spec
from everlearn.play.pace import FASTEST, SPEEDS
from everlearn.registry import convert, locate, parameters
from everlearn.tasks.registry import TASKS, make_task
from everlearn.tasks.task import Task
from everlearn.tuning.snippet import toml

MOST = 4
"""How many agents are compared at most."""

DURATION = 1_000_000
"""What an agent is told that must be told how long it will run; a stream has no end."""

LONGEST_QUERY, LONGEST_VALUE, LARGEST_SEED = 4000, 200, 2**63
_REGISTRIES = {"task": TASKS, "agent": AGENTS, "schedule": SCHEDULES}
_OWN = ("task", "seed", "speed", "growing")
_THEIRS = ("agent", "schedule")
_VIEW = re.compile(r"natural|memory|window:[0-9]+(\+actions)?")


@dataclass(frozen=True)
class Contender:
    """An agent, its schedule where it takes one, and what differs from the defaults of either.

    Examples
    --------
    >>> Contender("growing-horizon", "smooth", {"schedule.horizon_scale": "3"}).checked().parameters
    {'schedule.horizon_scale': 3.0}
    >>> Contender().is_of_the_paper
    True

    """

    agent: str = "growing-horizon"
    schedule: str | None = DEFAULT_SCHEDULE
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def checked(self) -> Contender:
        """Return the same with every value of its own type and defaults left out; what is unknown is refused."""
        _known("agent", self.agent)
        takes = takes_schedule(self.agent)
        schedule = self.schedule or (DEFAULT_SCHEDULE if takes else None)
        if schedule is not None:
            require(takes, "schedule", schedule, f"the agent {self.agent!r} takes no schedule; leave it out")
            _known("schedule", schedule)
        chosen = split(self.parameters)
        for name in chosen["task"]:
            raise InputError("parameter", f"task.{name}", "belongs to the task, which all agents share")
        own = _differing("agent", self.agent, chosen["agent"])
        return Contender(self.agent, schedule, own | _differing("schedule", schedule, chosen["schedule"]))

    def design(self) -> Design:
        """Return the agent before it has met a task."""
        chosen = split(self.parameters)
        return make_design(
            self.agent,
            chosen["agent"],
            schedule=self.schedule,
            schedule_chosen=chosen["schedule"],
            duration=DURATION,
        )

    @property
    def is_of_the_paper(self) -> bool:
        """Whether it is the agent of the paper with a schedule of the paper as printed."""
        printed = self.schedule in ("smooth", "change-points")
        return self.agent == "growing-horizon" and printed and not self.parameters

    @property
    def label(self) -> str:
        """What to call it, told from any other."""
        named = self.agent if self.schedule is None else f"{self.agent}, {self.schedule}"
        changed = [f"{name.partition('.')[2]} {written(value)}" for name, value in self.parameters.items()]
        return ", ".join([named, *changed])


@dataclass(frozen=True)
class Configuration:
    """Everything that the page shows follows from this.

    Examples
    --------
    >>> shown = Configuration(task="riverswim", seed=3)
    >>> shown.query()
    'task=riverswim&seed=3&agent=growing-horizon&schedule=smooth&speed=3&growing=yes'
    >>> read_query(shown.query()) == shown
    True

    """

    task: str = "service-station"
    task_parameters: Mapping[str, Any] = field(default_factory=dict)
    contenders: tuple[Contender, ...] = (Contender(),)
    seed: int = 1
    speed: int = 3
    growing: bool = True

    def checked(self) -> Configuration:
        """Return the same with every value of its own type and defaults left out; what cannot be is refused."""
        _known("task", self.task)
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
        require(self.speed in SPEEDS, "speed", self.speed, f"give one of {', '.join(map(_speed, SPEEDS))}")
        own = {name.partition(".")[2]: value for name, value in self.task_parameters.items()}
        differing = _differing("task", self.task, own)
        return replace(self, task_parameters=differing, contenders=contenders, seed=seed)

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
        pairs += [("speed", _speed(self.speed)), ("growing", "yes" if self.growing else "no")]
        return urlencode(pairs, safe=":,=")

    def spec(self, steps: int) -> str:
        """Return the spec of an experiment that repeats what was seen until a time, in TOML."""
        lines = [f"steps = {steps}", "runs = 1", f"seed = {self.seed}", "", "[[task]]", f"name = {toml(self.task)}"]
        lines += _entries("parameters", "task", self.task_parameters)
        for one in self.contenders:
            lines += ["", "[[agent]]", f"name = {toml(one.agent)}", f"label = {toml(one.label)}"]
            if one.schedule is not None:
                lines.append(f"schedule = {toml(one.schedule)}")
            lines += _entries("parameters", "agent", _told(one))
            lines += _entries("schedule_parameters", "schedule", one.parameters)
        return "\n".join(lines) + "\n"


def read_query(query: str) -> Configuration:
    """Return the configuration that an address carries; what is not said is as by default.

    Examples
    --------
    >>> read_query("task=riverswim&2.agent=always").contenders[1].label
    'always'
    >>> read_query("task=os:system")
    Traceback (most recent call last):
    ...
    everlearn.errors.InputError: task: 'os:system'; the page takes registered names alone; run your own from Python

    """
    text = query.removeprefix("?")
    require(len(text) <= LONGEST_QUERY, "address", f"{text[:40]}...", f"give at most {LONGEST_QUERY} characters")
    given: dict[str, str] = {}
    for key, value in parse_qsl(text, keep_blank_values=True):
        require(key not in given, key, value, "is there twice; give it once")
        require(len(value) <= LONGEST_VALUE, key, f"{value[:40]}...", f"give at most {LONGEST_VALUE} characters")
        given[key] = value
    own = {name: value for name, value in given.items() if name in _OWN or name.startswith("task.")}
    theirs = {name: value for name, value in given.items() if name not in own}
    blank = Configuration()
    return Configuration(
        own.get("task", blank.task),
        {name: value for name, value in own.items() if name.startswith("task.")},
        _contenders(theirs),
        whole(own.get("seed", blank.seed), "seed"),
        _read_speed(own.get("speed", str(blank.speed))),
        convert(own.get("growing", blank.growing), bool, "growing"),
    ).checked()


def read_configuration(spec: Spec) -> Configuration:
    """Return what the spec of an experiment describes, where a page can show it: one task, no grids, no families.

    Examples
    --------
    >>> read_configuration(read_spec({"steps": 100, "seed": 2, "task": "riverswim", "agent": "q-learning"})).seed
    2

    """
    require(len(spec.tasks) == 1, "task", [one.label for one in spec.tasks], "the page shows one task; leave one")
    [task] = spec.tasks
    require(not task.family, f"{task.key}.family", dict(task.family), "the page shows no families; name one member")
    contenders = []
    for one in spec.agents:
        schedule = _single(one.schedules, f"{one.key}.schedule")
        chosen = {f"agent.{name}": _single(values, f"{one.key}.{name}") for name, values in one.parameters.items()}
        chosen |= {
            f"schedule.{name}": _single(values, f"{one.key}.{name}") for name, values in one.schedule_parameters.items()
        }
        if chosen.get("agent.duration") == DURATION:
            del chosen["agent.duration"]
        contenders.append(Contender(str(one.given), schedule, chosen))
    settings = {f"task.{name}": _single(values, f"{task.key}.{name}") for name, values in task.parameters.items()}
    return Configuration(str(task.given), settings, tuple(contenders), spec.seed).checked()


def read_text(text: str) -> Configuration:
    """Return what a spec in TOML describes."""
    import tomllib

    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError("spec", f"{text[:40]}...", f"is not TOML: {error}") from None
    return read_configuration(read_spec(document))


def settable(kind: str, name: str | None) -> dict[str, Any]:
    """Return what may be set of a task, an agent or a schedule, by its full name, with the defaults.

    Examples
    --------
    >>> settable("schedule", "fixed")
    {'schedule.horizon': 10.0, 'schedule.optimism': 1.0}

    """
    if name is None:
        return {}
    known = parameters(locate(name, _REGISTRIES[kind], kind))
    return {f"{kind}.{one.name}": one.default for one in known.values() if one.name != "schedule"}


def written(value: Any) -> str:
    """Write the value of a parameter as a person types it.

    Examples
    --------
    >>> written(3.0), written(True), written(None), written("slow")
    ('3', 'yes', 'none', 'slow')

    """
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def _known(kind: str, name: str) -> None:
    """Refuse what has no name here; never look for it anywhere else."""
    require(":" not in name, kind, name, "the page takes registered names alone; run your own from Python")
    if name not in _REGISTRIES[kind]:
        raise UnknownName(kind, name, _REGISTRIES[kind])


def _differing(kind: str, name: str | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters by their full names, each of its own type, without those that are as by default."""
    found: dict[str, Any] = {}
    known = {} if name is None else parameters(locate(name, _REGISTRIES[kind], kind))
    for key, value in given.items():
        full = f"{kind}.{key}"
        if key == "aleatoric" and kind == "task":
            ways = "the page takes natural, memory, window:K or window:K+actions"
            require(bool(_VIEW.fullmatch(str(value))), full, value, ways)
            found |= {} if value == "natural" else {full: value}
            continue
        if key not in known or key == "schedule":
            raise UnknownName("parameter", full, [one for one in settable(kind, name)])
        converted = convert(value, known[key].kind, full)
        if converted != known[key].default:
            found[full] = converted
    return dict(sorted(found.items()))


def _contenders(given: Mapping[str, str]) -> tuple[Contender, ...]:
    """Sort what is said of agents by the number before the first dot; 1 where there is none."""
    sorted_out: dict[int, dict[str, str]] = {}
    for key, value in given.items():
        number, dot, name = key.partition(".")
        place, rest = (int(number), name) if dot and number in ("1", "2", "3", "4") else (1, key)
        if rest not in _THEIRS and not rest.startswith(("agent.", "schedule.")):
            raise UnknownName("key", key, [*_OWN, *_THEIRS, "task.NAME", "agent.NAME", "schedule.NAME", "2.agent"])
        sorted_out.setdefault(place, {})[rest] = value
    sorted_out.setdefault(1, {})
    places = sorted(sorted_out)
    require(places == list(range(1, len(places) + 1)), "agents", places, "number them 1, 2, 3, 4 without a gap")
    return tuple(_contender(sorted_out[place]) for place in places)


def _contender(given: Mapping[str, str]) -> Contender:
    chosen = {name: value for name, value in given.items() if name not in _THEIRS}
    return Contender(given.get("agent", "growing-horizon"), given.get("schedule"), chosen)


def _single(values: Sequence[Any], key: str) -> Any:
    require(len(values) == 1, key, list(values), "the page shows no grids; give one value")
    return values[0]


def _texts(chosen: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name, written(value)) for name, value in chosen.items()]


def _entries(table: str, kind: str, chosen: Mapping[str, Any]) -> list[str]:
    mine = {name.partition(".")[2]: value for name, value in chosen.items() if name.startswith(f"{kind}.")}
    return [f"{table}.{name} = {toml('none' if value is None else value)}" for name, value in mine.items()]


def _told(one: Contender) -> dict[str, Any]:
    """Return the parameters of an agent with the duration that it was told here, where it is told one."""
    told = one.design().duration is not None and "agent.duration" not in one.parameters
    return {**one.parameters, **({"agent.duration": DURATION} if told else {})}


def _speed(speed: int) -> str:
    return "fastest" if speed == FASTEST else str(speed)


def _read_speed(text: str) -> int:
    if text == "fastest":
        return FASTEST
    return whole(text, "speed", least=1)
