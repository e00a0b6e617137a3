"""Run a user's own design in the compiled engine, and say exactly what it did wrong.

Compiled code can tell that something went wrong, and at which step, but not what a person needs to know.  So what a
run knew before a stretch is kept.  Where something goes wrong the run is taken back, advanced to the step before it,
and that one step is interpreted with the checks of the reference loop: both engines say the same in the same words.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.agent import arrays
from everlearn.agents.clock import Block
from everlearn.agents.own import Guard, copied
from everlearn.engine.driver import pick
from everlearn.errors import AgentError, EverlearnError
from everlearn.protocol import Experience, Knowledge, Now
from everlearn.randomness import put_words, uniform, words

if TYPE_CHECKING:
    from everlearn.engine.compiled import CompiledBatch, Group


SPOT = 8
"""Steps at the beginning of each stretch that are interpreted too, and compared."""

TOLERANCE = 1e-9
"""How closely both engines must agree: a function of NumPy's may differ in the last bit when it is compiled."""

SAME = "its functions must depend on their arguments alone, and do the same compiled as interpreted"

NOWHERE = -1
"""The position of a run of which no step was begun."""


class Failed(Exception):  # noqa: N818 - never reaches the user
    """A user's function returned what it must not."""


class Before(NamedTuple):
    """What a group was before a stretch."""

    copies: list[NDArray[Any]]

    @classmethod
    def of(cls, group: Group) -> Before:
        """Return copies of everything that a stretch changes."""
        return cls([array.copy() for array in _changing(group)])

    def put(self, group: Group) -> None:
        """Take a group back to what it was."""
        for array, copy in zip(_changing(group), self.copies, strict=True):
            array[...] = copy


def _changing(group: Group) -> list[NDArray[Any]]:
    lanes = group.lanes
    return [*arrays(group.knowledge).values(), lanes.pair, lanes.state, lanes.total, lanes.environment, lanes.agent]


def guarded(batch: CompiledBatch, group: Group, block: Block) -> None:
    """Advance a group through a block; raise what the reference loop would raise."""
    before, guard = Before.of(group), Guard(batch.plan.design, batch.table.interface, batch.run_of(group, 0))
    agree(batch, group, block, interpreted(batch, group, 0, block, (0, min(SPOT, len(block.horizon))), guard), guard)
    before.put(group)
    group.lanes.place[:] = NOWHERE
    try:
        batch.through(group, block)
    except EverlearnError:
        raise
    except Exception as error:
        position, lane = (int(place) for place in group.lanes.place)
        if position == NOWHERE:  # it was not even compiled
            raise
        reason = _reason(error)
    else:
        if guard.is_sound(group.knowledge):
            return
        position, lane = _first_unsound(batch, group, block, before, guard)
        reason = "it left what is no number"
    before.put(group)
    batch.until(group, block, 0, position)
    guard = Guard(batch.plan.design, batch.table.interface, batch.run_of(group, lane))
    interpreted(batch, group, lane, block, (position, position + 1), guard)
    t = block.first + position
    said = f"it failed at step {t} when compiled ({reason}), and not when interpreted"
    raise AgentError(guard.name, f"{said}; {SAME}", t)


def _reason(error: Exception) -> str:
    return "it returned what it must not" if isinstance(error, Failed) else f"{type(error).__name__}: {error}"


def _first_unsound(batch: CompiledBatch, group: Group, block: Block, before: Before, guard: Guard) -> tuple[int, int]:
    """Return the position of the step after which what is known is no longer sound, by halving, and the lane."""
    sound, unsound = 0, len(block.horizon)
    while unsound - sound > 1:
        middle = (sound + unsound) // 2
        before.put(group)
        batch.until(group, block, 0, middle)
        if guard.is_sound(group.knowledge):
            sound = middle
        else:
            unsound = middle
    before.put(group)
    batch.until(group, block, 0, unsound)
    lanes = range(len(group.lanes.pair))
    return unsound - 1, next(lane for lane in lanes if not guard.is_sound(batch.known_by(group, lane)))


class Taken(NamedTuple):
    """What a lane is after some interpreted steps: what it knows, what it earned, where it is, and its streams."""

    steps: int
    known: Knowledge
    total: float
    pair: int
    state: int
    streams: tuple[list[int], list[int]]


def interpreted(
    batch: CompiledBatch,
    group: Group,
    lane: int,
    block: Block,
    positions: tuple[int, int],
    guard: Guard,
    patience: float = math.inf,
) -> Taken:
    """Take steps of one lane as the reference loop does, on copies; the checks of the reference loop raise.

    It stops at the second position, or before it where that takes longer than there is patience.
    """
    lanes, known = group.lanes, copied(batch.known_by(group, lane))
    streams = _generator(lanes.agent[lane]), _generator(lanes.environment[lane])
    pair, s, total = int(lanes.pair[lane]), int(lanes.state[lane]), float(lanes.total[lane])
    began, position = time.perf_counter(), positions[0]
    while position < positions[1] and time.perf_counter() - began < patience:
        now = Now(block.first + position, *(float(column[position]) for column in block[1:]))
        action = guard.act(known, s, now, streams[0])
        outcome = _outcome(batch, pair, action, uniform(streams[1]))
        seen = Experience(s, action, int(outcome["observation"]), float(outcome["learned"]), int(outcome["state"]))
        guard.learn(known, seen, now, streams[0])
        guard.check_numbers(known, "learn", now.t)
        pair, s, position = int(outcome["next"]), int(outcome["state"]), position + 1
        total += float(outcome["reward"])
    agent, environment = (words(one).tolist() for one in streams)
    return Taken(position - positions[0], known, total, pair, s, (agent, environment))


def _outcome(batch: CompiledBatch, pair: int, action: int, draw: float) -> Any:
    batch.table.expand(pair)
    rows, width = batch.table.view()
    first = (pair * batch.table.actions + action) * width
    return rows[int(pick(rows.view(np.recarray), first, width, (), draw))]


def agree(batch: CompiledBatch, group: Group, block: Block, taken: Taken, guard: Guard) -> None:
    """Let the first lane take in compiled code the steps that were interpreted, and refuse what differs."""
    lanes, t = group.lanes, block.first + taken.steps - 1
    lanes.place[:] = NOWHERE
    try:
        batch.until(group, block, 0, taken.steps)
    except EverlearnError:
        raise
    except Exception as error:
        if lanes.place[0] == NOWHERE:  # it was not even compiled
            raise
        said = f"by step {t} it failed when compiled ({_reason(error)}), and not when interpreted"
        raise AgentError(guard.name, f"{said}; {SAME}", t) from None
    streams = lanes.agent[0].tolist(), lanes.environment[0].tolist()
    place = (float(lanes.total[0]), int(lanes.pair[0]), int(lanes.state[0]), streams)
    differing = "what it does" if place != taken[2:] else difference(taken.known, batch.known_by(group, 0))
    if differing is not None:
        raise AgentError(guard.name, f"after step {t} {differing} differs between the two engines; {SAME}", t)


def difference(one: Knowledge, other: Knowledge) -> str | None:
    """Return the name of what differs in what is known, beyond the last bits, or None."""
    for name, array in arrays(one).items():
        fields = [(array[field], arrays(other)[name][field]) for field in array.dtype.names or ()]
        for left, right in fields or [(array, arrays(other)[name])]:
            if not np.allclose(left, right, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True):
                return f"its {name}"
    return None


def _generator(four: NDArray[np.uint64]) -> np.random.Generator:
    generator = np.random.Generator(np.random.SFC64(0))
    put_words(generator, four)
    return generator
