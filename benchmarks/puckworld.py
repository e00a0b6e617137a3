"""When does an agent learn ``puckworld``?  ``python -m benchmarks.puckworld AGENT SEED STEPS [PARAMETER=VALUE ...]``.

It prints the average reward in each tenth of a run.  The agent ``rule`` is a controller written by hand: it pushes in
the direction in which the puck, if it coasted from now on, would stop farthest from the goal.
"""

from __future__ import annotations

import sys

import numpy as np

from everlearn.agents.registry import make_design
from everlearn.engine.plan import Plan
from everlearn.engine.reference import ReferenceBatch
from everlearn.environments.puckworld import FRICTION, LEVELS, SIDE, SPEED
from everlearn.tasks.registry import make_task


def follow_rule(seed: int, steps: int) -> list[float]:
    """Return the average reward of the rule in each tenth of a run."""
    task = make_task("puckworld")
    world, rewards = task.environment(), []
    world.start(np.random.default_rng(seed))
    action = "up"
    for _ in range(steps):
        x, y, across, down, goal_x, goal_y = seen = world.step(action)
        rewards.append(task.reward.function(None, action, seen))
        coasting = 2 * SPEED / LEVELS / FRICTION / (SIDE / LEVELS)  # levels of place per level of speed
        right, below = goal_x - x - (across - 128) * coasting, goal_y - y - (down - 128) * coasting
        action = ("right" if right > 0 else "left") if abs(right) > abs(below) else ("down" if below > 0 else "up")
    return [float(np.mean(tenth)) for tenth in np.array_split(rewards, 10)]


def learn(agent: str, seed: int, steps: int, parameters: dict[str, str]) -> list[float]:
    """Return the average reward of an agent in each tenth of a run."""
    design = make_design(agent, parameters)
    plan = Plan(design.view(make_task("puckworld")), design, steps=steps, runs=1, seed=seed)
    loop, sums = ReferenceBatch(plan, [0]).loops[0], [0.0]
    for tenth in range(1, 11):
        loop.advance(steps * tenth // 10)
        sums.append(loop.total_reward)
    return (np.diff(sums) / (steps // 10)).tolist()  # type: ignore[no-any-return]


def main() -> None:
    """Print the ten averages."""
    agent, seed, steps, *rest = sys.argv[1:]
    length = int(float(steps))
    parameters = dict(setting.split("=") for setting in rest)
    averages = follow_rule(int(seed), length) if agent == "rule" else learn(agent, int(seed), length, parameters)
    print(*sys.argv[1:], *[f"{average:.2f}" for average in averages])


if __name__ == "__main__":
    main()
