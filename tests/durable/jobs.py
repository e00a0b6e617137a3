"""Two small worlds with exact optima: jobs that take different times, and a queue with a budget of power."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import everlearn as el
from everlearn.durable.core import Core
from everlearn.durable.setup import make_setup

LENGTHS = {"short": (1.0, 1.0), "long": (8.0, 12.0)}
"""The two durations, equally likely, of each kind of job."""

WORTH = {"short": 2.0, "long": 5.0}
SEARCH = 0.5
"""How long it takes to skip a job."""

SHOP: dict[str, Any] = {
    "actions": ["take", "skip"],
    "observations": ["short", "long"],
    "start": "short",
    "reward_range": (0, 5),
}
TIMED = {**SHOP, "durations": (0.5, 12)}


@el.task(actions=["take", "skip"], observations=["short", "long"], memory="short", reward_range=(0, 5))
def shop(memory, action):
    """Offer short and long jobs, equally often."""
    yield "short", 0.5, "short"
    yield "long", 0.5, "long"


@shop.aleatoric("short")
def offer(_s, _action, observation):
    """Keep the present offer."""
    return observation


@shop.reward
def wage(s, action, _observation):
    """Pay what a job is worth."""
    return WORTH[s] if action == "take" else 0.0


def expected_duration(s, action, _observation) -> float:
    """Return the mean duration of a decision."""
    return sum(LENGTHS[s]) / 2 if action == "take" else SEARCH


def job(rng: random.Random, offered: str, action: str) -> dict[str, Any]:
    """Return what a decision brings: the next offer, the reward and the duration."""
    duration = rng.choice(LENGTHS[offered]) if action == "take" else SEARCH
    reward = WORTH[offered] if action == "take" else 0.0
    return {"observation": rng.choice(("short", "long")), "reward": reward, "duration": duration}


LONGEST = 4
ARRIVAL, SERVICE, POWER = 0.3, {"slow": 0.35, "fast": 0.85}, {"slow": 0.1, "fast": 1.0}

SERVER: dict[str, Any] = {
    "actions": ["slow", "fast"],
    "observations": list(range(LONGEST + 1)),
    "start": 0,
    "reward_range": (0, 1),
    "cost_range": (0, 1),
    "limit": 0.3,
}


@el.task(actions=["slow", "fast"], observations=range(LONGEST + 1), memory=0)
def server(memory, action):
    """Serve a queue, slowly or fast."""
    for arrived, chance in ((1, ARRIVAL), (0, 1 - ARRIVAL)):
        for served, other in ((1, SERVICE[action]), (0, 1 - SERVICE[action])):
            length = min(LONGEST, max(0, memory + arrived - served * (memory > 0)))
            yield length, chance * other, length


@server.aleatoric(0)
def length(_s, _action, observation):
    """Keep the length of the queue."""
    return observation


@server.reward
def comfort(_s, _action, observation):
    """Return 1 for an empty queue, 0 for the longest."""
    return 1 - observation / LONGEST


def power(_s, action, _observation) -> float:
    """Return what a step costs."""
    return POWER[action]


def serve(rng: random.Random, queue: int, action: str) -> dict[str, Any]:
    """Return what a decision brings: the next length of the queue, the reward and the cost."""
    arrived, served = rng.random() < ARRIVAL, rng.random() < SERVICE[action]
    after = min(LONGEST, max(0, queue + arrived - served * (queue > 0)))
    return {"observation": after, "reward": 1 - after / LONGEST, "cost": POWER[action]}


World = Callable[[random.Random, Any, Any], dict[str, Any]]


def lived(setup: dict[str, Any], world: World, steps: int, seed: int, late: int = 0) -> tuple[Core, dict[str, float]]:
    """Let an agent live in a world; return it, and the sums of what its last ``late`` steps brought."""
    core, rng = Core(make_setup(**setup, seed=seed)), random.Random(seed)
    sums = dict.fromkeys(("reward", "duration", "cost"), 0.0)
    for step in range(steps):
        outcome = world(rng, core.agent.aleatoric_state, core.act())
        if step >= steps - late:
            sums = {name: total + outcome.get(name, 0.0) for name, total in sums.items()}
        given = {name: value for name, value in outcome.items() if name != "duration" or "durations" in setup}
        core.apply(core.prepare(**given))
    return core, sums
