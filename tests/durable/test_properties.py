"""Whatever is done to a durable agent, in any order and interrupted anywhere, it is the uninterrupted one."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

import everlearn as el
from everlearn.errors import EverlearnError
from tests.durable.worlds import OBSERVATIONS, whole
from tests.laws import law
from tests.memory import place

ACTIONS = ("fast", "slow")
DESIGNS = ("growing-horizon", "q-learning", "differential-q", "tsde", "always", "gradient")

ASKED = st.none() | st.sampled_from([("fast",), ("slow",), ("fast", "slow")])
ROW = st.tuples(st.sampled_from(OBSERVATIONS), st.sampled_from(ACTIONS))
OPERATIONS = st.one_of(
    st.tuples(st.just("act"), ASKED),
    st.tuples(st.just("observe"), st.sampled_from(OBSERVATIONS), st.none() | st.sampled_from(ACTIONS)),
    st.tuples(st.just("observe"), st.sampled_from(OBSERVATIONS), st.sampled_from(ACTIONS)),
    st.tuples(st.sampled_from(["learn", "freeze", "shadow", "snapshot"])),
    st.tuples(st.just("rollback"), st.integers(0, 12)),
    st.tuples(st.just("warm_start"), st.lists(ROW, max_size=5)),
    st.tuples(st.just("load")),
)


def do(agent: Any, operation: tuple[Any, ...], saved: Path) -> object:
    """Do one thing; what is refused is the same for both."""
    name, *arguments = operation
    if name == "load":
        arguments = [saved]
    with suppress(EverlearnError):
        return getattr(agent, name)(*arguments)
    return "refused"


def crashed(agent: Any, place: Path) -> Any:
    """Leave an agent as a crash does, with files as they are at this moment, and open what is on disk."""
    shutil.copytree(agent.store.directory, place)
    return el.live(place)


def asked_again(agent: Any, pending: int | None, asked: Any) -> None:
    """Ask again, as a controller does after a crash."""
    if pending is not None:
        assert agent.core.propose(asked) == pending


LIVES = {
    "design": st.sampled_from(DESIGNS),
    "every": st.sampled_from([1, 3, 1000]),
    "explore": st.sampled_from([0, 0.5]),
    "operations": st.lists(
        st.tuples(OPERATIONS, st.sampled_from(["", "", "reopen", "crash"])), min_size=5, max_size=40
    ),
}


@law(10, **LIVES)
def test_interrupted_is_uninterrupted(design, every, explore, operations):
    """Do the same to two agents, of which one is interrupted, and compare them after each."""
    setup = {"task": "service-station", "agent": design, "seed": 4, "snapshot_every": every, "explore": explore}
    do_and_interrupt(setup, operations)


BOXES = {
    "narrow": el.Box([-1.2, -0.07], [0.6, 0.07]),
    "wide": el.Box([0.0] * 14, [1.0] * 14),
}
"""A box whose points are numbers of 64 bits, and one with more points than that."""


def measured(box: el.Box, operation: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return an operation in which every observation is a point of a box, with a reward."""
    shares = dict(zip(OBSERVATIONS, (0.0, 0.3, 0.4, 1.0), strict=True))

    def point(label: str) -> list[float]:
        return [low + (high - low) * shares[label] for low, high in zip(box.low, box.high, strict=True)]

    if operation[0] == "observe":
        return ("observe", point(operation[1]), operation[2], 0.25)
    if operation[0] == "warm_start":
        return ("warm_start", [(point(label), action, 0.5) for label, action in operation[1]])
    return operation


@law(
    10,
    **LIVES
    | {
        "design": st.sampled_from(["linear", "q-lambda", "differential-sarsa", "network"]),
        "box": st.sampled_from([*BOXES]),
    },
)
def test_interrupted_is_uninterrupted_in_a_box(design, box, every, explore, operations):
    setup = {"actions": ACTIONS, "observations": BOXES[box], "reward_range": (0, 1), "agent": design, "seed": 4}
    measures = [(measured(BOXES[box], operation), then) for operation, then in operations]
    do_and_interrupt({**setup, "snapshot_every": every, "explore": explore}, measures)


def do_and_interrupt(setup: dict[str, Any], operations: list[tuple[Any, str]]) -> None:
    """Do the same to two agents, of which one is interrupted, and compare them after each."""
    with tempfile.TemporaryDirectory(dir=place()) as folder:
        base = Path(folder)
        saved = base / "state.npz"
        with el.live(base / "donor", **{**setup, "seed": 9}) as donor:
            do(donor, next((each for each, _ in operations if each[0] == "observe"), ("learn",)), saved)
            donor.save(saved)
        steady, broken = el.live(base / "steady", **setup), el.live(base / "0", **setup)
        asked = None
        for number, (operation, then) in enumerate(operations, 1):
            asked = operation[1] if operation[0] == "act" and steady.core.agent.pending is None else asked
            assert do(steady, operation, saved) == do(broken, operation, saved)
            pending = steady.core.agent.pending
            if then == "reopen":
                broken.close()
                broken = el.live(broken.store.directory)
            elif then == "crash":
                crash, broken = broken, crashed(broken, base / str(number))
                crash.close()
            asked_again(broken, pending, asked)
            assert whole(broken.core) == whole(steady.core)
        steady.close()
        broken.close()
