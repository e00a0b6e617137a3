"""Random streams, and the draws that an agent may make from them.

Run i has a stream for its environment and a stream for its agent.  The environment draws exactly one uniform
number per step, so that agents are compared on common random numbers; an agent draws as many as it needs.

An agent that draws many numbers at once, such as a whole model, begins a new stream each time, which is determined by a
key that the agent drew once and by a number.  So these draws do not depend on how many others were made before.
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


def put_words(generator: np.random.Generator, four: NDArray[np.uint64]) -> None:
    """Set the state of a stream to what :func:`words` returned."""
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


def draw_key(key: NDArray[np.float64], stream: Any) -> None:
    """Fill a key, which determines numbered streams, with three draws."""
    for place in range(KEY):
        key[place] = uniform(stream)


def begin(room: NDArray[np.uint64], key: NDArray[np.float64], number: int) -> None:
    """Begin the stream of a number under a key; its four words are kept in ``room``.

    Examples
    --------
    >>> key, room = np.zeros(KEY), np.zeros(WORDS, dtype=np.uint64)
    >>> draw_key(key, stream(1, 0, AGENT))
    >>> begin(room, key, 1)
    >>> first = uniform(kept(room))
    >>> begin(room, key, 2)
    >>> first == uniform(kept(room))
    False

    """
    room[0] = int(key[0] * BITS)
    room[1] = int(key[1] * BITS)
    room[2] = int(key[2] * BITS) + number
    room[3] = 1
    for _ in range(MIXING):
        uniform(kept(room))


def kept(room: NDArray[np.uint64]) -> Any:
    """Return the stream whose words are kept in an array of what an agent knows; drawing from it moves them on."""
    return _Kept(room)


class _Kept:
    """SFC64 stepped on words in an array, in plain Python; compiled code steps them where they are."""

    def __init__(self, room: NDArray[np.uint64]) -> None:
        self.room = room[:WORDS]

    def random(self) -> float:
        a, b, c, counter = map(int, self.room.tolist())
        drawn = (a + b + counter) & _MASK
        rotated = (c << 24 | c >> 40) & _MASK
        self.room[:] = (b ^ b >> 11, (c + (c << 3)) & _MASK, (rotated + drawn) & _MASK, (counter + 1) & _MASK)
        return (drawn >> 11) * 2.0**-53


_MASK = (1 << 64) - 1
