"""Aleatoric states for environments that hide something: all are functions of observations and actions."""

from __future__ import annotations

import pytest

import everlearn as el
from everlearn.aleatoric.kept import belief, last_changes, trace
from everlearn.errors import InputError
from everlearn.tasks.registry import make_task
from everlearn.windows import Kept, is_view
from tests.worlds import environment_stream


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("actions", Kept("actions", 1)),
        ("actions:3", Kept("actions", 3)),
        ("last-change:2", Kept("last-change", 2)),
        ("belief:4", Kept("belief", 4)),
        ("trace:0.75:8", Kept("trace", 8, 0.75)),
        ("trace:8", None),
        ("belief", None),
        ("belief:-1", None),
        ("window:1", None),
        (3, None),
    ],
)
def test_names(text, kept):
    assert Kept.read(text) == kept
    assert is_view(text) == (kept is not None or text == "window:1")


def test_a_change_is_kept_through_a_corridor_of_any_length():
    kept = last_changes(2)
    assert kept.of([("go", "left"), *[("go", "corridor")] * 1000]) == ("left", "corridor")
    theory = el.Theory("t-maze", {"length": 30, "window": 1, "aleatoric": "last-change:3"})
    assert theory.best_aleatoric.average_reward == pytest.approx(1 / 32)


def test_a_trace_is_forgotten_in_finite_time_and_saturates():
    kept = trace(0.9, 10)
    assert kept.of([("go", "a"), *[("go", "b")] * 100]) == (("b", 10),)
    assert kept.of([("go", "a"), ("go", "b")]) == (("b", 1),)
    assert dict(kept.of([*[("go", "a")] * 100, ("go", "b")])) == {"a": 9, "b": 1}


@pytest.mark.parametrize("name", ["tiger", "shuttle", "maze-1d"])
def test_a_fine_belief_is_the_belief(name):
    task, levels = make_task(name), 10**6
    environment = task.start(environment_stream(1))
    kept = belief(task.model, levels)
    state, history = kept.start, []
    for step in range(12):
        action = task.actions[step % 2]
        history.append((action, environment.step(action)))
        state = kept.follow(state, *history[-1])
        exact = task.model.belief(history)
        assert sum(share for _, share in state) == levels
        shares = {memory: share / levels for memory, share in state}
        assert all(shares.get(memory, 0) == pytest.approx(chance, abs=1e-4) for memory, chance in exact.items())


def test_what_a_rounded_belief_calls_impossible_may_happen():
    task = make_task("tiger")
    kept = belief(task.model, 1)
    certain = kept.of([("listen", "hear left")])
    assert certain == (("left", 1),)
    assert kept.follow(certain, "open left", "treasure") in ((("left", 1),), (("right", 1),))


@pytest.mark.parametrize(("view", "optimal"), [("belief:20", True), ("belief:4", False), ("trace:0.5:4", False)])
def test_views_of_the_tiger(view, optimal):
    theory = el.Theory("tiger", {"aleatoric": view})
    assert theory.best_aleatoric.average_reward > 0.6
    assert (theory.best_aleatoric.average_reward > theory.optimal_bounds.lower - 1e-6) == optimal


@pytest.mark.soak
def test_views_run_compiled_as_interpreted():
    for view in ("last-change:2", "belief:6"):
        arguments = {"steps": 300, "runs": 2, "parameters": {"task.aleatoric": view}}
        fast, slow = (el.run("tiger", engine=engine, **arguments) for engine in ("compiled", "reference"))
        assert fast.total_reward.tolist() == slow.total_reward.tolist()


@pytest.mark.parametrize("view", ["belief:0", "trace:1.5:4", "trace:0.5", "actions:0", "last-change"])
def test_others_are_refused(view):
    with pytest.raises(InputError):
        el.seen_through("tiger", view)


def test_a_belief_needs_a_model():
    @el.task(actions=["go"], observations=["a"])
    class World:
        def start(self, rng):
            pass

        def step(self, action):
            return "a"

    @World.reward
    def nothing(s, action, observation):
        return 0.0

    with pytest.raises(InputError):
        el.seen_through(World, "belief:2")
