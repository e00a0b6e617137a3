"""Randomness: which streams there are, and the two draws that an agent may make from one.

Run i has a stream for its environment and a stream for its agent.  The environment draws exactly one uniform
number a step, so that agents are compared on common random numbers; an agent draws what it needs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

ENVIRONMENT, AGENT = 0, 1


def stream(seed: int, run: int, whose: int) -> np.random.Generator:
    """Return the stream of a run's environment or agent.

    Examples
    --------
    >>> float(stream(seed=1, run=0, whose=AGENT).random()) == float(stream(1, 0, AGENT).random())
    True

    """
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(run, whose))))


def words(generator: np.random.Generator) -> NDArray[np.uint64]:
    """Return the four words that are the whole condition of a stream."""
    state: dict[str, Any] = generator.bit_generator.state  # type: ignore[assignment]
    return np.array(state["state"]["state"], dtype=np.uint64)


def put_words(generator: np.random.Generator, four: NDArray[np.uint64]) -> None:
    """Put a stream into the condition that :func:`words` returned."""
    state: dict[str, Any] = generator.bit_generator.state  # type: ignore[assignment]
    state["state"]["state"] = np.asarray(four, dtype=np.uint64)
    generator.bit_generator.state = state


def uniform(stream: Any) -> float:
    """Draw from [0, 1).  Kernels call this; compiled, it steps the same generator inside the kernel.

    Examples
    --------
    >>> 0 <= uniform(np.random.default_rng(1)) < 1
    True

    """
    return stream.random()  # type: ignore[no-any-return]


def choose(stream: Any, number: int) -> int:
    """Draw uniformly from 0, ..., number - 1, with one uniform.

    Examples
    --------
    >>> choose(np.random.default_rng(1), 1)
    0

    """
    return int(uniform(stream) * number)
