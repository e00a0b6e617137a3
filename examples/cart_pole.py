"""CartPole of Gymnasium as one endless stream: keep the pole up, and after a fall put it up again.

CartPole pays 1 at every step, whatever happens.  On an endless stream that is nothing to learn from, so a fall costs
what a step pays.  What is observed are four numbers; each is cut into bins, which lose a little of what it takes to
balance.  There is no model: it runs in the reference engine.

As a script:            python cart_pole.py

Needs Gymnasium: pip install 'everlearn[gymnasium]'
"""

import sys

import everlearn as el

HORIZON = {"schedule.horizon": 20, "schedule.optimism": 0.3}


def main(steps: float = 50_000) -> None:
    pole = el.from_gymnasium(
        "CartPole-v1",
        termination_reward=-1,
        bins=[3, 3, 6, 6],  # of position, velocity, angle, angular velocity
        low=[-2.4, -3, -0.21, -2],
        high=[2.4, 3, 0.21, 2],
    )
    for agent, schedule in (("always", None), ("growing-horizon", "fixed")):
        chosen = {} if schedule is None else HORIZON
        result = el.run(pole, agent, schedule=schedule, parameters=chosen, steps=steps, seed=1)
        print(f"{agent}: {average_time_up(result):.0f} steps between two falls in the second half")


def average_time_up(result: el.Result) -> float:
    """A step pays 1, and 0 with a fall: the falls are what is missing."""
    half = result.times.searchsorted(result.steps // 2)
    falls = result.times - result.total_reward[0]
    return float((result.steps - result.times[half]) / max(falls[-1] - falls[half], 1))


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
