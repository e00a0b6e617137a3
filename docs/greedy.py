"""Evaluate exactly what agents with traces have learned on ``access-control``: ``python -m docs.greedy``.

The average of the greedy policy that an agent has at the end, frozen, is computed exactly and printed relative to the
optimum, for each seed.  With ``actor-critic``, the program prints the share of the optimum that this agent's policy
loses on ``queueing-network`` after 10^7 steps, with and without its randomness.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import everlearn as el
from everlearn.agents.tabular import greedy_policy

SEEDS = (1, 2, 3, 4, 5, 6)

CASES: tuple[tuple[str, float, dict[str, Any]], ...] = (
    ("differential-sarsa", 5e5, {}),
    ("differential-sarsa", 5e5, {"agent.initial_average": 1}),
    ("differential-sarsa", 5e5, {"agent.initial_average": 1, "agent.epsilon": 0.1}),
    ("differential-sarsa", 2e6, {"agent.initial_average": 1, "agent.step_size": 0.003}),
    ("q-lambda", 5e5, {}),
    ("q-lambda", 2e6, {"agent.step_size": 0.003}),
)


def relative(theory: el.Theory, name: str, steps: float, parameters: dict[str, Any], seed: int) -> float:
    """Return the exact average of the frozen greedy policy, divided by the optimum."""
    values: list[Any] = []
    el.run(
        theory.task,
        name,
        parameters=parameters,
        steps=steps,
        seed=seed,
        finished=lambda agent: values.append(agent.inspect()["Q"]),
    )
    return theory.average_reward(greedy_policy(values[0])) / theory.optimal_average_reward


def losses(theory: el.Theory, seed: int) -> tuple[float, float]:
    """Return what the policy of ``actor-critic`` loses, and what its most probable actions lose."""
    policies: list[Any] = []
    el.run(theory.task, "actor-critic", steps=1e7, seed=seed, finished=lambda agent: policies.append(agent.policy))
    definite = np.eye(policies[0].shape[1])[policies[0].argmax(axis=1)]
    random, best = (1 - theory.average_reward(each) / theory.optimal_average_reward for each in (policies[0], definite))
    return random, best


def search() -> None:
    """Print one line per seed."""
    theory = el.Theory("queueing-network")
    for seed in (1, 2, 3):
        print("seed {}: {:.3f}, without randomness {:.3f}".format(seed, *losses(theory, seed)), flush=True)  # noqa: T201


def main() -> None:
    """Print one line per agent."""
    theory = el.Theory("access-control")
    for name, steps, parameters in CASES:
        found = " ".join(f"{relative(theory, name, steps, parameters, seed):.4f}" for seed in SEEDS)
        print(f"{name} {parameters}, {steps:.0e} steps: {found}", flush=True)  # noqa: T201


if __name__ == "__main__":
    search() if "actor-critic" in sys.argv else main()
