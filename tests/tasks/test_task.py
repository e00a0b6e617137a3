"""The task: environment, aleatoric state and reward together."""

from __future__ import annotations

import pytest

import everlearn as el
from everlearn.errors import InputError, TaskError
from everlearn.tasks.service_station import service_station
from tests.refusal import refusal
from tests.worlds import environment_stream, pendulum, random_mdp


def bare(**arguments) -> el.Task:
    """A task with nothing behind it, for an agent that is driven from outside."""
    given = {"actions": ("a", "b"), "observations": (0, 1), "aleatoric": el.last_observation()}
    return el.Task(**{**given, "reward": el.Reward(lambda s, a, o: 0.5), **arguments})


def test_labels_become_tuples_and_states_are_found():
    task = bare(actions=["a", "b"], observations=range(3))
    assert task.actions == ("a", "b")
    assert task.observations == (0, 1, 2)
    assert task.states == ("start", 0, 1, 2)


def test_it_starts_its_model():
    environment = service_station().start(environment_stream(1))
    assert environment.step("slow") == "arrival"


def test_it_starts_an_environment_without_a_model():
    task = pendulum().finish()
    one, other = (task.start(environment_stream(1)) for _ in range(2))
    assert one is not other
    assert [one.step("push") for _ in range(20)] == [other.step("push") for _ in range(20)]


def test_without_an_environment_it_serves_an_agent_driven_from_outside():
    agent = el.Agent(bare())
    agent.act()
    assert agent.observe(1) == 0.5
    with pytest.raises(InputError, check=refusal("task", "mine")):
        bare(name="mine").start(environment_stream(0))


def test_after_a_history_memory_and_aleatoric_state_have_moved():
    history = [("slow", "arrival"), ("slow", "nothing"), ("slow", "arrival+departure"), ("fast", "departure")]
    task = service_station().after(history)
    assert task.aleatoric.start == 0
    assert task.model.memory == service_station().model.after(history).memory
    assert task.references == {}
    assert task.states == service_station().states
    assert el.Agent(task).aleatoric_state == 0
    assert el.Agent(service_station().after(history[:2])).aleatoric_state == 1


def test_after_a_history_from_arrays():
    task = random_mdp(1).after([(0, 2)])
    assert task.aleatoric.start == task.model.memory == 2


def test_after_a_history_without_any_environment():
    assert bare().after([("a", 1)]).aleatoric.start == 1


def test_only_a_task_with_a_model_begins_after_a_history():
    with pytest.raises(TaskError, check=refusal("history", [("push", "left")])):
        pendulum().finish().after([("push", "left")])


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ({"actions": ()}, []),
        ({"actions": 2}, 2),
        ({"observations": "xy"}, "xy"),
        ({"actions": (1.5,)}, 1.5),
        ({"aleatoric": "window:3"}, "window:3"),
        ({"reward": 0.5}, 0.5),
        ({"model": "coin"}, "coin"),
        ({"environment": "coin"}, "coin"),
    ],
)
def test_parts_that_are_refused(arguments, value):
    with pytest.raises(InputError) as caught:
        bare(**arguments)
    assert (caught.value.argument, caught.value.value) == (next(iter(arguments)), value)
