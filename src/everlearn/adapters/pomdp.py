"""Turn a file in Cassandra's format into a task that hides its memory."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from everlearn.adapters.pomdp_file import Pomdp, possible, read_pomdp
from everlearn.aleatoric.reward import Reward
from everlearn.aleatoric.state import last_observation
from everlearn.environments.model import Model
from everlearn.errors import InputError, require
from everlearn.files import expanded
from everlearn.protocol import Label
from everlearn.tasks.task import Task

MOST_EVENTS = 5_000_000
"""The most combinations of an action, a state, a next state and an observation that can happen."""


def from_pomdp(path: str | Path) -> Task:
    """Make a task from a file that describes a partially observable Markov decision process, in Cassandra's format.

    The states of the file are the memories, which are hidden.  The aleatoric state is the last observation.  If the
    action and the observation do not determine the reward, the reward is added to the observation: an observation of
    the task is then a pair, the observation in the file and the reward as text.  The discount is not used, because the
    objective is the average reward over one endless stream.  If the process reaches a state that it never leaves, its
    average reward is what it earns there.

    Parameters
    ----------
    path:
        the file; a relative path is looked up in the current directory, then in the folders of ``sys.path``; while an
        experiment runs, these include the folder of its spec

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".pomdp") as file:
    ...     _ = file.write("discount: 0.9 states: 2 actions: stay go observations: 2 "
    ...                    "T: stay identity T: go 0 1 1 0 O: * identity R: go : 0 : * : * 1")
    ...     file.flush()
    ...     task = from_pomdp(file.name)
    >>> task.actions, task.observations, task.summary
    (('stay', 'go'), ('0', '1'), '2 states; its discount, 0.9, is not used')

    """
    file = find_file(path)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("file", str(path), f"cannot be read: {error}") from None
    process = read_pomdp(text, file.name)
    _check_size(process, path)
    labels = _labels(process)
    rewards = [reward for _, reward in labels.values()]
    paid = {(action, label): reward for (action, *_), (label, reward) in labels.items()}
    low, high = min(rewards), max(rewards)
    unused = "" if process.discount is None else f"; its discount, {process.discount:g}, is not used"
    actions, observations = tuple(process.actions), tuple(dict.fromkeys(label for label, _ in labels.values()))

    def reward(_aleatoric_state: Label, action: str, observation: Label) -> float:
        return paid.get((process.actions.index(action), observation), low)  # others cannot happen

    return Task(
        actions,
        observations,
        last_observation(),
        Reward(reward, low, high if high > low else low + 1.0),
        _model(process, labels, actions, observations),
        name=file.stem,
        summary=f"{len(process.states):,} states{unused}",
        source=f"the file {file.name}",
    )


def find_file(path: str | Path) -> Path:
    """Return a file, from the current directory or from a folder of ``sys.path``."""
    require(str(path) != "", "file", path, "give the path of a file")
    places = [expanded(path), *(Path(folder) / path for folder in sys.path if folder)]
    file = next((place for place in places if place.is_file()), None)
    if file is None:
        raise InputError("file", str(path), "there is no such file")
    return file


def _check_size(process: Pomdp, path: str | Path) -> None:
    seen = (process.seen > 0).sum(axis=2)
    events = sum(int(((process.transitions[action] > 0) @ seen[action]).sum()) for action in range(len(seen)))
    remedy = f"{events:,} combinations of states, actions and observations can happen, at most {MOST_EVENTS:,}"
    require(events <= MOST_EVENTS, "file", str(path), f"{remedy}; describe a smaller process")


def _labels(process: Pomdp) -> dict[tuple[int, int, int, int], tuple[Label, float]]:
    """Return the observation and the reward of everything that can happen: action, state, next state, what is seen."""
    names = process.observations or process.states
    rewards = {
        (action, state, following, seen): process.reward(action, state, following, seen if process.observations else 0)
        for action, state in np.ndindex(len(process.actions), len(process.states))
        for following, seen, _ in possible(process, action, state)
    }
    known: dict[tuple[int, int], float] = {}
    plain = all(known.setdefault((place[0], place[3]), value) == value for place, value in rewards.items())
    return {
        place: (names[place[3]] if plain else (names[place[3]], f"{value:.12g}"), value)
        for place, value in rewards.items()
    }


def _model(process: Pomdp, labels: dict[Any, tuple[Label, float]], actions: Any, observations: Any) -> Model:
    numbers = {name: number for number, name in enumerate(process.states)}

    def rho(state: str, action: str) -> Iterator[tuple[Label, float, Label]]:
        chosen, here = process.actions.index(action), numbers[state]
        for following, seen, chance in possible(process, chosen, here):
            yield labels[chosen, here, following, seen][0], chance, process.states[following]

    first: Any = {process.states[state]: float(process.start[state]) for state in np.flatnonzero(process.start)}
    return Model(actions, observations, first if len(first) > 1 else next(iter(first)), rho, hidden=True)
