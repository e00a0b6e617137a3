"""A task whose probabilities are not known: a class with ``start`` and ``step``.

As a script:            python unknown_dynamics.py
From this directory:    everlearn run unknown_dynamics:Machine
"""

import sys

import everlearn as el


@el.task(actions=["run", "repair"], observations=["good", "rough", "broken"], reward_range=(-0.5, 1))
class Machine:
    """Run a machine that wears out, or stop it for repair before it breaks."""

    def start(self, rng):
        self.rng = rng
        self.wear = 0.0

    def step(self, action):
        self.wear = 0.0 if action == "repair" else self.wear + 0.5 * self.rng.random()
        return "good" if self.wear < 0.6 else "rough" if self.wear < 1 else "broken"


@Machine.reward
def output(_s, action, observation):
    return -0.5 if action == "repair" else float(observation != "broken")


def main(steps: float = 20_000) -> None:
    for agent in ("growing-horizon", "always"):  # `always` without a policy: any action, with equal probability
        final = el.run(Machine, agent, steps=steps, runs=3, seed=1).final
        print(f"{agent}: {final['mean']:.3f} ± {final['standard_error']:.3f} per step")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
