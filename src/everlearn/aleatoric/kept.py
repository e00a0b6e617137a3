"""Aleatoric states that keep something of observations and actions alone, for environments that hide something.

- *actions*: the last actions;
- *last changes*: the last observations that differ from the one before, so that a cue is kept for as long as nothing
  else is seen;
- *traces*: for each observation how often and how recently it was made, z' = decay z + (1 - decay) [it is made], which
  is kept in whole steps (memory traces: Eberhard, Muehlebach and Vernade, 2025);
- *belief*: the distribution of the memory, for those who know the model, in whole shares.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from everlearn.aleatoric.state import AleatoricState
from everlearn.environments.model import Model
from everlearn.errors import require
from everlearn.labels import encode
from everlearn.protocol import Label


def last_actions(number: int = 1) -> AleatoricState:
    """Keep the last actions.

    Examples
    --------
    >>> last_actions(2).of([("wait", "idle"), ("serve", "busy"), ("wait", "busy")])
    ('serve', 'wait')

    """
    _check_count("number of actions", number)

    def update(kept: tuple[Label, ...], action: Label, _observation: Label) -> tuple[Label, ...]:
        return (*kept, action)[-number:]

    return AleatoricState((), update)


def last_changes(number: int = 1) -> AleatoricState:
    """Keep the last different observations; one that is made again at once changes nothing.

    Examples
    --------
    >>> last_changes(2).of([("go", "cue"), ("go", "corridor"), ("go", "corridor"), ("go", "corridor")])
    ('cue', 'corridor')

    """
    _check_count("number of changes", number)

    def update(kept: tuple[Label, ...], _action: Label, observation: Label) -> tuple[Label, ...]:
        return kept if kept[-1:] == (observation,) else (*kept, observation)[-number:]

    return AleatoricState((), update)


def trace(decay: float, levels: int) -> AleatoricState:
    """Keep a trace of every observation, in whole steps from 0 to ``levels``.

    A step rounds down the trace of what was not observed, and rounds up that of what was: so each moves at every step,
    and is forgotten in finite time.

    Examples
    --------
    >>> trace(0.5, 4).of([("go", "cue"), ("go", "corridor")])
    (('corridor', 2), ('cue', 1))

    """
    require(0 <= decay < 1, "decay of the trace", decay, "give a number of at least 0 and below 1")
    _check_count("levels of the trace", levels)

    def update(kept: Any, _action: Label, observation: Label) -> Label:
        faded = {label: math.floor(decay * level + 1e-9) for label, level in kept}
        level = dict(kept).get(observation, 0)
        faded[observation] = min(levels, math.ceil(decay * level + (1 - decay) * levels - 1e-9))
        return _sorted(faded)

    return AleatoricState((), update)


def belief(model: Model, levels: int) -> AleatoricState:
    """Keep the distribution of the memory, rounded to shares of 1 / ``levels`` after each step.

    What the rounded belief calls impossible may happen; then every memory is considered equally likely before it.

    Examples
    --------
    >>> from everlearn.tasks.tiger import tiger
    >>> belief(tiger().model, 10).of([("listen", "hear left"), ("listen", "hear left")])
    (('left', 10),)

    """
    _check_count("levels of the belief", levels)
    memories: dict[Label, None] = {}

    def everywhere() -> Mapping[Label, float]:
        if not memories:
            queue = [model.memory]
            for memory in queue:
                memories[memory] = None
                following = (o.memory for action in model.actions for o in model.outcomes(memory, action))
                queue += [after for after in dict.fromkeys(following) if after not in memories and after not in queue]
        return dict.fromkeys(memories, 1 / len(memories))

    def update(kept: Any, action: Label, observation: Label) -> Label:
        for prior in ({memory: share / levels for memory, share in kept}, everywhere()):
            chances = model.predict(prior, action).get(observation)
            if chances:
                return _sorted(_rounded(chances, levels))
        return kept  # type: ignore[no-any-return]  # it cannot happen at all

    return AleatoricState(((model.memory, levels),), update)


def _rounded(chances: Mapping[Label, float], levels: int) -> dict[Label, int]:
    """Return whole shares that sum to ``levels``: rounded down, and what is left to those that lost most."""
    total = math.fsum(chances.values())
    exact = {memory: levels * chance / total for memory, chance in sorted(chances.items(), key=_name)}
    shares = {memory: math.floor(share + 1e-9) for memory, share in exact.items()}
    lost = sorted(exact, key=lambda memory: -round(exact[memory] - shares[memory], 9))
    for memory in lost[: levels - sum(shares.values())]:
        shares[memory] += 1
    return shares


def _sorted(levels: Mapping[Label, int]) -> Label:
    return tuple((label, level) for label, level in sorted(levels.items(), key=_name) if level > 0)


def _name(item: tuple[Label, Any]) -> str:
    return encode(item[0])


def _check_count(name: str, number: object) -> None:
    whole = isinstance(number, int) and not isinstance(number, bool) and number >= 1
    require(whole, name, number, "give a whole number of at least 1")
