"""A family of tasks: Markov decision processes drawn at random, one for each instance.

As a script:            python random_worlds.py
As an experiment:       everlearn experiment run family.toml --out family
"""

import sys

import numpy as np

import everlearn as el


def random_world(*, instance: int = 0, states: int = 5, actions: int = 3) -> el.Task:
    """A random Markov decision process: sparse rows, and a reward for one action in one state out of two."""
    random = np.random.default_rng([instance, states, actions])
    P = np.zeros((actions, states, states))
    for row in P.reshape(-1, states):
        reached = random.choice(states, size=min(3, states), replace=False)
        row[reached] = random.dirichlet(np.ones(reached.size))
    R = random.random((states, actions)) * (random.random((states, actions)) < 0.5)
    return el.mdp(P, R, reward_range=(0, 1), name=f"random world {instance}")


if __name__ == "__main__":
    steps = float(sys.argv[1]) if len(sys.argv) > 1 else 1e4
    family = {"name": random_world, "family": {"instance": 5}}
    experiment = el.experiment(family, ["growing-horizon", "always"], steps=steps, runs=2)
    print(experiment.table(["final", "relative regret"]))
    for comparison in experiment.compare("relative regret"):
        print(comparison.sentence)
