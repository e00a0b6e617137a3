"""Fingerprints: they change with everything that compiled code depends on, and with nothing else."""

from __future__ import annotations

import functools
import gc
import importlib
import inspect
import itertools
import logging
import os
import subprocess
import sys
import types
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from everlearn import sources
from everlearn.agents.growing_horizon import act
from everlearn.aleatoric.reward import Reward
from everlearn.sources import callees, contents, fingerprint, source_of

AGENT = """
import numpy as np
import {helpers} as helpers
from {helpers} import twice
RATE = {rate}
def act(x):
    return twice(x) + helpers.thrice(x) + RATE
"""
HELPERS = """
def twice(x):
    return {two} * x
def thrice(x):
    return {three} * x
def unused(x):
    return {unused} * x
"""


NUMBERS = itertools.count()


def decorated():
    @functools.cache
    def inner(x):
        """A docstring,

        with an empty line.
        """
        return x

    return inner.__wrapped__


several = (
    lambda x: x + 1,
    lambda x: [
        x,
    ],
)


@pytest.mark.parametrize("function", [act, fingerprint, decorated, decorated(), *several], ids=range(6))
def test_source_is_that_of_inspect(function):
    assert sources._function_source(function) == inspect.getsource(function.__code__)


def test_what_was_typed_has_no_source():
    with pytest.raises(OSError, check=lambda error: type(error) is OSError):
        sources._function_source(eval(compile("lambda: 1", "<typed>", "eval"), {"__name__": "f"}))


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Writes an agent and its helpers as modules of new names, and returns the agent's function."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(rate=0.5, two=2, three=3, unused=0):
        number = next(NUMBERS)
        helpers = f"helpers_{number}"
        (tmp_path / f"{helpers}.py").write_text(HELPERS.format(two=two, three=three, unused=unused))
        (tmp_path / f"agent_{number}.py").write_text(AGENT.format(helpers=helpers, rate=rate))
        importlib.invalidate_caches()
        module = importlib.import_module(f"agent_{number}")
        for name in (f"agent_{number}", helpers):
            for function in vars(sys.modules[name]).values():
                if callable(function) and getattr(function, "__module__", "").startswith(("agent_", "helpers_")):
                    function.__module__ = "same"
        return module.act

    return write


def test_it_is_the_same_for_the_same_sources(written):
    assert fingerprint(written()) == fingerprint(written())


@pytest.mark.parametrize("change", [{"rate": 0.25}, {"two": 4}, {"three": 9}])
def test_it_changes_with_a_constant_or_a_callee_in_another_file(written, change):
    assert fingerprint(written()) != fingerprint(written(**change))


def test_it_does_not_change_with_what_is_not_called(written):
    assert fingerprint(written()) == fingerprint(written(unused=7))


def test_callees_are_found_behind_names_and_modules(written):
    assert [function.__name__ for function in callees(written())] == ["act", "thrice", "twice"]


def test_the_paper_agents_helpers_are_found():
    assert {function.__name__ for function in callees(act)} >= {"act", "greedy_action", "choose", "uniform"}


def test_arrays_count_to_the_last_entry():
    table = np.zeros(5000)

    def read(x):
        return table[x]

    before = fingerprint(read)
    table[2500] = 1
    assert fingerprint(read) != before


def test_functions_without_a_file_are_told_apart():
    spaces: list[dict] = [{}, {}]
    for space, number in zip(spaces, (1, 2), strict=True):
        exec(f"def f(x):\n    return x + {number}", space)
    assert fingerprint(spaces[0]["f"]) != fingerprint(spaces[1]["f"])


def test_threads_may_ask_at_the_same_time():
    from concurrent.futures import ThreadPoolExecutor

    texts = [f"def one():\n    return {', '.join(f'[{n}, (1, {m})]' for m in range(200))}\n" for n in range(40)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(sources._normalised, texts)) == [sources._normalised.__wrapped__(text) for text in texts]


@pytest.mark.parametrize("decorator", ["functools.lru_cache", "numba.njit"])
def test_what_lies_behind_a_decorator_counts(tmp_path, monkeypatch, decorator):
    monkeypatch.syspath_prepend(str(tmp_path))
    reached = []
    for value in (0, 1):
        name = f"decorated_{decorator.replace('.', '_')}_{value}"
        module = decorator.partition(".")[0]
        helper = f"@{decorator}\ndef helper(n):\n    return {value}\n"
        text = f"import {module}\n\n{helper}\ndef act(n):\n    return helper(n)\n"
        (tmp_path / f"{name}.py").write_text(text)
        walk = sources._Walk(importlib.import_module(name).act)
        reached.append((walk, list(walk.texts()))[0].visited)
    assert [[one.__name__ for one in found] for found in reached] == [["act", "helper"]] * 2
    assert sources._source(reached[0][1]) != sources._source(reached[1][1])


def test_a_source_is_read_once_and_again_where_the_code_is_another(monkeypatch):
    def one(x):
        return x + 1

    def other(x):
        return x + 2

    read = []
    monkeypatch.setattr(sources, "_read_source", lambda function: read.append(function.__code__) or "pass")
    for _ in range(3):
        fingerprint(one)
    assert read == [one.__code__]
    one.__code__ = other.__code__
    fingerprint(one)
    assert read[1:] == [other.__code__]


def test_what_was_read_does_not_keep_a_function_alive():
    def made():
        return 1

    fingerprint(made)
    gone = weakref.ref(made)
    del made
    gc.collect()
    assert gone() is None


class Config:
    """Holds anything, and may hold itself."""

    def __init__(self, **held):
        vars(self).update(held)

    def method(self):
        return self.p


