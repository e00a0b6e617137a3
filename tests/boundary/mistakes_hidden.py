"""Mistakes in tasks that hide something, in files that describe them, and in what is kept of observations."""

from __future__ import annotations

from tests.boundary.mistake import Mistake
from tests.boundary.mistakes_tasks import RUN, shop, world

FILE = """\
discount: 0.95
values: reward
states: dry wet
actions: wait go
observations: dim lit
T: wait identity
T: go uniform
O: * uniform
R: {action} : * : wet : * 1
"""

MISTAKES = [
    Mistake(
        group="tasks",
        title="a first memory that is drawn, and not hidden",
        files=shop(rest="memory={0: 0.5, 1: 0.5}"),
        call=RUN,
        answer="memory: {0: 0.5, 1: 0.5}; only a hidden memory can be drawn; say hidden=True, or give one memory",
    ),
    Mistake(
        group="tasks",
        title="a first memory whose probabilities do not sum to one",
        files=shop(rest="memory={0: 0.5, 1: 0.4}, hidden=True"),
        call=RUN,
        answer="probabilities of the first memory: 0.9; must sum to one",
    ),
    Mistake(
        group="tasks",
        title="a class with hidden=True",
        files={"shop.py": world("return 'busy'")["shop.py"].replace("@el.task(", "@el.task(hidden=True, ")},
        call=RUN,
        answer="hidden: True; an environment shows only what step returns; leave it out",
    ),
    Mistake(
        group="states",
        title="seeing what is hidden",
        files={},
        call="everlearn run tiger --steps 100 --set task.aleatoric=memory",
        answer=(
            "task.aleatoric: 'memory'; the task 'tiger' hides its memory; keep something of observations and actions "
            "instead, such as window:3, or belief:4"
        ),
    ),
    Mistake(
        group="states",
        title="a trace that never fades",
        files={},
        call="everlearn run tiger --steps 100 --set task.aleatoric=trace:1:4",
        answer="decay of the trace: 1.0; give a number of at least 0 and below 1",
    ),
    Mistake(
        group="states",
        title="a trace without levels",
        files={},
        call="everlearn run tiger --steps 100 --set task.aleatoric=trace:0.5",
        answer=(
            "task.aleatoric: 'trace:0.5'; the number of levels is missing; write trace:DECAY:LEVELS, as in trace:0.5:4"
        ),
    ),
    Mistake(
        group="states",
        title="a view that is written wrongly",
        files={},
        call="everlearn run tiger --steps 100 --set task.aleatoric=last-change",
        answer="task.aleatoric: 'last-change'; write last-change:K, as in last-change:3",
    ),
    Mistake(
        group="states",
        title="a window as a parameter of a task that has none",
        files={},
        call="everlearn run cheese-maze --steps 100 --set task.window=4",
        answer=(
            "parameter: 'task.window'; known: task.aleatoric, task.features; task.aleatoric takes natural, memory, "
            "window:K, window:K+actions, actions:K, last-change:K, trace:DECAY:LEVELS, belief:LEVELS, or your own as "
            "module:attribute; task.features takes auto, onehot, factors, pairs, hashed:N, or your own el.Features as "
            "module:attribute"
        ),
    ),
    Mistake(
        group="tasks",
        title="an action in a POMDP file that was not declared",
        files={"pond.pomdp": FILE.format(action="swim")},
        call="everlearn run pomdp:pond.pomdp --steps 100",
        answer="pond.pomdp, line 9, column 4: 'swim'; known actions: wait, go",
    ),
    Mistake(
        group="tasks",
        title="probabilities in a POMDP file that do not sum to one",
        files={"pond.pomdp": FILE.format(action="go") + "T: go : wet 0.5 0.4\n"},
        call="everlearn theory pomdp:pond.pomdp",
        answer=(
            "pond.pomdp, line 10, column 13: 'T: go : wet'; the probabilities of states sum to 0.9; they must be at "
            "least 0 and sum to one"
        ),
    ),
    Mistake(
        group="tasks",
        title="a row of a matrix in a POMDP file that does not sum to one",
        files={"pond.pomdp": FILE.format(action="go") + "T: wait\n0.5 0.5\n  0.5 0.6\n"},
        call="everlearn theory pomdp:pond.pomdp",
        answer=(
            "pond.pomdp, line 12, column 3: 'T: wait : wet'; the probabilities of states sum to 1.1; they must be at "
            "least 0 and sum to one"
        ),
    ),
    Mistake(
        group="tasks",
        title="a row of a matrix in a POMDP file that is too short",
        files={"pond.pomdp": FILE.format(action="go") + "T: wait\n0.5 0.5\n0.5\n"},
        call="everlearn theory pomdp:pond.pomdp",
        answer="pond.pomdp, line 12, column 1: '0.5'; a row of 2 numbers is expected here, not of 1",
    ),
    Mistake(
        group="tasks",
        title="a POMDP file without its prefix",
        files={"pond.pomdp": FILE.format(action="go")},
        call="everlearn run pond.pomdp --steps 100",
        answer="task: 'pond.pomdp'; is a file; did you mean pomdp:pond.pomdp?",
    ),
    Mistake(
        group="tasks",
        title="a POMDP file that is not there",
        files={},
        call="everlearn run pomdp:pond.pomdp --steps 100",
        answer="file: 'pond.pomdp'; there is no such file",
    ),
]
