"""Run a user's design in the compiled engine, and explain exactly what it did wrong.

Compiled code can detect that something went wrong, and at which step, but cannot explain it.  So each group is copied
before a stretch.  If something goes wrong, the group is restored and advanced to the step before, and that one step is
interpreted with the checks of the reference engine.  Both engines thus raise the same errors.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.clock import Block
from everlearn.agents.guard import Guard
from everlearn.agents.knowledge import arrays, copied
from everlearn.errors import AgentError, EverlearnError
from everlearn.protocol import Experience, Knowledge, ScheduleValues
from everlearn.randomness import set_words, uniform, words
from everlearn.tables import draw_outcome

if TYPE_CHECKING:
    from everlearn.engine.compiled import CompiledBatch
    from everlearn.engine.group import Group

SPOT = 8
"""The number of steps at the beginning of a stretch that are also interpreted and compared."""

OFTEN, SELDOM = 1 << 16, 1 << 19
"""A stretch is compared if it begins in the first ``OFTEN`` steps, or is the first after a multiple of ``SELDOM``."""

TOLERANCE = 1e-9
"""How closely both engines must agree: a NumPy function may differ in the last bit when it is compiled."""

SAME = "its functions must depend on their arguments alone, and do the same compiled as interpreted"

NOWHERE = -1
"""The position of a group of which no step was begun."""


class Failed(Exception):  # noqa: N818 - never reaches the user
    """A user's function returned a value that is not allowed."""


def advance_guarded(batch: CompiledBatch, group: Group, block: Block) -> None:
    """Advance a group through a block; raise what the reference engine would raise, with the group as it was before."""
    snapshot = group.snapshot()
    try:
        _advance_checked(batch, group, block, snapshot)
    except BaseException:
        group.restore(snapshot)
        raise


def _advance_checked(batch: CompiledBatch, group: Group, block: Block, snapshot: list[NDArray[Any]]) -> None:
    guard = Guard(batch.plan.design, batch.table.indexed, group.runs[0])
    if block.first <= OFTEN or block.first % SELDOM < len(block.horizon):
        steps = interpret(batch, group, 0, block, (0, min(SPOT, len(block.horizon))), guard)
        check_agreement(batch, group, block, steps, guard)
        group.restore(snapshot)
    group.lanes.place[:] = NOWHERE
    try:
        batch.advance_group(group, block)
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
        position, lane = _first_unsound(batch, group, block, snapshot, guard)
        reason = "it left NaN or infinity"
    group.restore(snapshot)
    batch.advance_lanes(group, block, 0, position)
    guard = Guard(batch.plan.design, batch.table.indexed, group.runs[lane])
    interpret(batch, group, lane, block, (position, position + 1), guard)
    t = block.first + position
    problem = f"it failed at step {t} when compiled ({reason}), and not when interpreted"
    raise AgentError(guard.name, f"{problem}; {SAME}", t, run=guard.run)


def _reason(error: Exception) -> str:
    return "it returned what it must not" if isinstance(error, Failed) else f"{type(error).__name__}: {error}"


def _first_unsound(
    batch: CompiledBatch, group: Group, block: Block, snapshot: list[NDArray[Any]], guard: Guard
) -> tuple[int, int]:
    """Return the position of the first step that left unsound knowledge, by bisection, and the lane."""
    sound, unsound = 0, len(block.horizon)
    while unsound - sound > 1:
        middle = (sound + unsound) // 2
        group.restore(snapshot)
        batch.advance_lanes(group, block, 0, middle)
        if guard.is_sound(group.knowledge):
            sound = middle
        else:
            unsound = middle
    group.restore(snapshot)
    batch.advance_lanes(group, block, 0, unsound)
    lanes = range(len(group.runs))
    return unsound - 1, next(lane for lane in lanes if not guard.is_sound(group.known_by(lane)))


class Interpreted(NamedTuple):
    """A lane after some interpreted steps: its knowledge, its total reward, its position, and its random streams."""

    steps: int
    knowledge: Knowledge
    total: float
    pair: int
    state: int
    streams: tuple[list[int], list[int]]


def interpret(
    batch: CompiledBatch,
    group: Group,
    lane: int,
    block: Block,
    positions: tuple[int, int],
    guard: Guard,
    seconds: float = math.inf,
) -> Interpreted:
    """Take steps of one lane as the reference engine does, on copies and with all checks.

    It stops at the second position, or after so many seconds.
    """
    lanes, knowledge = group.lanes, copied(group.known_by(lane))
    agent, environment = _generator(lanes.agent[lane]), _generator(lanes.environment[lane])
    pair, s, total = int(lanes.pair[lane]), int(lanes.state[lane]), float(lanes.total[lane])
    began, position = time.perf_counter(), positions[0]
    while position < positions[1] and time.perf_counter() - began < seconds:
        now = ScheduleValues(block.first + position, *(float(column[position]) for column in block[1:]))
        action = guard.act(knowledge, s, now, agent)
        outcome = draw_outcome(batch.table, pair, action, uniform(environment))
        experience = Experience(
            s, action, int(outcome["observation"]), float(outcome["learned"]), int(outcome["state"])
        )
        guard.learn(knowledge, experience, now, agent)
        guard.check_numbers(knowledge, "learn", now.t)
        pair, s, position = int(outcome["next"]), int(outcome["state"]), position + 1
        total += float(outcome["reward"])
    streams = words(agent).tolist(), words(environment).tolist()
    return Interpreted(position - positions[0], knowledge, total, pair, s, streams)


def check_agreement(batch: CompiledBatch, group: Group, block: Block, interpreted: Interpreted, guard: Guard) -> None:
    """Let the first lane take the interpreted steps again in compiled code, and raise if anything differs."""
    lanes, t = group.lanes, block.first + interpreted.steps - 1
    lanes.place[:] = NOWHERE
    try:
        batch.advance_lanes(group, block, 0, interpreted.steps)
    except EverlearnError:
        raise
    except Exception as error:
        if lanes.place[0] == NOWHERE:  # it was not even compiled
            raise
        problem = f"by step {t} it failed when compiled ({_reason(error)}), and not when interpreted"
        raise AgentError(guard.name, f"{problem}; {SAME}", t) from None
    streams = lanes.agent[0].tolist(), lanes.environment[0].tolist()
    compiled = (float(lanes.total[0]), int(lanes.pair[0]), int(lanes.state[0]), streams)
    same = compiled == interpreted[2:]
    differing = difference(interpreted.knowledge, group.known_by(0)) if same else "what it does"
    if differing is not None:
        problem = f"after step {t} {differing} differs between the two engines; {SAME}"
        array = differing.removeprefix("its ") if same else None
        raise AgentError(guard.name, problem, t, run=guard.run, array=array)


def difference(knowledge: Knowledge, other: Knowledge) -> str | None:
    """Return the name of an array that differs, beyond the last bits, or None."""
    for name, array in arrays(knowledge).items():
        fields = [(array[field], arrays(other)[name][field]) for field in array.dtype.names or ()]
        for left, right in fields or [(array, arrays(other)[name])]:
            if not np.allclose(left, right, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True):
                return f"its {name}"
    return None


def _generator(four: NDArray[np.uint64]) -> np.random.Generator:
    generator = np.random.Generator(np.random.SFC64(0))
    set_words(generator, four)
    return generator
