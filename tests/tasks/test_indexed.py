"""A task in indices."""

from __future__ import annotations

import pytest

import everlearn as el
from everlearn.environments.pure import REPEATS
from everlearn.errors import AleatoricStateError, EverlearnError, LabelError, ObservationError, RewardError
from everlearn.tasks import indexed as module
from everlearn.tasks.indexed import IndexedTask
from everlearn.tasks.service_station import service_station
from tests.refusal import refusal
from tests.worlds import random_mdp


def test_indices_follow_the_order_of_the_labels():
    task = service_station()
    station = IndexedTask(task)
    assert [station.action(label) for label in task.actions] == [0, 1]
    assert [station.observation(label) for label in task.observations] == [0, 1, 2, 3]
    assert [station.state(label) for label in task.states] == [0, 1]
    assert station.start == 0


def test_step_is_f_and_r_on_indices():
    task = random_mdp(4, states=4, actions=2)
    world = IndexedTask(task)
    for s in range(4):
        for a in range(2):
            for o in range(4):
                assert world.step(s, a, o) == (o, task.reward(s, a, o))


def counted() -> tuple[el.Task, list[tuple]]:
    asked = []

    def reward(s, a, o):
        asked.append((s, a, o))
        return 0.5

    return el.Task((0,), (0, 1), el.last_observation(0), el.Reward(reward)), asked


def test_f_and_r_are_asked_several_times_at_once_and_never_again():
    task, asked = counted()
    world = IndexedTask(task)
    first, times = world.step(0, 0, 1), len(asked)
    assert world.step(0, 0, 1) == first
    assert asked == [(0, 0, 1)] * times
    assert times == REPEATS


def test_beyond_those_remembered_f_and_r_are_asked_again(monkeypatch):
    monkeypatch.setattr(module, "REMEMBERED_TRANSITIONS", 0)
    task, asked = counted()
    world = IndexedTask(task)
    assert world.step(0, 0, 1) == world.step(0, 0, 1)
    assert len(asked) == 2 * REPEATS


def leaving(f) -> IndexedTask:
    return IndexedTask(el.Task(("go",), ("x",), el.AleatoricState(0, f, (0, 1)), el.Reward(lambda s, a, o: 3.0 * s)))


@pytest.mark.parametrize(
    ("call", "error", "refused"),
    [
        (lambda: IndexedTask(service_station()).action("sleep"), LabelError, ("action", "sleep")),
        (
            lambda: IndexedTask(service_station()).observation("rain"),
            ObservationError,
            ("observation", "rain"),
        ),
        (
            lambda: IndexedTask(random_mdp(1, states=20)).observation(99),
            ObservationError,
            ("observation", 99),
        ),
        (lambda: IndexedTask(service_station()).state(2), AleatoricStateError, ("aleatoric state", 2)),
        (lambda: IndexedTask(service_station()).state([0]), AleatoricStateError, ("aleatoric state", [0])),
        (
            lambda: leaving(lambda s, a, o: s - 1).step(0, 0, 0),
            AleatoricStateError,
            ("aleatoric state after (0, 'go', 'x')", -1),
        ),
        (
            lambda: leaving(lambda s, a, o: s).step(1, 0, 0),
            RewardError,
            ("reward of (1, 'go', 'x')", 3.0),
        ),
    ],
)
def test_what_is_refused(call, error, refused):
    with pytest.raises(error, check=refusal(*refused)):
        call()


def test_an_f_that_returns_no_label_is_refused():
    with pytest.raises(EverlearnError, check=refusal("aleatoric state after (0, 'go', 'x')", [1])):
        leaving(lambda s, a, o: [1]).step(0, 0, 0)
