"""Model environments: what is checked of a definition, and how it is sampled."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import everlearn as el
from everlearn.environments import model as module
from everlearn.environments.model import ModelEnvironment, Outcome, cumulative
from everlearn.errors import LabelError, ObservationError, ProbabilityError, TaskError
from everlearn.protocol import Environment, RestorableEnvironment
from tests.refusal import refusal
from tests.worlds import environment_stream, random_mdp

NAN = float("nan")
WHERE = "after memory 0 and action 'go'"


def yielding(*outcomes: object) -> el.Model:
    return el.Model(("go", "stay"), ("x", "y"), 0, lambda memory, action: iter(outcomes))


def counting() -> el.Model:
    """The memory counts the ones that were observed."""

    def rho(memory, action):
        yield 1, 0.25, memory + 1
        yield 0, 0.75, memory

    return el.Model(("wait",), (0, 1), 0, rho)


def test_outcomes_are_what_the_definition_yields():
    model = yielding(("x", 0.25, (1, "a")), ("y", 0.75, 0))
    assert model.outcomes(0, "go") == (Outcome("x", 0.25, (1, "a")), Outcome("y", 0.75, 0))


def test_what_cannot_happen_is_left_out():
    assert [o.observation for o in yielding(("x", 0.0, 1), ("y", 1.0, 0)).outcomes(0, "go")] == ["y"]


def test_the_same_outcome_may_be_yielded_twice():
    assert len(yielding(("x", 0.5, 1), ("x", 0.5, 1)).outcomes(0, "go")) == 2


def test_rounding_is_forgiven():
    tenths = [("x", 0.1, 0)] * 10
    assert len(yielding(*tenths).outcomes(0, "go")) == 10
    assert yielding(("x", 1 + 1e-12, 0)).outcomes(0, "go")


def test_probabilities_may_be_numpy_numbers():
    found = yielding(("x", np.float64(0.5), 0), ("y", np.float32(0.5), 0)).outcomes(0, "go")
    assert [type(o.probability) for o in found] == [float, float]


@pytest.mark.parametrize(
    ("outcomes", "error", "argument", "value"),
    [
        ([("x", 0.5, 0)], ProbabilityError, f"probabilities {WHERE}", 0.5),
        ([("x", 0.6, 0), ("y", 0.6, 0)], ProbabilityError, f"probabilities {WHERE}", 1.2),
        ([], ProbabilityError, f"probabilities {WHERE}", 0.0),
        ([("x", 1 + 1e-8, 0)], ProbabilityError, f"probability of 'x' {WHERE}", 1 + 1e-8),
        ([("x", -0.5, 0)], ProbabilityError, f"probability of 'x' {WHERE}", -0.5),
        ([("x", NAN, 0)], ProbabilityError, f"probability of 'x' {WHERE}", NAN),
        ([("x", "1", 0)], ProbabilityError, f"probability of 'x' {WHERE}", "1"),
        ([("x", None, 0)], ProbabilityError, f"probability of 'x' {WHERE}", None),
        ([("x", [1.0], 0)], ProbabilityError, f"probability of 'x' {WHERE}", [1.0]),
        ([("z", 1.0, 0)], ObservationError, f"observation {WHERE}", "z"),
        ([(["x"], 1.0, 0)], LabelError, f"observation {WHERE}", ["x"]),
        ([(True, 1.0, 0)], LabelError, f"observation {WHERE}", True),
        ([("x", 1.0, [0])], LabelError, f"memory {WHERE}", [0]),
        ([("x", 1.0, (0, 1.5))], LabelError, f"memory {WHERE}", (0, 1.5)),
        ([("x", 0.5, 1), ("x", 0.5, 2)], TaskError, f"memory {WHERE} and observation 'x'", (1, 2)),
        ([("x", 1.0)], TaskError, f"an outcome {WHERE}", ("x", 1.0)),
        ([7], TaskError, f"an outcome {WHERE}", 7),
    ],
)
def test_a_definition_that_contradicts_itself(outcomes, error, argument, value):
    with pytest.raises(error) as caught:
        yielding(*outcomes).outcomes(0, "go")
    assert (type(caught.value), caught.value.argument, caught.value.value) == (error, argument, value)


@pytest.mark.parametrize("returned", [None, 7, ("x", 1.0, 0), ("x", np.float32(1), 0)])
def test_a_definition_that_returns_what_it_should_yield(returned):
    model = el.Model(("go",), ("x",), 0, lambda memory, action: returned)
    with pytest.raises(TaskError, check=refusal("dynamics '<lambda>' after memory 0 and action 'go'")) as caught:
        model.outcomes(0, "go")
    assert caught.value.value == returned


def test_a_definition_that_never_stops(monkeypatch):
    monkeypatch.setattr(module, "MOST_OUTCOMES", 100)
    with pytest.raises(TaskError, check=refusal("dynamics '<lambda>' after memory 0 and action 'go'", ("x", 0.0, 0))):
        el.Model(("go",), ("x",), 0, lambda memory, action: itertools.repeat(("x", 0.0, 0))).outcomes(0, "go")


def test_rows_may_be_returned_as_a_list():
    for number in (2, 3, 4):
        rows = (("x", 1 / number, 0),) * number
        assert len(el.Model(("go",), ("x",), 0, lambda memory, action, rows=rows: rows).outcomes(0, "go")) == number


def test_labels_of_numpy_are_converted():
    model = el.Model(
        np.arange(2), np.array(["x", "y"]), np.int64(0), lambda memory, action: [(np.str_("x"), 1, action)]
    )
    found = model.outcomes(0, np.int64(1))[0]
    kinds = [type(label) for label in (*model.actions, *model.observations, model.memory, *found)]
    assert kinds == [int, int, str, str, int, str, float, int]


@pytest.mark.parametrize(
    ("arguments", "argument", "value"),
    [
        (((), ("x",), 0), "actions", []),
        ((("a", "a"), ("x",), 0), "actions", "a"),
        ((("a",), "xy", 0), "observations", "xy"),
        ((("a",), ("x",), None), "memory", None),
        ((("a",), ("x",), 1.5), "memory", 1.5),
        (((True,), ("x",), 0), "actions", True),
    ],
)
def test_labels_of_a_model(arguments, argument, value):
    with pytest.raises(LabelError) as caught:
        el.Model(*arguments, lambda memory, action: ())
    assert (caught.value.argument, caught.value.value) == (argument, value)


def test_a_model_is_shown_in_a_line():
    assert repr(counting()) == "Model(rho from memory 0: 1 action, 2 observations)"


def test_after_a_history():
    model = counting()
    assert model.after([]).memory == 0
    assert model.after([("wait", 1), ("wait", 0), ("wait", 1)]).memory == 2
    assert model.memory == 0


@pytest.mark.parametrize(
    ("history", "error", "refused"),
    [
        ([("run", 1)], LabelError, ("action in the history", "run")),
        ([("wait", 1), ("wait", 7)], ObservationError, ("history", ("wait", 7))),
    ],
)
def test_an_impossible_history(history, error, refused):
    with pytest.raises(error, check=refusal(*refused)):
        counting().after(history)


def begun(model: el.Model, seed: int = 0) -> ModelEnvironment:
    environment = ModelEnvironment(model)
    environment.start(environment_stream(seed))
    return environment


def test_an_environment_is_what_the_protocol_says():
    assert isinstance(begun(counting()), Environment)
    assert isinstance(begun(counting()), RestorableEnvironment)


def test_each_step_takes_one_uniform_and_the_first_bound_above_it():
    environment, stream = begun(counting(), 5), environment_stream(5)
    for _ in range(500):
        assert environment.step("wait") == (1 if stream.random() < 0.25 else 0)


def test_the_last_outcome_takes_what_rounding_leaves():
    ones = tuple(Outcome(0, 0.1, 0) for _ in range(10))
    assert cumulative(ones)[-1] < 1
    assert [float(b) for b in cumulative((Outcome(0, 0.25, 0), Outcome(1, 0.75, 0)))] == [0.25, 1.0]

    class AlmostOne:
        def random(self) -> float:
            return 1 - 2**-53

    environment = ModelEnvironment(
        el.Model(("go",), tuple(range(10)), 0, lambda m, a: ((o, 0.1, 0) for o in range(10)))
    )
    environment.start(AlmostOne())
    assert environment.step("go") == 9


def test_frequencies_are_those_of_the_model():
    # 20,000 draws: the share of ones is 0.25 with standard deviation 0.003; four of those, for this seed.
    environment = begun(counting(), 1)
    assert abs(np.mean([environment.step("wait") for _ in range(20_000)]) - 0.25) < 0.0123


def test_starting_again_begins_at_the_empty_history():
    environment = begun(counting(), 3)
    first = [environment.step("wait") for _ in range(20)]
    environment.start(environment_stream(3))
    assert environment.memory == 0
    assert [environment.step("wait") for _ in range(20)] == first


@settings(max_examples=30)
@given(steps=st.integers(0, 60), seed=st.integers(0, 2**32))
def test_a_snapshot_goes_on_as_if_never_stopped(steps, seed):
    model = random_mdp(1, states=5).model
    whole = begun(model, seed)
    for t in range(steps):
        whole.step(t % 3)
    saved = json.loads(json.dumps(whole.snapshot()))
    resumed = ModelEnvironment(model)
    resumed.restore(saved)
    assert resumed.memory == whole.memory
    assert [resumed.step(t % 3) for t in range(40)] == [whole.step(t % 3) for t in range(40)]
    assert resumed.snapshot() == whole.snapshot()


def test_a_snapshot_keeps_memories_that_are_tuples():
    def rho(memory, action):
        yield 0, 1.0, (memory[0] + 1, ("deep", (2,)))

    environment = begun(el.Model(("go",), (0,), (0, ("deep", (2,))), rho))
    environment.step("go")
    resumed = ModelEnvironment(environment.model)
    resumed.restore(json.loads(json.dumps(environment.snapshot())))
    assert resumed.memory == (1, ("deep", (2,)))


def test_a_snapshot_with_a_memory_of_another_type_is_refused():
    environment = begun(counting())
    with pytest.raises(LabelError, check=refusal("memory", 1.5)):
        environment.restore({**environment.snapshot(), "memory": 1.5})


def test_rows_beyond_those_remembered_are_the_same(monkeypatch):
    remembering = begun(counting(), 2)
    monkeypatch.setattr(module, "REMEMBERED_ROWS", 3)
    forgetful = begun(counting(), 2)
    assert [remembering.step("wait") for _ in range(100)] == [forgetful.step("wait") for _ in range(100)]
    assert remembering.memory == forgetful.memory > 3
