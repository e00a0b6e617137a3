"""Run a user's own design in the compiled engine, and say exactly what it did wrong.

Compiled code can tell that something went wrong, and at which step, but not what a person needs to know.  So what a
run knew before a stretch is kept.  Where something goes wrong the run is taken back, advanced to the step before it,
and that one step is interpreted with the checks of the reference loop: both engines say the same in the same words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.agent import arrays
from everlearn.agents.clock import Block
from everlearn.agents.own import Guard
from everlearn.engine.driver import pick
from everlearn.errors import AgentError, EverlearnError
from everlearn.protocol import Experience, Now
from everlearn.randomness import put_words, uniform

if TYPE_CHECKING:
    from everlearn.engine.compiled import CompiledBatch, Group


NOWHERE = -1
"""The position of a run of which no step was begun."""


class Failed(Exception):  # noqa: N818 - never reaches the user
    """A user's function returned what it must not."""


class Kept(NamedTuple):
    """What a group was before a stretch."""

    copies: list[NDArray[Any]]

    @classmethod
    def of(cls, group: Group) -> Kept:
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
    kept, guard = Kept.of(group), Guard(batch.plan.design, batch.table.interface)
    group.lanes.place[:] = NOWHERE
    try:
        batch.through(group, block)
    except EverlearnError:
        raise
    except Exception as error:
        position, lane = (int(place) for place in group.lanes.place)
        if position == NOWHERE:  # it was not even compiled
            raise
        reason = "it returned what it must not" if isinstance(error, Failed) else f"{type(error).__name__}: {error}"
    else:
        if guard.is_sound(group.knowledge):
            return
        position, lane = _first_unsound(batch, group, block, kept, guard)
        reason = "it left what is no number"
    kept.put(group)
    batch.until(group, block, 0, position)
    run = batch.runs[batch.first_of(group) + lane]
    guard = Guard(batch.plan.design, batch.table.interface, run)
    interpret(batch, group, lane, _now(block, position), guard)
    t = block.first + position
    said = f"it failed at step {t} when compiled ({reason}), and not when interpreted"
    raise AgentError(guard.name, f"{said}; it must depend on its arguments alone", t)


def _first_unsound(batch: CompiledBatch, group: Group, block: Block, kept: Kept, guard: Guard) -> tuple[int, int]:
    """Return the position of the step after which what is known is no longer sound, by halving, and the lane."""
    sound, unsound = 0, len(block.horizon)
    while unsound - sound > 1:
        middle = (sound + unsound) // 2
        kept.put(group)
        batch.until(group, block, 0, middle)
        if guard.is_sound(group.knowledge):
            sound = middle
        else:
            unsound = middle
    kept.put(group)
    batch.until(group, block, 0, unsound)
    lanes = range(len(group.lanes.pair))
    return unsound - 1, next(lane for lane in lanes if not guard.is_sound(batch.known_by(group, lane)))


def _now(block: Block, position: int) -> Now:
    return Now(block.first + position, *(float(column[position]) for column in block[1:]))


def interpret(batch: CompiledBatch, group: Group, lane: int, now: Now, guard: Guard) -> None:
    """Take one step as the reference loop does; the functions of the design raise, or what they leave is refused."""
    lanes, knowledge = group.lanes, batch.known_by(group, lane)
    agent, environment = _generator(lanes.agent[lane]), _generator(lanes.environment[lane])
    s = int(lanes.state[lane])
    action = guard.act(knowledge, s, now, agent)
    guard.check_numbers(knowledge, "act", now.t)
    rows, width = batch.table.view()
    first = (int(lanes.pair[lane]) * batch.table.actions + action) * width
    outcome = rows[int(pick(rows.view(np.recarray), first, width, (), uniform(environment)))]
    seen = Experience(s, action, int(outcome["observation"]), float(outcome["learned"]), int(outcome["state"]))
    guard.learn(knowledge, seen, now, agent)
    guard.check_numbers(knowledge, "learn", now.t)


def _generator(four: NDArray[np.uint64]) -> np.random.Generator:
    generator = np.random.Generator(np.random.SFC64(0))
    put_words(generator, four)
    return generator
