"""Random streams, and the draws that an agent may make from them.

Run i has a stream for its environment and a stream for its agent.  The environment draws exactly one uniform
number per step, so that agents are compared on common random numbers; an agent draws as many as it needs.

An agent that draws in bulk, for example to sample a whole model, seeds a separate stream each time, numbered under a
key that it drew once.  What it draws there depends on the run and the number alone, not on how many draws it made
before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

ENVIRONMENT, AGENT = 0, 1

KEY, WORDS = 3, 4
"""The lengths of a key and of the state of a stream."""

MIXING = 12
"""The number of draws that are discarded when SFC64 is seeded, as in NumPy."""

BITS = 9007199254740992.0
"""2 ** 53: a draw times this is a whole number."""


def stream(seed: int, run: int, whose: int) -> np.random.Generator:
    """Return the stream of a run's environment or agent."""
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(run, whose))))


def words(generator: np.random.Generator) -> NDArray[np.uint64]:
    """Return the four words of the state of a stream, which determine all further draws."""
    state: dict[str, Any] = generator.bit_generator.state  # type: ignore[assignment]
    return np.array(state["state"]["state"], dtype=np.uint64)


def set_words(generator: np.random.Generator, four: NDArray[np.uint64]) -> None:
    """Restore a stream from what :func:`words` returned."""
    state: dict[str, Any] = generator.bit_generator.state  # type: ignore[assignment]
    state["state"]["state"] = np.asarray(four, dtype=np.uint64)
    generator.bit_generator.state = state


def uniform(stream: Any) -> float:
    """Return a uniform random number in [0, 1), drawn from ``stream``.

    Use it in ``act`` and ``learn``; interpreted and compiled code draw the same numbers.

    Examples
    --------
    >>> 0 <= uniform(np.random.default_rng(1)) < 1
    True

    """
    return stream.random()  # type: ignore[no-any-return]


def choose(stream: Any, number: int) -> int:
    """Return a uniform random integer from 0 to ``number - 1``, using one random number of ``stream``.

    Examples
    --------
    >>> choose(np.random.default_rng(1), 1)
    0

    """
    return int(uniform(stream) * number)


def draw_key(key: NDArray[np.float64], stream: Any) -> None:
    """Fill a key, under which numbered streams can be seeded, with three draws."""
    for place in range(KEY):
        key[place] = uniform(stream)


def seed_words(words: NDArray[np.uint64], key: NDArray[np.float64], number: int) -> None:
    """Fill an array with the four words of the stream that has a number under a key.

    Examples
    --------
    >>> key, words = np.zeros(KEY), np.zeros(WORDS, dtype=np.uint64)
    >>> draw_key(key, stream(1, 0, AGENT))
    >>> seed_words(words, key, 1)
    >>> first = uniform(stream_of(words))
    >>> seed_words(words, key, 2)
    >>> first == uniform(stream_of(words))
    False

    """
    words[0] = int(key[0] * BITS)
    words[1] = int(key[1] * BITS)
    words[2] = int(key[2] * BITS) + number
    words[3] = 1
    for _ in range(MIXING):
        uniform(stream_of(words))


def stream_of(words: NDArray[np.uint64]) -> Any:
    """Return the stream whose four words are in an array of what an agent knows; a draw updates the words."""
    return _WordStream(words)


class _WordStream:
    """SFC64 stepped on words in an array, in plain Python; compiled code steps the words in place."""

    def __init__(self, words: NDArray[np.uint64]) -> None:
        self.words = words[:WORDS]

    def random(self) -> float:
        a, b, c, counter = map(int, self.words.tolist())
        drawn = (a + b + counter) & _MASK
        rotated = (c << 24 | c >> 40) & _MASK
        self.words[:] = (b ^ b >> 11, (c + (c << 3)) & _MASK, (rotated + drawn) & _MASK, (counter + 1) & _MASK)
        return (drawn >> 11) * 2.0**-53


_MASK = (1 << 64) - 1
