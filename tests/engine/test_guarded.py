"""The compiled engine says of a user's agent what the reference engine says, in the same words, and nothing crashes."""

from __future__ import annotations

import importlib
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numba
import numpy as np
import pytest

import everlearn as el
from everlearn.agents.growing_horizon import act as paper_act
from everlearn.agents.registry import make_design
from everlearn.engine.compiled import CompiledBatch
from everlearn.engine.copies import copied, unsafe
from everlearn.engine.plan import Plan
from everlearn.engine.runner import ReferenceWarning
from everlearn.errors import AgentError, CompilationError, EverlearnError, UserCodeError
from everlearn.randomness import KEY, WORDS, choose, seed_words, stream_of, uniform
from everlearn.sources import callees, fingerprint
from everlearn.tables import make_table
from everlearn.tasks.registry import make_task
from tests.few import few
from tests.refusal import has


class Known(NamedTuple):
    q: np.ndarray
    when: np.ndarray
    what: np.ndarray


def build(indexed):
    return Known(np.zeros((indexed.states, indexed.actions)), np.zeros(2, dtype=np.int64), np.zeros(1))


def trouble(t: int, kind: int) -> el.Design:
    """An agent that does something wrong at step t: all kinds share one compiled function."""

    def built(indexed):
        known = build(indexed)
        known.when[:] = t, kind
        return known

    return el.Design(built, trouble_act, trouble_learn, name="mine")


def trouble_act(k, s, now, stream):
    due = now.t == k.when[0]
    if due and k.when[1] == 0:
        return -1
    if due and k.when[1] == 1:
        return 2
    if due and k.when[1] == 2:
        return int(k.q[s + 6, 0])
    if due and k.when[1] == 8:
        k.what[0] = np.nan
    return choose(stream, 2)


def trouble_learn(k, e, now, stream):
    s, a = e.aleatoric_state, e.action
    due = now.t == k.when[0]
    if due and k.when[1] == 3:
        k.q[s, a + 2] = 1.0
    if due and k.when[1] == 4:
        k.q[-s - 100000, a] = 1.0
    if due and k.when[1] == 5:
        k.q[s, a] = np.inf
    if due and k.when[1] == 6:
        k.what[0] = 1.0 / k.what[0]
    if due and k.when[1] == 7:
        raise ValueError("enough")
    k.q[s, a] += 0.1 * (e.reward - k.q[s, a])


@pytest.mark.parametrize("runs", [pytest.param(1, marks=pytest.mark.soak), 3])
@pytest.mark.parametrize("t", few([1, 200, 1500], [1, 200]))
@pytest.mark.parametrize("kind", range(9))
def test_both_engines_say_the_same(kind, t, runs):
    said = []
    for engine in ("reference", "compiled"):
        with pytest.raises(EverlearnError) as caught:
            el.run("riverswim", trouble(t, kind), steps=2000, runs=runs, engine=engine)
        said.append(str(caught.value))
    assert said[0] == said[1]
    function = "act" if kind in (0, 1, 2, 8) else "learn"
    assert said[0].startswith(f"agent 'mine': {function} ")
    assert f"at step {t}" in said[0]


@pytest.mark.parametrize(
    ("design", "data"),
    [("trouble", {"function": "act", "value": "-1", "step": 1500}), ("unlike", {"function": None, "array": "q"})],
)
def test_what_fails_leaves_every_run_where_the_stretch_began(design, data):
    task = make_task("riverswim")
    mine = trouble(1500, 0) if design == "trouble" else el.Design(build, late_from(500), nothing, name="mine")
    with ThreadPoolExecutor(2) as pool:
        batch = CompiledBatch(Plan(task, mine, 3000, 2, 1), make_table(task), [0, 1], 1)
        [group] = batch.groups
        whole = [(t, group.snapshot()) for t in batch.advance(pool, until=1000)]
        with pytest.raises(AgentError, check=has(**data)):
            whole.extend((t, group.snapshot()) for t in batch.advance(pool, until=3000))
    t, before = whole[-1]
    assert batch.t == t
    assert all(np.array_equal(one, other) for one, other in zip(group.snapshot(), before, strict=True))


def nothing(k, e, now, stream):
    pass


def late_from(after: int):
    """Act so that the engines differ after a step; two tests share what is compiled of it."""

    def late(k, s, now, stream):
        k.q[0, 0] = (now.t * 2**62) % 7 if now.t > after else 0
        return 0

    return late


def test_without_trouble_both_engines_agree_to_the_last_bit():
    fast, slow = (el.run("riverswim", trouble(0, 0), steps=700, runs=3, engine=e) for e in ("compiled", "reference"))
    assert fast.total_reward.tolist() == slow.total_reward.tolist()


def test_runs_cannot_reach_each_other():
    """Stacked runs lie beside each other in memory; an index just past the end of one is an error, not the next run."""
    with pytest.raises(UserCodeError, check=has(function="agent 'mine': act", at="step 1500")):
        el.run("riverswim", trouble(1500, 2), steps=2000, runs=8, engine="compiled", threads=1)


@pytest.mark.soak
def test_the_paper_s_agent_as_a_users_own_does_what_it_does():
    paper = make_design("growing-horizon", schedule="smooth")
    mine = el.Design(paper.build, lambda *a: paper_act(*a), paper.learn, paper.policy, paper.schedule)
    assert mine.own
    for task in ("riverswim", "service-station"):
        expected = el.run(task, paper, steps=3000, runs=3, seed=2).total_reward
        assert el.run(task, mine, steps=3000, runs=3, seed=2).total_reward.tolist() == expected.tolist()


@pytest.mark.soak  # as the two below, sooner
def test_one_that_differs_between_the_engines_is_refused():
    design = el.Design(build, differs, lambda *_: None, name="mine")
    with pytest.raises(AgentError, check=has(function=None, array="q")):
        el.run("riverswim", design, steps=100)


