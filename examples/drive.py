"""Drive an agent step by step on a real system, save it, and resume on another day.

As a script: python drive.py.  The agent is saved in the current directory.
"""

import sys
from pathlib import Path

import numpy as np

import everlearn as el


def worth(_s, action, observation):
    """Return 1 if the tank is neither dry nor full, minus 0.3 if the pump was on."""
    return (observation in ("low", "high")) - 0.3 * (action == "on")


tank = el.Task(  # no environment: the real system is the environment
    actions=("off", "on"),
    observations=("dry", "low", "high", "full"),
    aleatoric=el.last_observation(),
    reward=el.Reward(worth, low=-0.3, high=1),
    name="tank",
)


class System:
    """A stand-in for the real system: a tank, a pump, and a safety switch that overrides the agent."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.litres = 50.0

    def apply(self, asked: str) -> str:
        executed = "off" if self.litres > 90 else asked
        self.litres += (15.0 if executed == "on" else 0.0) - self.rng.uniform(0, 20)
        self.litres = min(max(self.litres, 0.0), 100.0)
        return executed

    def measure(self) -> str:
        return ("dry", "low", "high", "full")[(self.litres > 0) + (self.litres > 30) + (self.litres > 90)]


def work(agent: el.Agent, system: System, steps: int) -> float:
    total = 0.0
    for _ in range(steps):
        executed = system.apply(agent.act())
        total += agent.observe(system.measure(), executed=executed)
    return total / steps


def main(steps: float = 5000) -> None:
    path, system = Path("tank.npz"), System(seed=1)
    agent = el.Agent(tank, "growing-horizon", schedule="smooth", seed=1)
    for day in range(1, 5):
        if path.exists():
            agent = el.Agent(tank, "growing-horizon", schedule="smooth")  # as a new process would start
            agent.load(path)
        print(f"day {day}: {work(agent, system, int(steps)):.3f} per step, {agent.t} steps in total")
        agent.save(path)
    for s, row in zip(tank.states, agent.policy, strict=True):
        print(f"{s:>5}: " + ", ".join(f"{a} {p:.2f}" for a, p in zip(tank.actions, row, strict=True)))
    path.unlink()


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
