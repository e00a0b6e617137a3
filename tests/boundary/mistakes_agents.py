"""Mistakes in agents of a user's own."""

from __future__ import annotations

from typing import Any

from tests.boundary.mistake import Mistake

PARTS = {
    "imports": """\
from typing import NamedTuple

import numpy as np

import everlearn as el
""",
    "known": """\
class Known(NamedTuple):
    q: np.ndarray
    n: np.ndarray
""",
    "build": """\
def build(task):
    return Known(np.zeros((task.states, task.actions)), np.zeros(task.actions))
""",
    "act": """\
def act(k, s, now, stream):
    return el.choose(stream, 2)
""",
    "learn": """\
def learn(k, e, now, stream):
    k.n[e.action] += 1
    k.q[e.aleatoric_state, e.action] += 0.1 * (e.reward - k.q[e.aleatoric_state, e.action])
""",
    "agent": """\
agent = el.Design(build, act, learn)
""",
}

COMPLETE = "\n\n".join(PARTS.values())
"""An agent without a mistake, of which each row replaces a part."""

RUN = "everlearn run riverswim --agent mine:agent --steps 1e3 --runs 2 --engine {engine}"
RANGE = "return an index from 0 to 1"
DRAW = "draw with el.uniform(stream) or el.choose(stream, n), which repeat with the seed"
ENTRIES = "use arrays of float64, int64, uint64 or bool, numbers and tuples of numbers"
KEEP = "it could change unnoticed; store it in what build returns"


def row(title: str, answer: str, *, call: str = RUN, files: dict[str, str] | None = None, **parts: str) -> Mistake:
    """A mistake in ``mine.py``: the parts that are given replace those of the file that has no mistake."""
    (shown,) = parts.values()
    text = "\n\n".join({**PARTS, **parts}.values())
    return Mistake(
        group="agents",
        title=title,
        files={"mine.py": text, **(files or {})},
        call=call,
        answer=f"agent 'mine:agent': {answer}",
        shown=shown,
    )


AS_INT = " as an int, as in int(x)"


def act(title: str, returned: str, shown: str, as_int: str = "", **others: Any) -> Mistake:
    """An ``act`` of one line that returns something that is not an action."""
    body = f"def act(k, s, now, stream):\n    {returned}\n"
    return row(title, f"act returned {shown}; {RANGE}{as_int}", act=body, **others)


ACTIONS = [
    act("act returns a negative number", "return -1", "-1 at step 1"),
    act("act returns the number of actions", "return 2", "2 at step 1"),
    act("act returns a number far out of range", "return 10**12", "1000000000000 at step 1"),
    act("act returns an action out of range at a later step", "return now.t // 350", "2 at step 700"),
    act("act returns a number between two actions", "return 0.5", "0.5 at step 1", as_int=AS_INT),
    act("act returns a float", "return 1.0", "1.0 at step 1", as_int=AS_INT),
    act("act returns NaN", "return np.nan", "NaN at step 1", as_int=AS_INT),
    act("act returns nothing", "np.argmax(k.q[s])", "None at step 1"),
    act("act returns the name of an action", "return 'left'", "'left' at step 1"),
    act("act returns an array", "return k.q[s]", "an array of shape (2,) at step 1"),
    row(
        "act takes too few arguments",
        "act takes (k, s, stream); give a function of (knowledge, aleatoric_state, now, stream)",
        act="def act(k, s, stream):\n    return el.choose(stream, 2)\n",
    ),
    row(
        "act raises an exception",
        "act raised ValueError at step 700: enough (mine.py, line 19)",
        act="""\
def act(k, s, now, stream):
    if now.t == 700:
        raise ValueError("enough")
    return 0
""",
    ),
]


def learn(title: str, answer: str, *body: str, **others: Any) -> Mistake:
    """A ``learn`` with these lines."""
    text = "".join(f"    {line}\n" for line in body)
    return row(title, answer, learn=f"def learn(k, e, now, stream):\n{text}", **others)


def outside(index: int, size: int, axis: int = 0, step: int = 1, line: int = 22) -> str:
    """What is said of an index out of range."""
    return (
        f"learn raised IndexError at step {step}: index {index} is out of bounds for axis {axis} with size {size} "
        f"(mine.py, line {line})"
    )


