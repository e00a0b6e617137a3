"""The spec of an experiment: which agents on which tasks, how long, how often, from which seed.

It is written in TOML, or given to :func:`everlearn.experiment` as the same mappings.  A list of values makes a grid; a
family makes one random environment of many tasks, over which regret is averaged (Section 1.2).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from everlearn.engine.curves import PER_DECADE
from everlearn.engine.runner import ENGINES
from everlearn.errors import InputError, UnknownName
from everlearn.registry import MOST_STEPS, plain, whole
from everlearn.tables import MOST_PAIRS
from everlearn.tasks.define import Definition

MOST_PER_DECADE = 1000
"""How many recording times a decade may have; a number beyond is more likely a mistake."""

MOST_MEMBERS = 100_000
"""How many members a family may have; a number beyond is more likely a mistake."""


@dataclass(frozen=True)
class TaskEntry:
    """A task, or a grid or a family of them.

    ``parameters`` and ``family`` have a list of values for each name.
    """

    given: object
    label: str
    parameters: Mapping[str, list[Any]] = field(default_factory=dict)
    family: Mapping[str, list[Any]] = field(default_factory=dict)
    key: str = "task"
    """Where it stands in the spec, for messages."""


@dataclass(frozen=True)
class AgentEntry:
    """An agent, or a grid of them; ``schedules`` is a list with None for the agent's own."""

    given: object
    label: str | None
    schedules: list[Any]
    parameters: Mapping[str, list[Any]] = field(default_factory=dict)
    schedule_parameters: Mapping[str, list[Any]] = field(default_factory=dict)
    key: str = "agent"


