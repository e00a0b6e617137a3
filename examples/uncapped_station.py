"""A task too large to enumerate: the service station that stores the last twelve service times without a cap.

There are infinitely many memories.  Outcomes are computed when a run first visits a memory, and it still runs compiled.

As a script:            python uncapped_station.py
From this directory:    everlearn run uncapped_station:station
"""

import math
import sys

import everlearn as el

VACANT = -1


@el.task(
    actions=["fast", "slow"],
    observations=["arrival", "departure", "arrival+departure", "nothing"],
    reward_range=(-0.5, 1),
    memory=(VACANT, ()),
    raw=True,
)
def station(memory, action):
    clock, services = memory  # steps of service so far; the service times of the last twelve customers
    p = 0.1 + 0.9 * math.exp(-10 * (max(services, default=1) - 1))
    if clock == VACANT:
        yield "arrival", p, (0, services)
        yield "nothing", 1 - p, memory
        return
    done = 1.0 if action == "fast" else 0.5
    served = (*services, clock + 1)[-12:]
    yield "arrival+departure", done * p, (0, served)
    yield "departure", done * (1 - p), (VACANT, served)
    yield "nothing", 1 - done, (clock + 1, services)


@station.aleatoric(start=0, states=[0, 1])
def present(s, _action, observation):
    if observation in ("arrival", "arrival+departure"):
        return 1
    return 0 if observation == "departure" else s


@station.reward
def profit(s, action, observation):
    return (observation in ("arrival", "arrival+departure")) - 0.5 * (s == 1 and action == "fast")


def main(steps: float = 20_000) -> None:
    mine = el.run(station, steps=steps, runs=4, seed=1)
    capped = el.run("service-station", steps=steps, runs=4, seed=1)
    print(f"{mine.final['mean']:.4f} per step; with service times capped at 5: {capped.final['mean']:.4f}")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