READS = [
    row(
        "act reads the horizon of a design without a schedule",
        "act reads now.horizon (mine.py, line 18); the design has no schedule; pass one, as in el.Design(build, act, "
        "learn, schedule=el.Schedule(...))",
        act="def act(k, s, now, stream):\n    return 0 if now.horizon < 10 else 1\n",
    ),
    row(
        "act calls a method of its stream",
        "act uses stream.random (mine.py, line 18); draw with el.uniform(stream) or el.choose(stream, n)",
        act="def act(k, s, now, stream):\n    return int(stream.random() * 2)\n",
    ),
    row(
        "act chooses from a list",
        "act called el.choose with [0, 1] at step 1 (mine.py, line 18); give a whole number n of at least 1, "
        "to draw from 0 to n - 1",
        act="def act(k, s, now, stream):\n    return el.choose(stream, [0, 1])\n",
    ),
    row(
        "act reads a field of the time that does not exist",
        "act raised AttributeError at step 1: 'ScheduleValues' object has no attribute 'step'; it has t, horizon, "
        "discount, optimism, drift, ceiling, scale, unscale, exponent (mine.py, line 18)",
        act="def act(k, s, now, stream):\n    return now.step % 2\n",
    ),
]

DIVISION = row(
    "act divides by zero at a later step",
    "act raised ZeroDivisionError at step 700: division by zero (mine.py, line 18)",
    act="def act(k, s, now, stream):\n    return int(1 / (700 - now.t) < 0.5)\n",
)

INDICES = [
    learn("learn writes one place beyond an array", outside(2, 2), "k.n[2] = 1"),
    learn("learn writes far beyond an array", outside(10**9, 2), "k.n[10**9] = 1"),
    learn("learn writes far before an array", outside(-1000, 2), "k.n[-1000] = 1"),
    learn(
        "learn writes beyond the second axis of an array", outside(2, 2, axis=1), "k.q[0, e.action + 2 - e.action] = 1"
    ),
    learn("learn writes beyond an array at a later step", outside(6, 6, step=700), "k.q[now.t // 140 + 1, 0] += 1"),
    learn("learn reads beyond an array", outside(6, 6), "k.n[e.action] = k.q[len(k.q), 0]"),
    learn("learn reads beyond an array at a later step", outside(2, 2, step=700), "k.n[0] = k.n[now.t // 350]"),
    row(
        "act reads beyond an array",
        "act raised IndexError at step 1: index 2 is out of bounds for axis 0 with size 2 (mine.py, line 18)",
        act="def act(k, s, now, stream):\n    return 0 if k.n[2] > 0 else 1\n",
    ),
]

VALUES = [
    learn(
        "learn writes NaN",
        "learn left NaN in n[0] at step 1; keep to finite numbers",
        "k.n[0] = np.nan",
    ),
    learn(
        "learn writes NaN at a later step",
        "learn left NaN in n[1] at step 700; keep to finite numbers",
        "if now.t >= 700:",
        "    k.n[1] = k.n[0] * np.nan",
    ),
    learn(
        "learn writes infinity",
        "learn left infinity in n[0] at step 1; keep to finite numbers, or declare Design(..., infinite=True)",
        "k.n[0] = np.inf",
    ),
    learn(
        "learn divides by zero",
        "learn raised FloatingPointError at step 1: divide by zero encountered in scalar divide (mine.py, line 22)",
        "k.n[0] = 1 / k.n[1]",
    ),
    learn(
        "learn returns new knowledge",
        "learn returned a Known at step 1; change the arrays in place and return nothing",
        "return k._replace(n=k.n + 1)",
    ),
    learn(
        "learn replaces an array",
        "learn assigned to a field of a NamedTuple at step 1 (mine.py, line 22); "
        "write into an array, as in knowledge.q[...] = value",
        "k.q = k.q + 1",
    ),
    learn(
        "learn raises an exception",
        "learn raised KeyError at step 1: 0 (mine.py, line 22)",
        "raise KeyError(0)",
    ),
    learn(
        "learn misspells a field",
        "learn raised AttributeError at step 1: 'Experience' object has no attribute 'state'; it has aleatoric_state, "
        "action, observation, reward, next_aleatoric_state (mine.py, line 22)",
        "k.q[e.state, e.action] = e.reward",
    ),
]


def build(title: str, answer: str, returned: str, **others: Any) -> Mistake:
    """A ``build`` of one line."""
    return row(title, f"build {answer}", build=f"def build(task):\n    return {returned}\n", **others)


