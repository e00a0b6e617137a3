"""Tasks defined by decoration."""

from __future__ import annotations

import pytest

import everlearn as el
from everlearn.errors import InputError, LabelError, TaskError
from tests.worlds import Pendulum, environment_stream, pendulum, shop


def test_the_shop_is_a_task():
    task = shop().finish()
    assert task.name == "serve"
    assert task.summary == "Serve whoever comes."
    assert task.actions == ("slow", "fast")
    assert task.states == ("start", "idle", "busy")
    assert task.reward("start", "fast", "busy") == 0.5
    assert task.reward.scaling == "rewards scaled from [-0.5, 1] to [0, 1]"
    assert [tuple(outcome) for outcome in task.model.outcomes(0, "fast")] == [("busy", 0.9, 1), ("idle", 1 - 0.9, 0)]


def test_it_is_finished_once():
    definition = shop()
    assert definition.finish() is definition.finish()


def test_decorators_return_what_they_decorate():
    definition = shop()

    def nothing(s, action, observation):
        return 0.0

    assert definition.reward(nothing) is nothing
    assert definition.finish().reward("start", "fast", "busy") == 0.0


def test_another_aleatoric_state():
    definition = shop()

    @definition.aleatoric(start=0)
    def streak(s, action, observation):
        return min(s + 1, 3) if observation == "busy" else 0

    task = definition.finish()
    assert task.states == (0, 1, 2, 3)
    assert task.aleatoric.of([("slow", "busy")] * 2) == 2


def test_another_aleatoric_state_with_its_set():
    definition = shop()
    definition.aleatoric(start=0, states=range(9))(lambda s, action, observation: s)
    assert definition.finish().states == tuple(range(9))


def test_an_aleatoric_state_as_an_argument():
    made = el.task(actions=["a"], observations=[0, 1], memory=0, aleatoric=el.window(1))(lambda m, a: [(0, 1.0, 0)])
    made.reward(lambda s, a, o: 0.0)
    assert made.finish().states == ((), (0,), (1,))


def test_everything_else_reaches_the_task():
    decorate = el.task(
        actions=["a"], observations=[0], memory="m", raw=True, name="mine", source="here", references={"best": 0.5}
    )
    definition = decorate(lambda memory, action: [(0, 1.0, memory)])
    definition.reward(lambda s, a, o: 0.25)
    task = definition.finish()
    assert (task.name, task.source, dict(task.references), task.model.memory) == ("mine", "here", {"best": 0.5}, "m")
    assert task.reward.learned(0.25) == 0.25


def test_a_class_is_an_environment_without_a_model():
    task = pendulum().finish()
    assert task.model is None
    assert isinstance(task.start(environment_stream(0)), Pendulum)
    assert task.name == "pendulum"


def test_it_runs_as_a_task():
    result = el.run(shop(), "growing-horizon", steps=200, runs=2, engine="reference")
    assert result.task == "serve"
    assert -0.5 <= result.final["min"] <= result.final["max"] <= 1


def test_a_task_without_a_model_runs():
    result = el.run(pendulum(), steps=300, engine="reference")
    assert 0.3 < result.final["mean"] < 0.7


class Rock:
    def start(self, rng):
        pass


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: el.task(actions=["a"], observations=[0], memory=0, name="mute")(lambda m, a: []).finish(),
            TaskError,
            "task: 'mute'; has no reward; decorate a function of (s, action, observation) with its .reward",
        ),
        (
            lambda: el.task(actions=["a"], observations=[0])(lambda m, a: []),
            InputError,
            "memory: None; name the memory of the empty history, such as memory=0",
        ),
        (
            lambda: el.task(actions=["a"], observations=[0], memory=0)(Pendulum),
            InputError,
            "memory: 0; an environment keeps its own; leave it out",
        ),
        (
            lambda: el.task(actions=["a"], observations=[0])(Rock),
            InputError,
            f"task Rock: {Rock!r}; an environment needs start(rng) and step(action)",
        ),
        (
            lambda: el.task(actions=["a"], observations=[0], reward_range=(0, 1, 2)),
            InputError,
            "reward_range: (0, 1, 2); give the lower and the upper end",
        ),
        (
            lambda: el.task(actions="slow", observations=[0]),
            LabelError,
            "actions: 'slow'; give a list of labels, not one string",
        ),
        (
            lambda: el.task(actions=["a"], observations=[]),
            LabelError,
            "observations: []; give at least one label",
        ),
    ],
)
def test_what_is_refused(make, error, message):
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value) == message


def test_a_reward_outside_its_range_is_refused_when_it_happens():
    definition = shop()
    definition.reward(lambda s, action, observation: 2.0)
    with pytest.raises(
        TaskError, match=r"^reward of \('start', '(slow|fast)', '(idle|busy)'\): 2\.0; outside its range"
    ):
        el.run(definition, steps=10, engine="reference")
