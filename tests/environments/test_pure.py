"""Functions of a task that sample, read a clock or remember, and environments that draw from elsewhere."""

from __future__ import annotations

import functools
import itertools
import random
import time
import types
from random import random as chance

import numpy as np
import pytest
from scipy import stats

import everlearn as el
from everlearn.blame import PACKAGE
from everlearn.environments.pure import CAREFUL, REPEATS, Pure, check_environment
from everlearn.errors import TaskError, UserCodeError
from everlearn.ownership import is_ours
from everlearn.tables import PairTable
from tests.refusal import has
from tests.worlds import Pendulum, environment_stream, shop

GENERATOR = np.random.default_rng(0)
TABLE = {"slow": [0.4, 0.6], "fast": [0.9, 0.1]}


def sampled(memory, action):
    if random.random() < 0.5:
        yield "busy", 1.0, 1
    else:
        yield "idle", 1.0, 0


def imported(memory, action):
    yield "busy" if chance() < 0.5 else "idle", 1.0, 0


def drawn(memory, action):
    yield ("idle", "busy")[GENERATOR.integers(2)], 1.0, 0


def numpys(memory, action):
    yield np.random.choice(["idle", "busy"]), 1.0, 0  # noqa: NPY002


def timed(memory, action):
    yield "busy" if time.time() % 2 > 1 else "idle", 1.0, 0


def helper():
    return random.choice(["idle", "busy"])


def indirect(memory, action):
    yield helper(), 1.0, 0


class Sampler:
    def __call__(self, memory, action):
        yield "busy" if random.random() < 0.5 else "idle", 1.0, 0

    def rho(self, memory, action):
        yield "busy" if random.random() < 0.5 else "idle", 1.0, 0


SAMPLING = {
    "random.random": [sampled, Sampler(), Sampler().rho, functools.partial(sampled)],
    "chance": [imported],
    "GENERATOR": [drawn],
    "np.random.choice": [numpys],
    "time.time": [timed],
    "random.choice": [indirect],
}


def model(rho) -> el.Model:
    return el.Model(("slow", "fast"), ("idle", "busy"), 0, rho)


@pytest.mark.parametrize(("name", "rho"), [(name, rho) for name, every in SAMPLING.items() for rho in every])
def test_dynamics_that_sample_are_refused_before_they_are_called(name, rho):
    with pytest.raises(TaskError) as caught:
        model(rho).outcomes(0, "slow")
    assert "test_pure.py, line " in caught.value.argument
    assert caught.value.value.startswith(name)
    assert "yield 'idle', probability, next_memory" in caught.value.remedy


def test_so_are_f_and_r():
    with pytest.raises(TaskError, check=has(value="random.randrange")):
        el.AleatoricState(0, lambda s, a, o: random.randrange(2)).follow(0, "go", 0)
    with pytest.raises(TaskError, check=has(value="np.random.rand")):
        el.Reward(lambda s, a, o: np.random.rand())(0, "go", 0)  # noqa: NPY002


def test_a_constant_table_of_the_module_is_fine():
    def rho(memory, action):
        for observation, probability in zip(("busy", "idle"), TABLE[action], strict=True):
            yield observation, probability, 0

    assert [one.probability for one in model(rho).outcomes(0, "fast")] == [0.9, 0.1]


def changing_at(call: int):
    """Dynamics that return something else at one call, by a way that cannot be read in them."""
    calls = itertools.count(1)

    def rho(memory, action):
        yield ("busy" if next(calls) == call else "idle"), 1.0, 0

    return rho


@pytest.mark.parametrize("call", [2, REPEATS, REPEATS * CAREFUL, REPEATS * CAREFUL + 2, REPEATS * CAREFUL + 4])
def test_every_row_is_evaluated_more_than_once(call):
    world = model(changing_at(call))
    rows = call // REPEATS if call <= REPEATS * CAREFUL else CAREFUL + (call - REPEATS * CAREFUL) // 2
    for _ in range(max(rows, 1) - 1):
        world.outcomes(0, "slow")
    with pytest.raises(TaskError) as caught:
        world.outcomes(0, "slow")
    assert caught.value.value == (0, "slow")


