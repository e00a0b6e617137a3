"""Mistakes in what the page is started with: each is answered in the terminal, before anything is served."""

from __future__ import annotations

from everlearn.tasks.names import TASKS
from tests.boundary.mistake import Mistake

PLAY = "everlearn play --no-open --port 0"

SHOP = """\
import everlearn as el


@el.task(actions=["wait", "advertise"], observations=["idle", "busy"], memory="idle")
def shop(memory, action):
    p = 0.9 if action == "advertise" else 0.3
    yield "busy", p, "busy"
    yield "idle", 1 - p, "idle"


@shop.reward
def profit(s, action, observation):
    return 2.0 * (observation == "busy")


def market(*, stalls: int = 3, file: str = "prices.csv"):
    return el.mdp([[[1.0]]], [[0.5]], reward_range=(0, 1), name="market")
"""

AGENT = """\
from typing import NamedTuple

import numpy as np

import everlearn as el


class Counts(NamedTuple):
    count: np.ndarray


def build(task):
    return Counts(np.zeros(task.actions))


def act(knowledge, aleatoric_state, now, stream):
    return now.t


def learn(knowledge, experience, now, stream):
    knowledge.count[experience.action] += 1.0


def inspect(knowledge, now):
    return {"Q": knowledge.q}


def first(knowledge, aleatoric_state, now, stream):
    return 0


agent = el.Design(build, act, learn)
shown = el.Design(build, first, learn, inspect=inspect)
"""

WATCH = """\
import everlearn as el
from mine import shown


@el.task(actions=["push", "wait"], observations=["left", "right"])
class Swing:
    def start(self, rng):
        self.rng = rng

    def step(self, action):
        return "left" if self.rng.random() < 0.5 else "right"


Swing.reward(lambda s, action, observation: float(observation == "left"))
el.play(Swing, shown, show=False)
"""

MISTAKES = [
    Mistake(
        group="command line",
        title="the page is started with a task that does not exist",
        files={},
        call=f"{PLAY} riverswin",
        answer=(
            f"task: 'riverswin'; known: {', '.join(sorted(TASKS))} (did you mean riverswim?); "
            "or name your own as module:attribute"
        ),
    ),
    Mistake(
        group="command line",
        title="the page is started with a schedule for an agent that takes none",
        files={},
        call=f"{PLAY} --agent q-learning --schedule smooth",
        answer="schedule: 'smooth'; the agent 'q-learning' takes no schedule; leave it out",
    ),
    Mistake(
        group="command line",
        title="the page is started with a parameter of the user's own function that is not a number",
        files={"mine.py": SHOP},
        call=f"{PLAY} mine:market --set task.stalls=many",
        answer="task.stalls: 'many'; give a whole number",
    ),
    Mistake(
        group="command line",
        title="the page is started with an agent that returns no action",
        files={"mine.py": AGENT},
        call=f"{PLAY} riverswim --agent mine:agent",
        answer="agent 'mine:agent': act returned 2 at step 2; return an index from 0 to 1",
    ),
    Mistake(
        group="command line",
        title="the page is started with an agent whose inspect fails",
        files={"mine.py": AGENT, "watch.py": WATCH},
        call="python watch.py",
        answer=(
            "agent 'agent': inspect raised AttributeError: 'Counts' object has no attribute 'q'; it has count "
            "(mine.py, line 25)"
        ),
    ),
    Mistake(
        group="command line",
        title="the page is started on an invalid port",
        files={},
        call="everlearn play --no-open --port 70000",
        answer="port: 70000; give a number from 0 to 65535",
    ),
    Mistake(
        group="command line",
        title="the page is started on an empty address, which would mean all addresses",
        files={"mine.py": "import everlearn as el\n\nel.play('riverswim', host='')\n"},
        call="python mine.py",
        answer="host: ''; give an address, such as 127.0.0.1",
    ),
    Mistake(
        group="command line",
        title="the page is to follow an experiment where there is none",
        files={},
        call=f"{PLAY} --experiment .",
        answer=".: there is no experiment here; make one with 'everlearn experiment run'",
    ),
    Mistake(
        group="command line",
        title="the page is to follow a durable agent where there is none",
        files={},
        call=f"{PLAY} --live nowhere",
        answer="nowhere: there is no durable agent here; make one with el.live(directory, task=...)",
    ),
    Mistake(
        group="command line",
        title="the page is to follow a directory, and is given a task as well",
        files={},
        call=f"{PLAY} riverswim --live here",
        answer="live: 'here'; follows a directory; leave out task",
    ),
    Mistake(
        group="rewards",
        title="the page is started with a task whose reward exceeds its range",
        files={"mine.py": SHOP},
        call=f"{PLAY} mine:shop",
        answer="reward of ('start', 'wait', 'busy'): 2.0; outside its range, 0.0 to 1.0; widen reward_range",
    ),
]