class Slotted:
    __slots__ = ("p",)

    def __init__(self, p):
        self.p = p


@dataclass(frozen=True)
class Parts:
    p: Any

    @functools.cached_property
    def doubled(self):
        return 2 * self.p


def reading(config):
    return lambda: config


def multiplied(p):
    def decorate(function):
        @functools.wraps(function)
        def inner(x):
            return p * function(x)

        return inner

    return decorate(abs_of)


def abs_of(x):
    return x if x > 0 else -x


def computed(p):
    return type("Made", (), {"p": p})


HOLDING = {
    "object": lambda p: Config(p=p),
    "nested": lambda p: Config(inside=[{"a": (Config(p=p),)}]),
    "slots": Slotted,
    "dataclass": Parts,
    "namespace": lambda p: types.SimpleNamespace(p=p),
    "bound method": lambda p: Config(p=p).method,
    "partial": lambda p: functools.partial(abs_of, p),
    "partial of a partial": lambda p: functools.partial(functools.partial(abs_of, p)),
    "function in a mapping": lambda p: {"f": lambda: p},
    "array of objects": lambda p: np.array([Config(p=p), None], dtype=object),
    "bytes": lambda p: bytes(str(p), "ascii"),
    "decorated": multiplied,
    "class attribute": computed,
    "builtin": lambda p: {1: len, 2: max}[p],
    "type of a library": lambda p: {1: np.float32, 2: np.float64}[p],
}


@pytest.mark.parametrize("way", HOLDING)
def test_what_is_closed_over_counts_however_deep(way):
    one, same, other = (fingerprint(reading(HOLDING[way](p))) for p in (1, 1, 2))
    assert one == same != other
    one, same, other = (source_of(Config(held=HOLDING[way](p))) for p in (1, 1, 2))
    assert one == same != other


def test_a_default_counts_as_deep():
    def reader(p):
        held = Config(p=p)
        return lambda config=held: config

    assert fingerprint(reader(1)) == fingerprint(reader(1)) != fingerprint(reader(2))


def test_things_may_hold_each_other():
    def ring(p):
        one, other = Config(p=p), Config(p=0)
        one.next, other.next, one.all = other, one, [one, other]
        one.all.append(one.all)
        return one

    assert source_of(ring(1)) == source_of(ring(1)) != source_of(ring(2))


def test_which_of_two_things_is_held_counts():
    def both(p, q):
        return Config(first=Config(p=p), second=Config(p=q))

    assert source_of(both(1, 2)) != source_of(both(2, 1))


def test_what_comes_and_goes_does_not_count():
    parts, config = Parts(3), Config(p=3, random=None)
    before = source_of(parts), source_of(config)
    _ = parts.doubled
    config.random = np.random.default_rng(1)
    assert (source_of(parts), source_of(config)) == before


def test_much_is_not_looked_into_for_ever(monkeypatch):
    monkeypatch.setattr(sources, "MOST_THINGS", 50)
    chain = Config(p=0)
    for _ in range(5000):
        chain = Config(inside=chain)
    walk = sources._Walk(chain)
    assert sum(len(text) for text in walk.texts()) < 100_000
    assert len(walk.visited) <= 55


PRINTED = """
import sys, types
from everlearn.sources import source_of
class Held:
    def __init__(self, **held):
        vars(self).update(held)
    def names(self):
        return {"a", "b", "c", "d"}
print(source_of(Held(some={"x", "y", "z", ("p", 1)}, more=Held(f=len, g=Held.names, h=object()), t=(1.5, None, Held))))
"""


def test_it_is_the_same_in_every_process():
    def printed(seed):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", PRINTED]
        return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout

    assert printed("1") == printed("2") != ""


def test_without_names_a_renamed_function_is_the_same_and_an_edited_one_is_not():
    def one(x):
        return x + 1

    def two(x):
        """Do the same."""
        return x + 1

    def three(x):
        return x + 2

    assert source_of(one) != source_of(two)
    assert source_of(one, named=False) == source_of(two, named=False) != source_of(three, named=False)
    adding, again, other = (lambda x: x + 1), (lambda x: x + 1), (lambda x: x + 2)
    assert source_of(adding, named=False) == source_of(again, named=False) != source_of(other, named=False)


def test_without_names_what_a_function_uses_still_counts():
    def made(rate):
        return lambda x: rate * x

    assert source_of(made(1.0), named=False) == source_of(made(1.0), named=False)
    assert source_of(made(1.0), named=False) != source_of(made(2.0), named=False)


class Base:
    __slots__ = ("base", "unset")


class Both(Base):
    __slots__ = ("__dict__", "own")

    @functools.cached_property
    def area(self):
        return self.base * self.own


def test_slots_and_attributes_are_told_in_order_without_what_is_computed():
    thing = Both()
    thing.own, thing.base, thing.free, thing.nothing = 2, 3, 4, None
    assert thing.area == 6
    assert contents(thing) == {"base": 3, "free": 4, "own": 2}


def test_generators_come_and_go():
    assert contents(types.SimpleNamespace(p=1, random=np.random.default_rng(1))) == {"p": 1}


@pytest.mark.parametrize("thing", [np, logging.getLogger("everlearn"), np.random.default_rng(1), object(), len, 3])
def test_what_holds_half_a_library_or_nothing_is_not_looked_into(thing):
    assert contents(thing) is None


def test_data_of_libraries_are_told():
    assert set(contents(csr_array(np.eye(2)))) >= {"data", "indices", "indptr"}
    assert contents(Reward(max, 0, 1))["high"] == 1
