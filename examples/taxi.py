"""Taxi of Gymnasium as one endless stream: one passenger after the other.

An episode is cut off after 200 steps, unless one says otherwise.  Without that the memory is the state alone, the task
has a model of 401 memories, runs compiled, and its optimum is known.

As a script:            python taxi.py

Needs Gymnasium: pip install 'everlearn[gymnasium]'
"""

import sys

import everlearn as el

HORIZON = {"schedule.horizon": 20, "schedule.optimism": 0.3}


def main(steps: float = 10_000_000) -> None:
    taxi = el.from_gymnasium("Taxi-v4", time_limit=None)
    optimum = el.Theory(taxi).optimal_average_reward
    learned = el.run(taxi, "growing-horizon", schedule="fixed", parameters=HORIZON, steps=steps, seed=1)
    at_random = el.run(taxi, "always", steps=steps, seed=1)
    print(f"reward per step: at random {at_random.final['mean']:.3f}, at best {optimum:.4f}, and learned so far")
    for t, average in zip(learned.times, learned.average_reward, strict=True):
        if t in (10**3, 10**4, 10**5, 10**6, learned.steps):
            print(f"  after {t:10,} steps {average:7.3f}")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
