"""A process whose agent shadows a controller, is promoted, and is killed; as :mod:`tests.durable.killed`."""

from __future__ import annotations

import random
import sys

import everlearn as el

SETUP = {
    "actions": ["slow", "fast"],
    "observations": ["idle", "busy"],
    "reward_range": (0, 1),
    "seed": 3,
    "snapshot_every": 25,
    "promotion": {"every": 20, "steps": 40, "error": 0.5, "demote": False},
}


def advance(agent: el.Live, steps: int, tell: bool = False) -> None:
    """Let a controller decide while the agent is its shadow, and then the agent; up to a step."""
    if agent.step == 0 and agent.mode == "learn":
        agent.shadow()
    while agent.step < steps:
        action, step = str(agent.act()), agent.step + 1
        if agent.mode == "shadow":
            action = random.Random(f"controller {step}").choice(["slow", "fast"])
        observation = random.Random(f"world {step} {action}").choice(["idle", "busy"])
        agent.observe(observation, executed=action, reward=0.75 if action == "fast" else 0.25)
        if tell:
            sys.stdout.write(f"{agent.step}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    with el.live(sys.argv[1], **SETUP) as agent:
        print("open", agent.step, flush=True)
        advance(agent, int(sys.argv[2]), tell=True)
