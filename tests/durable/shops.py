"""A user's own module with a task, an agent and a schedule, as text, so that tests can edit it as a user does."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from pathlib import Path
from types import ModuleType

SHOP = """
from typing import NamedTuple
import numpy as np
import everlearn as el

RATE = 0.5

class Known(NamedTuple):
    values: np.ndarray
    bonus: float

def build(indexed):
    return Known(np.zeros((indexed.states, indexed.actions)), 0.1)

def act(knowledge, aleatoric_state, now, stream):
    if el.uniform(stream) < 0.25:
        return el.choose(stream, 2)
    return 0 if knowledge.values[aleatoric_state, 0] >= knowledge.values[aleatoric_state, 1] else 1

def learn(knowledge, experience, now, stream):
    # towards the reward
    old = knowledge.values[experience.aleatoric_state, experience.action]
    knowledge.values[experience.aleatoric_state, experience.action] = old + RATE * (experience.reward - old)

agent = el.Design(build, act, learn, name="mine")

@el.task(actions=["wait", "sell"], observations=["idle", "busy"], reward_range=(-1, 1), memory=0)
def shop(memory, action):
    p = 0.75 if action == "sell" else 0.5
    yield "busy", p, 1
    yield "idle", 1 - p, 0

@shop.reward
def profit(s, action, observation):
    return 1.0 * ((observation == "busy") - 0.5 * (action == "sell"))

@shop.aleatoric("quiet", ["quiet", "loud"])
def heard(s, action, observation):
    return "loud" if observation == "busy" else "quiet"

def patience(t):
    return 2.0 + t

schedule = el.Schedule(patience, lambda t: 0.5, lambda t: 1.0, lambda t: 1.0)
"""

_numbers = itertools.count()


def module(folder: Path, *edits: tuple[str, str]) -> ModuleType:
    """Return the module with some of its text replaced."""
    text = SHOP
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    name = f"shop_{next(_numbers)}"
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    spec.loader.exec_module(made)
    return made
