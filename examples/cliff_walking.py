"""CliffWalking of Gymnasium as one endless stream, with a reward for arriving.

Every step costs 1, so on an endless stream there is no reason to arrive: standing at a wall costs 1 per step
too.  ``termination_reward`` gives a reason.  The shortest path has 13 steps, so the optimum is 100 / 13 - 1.

As a script:            python cliff_walking.py

Needs Gymnasium: pip install 'everlearn[gymnasium]'
"""

import sys

import everlearn as el

HORIZON = {"schedule.horizon": 20, "schedule.optimism": 0.3}


def main(steps: float = 1_000_000) -> None:
    for slippery in (False, True):
        cliff = el.from_gymnasium("CliffWalking-v1", options={"is_slippery": slippery}, termination_reward=100)
        learned = el.run(cliff, "growing-horizon", schedule="fixed", parameters=HORIZON, steps=steps, runs=4, seed=1)
        at_random = el.run(cliff, "always", steps=steps, runs=4, seed=1)
        print(f"reward per step, {'slippery' if slippery else 'firm'} ground:")
        print(f"  at random  {at_random.final['mean']:7.3f}")
        print(f"  learned    {learned.final['mean']:7.3f}")
        print(f"  at best    {el.Theory(cliff).optimal_average_reward:7.3f}")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
