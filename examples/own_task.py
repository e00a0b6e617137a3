"""Your own task: a shop that depends on word of mouth.

As a script:            python own_task.py
From this directory:    everlearn run own_task:shop
"""

import sys

import everlearn as el


@el.task(
    actions=["wait", "advertise"],
    observations=["idle", "busy"],
    reward_range=(-0.5, 1),
    memory="idle",
    references={"optimum": 13 / 28},  # advertise when idle, wait when busy
)
def shop(memory, action):
    """Advertise at a cost, or wait: a busy shop brings customers by itself."""
    p = 0.9 if action == "advertise" else 0.5 if memory == "busy" else 0.1
    yield "busy", p, "busy"
    yield "idle", 1 - p, "idle"


@shop.reward
def profit(_s, action, observation):
    return (observation == "busy") - 0.5 * (action == "advertise")


def main(steps: float = 20_000) -> None:
    result = el.run(shop, "growing-horizon", schedule="smooth", steps=steps, runs=5, seed=1)
    print(f"learns from {result.scaling}")
    for t, average, error in zip(result.times, result.average_reward, result.standard_error, strict=True):
        if t in (10, 100, 1000, 10_000, result.steps):
            print(f"after {t:6} steps: {average:.3f} ± {error:.3f} per step")
    print(f"the optimum:        {result.references['optimum']:.3f}")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
