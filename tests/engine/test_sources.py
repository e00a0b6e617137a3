"""Fingerprints: they change with everything that compiled code depends on, and with nothing else."""

from __future__ import annotations

import importlib
import itertools
import sys

import numpy as np
import pytest

from everlearn.agents.growing_horizon import act
from everlearn.engine import sources
from everlearn.engine.sources import callees, fingerprint

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
        assert list(pool.map(sources._bare, texts)) == [sources._bare.__wrapped__(text) for text in texts]


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
        reached.append(sources._reached(importlib.import_module(name).act))
    assert [[one.__name__ for one in found] for found in reached] == [["act", "helper"]] * 2
    assert sources._source(reached[0][1]) != sources._source(reached[1][1])
