"""Evaluate exactly what agents with traces have learned on ``access-control``: ``python -m docs.greedy``.

The average of the greedy policy that an agent has at the end, frozen, is computed exactly and printed relative to the
optimum, for each seed.
"""

from __future__ import annotations

from typing import Any

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


def main() -> None:
    """Print one line per agent."""
    theory = el.Theory("access-control")
    for name, steps, parameters in CASES:
        found = " ".join(f"{relative(theory, name, steps, parameters, seed):.4f}" for seed in SEEDS)
        print(f"{name} {parameters}, {steps:.0e} steps: {found}", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
