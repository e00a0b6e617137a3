"""The spec of an experiment: which agents run on which tasks, for how many steps and runs, and from which seed.

A spec is a TOML file, or the same mappings passed to :func:`everlearn.experiment`.  A list of values makes a grid.  A
family is a set of random tasks, over which regret is averaged (Section 1.2).
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from everlearn.agents.names import AGENTS, SCHEDULES
from everlearn.engine.curves import PER_DECADE
from everlearn.engine.runner import ENGINES
from everlearn.errors import EverlearnError, InputError, UnknownName
from everlearn.files import expanded
from everlearn.modules import look_in
from everlearn.registry import MOST_STEPS, locate, parameters, plain, whole
from everlearn.tables import MOST_PAIRS
from everlearn.tasks.define import Definition
from everlearn.tasks.names import TASKS

MOST_PER_DECADE = 1000
"""The largest number of recording times per decade; a larger number is more likely a mistake."""

MOST_MEMBERS = 100_000
"""The largest number of members of a family; a larger number is more likely a mistake."""

SET_LABEL = """set one: label = "..." in a spec, {"name": ..., "label": "..."} in Python"""


@dataclass(frozen=True)
class TaskEntry:
    """A task, or a grid or a family of tasks: ``parameters`` and ``family`` map each name to a list of values."""

    given: object
    label: str
    parameters: Mapping[str, list[Any]] = field(default_factory=dict)
    family: Mapping[str, list[Any]] = field(default_factory=dict)
    key: str = "task"
    """The place of the entry in the spec, for error messages."""

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as a JSON document."""
        parameters, family = plain(self.parameters), plain(self.family)
        return {"name": name_of(self.given), "label": self.label, "parameters": parameters, "family": family}


