"""Tasks defined by decoration."""

from __future__ import annotations

import numpy as np
import pytest

import everlearn as el
from everlearn.agents.registry import make_design
from everlearn.engine.plan import Plan
from everlearn.errors import InputError, LabelError, ObservationError, RewardError, TaskError, UserCodeError
from everlearn.tables import PairTable
from tests.refusal import has, refusal
from tests.worlds import Pendulum, environment_stream, pendulum, shop


def test_the_shop_is_a_task():
    task = shop()
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


def test_dynamics_can_be_called():
    assert list(shop()(0, "fast")) == [("busy", 0.9, 1), ("idle", 1 - 0.9, 0)]
    assert isinstance(pendulum()(), Pendulum)
    assert shop().__wrapped__.__name__ == shop().__name__ == "serve"


def test_it_has_what_its_task_has():
    definition = shop()
    task = definition.finish()
    for name in (name for name in dir(task) if not name.startswith("_") and name not in ("reward", "aleatoric")):
        assert getattr(definition, name) == getattr(task, name)
        assert name in dir(definition)
    for name in ("function", "low", "high", "raw", "scaling"):
        assert getattr(definition.reward, name) == getattr(task.reward, name)
    assert definition.aleatoric.start == "start"
    assert (repr(definition.reward), repr(definition.aleatoric)) == (repr(task.reward), repr(task.aleatoric))
    for thing in (definition, definition.reward):
        with pytest.raises(AttributeError):
            _ = thing.profits


def test_labels_are_known_before_the_reward():
    definition = el.task(actions=[0, np.int64(1)], observations=["x"], memory=0, name="mute")(lambda m, a: [])
    assert (definition.name, definition.actions, definition.observations) == ("mute", (0, 1), ("x",))
    assert repr(definition) == "Task('mute': 2 actions, 1 observation)"
    assert not hasattr(definition, "tolist")  # which is asked of anything, and builds no task
    with pytest.raises(TaskError, check=refusal("task", "mute")):
        _ = definition.states


def test_a_task_is_shown_in_a_line():
    labels = "2 actions, 2 observations, 3 aleatoric states"
    assert repr(shop().finish()) == f"Task('serve': {labels}, a model)"
    assert repr(pendulum().finish()) == f"Task('pendulum': {labels}, an environment)"
    assert repr(el.IndexedTask(shop())) == "IndexedTask('serve': 3 aleatoric states, 2 actions, 2 observations)"


def test_everything_that_takes_a_task_takes_a_definition(tmp_path):
    made = shop()
    assert el.Theory(made).task is made.finish()
    assert el.Agent(made).act() in made.actions
    assert el.IndexedTask(made).task is made.finish()
    assert el.AleatoricPolicy(made, "fast")([("slow", "busy")]).tolist() == [0.0, 1.0]
    assert len(el.seen_through(made, "window:1").states) == 3
    assert el.to_gymnasium(made).action_space.n == 2
    assert Plan(made, make_design("always"), 10, 1, 0).task is made.finish()
    assert PairTable(made).expanded == 3
    with el.live(tmp_path, made) as agent:
        assert agent.act() in made.actions
    compared = el.experiment([made, {"name": made, "label": "again"}], "always", steps=10)
    assert {row["task"] for row in compared.table(["final"])} == {"serve", "again"}


def test_decorators_return_what_they_decorate():
    definition = shop()

    def nothing(s, action, observation):
        return 0.0

    assert definition.reward("start", "fast", "busy") == 0.5
    assert definition.reward(nothing) is nothing
    assert definition.reward("start", "fast", "busy") == 0.0


def test_functions_may_use_the_task_that_they_belong_to():
    definition = shop()

    @definition.reward
    def share(s, action, observation):
        return definition.actions.index(action) / len(definition.actions)

    assert definition.reward("start", "fast", "busy") == 0.5


def test_another_aleatoric_state():
    definition = shop()

    @definition.aleatoric(start=0)
    def streak(s, action, observation):
        return min(s + 1, 3) if observation == "busy" else 0

    assert definition.states == (0, 1, 2, 3)
    assert definition.aleatoric.of([("slow", "busy")] * 2) == 2


def test_another_aleatoric_state_with_its_set():
    definition = shop()
    definition.aleatoric(start=0, states=range(9))(lambda s, action, observation: s)
    assert definition.states == tuple(range(9))


def test_an_aleatoric_state_as_an_argument():
    made = el.task(actions=["a"], observations=[0, 1], memory=0, aleatoric=el.window(1))(lambda m, a: [(0, 1.0, 0)])
    made.reward(lambda s, a, o: 0.0)
    assert made.states == ((), (0,), (1,))


