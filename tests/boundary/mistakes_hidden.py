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
        title="a class that hides its memory twice",
        files={"shop.py": world("return 'busy'")["shop.py"].replace("@el.task(", "@el.task(hidden=True, ")},
        call=RUN,
        answer="hidden: True; an environment shows what step returns alone; leave it out",
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
            "pond.pomdp, line 10, column 1: 'T: go : wet'; the probabilities of states must be at least 0 and sum to "
            "one, and sum to 0.9"
        ),
    ),
    Mistake(
        group="tasks",
        title="a POMDP file that is not there",
        files={},
        call="everlearn run pomdp:pond.pomdp --steps 100",
        answer="file: 'pond.pomdp'; there is no such file",
    ),
]