def test_what_differs_is_refused_wherever_it_is_evaluated():
    def task(rho=lambda memory, action: [("idle", 1.0, 0)], f=lambda s, a, o: 0, r=lambda s, a, o: 0.5):
        aleatoric = el.AleatoricState(0, f, (0, 1))
        return el.Task(("slow", "fast"), ("idle", "busy"), aleatoric, el.Reward(r), model(rho))

    def alternating():
        values = itertools.cycle([0, 1])
        return lambda s, a, o: next(values)

    for make in (lambda: task(changing_at(2)), lambda: task(f=alternating()), lambda: task(r=alternating())):
        with pytest.raises(TaskError):
            PairTable(make())
        for view in ("memory", "window:1"):
            with pytest.raises(TaskError):
                el.run(make(), parameters={"task.aleatoric": view}, steps=2, engine="reference")
    calls = itertools.count()
    with pytest.raises(TaskError, check=has(argument="aggregation '<lambda>' at (memory,)")):
        el.seen_through(task(), lambda memory: next(calls))
    with pytest.raises(TaskError):
        task(changing_at(2)).start(environment_stream()).step("slow")


def test_what_is_ours_is_evaluated_once():
    calls = []

    def rho(memory, action):
        calls.append(memory)
        yield "idle", 1.0, 0

    written_here = rho.__code__.replace(co_filename=PACKAGE + "tasks/something.py")
    model(types.FunctionType(written_here, globals(), "rho", None, rho.__closure__)).outcomes(0, "slow")
    assert len(calls) == 1


def test_what_only_says_that_it_is_ours_is_evaluated_again():
    calls = []

    def rho(memory, action):
        calls.append(memory)
        yield "idle", 1.0, 0

    rho.__module__ = "everlearn.tasks.something"
    model(rho).outcomes(0, "slow")
    assert len(calls) > 1


def test_what_holds_a_nan_or_an_array_is_not_taken_for_a_sample():
    for value in (float("nan"), [np.zeros(2)], (np.nan, 1)):
        Pure(lambda value=value: value, "f", "()", "")()


def test_an_exception_is_the_users():
    def rho(memory, action):
        yield {}["busy"], 1.0, 0

    with pytest.raises(UserCodeError, check=has(function="dynamics 'rho'", at="(memory, action) = (0, 'slow')")):
        model(rho).outcomes(0, "slow")


class Private:
    """Draws from generators that are made of the stream that it is given."""

    def start(self, rng):
        self.rng = np.random.default_rng(rng.integers(2**31))
        self.other = random.Random(int(rng.integers(2**31)))

    def step(self, action):
        return "left" if self.rng.random() + self.other.random() + time.time() % 1 < 1 else "right"


class Careless(Pendulum):
    def step(self, action):
        return random.choice(["left", "right"])


class Unseeded(Pendulum):
    def start(self, rng):
        self.rng = np.random.default_rng()


class Inheriting(Careless):
    pass


def unseeded():
    return np.random.default_rng()


class Helped(Pendulum):
    def start(self, rng):
        self.rng = unseeded()


class Nothing(Pendulum):
    def __init__(self, seed=None):
        self.rng = np.random.default_rng(seed)


class Renaming(Pendulum):
    def start(self, rng):
        make = np.random.default_rng
        self.rngs = [make() for _ in range(2)]


class Several(Pendulum):
    def start(self, rng):
        self.rngs = [np.random.default_rng(None) for _ in range(2)]


class Holder:
    def __init__(self):
        self.rng = random.Random(1)


HOLDER = Holder()


class Holding(Pendulum):
    def step(self, action):
        return HOLDER.rng.choice(["left", "right"])


class Scientific(Pendulum):
    def step(self, action):
        return "left" if stats.bernoulli.rvs(0.5, random_state=self.rng) and stats.norm.cdf(0.3) else "right"


def test_an_environment_draws_from_what_it_is_given():
    check_environment(Pendulum)
    check_environment(Private)
    check_environment(Scientific)
    foreign = {Careless: "random.choice", Inheriting: "random.choice", Holding: "HOLDER"}
    foreign |= dict.fromkeys((Unseeded, Helped, Nothing, Renaming, Several), "np.random.default_rng")
    for kind, name in foreign.items():
        task = el.task(actions=["push"], observations=["left", "right"])(kind)
        task.reward(lambda s, a, o: 0.0)
        with pytest.raises(TaskError, check=has(value=name)) as caught:
            el.run(task, steps=2)
        assert caught.value.argument.startswith(f"environment {kind.__name__!r}")


def test_the_shop_is_pure():
    assert el.run(shop(), steps=50, engine="reference").steps == 50
    assert not is_ours(shop().model.rho)