KNOWLEDGE = [
    build(
        "build returns a dictionary",
        "returned a dict; return a NamedTuple of arrays",
        "{'q': np.zeros(2), 'n': np.zeros(2)}",
    ),
    build("build returns a list", "returned a list; return a NamedTuple of arrays", "[np.zeros(2), np.zeros(2)]"),
    build("build returns a plain tuple", "returned a tuple; return a NamedTuple of arrays", "np.zeros(2), np.zeros(2)"),
    build("build returns an array", "returned an array; return a NamedTuple of arrays", "np.zeros((6, 2))"),
    build("build returns nothing", "returned None; return a NamedTuple of arrays", "None"),
    build(
        "build returns an array of objects",
        f"returned an array of objects as n; {ENTRIES}",
        "Known(np.zeros((6, 2)), np.array([None, None]))",
    ),
    build(
        "build returns an array in single precision",
        f"returned an array of float32 as n; {ENTRIES}",
        "Known(np.zeros((6, 2)), np.zeros(2, dtype=np.float32))",
    ),
    build(
        "build returns a list as a field",
        f"returned a list as n; {ENTRIES}",
        "Known(np.zeros((6, 2)), [0, 0])",
    ),
    build(
        "build returns NaN",
        "left NaN in n[0]; keep to finite numbers",
        "Known(np.zeros((6, 2)), np.full(2, np.nan))",
    ),
    row(
        "build raises an exception",
        "build raised AttributeError: 'IndexedTask' object has no attribute 'number'; it has task, states, actions, "
        "observations, start (mine.py, line 14)",
        build="def build(task):\n    return Known(np.zeros(task.number), np.zeros(2))\n",
    ),
]


def foreign(title: str, answer: str, before: str, *body: str, **others: Any) -> Mistake:
    """An ``act`` that is not repeatable, after a line before it."""
    text = "".join(f"    {line}\n" for line in body)
    return row(title, answer, act=f"{before}def act(k, s, now, stream):\n{text}", **others)


UNREPEATABLE = [
    row(
        "build draws initial values",
        "build calls np.random.rand (mine.py, line 14); build has no stream; draw initial values in act, when now.t is "
        "1, with el.uniform(stream)",
        build="def build(task):\n    return Known(np.random.rand(6, 2), np.zeros(2))\n",
    ),
    foreign(
        "act draws with the random module",
        f"act calls random.randrange (mine.py, line 21); {DRAW}",
        "import random\n\n\n",
        "return random.randrange(2)",
    ),
    foreign(
        "act draws with a function from the random module",
        f"act calls random (mine.py, line 21); {DRAW}",
        "from random import random\n\n\n",
        "return int(random() < 0.5)",
    ),
    foreign(
        "act draws with NumPy",
        f"act calls np.random.rand (mine.py, line 18); {DRAW}",
        "",
        "return int(np.random.rand() < 0.5)",
    ),
    foreign(
        "act draws with a generator of its own",
        f"act uses rng (mine.py, line 21); {DRAW}",
        "rng = np.random.default_rng()\n\n\n",
        "return rng.integers(2)",
    ),
    foreign(
        "act imports a module to draw with",
        f"act uses random (mine.py, line 18); {DRAW}",
        "",
        "import random",
        "",
        "return random.randrange(2)",
    ),
    foreign(
        "act calls a function that draws",
        f"act calls random.random (mine.py, line 21); {DRAW}",
        "import random\n\n\ndef explore():\n    return random.random() < 0.1\n\n\n",
        "return int(explore())",
    ),
    foreign(
        "act reads the clock",
        "act calls time.time (mine.py, line 21); use now.t, the number of the step",
        "import time\n\n\n",
        "return int(time.time()) % 2",
    ),
    foreign(
        "act reads a global list",
        f"act reads rates, a list (mine.py, line 21); {KEEP}, or make it a tuple",
        "rates = [0.1, 0.2]\n\n\n",
        "return int(rates[0] > 0.1)",
    ),
    foreign(
        "act reads a global dictionary",
        f"act reads table, a dict (mine.py, line 21); {KEEP}",
        "table = {}\n\n\n",
        "return table.get(s, 0)",
    ),
    foreign(
        "act calls a method of a global dictionary through another name",
        f"act reads find, a builtin_function_or_method (mine.py, line 21); {KEEP}",
        "find = {}.get\n\n\n",
        "return find(s, 0)",
    ),
    foreign(
        "act counts in its own attribute through another name",
        "act assigns to self.calls (mine.py, line 19); store it in an array that build returns",
        "",
        "self = act",
        "self.calls = now.t",
        "return 0",
    ),
    foreign(
        "act hashes a string",
        "act calls __hash__ (mine.py, line 18); it differs from process to process; use indices, and iterate over a "
        "range or a tuple",
        "",
        'return "left".__hash__() % 2',
    ),
    foreign(
        "act depends on the address of an object",
        "act calls repr (mine.py, line 18); avoid it, because it cannot be checked",
        "",
        "return len(repr(act)) % 2",
    ),
    foreign(
        "act reads a global array",
        f"act reads bonus, an array (mine.py, line 21); {KEEP}",
        "bonus = np.ones(2)\n\n\n",
        "return int(bonus[0] < 1)",
    ),
    foreign(
        "act changes a global",
        "act assigns to counter (mine.py, line 22); store it in an array that build returns",
        "counter = 0\n\n\n",
        "global counter",
        "counter += 1",
        "return counter % 2",
    ),
    row(
        "act has a list as a default argument",
        f"act reads a default argument of act, a list (mine.py, line 17); {KEEP}, or make it a tuple",
        act="def act(k, s, now, stream, past=[]):\n    return len(past) % 2\n",
    ),
    row(
        "act is a closure over a list",
        f"act reads past, a list (mine.py, line 21); {KEEP}, or make it a tuple",
        act="""\
def remembering():
    past = []

    def act(k, s, now, stream):
        past.append(s)
        return len(past) % 2

    return act


act = remembering()
""",
    ),
    row(
        "act stores something in its own attribute",
        f"act reads act.calls, an attribute of a function (mine.py, line 18); {KEEP}",
        act="""\
def act(k, s, now, stream):
    act.calls += 1
    return act.calls % 2


act.calls = 0
""",
    ),
]

