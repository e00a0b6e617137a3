"""Foreign randomness, clocks, inputs and hidden state are found however they are written."""

import datetime
import enum
import math
import os
import random
import time
from random import random as draw
from random import randrange
from time import time as clock
from typing import NamedTuple

import numpy as np
import numpy.random as npr
import pytest
from numpy.lib.stride_tricks import as_strided as as_window
from numpy.random import rand
from scipy import stats

import everlearn as el
from everlearn.agents.registry import AGENTS, make_design
from everlearn.purity import impurities, is_constant

GENERATOR = np.random.default_rng(1)
LIST, MAPPING, ARRAY = [0.5], {0: 0.5}, np.zeros(2)
FIND = MAPPING.get
FROZEN = np.zeros(2)
FROZEN.flags.writeable = False
NAMES = frozenset({"idle", "busy"})
NUMBER, TUPLE = 0.5, (0.5, "idle")
counter = 0


class Point(NamedTuple):
    x: float


POINT = Point(1.0)


def helper():
    return npr.randint(3)  # noqa: NPY002 - the mistake itself


def through_a_helper():
    return helper()


def imports_inside():
    import secrets

    return secrets.randbelow(3)


def imports_a_name_inside():
    from random import gauss

    return gauss(0, 1)


def counts():
    global counter
    counter += 1


def counts_on_itself():
    counts_on_itself.calls += 1


class Settings:
    calls = 0


class Helper:
    def draw(self):
        return random.random()


def counts_on_a_class():
    Settings.calls += 1


def counts_on_an_alias():
    settings = Settings
    settings.calls = 1


class Kept(enum.Enum):
    OPEN = [0]  # noqa: RUF012 - the mistake itself


def remembers(seen=[]):  # noqa: B006 - the mistake itself
    return seen


def enclosing():
    seen = []

    def closure():
        return seen

    return closure


def enclosing_number():
    number = 0

    def closure():
        nonlocal number
        number += 1

    return closure


IMPURE = [
    (lambda: random.random(), "random", "random.random"),
    (lambda: random.randrange(2), "random", "random.randrange"),
    (lambda: draw(), "random", "draw"),
    (lambda: randrange(2), "random", "randrange"),
    (lambda: np.random.rand(), "random", "np.random.rand"),  # noqa: NPY002
    (lambda: np.random.default_rng().random(), "random", "np.random.default_rng"),
    (lambda: rand(), "random", "rand"),  # noqa: NPY002
    (lambda: GENERATOR.random(), "random", "GENERATOR"),
    (lambda: [random.random() for _ in range(2)], "random", "random.random"),
    (lambda: random.Random(1).random(), "random", "random.Random"),
    (through_a_helper, "random", "npr.randint"),
    (imports_inside, "random", "secrets"),
    (imports_a_name_inside, "random", "random"),
    (lambda: time.time(), "clock", "time.time"),
    (lambda: clock(), "clock", "clock"),
    (lambda: datetime.datetime.now(), "clock", "datetime.datetime.now"),
    (lambda: datetime.date.today(), "clock", "datetime.date.today"),
    (lambda: os.urandom(1), "random", "os.urandom"),
    (lambda: open("x"), "input", "open"),  # noqa: PTH123, SIM115
    (lambda: LIST[0], "mutable", "LIST"),
    (lambda: MAPPING[0], "mutable", "MAPPING"),
    (lambda: ARRAY[0], "mutable", "ARRAY"),
    (lambda: FIND(0), "mutable", "FIND"),
    (lambda: Kept.OPEN.value, "mutable", "Kept.OPEN"),
    (counts_on_itself, "mutable", "counts_on_itself.calls"),
    (remembers, "mutable", "a default argument of remembers"),
    (enclosing(), "mutable", "seen"),
    (lambda: as_window(ARRAY, (9,)), "unsafe", "as_window"),
    (lambda: np.empty(3), "unsafe", "np.empty"),
    (lambda k: getattr(k, "q"), "dynamic", "getattr"),  # noqa: B009
    (lambda: hash("idle"), "hashed", "hash"),
    (lambda: "idle".__hash__(), "hashed", "__hash__"),
    (lambda: object(), "dynamic", "object"),
    (lambda: repr(LIST), "dynamic", "repr"),
    (lambda: Helper().draw(), "random", "random.random"),
    (lambda: [name for name in {"idle", "busy"}], "hashed", "the order of a set"),  # noqa: C416
    (lambda one: [name for name in {one, "busy"}], "hashed", "the order of a set"),  # noqa: C416
    (lambda one: [name for name in set(one)], "hashed", "the order of a set"),  # noqa: C416
    (lambda: [name for name in NAMES], "hashed", "the order of a set"),  # noqa: C416
    (lambda: stats.norm.rvs(), "random", "stats.norm.rvs"),
    (counts, "written", "counter"),
    (counts_on_a_class, "written", "Settings.calls"),
    (counts_on_an_alias, "written", "settings.calls"),
    (enclosing_number(), "written", "number"),
]


@pytest.mark.parametrize(("function", "kind", "name"), IMPURE, ids=[f"{kind}-{name}" for _, kind, name in IMPURE])
def test_what_is_impure_is_named(function, kind, name):
    found = impurities(function)[0]
    assert (found.kind, found.name) == (kind, name)
    assert "test_purity.py, line " in found.place


def changes_a_local_object(k, point):
    k.count += 1
    point.x = k.q[0]


PURE = [
    changes_a_local_object,
    lambda k, s, stream: int(el.uniform(stream) * 3) + el.choose(stream, 2),
    lambda k, s: int(np.argmax(k.q[s])) + round(math.sqrt(4.0)) + abs(-3) + len(range(3)),
    lambda: NUMBER + TUPLE[0] + FROZEN[0] + POINT.x + np.inf + np.int64(3),
    lambda: Point(NUMBER),
    lambda: stats.poisson.pmf(0, 1.0) + stats.norm.cdf(0.3) + stats.norm(0, 1).ppf(0.5),
    lambda one: ["b" in {"a", "b"}, *sorted({"a", one}), *(number for number in {1, 2}), one.set("a")],
    lambda: datetime.date.fromordinal(1).weekday() + datetime.timedelta(days=1).days,
]


@pytest.mark.parametrize("function", PURE)
def test_what_is_pure_passes(function):
    assert impurities(function) == []


def test_handing_on_a_module_of_random_numbers_counts_as_drawing():
    assert impurities(lambda: random)[0].kind == "random"


def test_kinds_can_be_chosen():
    assert impurities(lambda: LIST[0] + random.random(), kinds=("random",))[0].name == "random.random"


def test_functions_that_call_each_other_end():
    assert impurities(_ping) == []


def _ping(n):
    return _pong(n)


def _pong(n):
    return _ping(n)


@pytest.mark.parametrize("name", AGENTS)
def test_the_built_in_agents_are_pure(name):
    design = make_design(name, duration=1000)
    assert impurities(design.act) == impurities(design.learn) == []


def test_constants():
    assert is_constant(POINT)
    assert not is_constant(([],))
    assert not is_constant(object())
