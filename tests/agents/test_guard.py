"""A user's own design is checked before it runs and at every step, and its knowledge is shared with nobody."""

from __future__ import annotations

import functools
import random
from typing import NamedTuple

import numpy as np
import pytest

import everlearn as el
from everlearn.agents.guard import Guard, build_knowledge
from everlearn.agents.reading import check_design
from everlearn.agents.registry import AGENTS, make_design
from everlearn.errors import AgentError, UserCodeError
from everlearn.protocol import Experience, ScheduleValues
from everlearn.tasks.indexed import IndexedTask
from everlearn.tasks.registry import make_task
from tests.refusal import has

RIVER = IndexedTask(make_task("riverswim"))
NOW = ScheduleValues(7, *[1.0] * 8)
SEEN = Experience(0, 1, 0, 1.0, 1)
SHARED = np.zeros((6, 2))


class Known(NamedTuple):
    q: np.ndarray


def build(indexed):
    return Known(np.zeros((indexed.states, indexed.actions)))


def act(knowledge, aleatoric_state, now, stream):
    return 0


def learn(knowledge, experience, now, stream):
    pass


def guard(**functions) -> Guard:
    return Guard(el.Design(**{"build": build, "act": act, "learn": learn, **functions}, name="mine"), RIVER)


@pytest.mark.parametrize("name", AGENTS)
def test_the_built_in_agents_are_not_the_users(name):
    assert not make_design(name, duration=100).own


@pytest.mark.parametrize("part", ["build", "act", "learn", "policy"])
def test_one_function_of_ones_own_is_enough(part):
    always = make_design("always")
    functions = {name: getattr(always, name) for name in ("build", "act", "learn", "policy")}
    assert not el.Design(**functions).own
    assert el.Design(**{**functions, part: lambda *_: None}).own


@pytest.mark.parametrize("returned", [-1, 2, 10**30, 0.5, 1.0, np.nan, None, "0", np.zeros(1), np.float64(1), (0,)])
def test_what_is_no_action_is_refused(returned):
    with pytest.raises(AgentError) as caught:
        guard(act=lambda *_: returned).act(Known(SHARED), 0, NOW, None)
    assert caught.value.step == 7


@pytest.mark.parametrize("returned", [0, 1, True, np.int64(1), np.uint8(1), np.bool_(False)])
def test_what_is_an_index_is_an_action(returned):
    action = guard(act=lambda *_: returned).act(Known(SHARED), 0, NOW, None)
    assert action == int(returned)
    assert type(action) is int


def test_learning_returns_nothing():
    with pytest.raises(AgentError, check=has(function="learn", value="a Known", step=7)):
        guard(learn=lambda k, *_: k).learn(Known(SHARED), SEEN, NOW, None)


@pytest.mark.parametrize(("value", "infinite", "refused"), [
    (np.nan, False, True), (np.nan, True, True), (np.inf, False, True), (np.inf, True, False), (-np.inf, False, True),
    (1e308, False, False),
])  # fmt: skip
def test_what_is_no_number_is_refused(value, infinite, refused):
    def write(knowledge, experience, now, stream):
        knowledge.q[1, 0] = knowledge.q[2, 1] = value

    known = Known(np.zeros((6, 2)))
    checking = guard(learn=write, infinite=infinite)
    if refused:
        with pytest.raises(AgentError, check=has(function="learn", array="q[1, 0]", step=7)):
            checking.learn(known, SEEN, NOW, None)
    else:
        checking.learn(known, SEEN, NOW, None)


def test_the_run_is_named_where_it_is_not_the_first():
    with pytest.raises(AgentError, check=has(function="act", value="9", step=7, run=3)):
        Guard(el.Design(build, lambda *_: 9, learn), RIVER, run=3).act(Known(SHARED), 0, NOW, None)


@pytest.mark.parametrize("built", [
    {}, [], None, (np.zeros(1),), np.zeros(1), Known({}), Known([0.0]), Known("text"), Known(np.array(["a"])),
    Known(np.zeros(2, dtype=np.float32)), Known(np.zeros(2, dtype=np.uint8)), Known(np.ma.zeros(2)),
    Known(np.array([{}, 1], dtype=object)), Known(np.array([np.nan])), Known(np.array([np.inf])), Known((1, "a")),
])  # fmt: skip
def test_what_is_no_knowledge_is_refused(built):
    with pytest.raises(AgentError):
        guard(build=lambda _task: built).build()


@pytest.mark.parametrize("built", [
    Known(np.zeros(1)), Known(3), Known(0.5), Known((1, (2, 3.0))), Known(np.zeros(2, dtype=bool)), Known(np.zeros(())),
    Known(np.zeros(2, dtype=[("value", "f8"), ("count", "i8")])),
])  # fmt: skip
def test_what_is_knowledge_is_taken(built):
    assert guard(build=lambda _task: built).build()._fields == ("q",)


def test_a_structured_array_is_searched_too():
    wrong = np.zeros(2, dtype=[("value", "f8"), ("count", "i8")])
    wrong["value"][1] = np.nan
    with pytest.raises(AgentError, check=has(function="build", array="q.value[1]")):
        guard(build=lambda _task: Known(wrong)).build()


def test_knowledge_is_shared_with_nobody():
    design = el.Design(lambda _task: Known(SHARED), act, learn)
    one, other = (build_knowledge(design, RIVER) for _ in range(2))
    one.q[0, 0] = 1
    assert SHARED[0, 0] == other.q[0, 0] == 0