@dataclass(frozen=True)
class Spec:
    """An experiment, described.

    Examples
    --------
    >>> spec = read_spec({"steps": 1e4, "runs": 5, "task": [{"name": "service-station"}],
    ...                   "agent": [{"name": "growing-horizon", "schedule": ["smooth", "change-points"]}]})
    >>> spec.steps, spec.agents[0].schedules
    (10000, ['smooth', 'change-points'])

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
    """Where the file lay, and where ``module:attribute`` is looked for."""


KEYS = ("name", "steps", "runs", "seed", "engine", "max_pairs", "recording", "task", "agent")
_TASK = ("name", "label", "parameters", "family")
_AGENT = ("name", "label", "schedule", "parameters", "schedule_parameters")


def load_spec(path: str | Path) -> Spec:
    """Read a spec from a TOML file."""
    return read_spec(*read_toml(path))


def read_toml(path: str | Path) -> tuple[dict[str, Any], str]:
    """Read a TOML file; return what it holds, named after the file where it has no name, and the folder it lies in."""
    file = Path(path)
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
    """Check a spec given as mappings, and return it; what it names is looked up later."""
    known_keys(document, KEYS, "")
    for key in ("steps", "task", "agent"):
        if key not in document:
            raise InputError(key, None, _MISSING[key])
    recording = mapping_of(document.get("recording", {}), "recording")
    known_keys(recording, ("per_decade",), "recording.")
    engine = document.get("engine", "auto")
    if engine not in ENGINES:
        raise InputError("engine", engine, f"give one of {', '.join(ENGINES)}")
    return Spec(
        steps=whole(document["steps"], "steps", least=1, most=MOST_STEPS),
        runs=whole(document.get("runs", 1), "runs", least=1),
        seed=whole(document.get("seed", 0), "seed"),
        tasks=_distinct([_task(entry, key) for entry, key in _entries(document["task"], "task")]),
        agents=_distinct([_agent(entry, key) for entry, key in _entries(document["agent"], "agent")]),
        name=_text(document.get("name", "experiment"), "name"),
        per_decade=whole(
            recording.get("per_decade", PER_DECADE), "recording.per_decade", least=1, most=MOST_PER_DECADE
        ),
        engine=engine,
        max_pairs=whole(document.get("max_pairs", MOST_PAIRS), "max_pairs", least=1),
        folder=folder,
    )


_MISSING = {
    "steps": "is missing; say how many steps each run takes, as in steps = 1e6",
    "task": 'is missing; name at least one, as in [[task]] and name = "service-station" below it',
    "agent": 'is missing; name at least one, as in [[agent]] and name = "growing-horizon" below it',
}


def _task(entry: Mapping[str, Any], key: str) -> TaskEntry:
    known_keys(entry, _TASK, f"{key}.")
    given = _given(entry, key)
    parameters = _grid(entry.get("parameters", {}), f"{key}.parameters")
    family = {
        name: _members(values, f"{key}.family.{name}")
        for name, values in mapping_of(entry.get("family", {}), f"{key}.family").items()
    }
    for name in family:
        if name in parameters:
            raise InputError(f"{key}.family.{name}", family[name], "is among the parameters too; leave it out of one")
    return TaskEntry(given, _label(entry, key) or name_of(given), parameters, family, key)


def _agent(entry: Mapping[str, Any], key: str) -> AgentEntry:
    known_keys(entry, _AGENT, f"{key}.")
    schedules = entry.get("schedule")
    return AgentEntry(
        _given(entry, key),
        _label(entry, key),
        _values(schedules, f"{key}.schedule"),
        _grid(entry.get("parameters", {}), f"{key}.parameters"),
        _grid(entry.get("schedule_parameters", {}), f"{key}.schedule_parameters"),
        key,
    )


def _entries(given: Any, key: str) -> Iterable[tuple[Mapping[str, Any], str]]:
    """Yield each entry with its key; one that is a bare name or a thing itself is as good as a mapping."""
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
    """Return what a thing is called."""
    if isinstance(given, Definition):
        return given.finish().name
    return given if isinstance(given, str) else str(getattr(given, "name", None) or getattr(given, "__name__", given))


def written(spec: Spec) -> dict[str, Any]:
    """Return a spec as JSON can hold it; read again it is the same, where everything in it was named.

    Examples
    --------
    >>> spec = read_spec({"steps": 100, "task": "service-station", "agent": "growing-horizon"})
    >>> read_spec(written(spec)).tasks == spec.tasks
    True

    """
    return {
        "name": spec.name,
        "steps": spec.steps,
        "runs": spec.runs,
        "seed": spec.seed,
        "engine": spec.engine,
        "max_pairs": spec.max_pairs,
        "recording": {"per_decade": spec.per_decade},
        "task": [
            {
                "name": name_of(one.given),
                "label": one.label,
                "parameters": plain(one.parameters),
                "family": plain(one.family),
            }
            for one in spec.tasks
        ],
        "agent": [
            {
                "name": name_of(one.given),
                **({} if one.label is None else {"label": one.label}),
                **({} if one.schedules == [None] else {"schedule": [name_of(schedule) for schedule in one.schedules]}),
                "parameters": plain(one.parameters),
                "schedule_parameters": plain(one.schedule_parameters),
            }
            for one in spec.agents
        ],
    }


def mapping_of(value: Any, key: str) -> Mapping[str, Any]:
    """Return a mapping; anything else is refused."""
    if not isinstance(value, Mapping):
        raise InputError(key, value, "give a table of names and values")
    return value


def _grid(value: Any, key: str) -> dict[str, list[Any]]:
    return {name: _values(values, f"{key}.{name}") for name, values in mapping_of(value, key).items()}


def _values(values: Any, key: str) -> list[Any]:
    listed = values if isinstance(values, list) else [values]
    if not listed:
        raise InputError(key, values, "is an empty list; give at least one value")
    for place, value in enumerate(listed):
        if any(_same(value, other) for other in listed[:place]):
            raise InputError(key, value, "is there twice; values of a grid must differ")
    return listed


def _same(value: Any, other: Any) -> bool:
    numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in (value, other))
    alike = numbers or (type(value) is type(other) and isinstance(value, bool | str | list | dict))
    return alike and bool(value == other)


def _members(values: Any, key: str) -> list[Any]:
    """Return the values of a family's parameter; a whole number n stands for 0, ..., n - 1."""
    if isinstance(values, list):
        return _values(values, key)
    number = whole(values, key, least=1)
    if number > MOST_MEMBERS:
        raise InputError(key, values, f"give a list of values, or a number of members up to {MOST_MEMBERS:,}")
    return list(range(number))


def known_keys(given: Mapping[str, Any], known: tuple[str, ...], prefix: str) -> None:
    """Refuse keys that are not known."""
    for key in given:
        if key not in known:
            raise UnknownName("key", f"{prefix}{key}", [f"{prefix}{name}" for name in known])


def _distinct(entries: list[Any]) -> tuple[Any, ...]:
    """Refuse labels that could not be told apart."""
    labels: dict[str, str] = {}
    for entry in entries:
        if entry.label is not None and entry.label in labels:
            remedy = f"is the label of {labels[entry.label]} too; give each a label of its own"
            raise InputError(f"{entry.key}.label", entry.label, remedy)
        if entry.label is not None:
            labels[entry.label] = entry.key
    return tuple(entries)
