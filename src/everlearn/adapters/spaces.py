"""Turn the spaces of Gymnasium into sets of labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from everlearn.adapters.discretisers import MOST_LABELS, Discretiser
from everlearn.errors import InputError, require
from everlearn.protocol import Label


class Reading(NamedTuple):
    """Every label of a space, and the function that maps a point of the space to its label."""

    labels: tuple[Label, ...]
    read: Callable[[Any], Label]


def actions_of(space: Any) -> tuple[int, ...]:
    """Return the actions of a discrete space, numbered as in the environment."""
    from gymnasium.spaces import Discrete

    remedy = "only Discrete action spaces are supported; wrap the environment so that its actions are numbered"
    require(isinstance(space, Discrete), "action space", space, remedy)
    return _numbers(space, "action space")


def reading(space: Any, discretise: Callable[[Any], Discretiser]) -> Reading:
    """Return the labels of a space of observations; ``discretise`` returns the discretiser of a box."""
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        return Reading(_numbers(space, "observation space"), int)
    if isinstance(space, spaces.MultiDiscrete):
        ranges = [range(int(s), int(s) + int(n)) for s, n in zip(space.start.ravel(), space.nvec.ravel(), strict=True)]
        return Reading(_every(ranges, space), _integers)
    if isinstance(space, spaces.MultiBinary):
        return Reading(_every([range(2)] * math.prod(space.shape), space), _integers)
    if isinstance(space, spaces.Tuple | spaces.Dict):
        named: Any = space.spaces if isinstance(space, spaces.Dict) else dict(enumerate(space.spaces))
        names, parts = list(named), [reading(part, discretise) for part in named.values()]

        def read(point: Any) -> Label:
            try:
                entries = [point[name] for name in names]
            except (TypeError, KeyError, IndexError):
                raise InputError("point", point, f"is not in the observation space, {space}") from None
            return tuple(part.read(entry) for part, entry in zip(parts, entries, strict=True))

        return Reading(_every([part.labels for part in parts], space), read)
    if isinstance(space, spaces.Box):
        discretiser = discretise(space)
        return Reading(discretiser.labels, discretiser)
    remedy = "supported: Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple; wrap the environment to have one"
    raise InputError("observation space", space, remedy)


def _numbers(space: Any, argument: str) -> tuple[int, ...]:
    number = int(space.n)
    require(number <= MOST_LABELS, argument, space, f"has {number:,} points; wrap the environment to have fewer")
    return tuple(range(int(space.start), int(space.start) + number))


def _integers(point: Any) -> Label:
    return tuple(np.asarray(point).astype(np.int64).ravel().tolist())


def _every(parts: Sequence[Sequence[Label]], space: Any) -> tuple[Label, ...]:
    number = 1
    for part in parts:  # one by one, since the whole product may have too many digits to be shown
        number *= len(part)
        remedy = f"has {number:,} points or more; wrap the environment to have fewer"
        require(number <= MOST_LABELS, "observation space", space, remedy)
    return tuple(product(*parts))
