"""The same task seen through other aleatoric states: what is kept, what it costs, and what stays the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import everlearn as el
from everlearn.errors import InputError, ObservationError, UserCodeError
from everlearn.tasks.registry import make_task
from tests.refusal import has, refusal
from tests.worlds import environment_stream, shop

VIEWS = ["natural", "memory", "window:1", "window:2", "window:2+actions"]


def station(view: object) -> el.Task:
    return make_task("service-station", {"cap": 3, "window": 4, "aleatoric": view})


def counted(memory: tuple) -> str:
    return "waiting" if memory[0] < 0 else "serving"


def history(task: el.Task, steps: int, seed: int) -> list:
    environment, random = task.start(environment_stream(seed)), np.random.default_rng(seed)
    actions = [task.actions[random.integers(len(task.actions))] for _ in range(steps)]
    return [(action, environment.step(action)) for action in actions]


@pytest.mark.parametrize("view", [*VIEWS, counted], ids=lambda view: getattr(view, "__name__", view))
def test_the_optimum_is_that_of_the_task(view):
    assert el.Theory(station(view)).optimal_average_reward == pytest.approx(0.5, abs=1e-8)


@pytest.mark.parametrize("view", VIEWS)
def test_rewards_are_those_of_the_task(view):
    plain, seen = station("natural"), station(view)
    story = history(plain, 300, seed=1)
    one, other = plain.aleatoric.start, seen.aleatoric.start
    for action, observation in story:
        assert seen.reward(other, action, observation) == plain.reward(one, action, observation)
        one = plain.aleatoric.update(one, action, observation)
        other = seen.aleatoric.update(other, action, observation)
        assert other in seen.states


@settings(max_examples=20)
@given(seed=st.integers(0, 100), length=st.integers(1, 3), actions=st.booleans())
def test_a_window_keeps_the_last_observations_beside_the_natural_state(seed, length, actions):
    seen = station(f"window:{length}{'+actions' if actions else ''}")
    story = history(seen, 20, seed)
    last = tuple(story[-length:]) if actions else tuple(observation for _, observation in story[-length:])
    assert seen.aleatoric.of(story) == (station("natural").aleatoric.of(story), last)


def test_memory_is_what_the_environment_has():
    seen = station("memory")
    story = history(seen, 200, seed=3)
    assert seen.aleatoric.of(story)[1] == seen.after(story).model.memory


def test_distortion_falls_with_what_is_kept_and_vanishes_with_memory():
    found = [el.Theory(station(view)).distortion(10).value for view in ("natural", "window:2+actions", "memory")]
    assert found[0] > found[1] > found[2] == 0.0


@pytest.mark.parametrize("view", ["memory", "window:2", counted], ids=lambda view: getattr(view, "__name__", view))
def test_both_engines_run_it_the_same(view):
    task = station(view)
    runs = [
        el.run(task, steps=3_000, runs=2, seed=1, engine=engine).total_reward for engine in ("compiled", "reference")
    ]
    np.testing.assert_array_equal(*runs)


def test_an_aggregation_announces_classes_and_payments():
    task, plain = station(counted), station("natural")
    assert task.states == ("waiting", "serving")
    for memory, aleatoric_state in ((plain.model.memory, 0), ((0, (0, 0)), 1)):
        for action in task.actions:
            before = plain.model.outcomes(memory, action)
            after = task.model.outcomes((memory, aleatoric_state), action)
            assert [o.probability for o in after] == [o.probability for o in before]
            for new, old in zip(after, before, strict=True):
                assert new.observation[:2] == (old.observation, counted(old.memory))
                paid = task.reward("serving", action, new.observation)
                assert paid == plain.reward(aleatoric_state, action, old.observation)
    # The classes are the natural states by other names, so that nothing changes for an agent.
    same = [el.run(one, steps=5_000, runs=2, seed=2).total_reward for one in (task, plain)]
    np.testing.assert_array_equal(*same)


def test_an_aggregation_into_one_class_is_blind():
    task = make_task("alternating", {"aleatoric": lambda memory: "any"})
    theory = el.Theory(task)
    assert task.states == ("any",)
    assert theory.optimal_average_reward == pytest.approx(1.0)
    assert theory.best_aleatoric.average_reward == pytest.approx(0.5, abs=1e-6)


def test_a_task_from_arrays_keeps_its_arrays_when_memory_is_seen():
    P = [[[0.5, 0.5, 0], [0, 0.5, 0.5], [1, 0, 0]]] * 2
    R = [[[0, 1, 2], [0, 1, 2]]] * 3
    coarse = el.mdp(P, R, aggregate=["low", "low", "high"])
    fine = el.seen_through(coarse, "memory")
    assert fine.arrays is not None
    assert fine.states == (("low", 0), ("low", 1), ("high", 2))
    slow = el.seen_through(replace(coarse, arrays=None), "memory")
    runs = [el.run(task, steps=2_000, runs=2, seed=5).total_reward for task in (fine, slow)]
    np.testing.assert_array_equal(*runs)


def test_another_aleatoric_state_is_kept_beside():
    task = el.seen_through(shop().finish(), el.AleatoricState(0, lambda count, _a, o: min(3, count + (o == "busy"))))
    assert task.states[0] == ("start", 0)
    assert task.aleatoric.of([("fast", "busy")] * 5) == ("busy", 3)


def test_a_task_without_a_model_can_have_windows_but_no_memory():
    class Echo:
        def start(self, rng):
            pass

        def step(self, action):
            return action

    task = el.task(actions=[0, 1], observations=[0, 1], name="echo")(Echo)
    task.reward(lambda s, a, o: float(o))
    assert len(el.seen_through(task.finish(), "window:2").states) == 1 + 2 + 4
    for view in ("memory", lambda memory: 0):
        with pytest.raises(InputError, check=refusal("task.aleatoric")):
            el.seen_through(task.finish(), view)


def test_a_memory_that_cannot_follow_is_refused():
    task = station("memory")
    with pytest.raises(ObservationError, check=refusal("observation", "departure")):
        task.aleatoric.update(task.aleatoric.start, "fast", "departure")


@pytest.mark.parametrize("view", ["window", "window:", "window:x", "window:2+", "window:2+all", "everything", 3])
def test_ways_that_are_none_are_refused(view):
    with pytest.raises(InputError, check=refusal("task.aleatoric")):
        station(view)


@pytest.mark.parametrize("view", ["window:0", "window:101", "window:0+actions", f"window:{'9' * 5000}"])
def test_windows_of_no_use_are_refused_by_the_name_that_was_given(view):
    with pytest.raises(InputError, check=refusal("task.aleatoric")) as caught:
        station(view)
    assert (caught.value.argument, caught.value.value) == ("task.aleatoric", view)


def test_only_what_is_true_in_every_view_is_still_called_known():
    # With a window of 1 half of the optimum is the best; with the six observations that are seen beside it, all is.
    plain = make_task("t-maze", {"window": 1})
    seen = make_task("t-maze", {"window": 1, "aleatoric": "window:6"})
    assert plain.references["best with this window"] == pytest.approx(1 / 12)
    assert el.Theory(seen).best_aleatoric.average_reward == pytest.approx(1 / 6, abs=1e-9)
    assert seen.references == {"optimum": plain.references["optimum"]}


@pytest.mark.parametrize("view", ["memory", "window:2", counted], ids=lambda view: getattr(view, "__name__", view))
def test_what_an_action_earns_for_ever_and_the_optimum_stay(view):
    task = station(view)
    theory = el.Theory(task)
    assert task.references == station("natural").references
    assert set(task.references) == {"optimum", "always fast", "always slow"}
    for action in task.actions:
        assert theory.average_reward(action) == pytest.approx(task.references[f"always {action}"], abs=1e-9)


def test_too_many_states_are_refused_with_what_helps(monkeypatch):
    monkeypatch.setattr("everlearn.tasks.views.MOST_STATES", 20)
    with pytest.raises(InputError, check=refusal("task.aleatoric", 21)):
        station("window:6")


def test_an_aggregation_that_fails_is_named():
    with pytest.raises(UserCodeError, check=has(function="aggregation '<lambda>'")):
        station(lambda memory: 1 // 0)
    with pytest.raises(InputError, check=refusal("class of memory (-1, (0, 0))", 0.5)):
        station(lambda memory: 0.5)


def test_a_factory_may_have_a_parameter_of_that_name():
    def made(*, aleatoric: str = "last") -> el.Task:
        return replace(shop().finish(), name=aleatoric)

    assert make_task(made, {"aleatoric": "mine"}).name == "mine"


def test_it_is_a_parameter_wherever_a_task_is_named():
    result = el.run("service-station", steps=100, parameters={"task.aleatoric": "window:1"})
    assert result.parameters["task.aleatoric"] == "window:1"
    agent = el.Agent("alternating", parameters={"task.aleatoric": "memory"})
    assert agent.aleatoric_state == (1, 0)