def test_everything_else_reaches_the_task():
    decorate = el.task(
        actions=["a"], observations=[0], memory="m", raw=True, name="mine", source="here", references={"best": 0.5}
    )
    definition = decorate(lambda memory, action: [(0, 1.0, memory)])
    definition.reward(lambda s, a, o: 0.25)
    task = definition
    assert (task.name, task.source, dict(task.references), task.model.memory) == ("mine", "here", {"best": 0.5}, "m")
    assert task.reward.learned(0.25) == 0.25


def test_a_class_is_an_environment_without_a_model():
    task = pendulum()
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


def test_an_environment_that_raises_is_reported_as_the_users():
    class Broken(Pendulum):
        def step(self, action):
            return {}[action]

    task = el.task(actions=["push"], observations=["left", "right"], name="broken")(Broken)
    task.reward(lambda s, action, observation: 0.0)
    for use in (lambda: el.run(task, steps=2), lambda: stepped(el.to_gymnasium(task))):
        with pytest.raises(UserCodeError, check=has(function="task 'broken': step", at="action 'push'")) as caught:
            use()
        assert "{}[action]" in caught.value.frames


def stepped(environment):
    environment.reset(seed=1)
    return environment.step(0)


class Rock:
    def start(self, rng):
        pass


class Mute(Pendulum):
    def step(self, action):
        pass


class Late(Pendulum):
    def __init__(self, size):
        self.size = size


def environment(kind, **arguments):
    made = el.task(actions=["a"], observations=[0], **arguments)(kind)
    made.reward(lambda s, action, observation: 0.0)
    return el.run(made, steps=1)


@pytest.mark.parametrize(
    ("make", "error", "argument"),
    [
        (lambda: el.task(actions=["a"], observations=[0], memory=0)(lambda m, a: []).finish(), TaskError, "task"),
        (lambda: el.task(actions=["a"], observations=[0], memory=0)(7), InputError, "task int"),
        (lambda: el.task(actions=["a"], observations=[0])(lambda m, a: []), InputError, "memory"),
        (lambda: el.task(actions=["a"], observations=[0], memory=[])(lambda m, a: []), LabelError, "memory"),
        (lambda: environment(Pendulum, memory=0), InputError, "memory"),
        (lambda: environment(Rock), InputError, "task Rock"),
        (lambda: environment(Mute), ObservationError, "task 'Mute': step"),
        (lambda: el.task(actions=["a"], observations=[0], reward_range=1), InputError, "reward_range"),
        (lambda: el.task(actions=["a"], observations=[0], reward_range=(0, 1, 2)), InputError, "reward_range"),
        (lambda: el.task(actions=["a"], observations=[0], aleatoric="last"), InputError, "aleatoric"),
        (lambda: el.task(actions=["a"], observations=[0], references=[0.5]), InputError, "references"),
        (lambda: el.task(actions="slow", observations=[0]), LabelError, "actions"),
        (lambda: el.task(actions=2, observations=[0]), LabelError, "actions"),
        (lambda: el.task(actions=["a"], observations=[]), LabelError, "observations"),
        (lambda: shop().reward("much"), InputError, "reward of task 'serve'"),
        (lambda: shop().aleatoric(0, states=3), LabelError, "states"),
    ],
)
def test_what_is_refused(make, error, argument):
    with pytest.raises(error) as caught:
        make()
    assert (type(caught.value), caught.value.argument) == (error, argument)


def test_an_environment_that_cannot_be_made_is_reported_as_the_users():
    with pytest.raises(UserCodeError, check=has(function="task 'Late': making the environment")):
        environment(Late)


def test_a_reward_outside_its_range_is_refused_when_it_happens():
    definition = shop()
    definition.reward(lambda s, action, observation: 2.0)
    with pytest.raises(RewardError) as caught:
        el.run(definition, steps=10, engine="reference")
    assert caught.value.value == 2.0


@pytest.mark.parametrize(
    ("named", "kept"), [("window:2", el.window(2)), ("window:1+actions", el.window(1, actions=True))]
)
def test_a_window_may_be_named(named, kept):
    def states(aleatoric):
        decorate = el.task(actions=["go"], observations=[0, 1], memory=0, aleatoric=aleatoric)
        coin = decorate(lambda memory, action: [(0, 0.5, 0), (1, 0.5, 0)])
        coin.reward(lambda s, action, observation: observation)
        return coin.states

    assert states(named) == states(kept)
