"""Tasks by name, by definition, by factory, or themselves."""

from __future__ import annotations

import functools

import pytest

import everlearn as el
from everlearn.errors import InputError, UnknownName, UserCodeError
from everlearn.tasks.registry import make_task
from everlearn.tasks.service_station import service_station
from tests.refusal import has, refusal
from tests.worlds import random_mdp, shop


def test_by_name_with_parameters_as_text():
    task = make_task("service-station", {"window": "6", "raw": "no", "cap": "none"})
    assert task.parameters["window"] == 6
    assert task.parameters["raw"] is False
    assert task.parameters["cap"] is None
    assert task.parameters["revenue"] == 1.0


def test_by_module_and_attribute():
    assert make_task("everlearn.tasks.service_station:service_station").name == "service-station"


def test_a_task_or_definition_itself():
    task, definition = random_mdp(1), shop()
    assert make_task(task) is task
    assert make_task(definition) is definition.finish()


def market(*, price: float = 2.0, stalls: int = 1):
    """Sell."""
    task = shop().finish()
    return el.Task(task.actions, task.observations, task.aleatoric, el.Reward(lambda s, a, o: price, 0, 5), task.model)


def test_a_factory_of_ones_own():
    task = make_task(market, {"price": 3})
    assert dict(task.parameters) == {"price": 3.0, "stalls": 1}
    assert task.reward("start", "slow", "idle") == 3.0


def test_a_factory_that_returns_a_definition():
    assert make_task(shop).name == "serve"


def greedy_market(*, price: float):
    """Sell at a price that must be given."""
    return market(price=price)


def test_a_parameter_without_a_default_must_be_given():
    assert make_task(greedy_market, {"price": 4}).reward("start", "slow", "idle") == 4.0
    with pytest.raises(InputError, check=refusal("task.price")):
        make_task(greedy_market)


def nothing() -> None:
    pass


@pytest.mark.parametrize(
    ("make", "error", "refused"),
    [
        (
            lambda: make_task("service-stations"),
            UnknownName,
            ("task", "service-stations"),
        ),
        (
            lambda: make_task("service-station", {"windows": 3}),
            UnknownName,
            ("parameter", "task.windows"),
        ),
        (
            lambda: make_task("service-station", {"window": "six"}),
            InputError,
            ("task.window", "six"),
        ),
        (lambda: make_task("service-station", {"window": 6.5}), InputError, ("task.window", 6.5)),
        (
            lambda: make_task("service-station", {"revenue": "a lot"}),
            InputError,
            ("task.revenue", "a lot"),
        ),
        (
            lambda: make_task("service-station", {"raw": "perhaps"}),
            InputError,
            ("task.raw", "perhaps"),
        ),
        (
            lambda: make_task(random_mdp(1), {"window": 3}),
            InputError,
            ("parameter", "task.window"),
        ),
        (lambda: make_task(7), InputError, ("task", 7)),
        (lambda: make_task("math:pi"), InputError, ("task", "math:pi")),
        pytest.param(lambda: make_task(nothing), InputError, ("task", "nothing"), id="nothing"),
    ],
)
def test_what_is_refused(make, error, refused):
    with pytest.raises(error, check=refusal(*refused)):
        make()


def test_defaults_are_those_of_the_factory():
    assert make_task("service-station").parameters == service_station().parameters


class Market:
    def __call__(self, *, price: float = 2.0):
        return market(price=price)


def test_a_factory_that_is_no_plain_function():
    assert make_task(functools.partial(market, stalls=3), {"price": 3}).parameters["stalls"] == 3
    assert make_task(Market(), {"price": 3}).parameters == {"price": 3.0}


def test_an_annotation_that_means_nothing():
    def odd(*, price: "a b" = 2.0):  # noqa: F722
        return market(price=price)

    assert make_task(odd, {"price": 3}).parameters["price"] == 3


def test_an_exception_in_a_factory_names_it():
    def broken():
        raise KeyError("stall")

    with pytest.raises(UserCodeError, check=has(function=f"task {broken.__qualname__!r}")):
        make_task(functools.partial(broken))