def test_runs_of_an_agent_that_hands_out_one_array_do_not_meet():
    def count(knowledge, experience, now, stream):
        knowledge.q[0, 0] += 1

    def alternate(knowledge, aleatoric_state, now, stream):
        return int(knowledge.q[0, 0]) % 2

    shared = Known(np.zeros((6, 2)))
    design = el.Design(lambda _task: shared, alternate, count)
    together = el.run("riverswim", design, steps=200, runs=3)
    alone = el.run("riverswim", el.Design(build, alternate, count), steps=200, runs=3)
    assert together.total_reward.tolist() == alone.total_reward.tolist()
    assert shared.q[0, 0] == 0


@pytest.mark.parametrize(("returned", "value"), [
    (np.zeros(3), "an array of shape (3,)"), (np.zeros((6, 2)), "0, 0"), (np.full((6, 2), np.nan), "nan, nan"),
    ([[2.0, -1.0]] * 6, "2, -1"),
])  # fmt: skip
def test_a_policy_is_a_table_of_probabilities(returned, value):
    with pytest.raises(AgentError, check=has(function="policy", value=value)):
        guard(policy=lambda _knowledge: returned).policy(Known(SHARED))


def test_an_exception_is_reported_with_its_step_and_place():
    def fail(knowledge, experience, now, stream):
        return knowledge.q[9, 9]

    with pytest.raises(UserCodeError) as caught:
        guard(learn=fail).learn(Known(SHARED), SEEN, NOW, None)
    assert (caught.value.function, caught.value.at) == ("agent 'mine': learn", "step 7")
    assert isinstance(caught.value.__cause__, IndexError)


def test_foreign_randomness_is_refused_before_it_runs():
    def draws(knowledge, aleatoric_state, now, stream):
        return random.randrange(2)

    with pytest.raises(AgentError, check=has(function="act", value="random.randrange")):
        el.Agent("riverswim", el.Design(build, draws, learn))


@pytest.mark.parametrize(
    ("function", "value"),
    [(3, "3"), (lambda knowledge: 0, "(knowledge)"), (lambda a, b, c, d, e: 0, "(a, b, c, d, e)")],
)
def test_functions_must_take_their_arguments(function, value):
    with pytest.raises(AgentError, check=has(function="act", value=value)):
        check_design(el.Design(build, function, learn))


def test_functions_that_can_hide_something_are_refused():
    class Hidden:
        def act(self, knowledge, aleatoric_state, now, stream):
            return 0

        __call__ = act

    for function, value in ((Hidden().act, "a method"), (Hidden(), "a Hidden"), (functools.partial(act), "a partial")):
        with pytest.raises(AgentError, check=has(function="act", value=value)):
            check_design(el.Design(build, function, learn))


def test_what_wraps_a_built_in_function_is_the_users():
    always = make_design("always")

    @functools.wraps(always.act)
    def wrapper(*arguments):
        return always.act(*arguments)

    assert el.Design(always.build, wrapper, always.learn).own


def test_a_stream_has_nothing_but_uniform_draws():
    def draws(knowledge, aleatoric_state, now, stream):
        return int(stream.integers(2))

    with pytest.raises(UserCodeError, check=has(function="agent 'mine': act", at="step 7")) as caught:
        guard(act=draws).act(Known(SHARED), 0, NOW, np.random.default_rng(1))
    assert isinstance(caught.value.__cause__, AttributeError)


class Counted(NamedTuple):
    n: np.ndarray


@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_one_may_choose_below_a_sum_of_whole_numbers(engine):
    def act(knowledge, aleatoric_state, now, stream):
        return el.choose(stream, knowledge.n.sum())

    design = el.Design(lambda task: Counted(np.ones(task.actions, dtype=np.int64)), act, learn)
    assert el.run("riverswim", design, steps=200, engine=engine).steps == 200


def test_a_second_argument_that_is_assigned_is_no_experience():
    def act(knowledge, aleatoric_state, now, stream):
        aleatoric_state = Experience(0, 0, 0, 0.0, 1)
        return aleatoric_state.action

    check_design(el.Design(build, act, learn))


def test_a_policy_cannot_change_what_is_known():
    def changes(knowledge):
        knowledge.q[...] = 7
        return np.full((6, 2), 0.5)

    known = Known(np.zeros((6, 2)))
    guard(policy=changes).policy(known)
    assert not known.q.any()


def test_what_an_agent_shows_cannot_change_what_it_knows():
    def shows(knowledge, now):
        knowledge.q[...] = 7
        return {"Q": knowledge.q.tolist()}

    agent = el.Agent("riverswim", el.Design(build, lambda *_: 0, learn, inspect=shows))
    assert agent.inspect()["Q"].dtype == np.float64
    assert (agent.inspect()["Q"] == 7).all()
    assert not agent.knowledge.q.any()


@pytest.mark.parametrize("shown", [5, None, {1: np.zeros(2)}, {"Q": "text"}, {"Q": [[1], [2, 3]]}])
def test_what_an_agent_shows_is_arrays_by_name(shown):
    with pytest.raises(AgentError, check=has(function="inspect", step=None)):
        guard(inspect=lambda knowledge, now: shown).inspect(Known(np.zeros((6, 2))), NOW)


def test_an_agent_that_ends_the_program_is_reported():
    def leaves(knowledge, aleatoric_state, now, stream):
        raise SystemExit(3)

    with pytest.raises(UserCodeError, check=has(function="agent 'mine': act", at="step 7")) as caught:
        guard(act=leaves).act(Known(SHARED), 0, NOW, None)
    assert isinstance(caught.value.__cause__, SystemExit)


def test_a_driven_agent_is_checked_too():
    agent = el.Agent("riverswim", el.Design(build, lambda *_: 5, learn, name="mine"))
    with pytest.raises(AgentError, check=has(agent="mine", function="act", value="5", step=1)):
        agent.act()
