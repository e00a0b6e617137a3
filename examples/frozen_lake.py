"""FrozenLake of Gymnasium as one endless stream: cross the ice, again and again.

As a script:            python frozen_lake.py
The same from a shell:  everlearn run gymnasium:FrozenLake-v1 --schedule fixed --set schedule.horizon=20

Needs Gymnasium: pip install 'everlearn[gymnasium]'
"""

import sys

import everlearn as el

HORIZON = {"schedule.horizon": 20, "schedule.optimism": 0.3}  # far enough to see the goal, and not too curious


def main(steps: float = 1_000_000) -> None:
    lake = el.from_gymnasium("FrozenLake-v1")  # slippery, and an episode is cut off after 100 steps
    optimum = el.Theory(lake).optimal_average_reward  # exact: the environment shows its transition table
    learned = el.run(lake, "growing-horizon", schedule="fixed", parameters=HORIZON, steps=steps, runs=4, seed=1)
    at_random = el.run(lake, "always", steps=steps, runs=4, seed=1)
    print(f"crossings in a thousand steps, {learned.engine} engine:")
    print(f"  at random  {1000 * at_random.final['mean']:6.2f}")
    print(f"  learned    {1000 * learned.final['mean']:6.2f}")
    print(f"  at best    {1000 * optimum:6.2f}")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
