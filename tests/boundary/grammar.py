"""Random agents, in source text, with one planted mistake that they make from a given step, or not at all.

An agent is an ``act`` and a ``learn`` of statements that are drawn from a small grammar: bandits and Q-learning over
arrays of one and two axes, with reads, writes, loops and draws.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

STEPS = 3000
NEVER = 10**9
"""The step at which an agent is told to make its mistake, where it is to make none."""

HEAD = """\
import math
from typing import NamedTuple

import numpy as np

import everlearn as el


class Known(NamedTuple):
    q: np.ndarray
    v: np.ndarray
    n: np.ndarray
    w: np.ndarray
    when: np.ndarray


def best_action(q, s):
    best = 0
    for j in range(1, q.shape[1]):
        if q[s, j] > q[s, best]:
            best = j
    return best


def read(array, place):
    return array[place]


def write(array, place):
    array[place] = 1.0

"""

TAIL = """

def agent(*, when: int = {never}):
    def build(task):
        shape = task.states, task.actions
        wide, narrow = ({states}, {states}) if {by_state} else (task.actions, {size})
        return Known(np.zeros(shape), np.zeros({states}), np.zeros(wide), np.zeros(narrow), np.full({states}, when))

    return el.Design(build, act, learn, by_state={by_state})
"""

STATES, ACTIONS = 6, 2
"""Of riverswim."""

CHOOSING = (
    "return el.choose(stream, k.q.shape[1])",
    "return now.t % k.q.shape[1]",
    "return 0 if k.v[s] > {number} else el.choose(stream, k.q.shape[1])",
    "if el.uniform(stream) < {number}:\n    return el.choose(stream, k.q.shape[1])\nreturn best_action(k.q, s)",
    "explore = el.uniform(stream) < {number}\nreturn el.choose(stream, 2) if explore else best_action(k.q, s)",
)
"""What ``act`` does."""

LEARNING_BY_STATE = (
    "k.q[s, a] += {number} * (e.reward - k.q[s, a])",
    "k.q[s, a] += {number} * (e.reward + 0.9 * k.q[f, best_action(k.q, f)] - k.q[s, a])",
    "k.v[s] += {number} * (el.uniform(stream) - k.v[s])",
    "k.v[s] = e.reward",
    "if k.v[s] > k.v[f]:\n    k.v[f] = k.v[s]",
    "for j in range(k.q.shape[1]):\n    k.q[s, j] *= 1 - {number} / 10",
)
LEARNING = (
    *LEARNING_BY_STATE,
    "k.n[a] += 1",
    "k.n[a] = max(k.n[a], e.reward)",
    "for j in range(len(k.w)):\n    k.w[j] = {number} * k.w[j] + j",
    "k.w[el.choose(stream, len(k.w))] -= {number}",
)
"""What ``learn`` does; the first few touch no rows but those of the states that it is given."""

TRIGGERS = ("if now.t == k.when[s]:", "if now.t >= k.when[s]:", "if now.t >= k.when[s] and el.uniform(stream) < 0.2:")
"""The last, at different steps in different runs, and certainly some time."""


@dataclass(frozen=True)
class Planted:
    """An agent with a mistake: its source, and what an answer must name."""

    source: str
    function: str
    when: int
    exact: bool
    """Whether the mistake is made at that step, rather than some time later."""
    named: tuple[str, ...]
    """What must be in the line."""

    @property
    def step(self) -> str:
        """What the line must say of the step."""
        return f"at step {self.when}" if self.exact else "at step "

    @property
    def runs(self) -> int:
        """How many runs to do: one, where several would make the mistake at different steps."""
        return 2 if self.exact else 1


numbers = st.sampled_from((0.1, 0.25, 0.5, 0.9))
amounts = st.one_of(st.integers(0, 10), st.sampled_from((100, 10**4, 10**6, 10**9, 2**31, 2**33, 2**62)))
steps = st.one_of(st.integers(1, STEPS), st.sampled_from((1, 2, 127, 128, 129, 2048, STEPS)))


@dataclass(frozen=True)
class Plan:
    """What is drawn before the mistake is: the function that makes it, when, and what the arrays are like."""

    function: str
    when: int
    trigger: str
    by_state: bool
    size: int


@st.composite
def plans(draw: Any) -> Plan:
    trigger = draw(st.sampled_from(TRIGGERS))
    return Plan(
        draw(st.sampled_from(("act", "learn"))),
        min(draw(steps), STEPS if trigger in TRIGGERS[:2] else STEPS - 100),
        trigger,
        draw(st.booleans()),
        draw(st.integers(3, 7)),
    )


def body(draw: Any, function: str, by_state: bool) -> str:
    """Return the statements of a function."""
    if function == "act":
        return str(draw(st.sampled_from(CHOOSING))).format(number=draw(numbers))
    known = LEARNING_BY_STATE if by_state else LEARNING
    statements = draw(st.lists(st.sampled_from(known), min_size=1, max_size=4))
    return "\n".join(statement.format(number=draw(numbers)) for statement in statements)


def written(plan: Plan, act: str, learn: str, before: str = "") -> str:
    """Return the source of an agent."""
    names = "s, a, f = e.aleatoric_state, e.action, e.next_aleatoric_state\n"
    tail = TAIL.format(never=NEVER, by_state=plan.by_state, states=STATES, size=plan.size)
    return "".join(
        (
            HEAD + before,
            "\n\ndef act(k, s, now, stream):\n" + textwrap.indent(act, "    ") + "\n",
            "\n\ndef learn(k, e, now, stream):\n" + textwrap.indent(names + learn, "    ") + "\n",
            tail,
        )
    )


def planted(
    draw: Any, plan: Plan, mistake: str, named: tuple[str, ...], *, before: str = "", last: bool = False
) -> Planted:
    """Return an agent that makes a mistake; ``last`` puts it after everything else that the function does."""
    bodies = {function: body(draw, function, plan.by_state) for function in ("act", "learn")}
    guarded = plan.trigger + "\n" + textwrap.indent(mistake, "    ")
    kept = bodies[plan.function]
    first = plan.function == "act" or not (last or draw(st.booleans()))
    wrong = written(
        plan, **{**bodies, plan.function: f"{guarded}\n{kept}" if first else f"{kept}\n{guarded}"}, before=before
    )
    return Planted(wrong, plan.function, plan.when, " and " not in plan.trigger, named)


@st.composite
def outside(draw: Any) -> Planted:
    """An index out of range, in a read or a write, of one axis or two, here or in a function that is called."""
    plan = draw(plans())
    place, size = draw(st.sampled_from(places(plan)))
    above, amount = draw(st.booleans()), draw(amounts)
    index = size + amount if above else -size - 1 - amount
    mistake = draw(st.sampled_from((*READS, *WRITES))).format(place=place.format(i=index), any="k.v[s]")
    if draw(st.booleans()):
        repeated = draw(st.sampled_from((*READS, *WRITES))).format(place=place.format(i="j"), any="k.v[s]")
        mistake = f"for j in range({index}, {index} + 2):\n{textwrap.indent(repeated, '    ')}"
    elif place.count(",") == 0 and draw(st.booleans()):
        mistake = f"{draw(st.sampled_from(('read', 'write')))}(k.{place[2]}, {index})"
    return planted(draw, plan, mistake, (f"index {index} is out of bounds", f"size {size} "))


READS = ("unused = {place}", "{any} += {place}", "if {place} > 0.5:\n    {any} = 0.0", "{any} = max({place}, 0.0)")
WRITES = ("{place} = 1.0", "{place} += 1.0")


def places(plan: Plan) -> list[tuple[str, int]]:
    """Return elements of arrays, with a place for an index, and the size of that axis."""
    narrow = STATES if plan.by_state else plan.size
    wide = STATES if plan.by_state else ACTIONS
    return [
        ("k.q[{i}, 0]", STATES),
        ("k.q[s, {i}]", ACTIONS),
        ("k.q[{i}][0]", STATES),
        ("k.v[{i}]", STATES),
        ("k.n[{i}]", wide),
        ("k.w[{i}]", narrow),
    ]


@st.composite
def no_action(draw: Any) -> Planted:
    """An action out of range."""
    plan = replace(draw(plans()), function="act")
    amount = draw(amounts)
    action = ACTIONS + amount if draw(st.booleans()) else -1 - amount
    return planted(draw, plan, f"return {action}", (f"act returned {action} ",))


NUMBERS = {
    "np.nan": "NaN",
    "k.v[s] - np.nan": "NaN",
    "math.nan * 0.0": "NaN",
    "np.inf": "infinity",
    "-np.inf": "-inf",
    "1e308 * 10.0": "infinity",
    "float(now.t) * 1e308 * 1e308": "infinity",
}


@st.composite
def no_number(draw: Any) -> Planted:
    """NaN or infinity in what the agent knows."""
    plan = draw(plans())
    expression = draw(st.sampled_from(sorted(NUMBERS)))
    target = draw(st.sampled_from(("k.q[s, 0]", "k.q[s, 1]")))  # nothing assigns to q afresh, so that it stays
    return planted(draw, plan, f"{target} = {expression}", (NUMBERS[expression], target[2]), last=True)


RAISING = {
    "k.q[s, 0] = math.sqrt(-1.0)": "ValueError",
    "k.q[s, 1] = math.log(0.0)": "ValueError",
    "k.v[s] = 1 / (s - s)": "ZeroDivisionError",
    "k.v[s] = now.t % (s - s)": "ZeroDivisionError",
    "if 1 / (s - s) > 0:\n    k.v[s] = 0.0": "ZeroDivisionError",
    "raise ValueError(7)": "ValueError",
    "assert s < 0": "AssertionError",
}


@st.composite
def exception(draw: Any) -> Planted:
    """An exception, or what would be one if it were not compiled, and then leaves NaN or infinity."""
    plan = draw(plans())
    statement = draw(st.sampled_from(sorted(RAISING)))
    return planted(draw, plan, statement, (f"raised {RAISING[statement]}",), last="math" in statement)


FOREIGN = (
    ("import random", "random.random()"),
    ("from random import gauss", "gauss(0, 1)"),
    ("", "np.random.rand()"),
    ("", "np.random.normal()"),
    ("rng = np.random.default_rng(1)", "rng.random()"),
    ("import time", "time.time()"),
    ("from time import perf_counter", "perf_counter()"),
    ("rates = [0.5]", "rates[0]"),
    ("bonus = np.ones(2)", "bonus[0]"),
    ("def noisy():\n    return np.random.rand()", "noisy()"),
)
"""Lines before the functions, and an expression in one of them."""


@st.composite
def foreign(draw: Any) -> Planted:
    """A draw from another generator, the clock, or something that can change unseen."""
    plan = replace(draw(plans()), when=NEVER)
    before, expression = draw(st.sampled_from(FOREIGN))
    use = draw(st.sampled_from(("k.v[s] += {call}", "if {call} > 0.5:\n    k.v[s] = 0.0", "unused = {call}")))
    name = re.match(r"rng|noisy|[\w.]+", expression)[0].replace("noisy", "np.random.rand")  # type: ignore[index]
    return planted(draw, plan, use.format(call=expression), (name, "mine.py, line "), before=f"\n{before}\n")


KINDS = {
    "index": outside(),
    "action": no_action(),
    "number": no_number(),
    "exception": exception(),
    "foreign": foreign(),
}