FRACTIONS = [
    row(
        "learn stores a fraction in an array of integers",
        "learn raised TypeError at step 1: 0.1 cannot be stored in an array of int64; make it an array of float64 "
        "(mine.py, line 26)",
        learn="""\
def build(task):
    return Known(np.zeros((6, 2)), np.zeros(2, dtype=np.int64))


def learn(k, e, now, stream):
    k.n[e.action] += 0.1
""",
    ),
]

DESIGNS = [
    row(
        "a design without a function",
        "act is 'greedy'; give a function of (knowledge, aleatoric_state, now, stream)",
        agent="agent = el.Design(build, 'greedy', learn)\n",
    ),
    row(
        "learn takes too few arguments",
        "learn takes (k, e); give a function of (knowledge, experience, now, stream)",
        learn="def learn(k, e):\n    k.n[e.action] += 1\n",
    ),
    row(
        "a policy of the wrong shape",
        "policy returned an array of shape (2,); return one of shape (6, 2)",
        agent="agent = el.Design(build, act, learn, policy=lambda k: k.n)\n",
    ),
]

NEGATIVE = "def act(k, s, now, stream):\n    return -1\n"


def elsewhere(title: str, name: str, text: str, call: str, shown: str, agent: str = "mine:agent") -> Mistake:
    """The same mistake, an action of -1, by another way than ``everlearn run``."""
    parts = {**PARTS, "act": NEGATIVE, "agent": FACTORY}
    answer = f"agent '{agent}': act returned -1 at step 1; {RANGE}"
    files = {name: text, "mine.py": "\n\n".join(parts.values())}
    return Mistake(group="agents", title=title, files=files, call=call, answer=answer, shown=shown)


FACTORY = "def agent(*, rate: float = 0.1):\n    return el.Design(build, act, learn)\n"
RUNNING = "el.run('riverswim', agent(), steps=1000, engine=sys.argv[1])\n"
STEPPING = "el.Agent('riverswim', agent()).act()\n"
LIVING = "el.live('kept', 'riverswim', agent='mine:agent').act()\n"
COMPARING = 'steps = 1000\nruns = 2\n\n[[task]]\nname = "riverswim"\n\n[[agent]]\nname = "mine:agent"\n'
SEARCHING = """\
steps = 1000
candidates = 2

[[task]]
name = "riverswim"

[agent]
name = "mine:agent"

[search.agent]
rate = [0.1, 0.2]
"""
IMPORTS = "import sys\n\nimport everlearn as el\nfrom mine import agent\n\n"

ENTRANCES = [
    elsewhere("a wrong action in el.run", "run.py", IMPORTS + RUNNING, "python run.py {engine}", RUNNING, "agent"),
    elsewhere("a wrong action in el.Agent", "drive.py", IMPORTS + STEPPING, "python drive.py", STEPPING, "agent"),
    elsewhere("a wrong action in el.live", "live.py", IMPORTS + LIVING, "python live.py", LIVING),
    elsewhere(
        "a wrong action in an experiment",
        "spec.toml",
        COMPARING,
        "everlearn experiment run spec.toml --out results",
        COMPARING,
    ),
    elsewhere(
        "a wrong action in a search", "spec.toml", SEARCHING, "everlearn tune spec.toml --out results", SEARCHING
    ),
]

MISTAKES = [*ACTIONS, *READS, DIVISION, *INDICES, *VALUES, *KNOWLEDGE, *UNREPEATABLE, *FRACTIONS, *DESIGNS, *ENTRANCES]