def differs(k, s, now, stream):
    k.q[0, 0] = (now.t * 2**62) % 7  # a whole number of Python's has no largest; a compiled one has
    return 0


def differs_in_what_it_does(k, s, now, stream):
    return (now.t**40) // 7 % 2


def test_one_that_acts_differently_is_refused():
    design = el.Design(build, differs_in_what_it_does, lambda *_: None, name="mine")
    with pytest.raises(AgentError, check=has(function=None, array=None)):
        el.run("riverswim", design, steps=100)


@pytest.mark.parametrize(("after", "steps"), [(500, 3000), pytest.param(80_000, 600_000, marks=pytest.mark.soak)])
def test_one_that_differs_later_is_refused_too(after, steps):
    """Both engines take the first steps of early stretches, and of some later ones."""

    with pytest.raises(AgentError, check=has(function=None, array="q")):
        el.run("riverswim", el.Design(build, late_from(after), nothing, name="mine"), steps=steps)


def test_knowledge_that_is_built_differently_each_time_is_refused():
    calls = iter(range(1000))

    def counted(indexed):
        known = build(indexed)
        known.what[0] = next(calls)
        return known

    with pytest.raises(AgentError, check=has(function="build")):
        el.run("riverswim", el.Design(counted, trouble_act, trouble_learn, name="mine"), steps=100)


class Bulk(NamedTuple):
    key: np.ndarray
    room: np.ndarray


def test_numbered_streams_are_checked():
    def act(k, s, now, stream):
        seed_words(k.room, k.key, now.t)
        return choose(stream_of(k.room), 2)

    def made(words):
        return el.Design(lambda _i: Bulk(np.zeros(KEY), np.zeros(words, dtype=np.uint64)), act, lambda *_: None)

    fast, slow = (el.run("riverswim", made(WORDS), steps=300, engine=engine) for engine in ("compiled", "reference"))
    assert fast.total_reward.tolist() == slow.total_reward.tolist()
    with pytest.raises(UserCodeError, check=has(at="step 1")):
        el.run("riverswim", made(2), steps=300, engine="compiled")


def test_a_field_of_a_module_in_a_module_is_part_of_the_fingerprint(tmp_path, monkeypatch):
    folder = tmp_path / "of_a_user"
    folder.mkdir()
    (folder / "__init__.py").write_text("from of_a_user import params\n")
    (folder / "params.py").write_text("WHICH = 0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    package = importlib.import_module("of_a_user")

    def act(k, s, now, stream):
        return package.params.WHICH

    before = fingerprint(act)
    monkeypatch.setattr(package.params, "WHICH", 1)
    assert fingerprint(act) != before


def reads_raw_memory(k, s, now, stream):
    return int(k.q.flat[0])


def hides_it_in_a_comprehension(k, s, now, stream):
    return int(sum([k.q.flat[i] for i in range(2)]))


def calls_itself(k, s, now, stream):
    return 0 if s == 0 else calls_itself(k, s - 1, now, stream)


@pytest.mark.parametrize("function", [reads_raw_memory, hides_it_in_a_comprehension, calls_itself])
def test_what_cannot_be_checked_is_not_compiled(function):
    design = el.Design(build, function, lambda *_: None, name="mine")
    with pytest.raises(CompilationError, check=has(agent="mine")):
        el.run("riverswim", design, steps=100, engine="compiled")
    with pytest.warns(ReferenceWarning):
        assert el.run("riverswim", design, steps=100).engine == "reference"


def test_copies_reach_copies():
    (copy,) = copied(trouble_act)
    reached = callees(copy)
    assert choose not in reached
    assert "_choose" in [function.__name__ for function in reached]
    assert uniform in reached
    assert unsafe(trouble_act, trouble_learn) is None


def test_what_numba_compiled_elsewhere_is_refused():
    @numba.njit
    def pick(q, s):
        return int(q[s, 0])

    def act(k, s, now, stream):
        return pick(k.q, s + 100_000_000)

    for function, value in ((act, "pick"), (numba.njit(trouble_act), "trouble_act")):
        with pytest.raises(AgentError, check=has(function="act", value=value)):
            el.run("riverswim", el.Design(build, function, lambda *_: None, name="mine"), steps=10)


@pytest.mark.soak
def test_a_function_may_call_one_of_the_same_name(tmp_path, monkeypatch):
    (tmp_path / "first_of_two.py").write_text(
        "def greedy(q, s):\n    return 0 if q[s, 0] > q[s, 1] else 1\n\n\n"
        "def act(k, s, now, stream):\n    return greedy(k.q, s)\n\n\n"
        "def learn(k, e, now, stream):\n    k.q[e.aleatoric_state, e.action] += 1.0\n"
    )
    (tmp_path / "second_of_two.py").write_text(
        "import first_of_two\n\n\n"
        "def greedy(q, s):\n    return first_of_two.greedy(q, s)\n\n\n"
        "def act(k, s, now, stream):\n    return greedy(k.q, s) + 0 * first_of_two.act(k, s, now, stream)\n\n\n"
        "def learn(k, e, now, stream):\n    first_of_two.learn(k, e, now, stream)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    second = importlib.import_module("second_of_two")
    design = el.Design(build, second.act, second.learn, name="mine")
    assert unsafe(second.act, second.learn) is None
    results = [el.run("riverswim", design, steps=100, engine=engine) for engine in ("compiled", "reference")]
    assert results[0].total_reward.tolist() == results[1].total_reward.tolist()


def learn(k, e, now, stream):
    k.learn[0] += 1.0


def test_a_field_may_have_the_name_of_its_function():
    assert unsafe(learn) is None