@dataclass(frozen=True)
class AgentEntry:
    """An agent, or a grid of agents; None among the ``schedules`` is the agent's default schedule."""

    given: object
    label: str | None
    schedules: list[Any]
    parameters: Mapping[str, list[Any]] = field(default_factory=dict)
    schedule_parameters: Mapping[str, list[Any]] = field(default_factory=dict)
    key: str = "agent"

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as a JSON document."""
        return {
            "name": name_of(self.given),
            **({} if self.label is None else {"label": self.label}),
            **({} if self.schedules == [None] else {"schedule": [name_of(schedule) for schedule in self.schedules]}),
            "parameters": plain(self.parameters),
            "schedule_parameters": plain(self.schedule_parameters),
        }


@dataclass(frozen=True)
class Spec:
    """The description of an experiment.

    Examples
    --------
    >>> spec = read_spec({"steps": 1e4, "runs": 5, "task": [{"name": "service-station"}],
    ...                   "agent": [{"name": "growing-horizon", "schedule": ["smooth", "change-points"]}]})
    >>> spec.steps, spec.agents[0].schedules
    (10000, ['smooth', 'change-points'])
    >>> read_spec(spec.to_dict()) == spec
    True

    """

    steps: int
    runs: int
    seed: int
    tasks: tuple[TaskEntry, ...]
    agents: tuple[AgentEntry, ...]
    name: str = "experiment"
    per_decade: int = PER_DECADE
    engine: str = "auto"
    max_pairs: int = MOST_PAIRS
    folder: str | None = None
    """The folder of the file, in which ``module:attribute`` is looked up."""

    @property
    def is_named(self) -> bool:
        """Whether the spec has names only, no objects, so that its document is enough to run it again."""
        given = [task.given for task in self.tasks] + [agent.given for agent in self.agents]
        given += [schedule for entry in self.agents for schedule in entry.schedules if schedule is not None]
        return all(isinstance(thing, str) for thing in given)

    def to_dict(self) -> dict[str, Any]:
        """Return the spec as a JSON document; :func:`read_spec` reads it back if all tasks and agents have names."""
        return {
            "name": self.name,
            "steps": self.steps,
            "runs": self.runs,
            "seed": self.seed,
            "engine": self.engine,
            "max_pairs": self.max_pairs,
            "recording": {"per_decade": self.per_decade},
            "task": [entry.to_dict() for entry in self.tasks],
            "agent": [entry.to_dict() for entry in self.agents],
        }


KEYS = ("name", "steps", "runs", "seed", "engine", "max_pairs", "recording", "task", "agent")
_TASK = ("name", "label", "parameters", "family")
_AGENT = ("name", "label", "schedule", "parameters", "schedule_parameters")


def load_spec(path: str | Path) -> Spec:
    """Read a spec from a TOML file."""
    return read_spec(*read_toml(path))


def read_toml(path: str | Path) -> tuple[dict[str, Any], str]:
    """Return the document in a TOML file, with the name of the file as its default name, and the folder of the file."""
    file = expanded(path)
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise InputError("spec", str(path), "there is no such file") from None
    except IsADirectoryError:
        raise InputError("spec", str(path), "is a directory; give a TOML file") from None
    except UnicodeDecodeError:
        raise InputError("spec", str(path), "is not text; give a TOML file in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError("spec", str(path), f"is not TOML: {error}") from None
    return {"name": file.stem, **document}, str(file.resolve().parent)


def read_spec(document: Mapping[str, Any], folder: str | None = None) -> Spec:
    """Check a spec given as mappings and return it; tasks and agents are looked up when it runs."""
    check_keys(document, KEYS, "")
    for key in ("steps", "task", "agent"):
        if key not in document:
            raise InputError(key, None, _MISSING[key])
    recording = check_mapping(document.get("recording", {}), "recording")
    check_keys(recording, ("per_decade",), "recording.")
    engine = document.get("engine", "auto")
    if engine not in ENGINES:
        raise InputError("engine", engine, f"give one of {', '.join(ENGINES)}")
    tasks = tuple(_task(entry, key, folder) for entry, key in _entries(document["task"], "task"))
    agents = tuple(_agent(entry, key, folder) for entry, key in _entries(document["agent"], "agent"))
    refuse_equal_labels((entry.key, entry.label) for entry in tasks)
    refuse_equal_labels((entry.key, entry.label) for entry in agents)
    per_decade = recording.get("per_decade", PER_DECADE)
    return Spec(
        steps=whole(document["steps"], "steps", least=1, most=MOST_STEPS),
        runs=whole(document.get("runs", 1), "runs", least=1),
        seed=whole(document.get("seed", 0), "seed"),
        tasks=tasks,
        agents=agents,
        name=_text(document.get("name", "experiment"), "name"),
        per_decade=whole(per_decade, "recording.per_decade", least=1, most=MOST_PER_DECADE),
        engine=engine,
        max_pairs=whole(document.get("max_pairs", MOST_PAIRS), "max_pairs", least=1),
        folder=folder,
    )


_MISSING = {
    "steps": "is missing; say how many steps each run takes, as in steps = 1e6",
    "task": 'is missing; name at least one, as in [[task]] and name = "service-station" below it',
    "agent": 'is missing; name at least one, as in [[agent]] and name = "growing-horizon" below it',
}


def _task(entry: Mapping[str, Any], key: str, folder: str | None = None) -> TaskEntry:
    _refuse_parameters(entry, _TASK, key, folder)
    check_keys(entry, _TASK, f"{key}.")
    given = _given(entry, key)
    parameters = _grid(entry.get("parameters", {}), f"{key}.parameters")
    family = {
        name: _members(values, f"{key}.family.{name}")
        for name, values in check_mapping(entry.get("family", {}), f"{key}.family").items()
    }
    for name in family:
        if name in parameters:
            raise InputError(f"{key}.family.{name}", family[name], "is also among the parameters; leave it out of one")
    return TaskEntry(given, _label(entry, key) or name_of(given), parameters, family, key)


def _agent(entry: Mapping[str, Any], key: str, folder: str | None = None) -> AgentEntry:
    _refuse_parameters(entry, _AGENT, key, folder)
    check_keys(entry, _AGENT, f"{key}.")
    _refuse_parameters_of_schedules(entry, key, folder)
    return AgentEntry(
        _given(entry, key),
        _label(entry, key),
        _values(entry.get("schedule"), f"{key}.schedule"),
        _grid(entry.get("parameters", {}), f"{key}.parameters"),
        _grid(entry.get("schedule_parameters", {}), f"{key}.schedule_parameters"),
        key,
    )


def _refuse_parameters(entry: Mapping[str, Any], known: tuple[str, ...], key: str, folder: str | None) -> None:
    """Raise if a key of an entry is a parameter of its task or agent, which belongs one level deeper."""
    others = [name for name in entry if name not in known]
    for name in others if "name" in entry else ():
        kind = key.partition("[")[0]
        if name in _parameters_of(entry["name"], kind, folder):
            raise InputError("key", f"{key}.{name}", f"is a parameter of the {kind}; write parameters.{name}")


def _refuse_parameters_of_schedules(entry: Mapping[str, Any], key: str, folder: str | None) -> None:
    """Raise if a parameter of an agent is one of a schedule alone; ``schedule.name`` in TOML is a table."""
    given = check_mapping(entry.get("parameters", {}), f"{key}.parameters")
    inner = given.get("schedule")
    known = {name for each in SCHEDULES for name in parameters(locate(each, SCHEDULES, "schedule"))}
    wrong = {f"schedule.{name}": name for name in inner} if isinstance(inner, Mapping) else {}
    taken = _parameters_of(_given(entry, key), "agent", folder) if known & set(given) else ()
    wrong |= {name: name for name in given if name in known and name not in taken}
    for written, name in wrong.items():
        remedy = f"is a parameter of the schedule; write schedule_parameters.{name}"
        raise InputError("key", f"{key}.parameters.{written}", remedy)


def _parameters_of(given: object, kind: str, folder: str | None) -> Collection[str]:
    """Return the names of the parameters of a task or an agent, if it can be found."""
    if folder is not None:
        look_in(folder)
    with suppress(EverlearnError):
        made = locate(given, TASKS if kind == "task" else AGENTS, kind) if isinstance(given, str) else given
        return parameters(made) if callable(made) and not isinstance(made, Definition) else ()
    return ()


def _entries(given: Any, key: str) -> Iterable[tuple[Mapping[str, Any], str]]:
    """Yield each entry as a mapping, with its key; a name or an object alone stands for a mapping with that name."""
    listed = given if isinstance(given, list | tuple) else [given]
    if not listed:
        raise InputError(key, given, _MISSING[key].removeprefix("is missing; "))
    for number, entry in enumerate(listed, start=1):
        yield entry if isinstance(entry, Mapping) else {"name": entry}, f"{key}[{number}]"


def _given(entry: Mapping[str, Any], key: str) -> object:
    given = entry.get("name")
    if given is None or given == "":
        raise InputError(f"{key}.name", given, "is missing; give a registered name, or module:attribute")
    return given


def _label(entry: Mapping[str, Any], key: str) -> str | None:
    return None if entry.get("label") is None else _text(entry["label"], f"{key}.label")


def _text(value: Any, key: str) -> str:
    if not isinstance(value, str) or not value:
        raise InputError(key, value, "give a text")
    return value


def name_of(given: object) -> str:
    """Return the name of a task, an agent or a schedule."""
    if isinstance(given, Definition):
        return given.finish().name
    return given if isinstance(given, str) else str(getattr(given, "name", None) or getattr(given, "__name__", given))


def check_mapping(value: Any, key: str) -> Mapping[str, Any]:
    """Return a mapping; raise if it is anything else."""
    if not isinstance(value, Mapping):
        raise InputError(key, value, "give a table of names and values")
    return value


def _grid(value: Any, key: str) -> dict[str, list[Any]]:
    return {name: _values(values, f"{key}.{name}") for name, values in check_mapping(value, key).items()}


def _values(values: Any, key: str) -> list[Any]:
    listed = values if isinstance(values, list) else [values]
    if not listed:
        raise InputError(key, values, "is an empty list; give at least one value")
    for index, value in enumerate(listed):
        if any(_equal(value, other) for other in listed[:index]):
            raise InputError(key, value, "appears twice; the values of a grid must differ")
    return listed


def _equal(value: Any, other: Any) -> bool:
    numbers = all(isinstance(each, int | float) and not isinstance(each, bool) for each in (value, other))
    comparable = numbers or (type(value) is type(other) and isinstance(value, bool | str | list | dict))
    return comparable and bool(value == other)


def _members(values: Any, key: str) -> list[Any]:
    """Return the values of a parameter of a family; a whole number n stands for 0, ..., n - 1."""
    if isinstance(values, list):
        return _values(values, key)
    number = whole(values, key, least=1)
    if number > MOST_MEMBERS:
        raise InputError(key, values, f"give a list of values, or a number of members up to {MOST_MEMBERS:,}")
    return list(range(number))


def check_keys(given: Mapping[str, Any], known: tuple[str, ...], prefix: str) -> None:
    """Raise if there is a key that is not known."""
    for key in given:
        if key not in known:
            raise UnknownName("key", f"{prefix}{key}", [f"{prefix}{name}" for name in known])


def refuse_equal_labels(entries: Iterable[tuple[str, str | None]]) -> None:
    """Raise if two entries, each given by its key and its label, have the same label."""
    keys: dict[str, str] = {}
    for key, label in entries:
        if label is not None and keys.setdefault(label, key) != key:
            remedy = f"is also the label of {keys[label]}; labels must be unique; {SET_LABEL}"
            raise InputError(f"{key}.label", label, remedy)
