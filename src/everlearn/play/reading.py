"""Reading a configuration: from an address, or from the spec of an experiment.

What a browser sends is refused like any other input, with the same words.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

from everlearn.agents.agent import whole
from everlearn.errors import InputError, UnknownName, require
from everlearn.experiments.spec import Spec, read_spec
from everlearn.play.configuration import Configuration
from everlearn.play.contender import Contender
from everlearn.play.offer import DURATION, REGISTERED, Offer
from everlearn.play.pace import FASTEST
from everlearn.registry import convert

LONGEST_QUERY, LONGEST_VALUE, LONGEST_SPEC = 4000, 200, 20_000
_OWN = ("task", "seed", "speed", "growing")
_THEIRS = ("agent", "schedule")


def read_query(query: str, offer: Offer = REGISTERED, blank: Configuration | None = None) -> Configuration:
    """Return the configuration that an address carries; what it leaves out is as in ``blank``.

    Examples
    --------
    >>> read_query("task=riverswim&2.agent=growing-horizon&2.schedule=smooth").contenders[1].label
    'growing-horizon, smooth'
    >>> read_query("task=os:system")
    Traceback (most recent call last):
    ...
    everlearn.errors.InputError: task: 'os:system'; the page offers registered names and what it was started with: ...

    """
    text = query.removeprefix("?")
    require(len(text) <= LONGEST_QUERY, "address", f"{text[:40]}...", f"give at most {LONGEST_QUERY} characters")
    given: dict[str, str] = {}
    for key, value in parse_qsl(text, keep_blank_values=True):
        require(key not in given, key, value, "appears twice; give it once")
        require(len(value) <= LONGEST_VALUE, key, f"{value[:40]}...", f"give at most {LONGEST_VALUE} characters")
        given[key] = value
    own = {name: value for name, value in given.items() if name in _OWN or name.startswith("task.")}
    theirs = {name: value for name, value in given.items() if name not in own}
    blank = blank or Configuration()
    set_here = {name: value for name, value in own.items() if name.startswith("task.")}
    return Configuration(
        own.get("task", blank.task),
        set_here if "task" in own else {**blank.task_parameters, **set_here},
        _contenders(theirs, blank.contenders) if theirs else blank.contenders,
        whole(own.get("seed", blank.seed), "seed"),
        _read_speed(own.get("speed", str(blank.speed))),
        convert(own.get("growing", blank.growing), bool, "growing"),
    ).checked(offer)


def read_configuration(spec: Spec, offer: Offer = REGISTERED) -> Configuration:
    """Return what the spec of an experiment describes, if a page can show it: one task, no grids, no families.

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
    return Configuration(str(task.given), settings, tuple(contenders), spec.seed).checked(offer)


def read_text(text: str, offer: Offer = REGISTERED) -> Configuration:
    """Return what a spec in TOML describes."""
    require(len(text) <= LONGEST_SPEC, "spec", f"{text[:40]}...", f"give at most {LONGEST_SPEC:,} characters")
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError("spec", f"{text[:40]}...", f"is not TOML: {error}") from None
    return read_configuration(read_spec(document), offer)


def _contenders(given: Mapping[str, str], blank: Sequence[Contender]) -> tuple[Contender, ...]:
    """Split what an address says of agents by the number before the first dot, which is 1 if it is left out."""
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
    return tuple(_contender(sorted_out[place]) if sorted_out[place] else blank[0] for place in places)


def _contender(given: Mapping[str, str]) -> Contender:
    chosen = {name: value for name, value in given.items() if name not in _THEIRS}
    return Contender(given.get("agent", "growing-horizon"), given.get("schedule"), chosen)


def _single(values: Sequence[Any], key: str) -> Any:
    require(len(values) == 1, key, list(values), "the page shows no grids; give one value")
    return values[0]


def _read_speed(text: str) -> int:
    if text == "fastest":
        return FASTEST
    return whole(text, "speed", least=1)
