"""Systems that change: a station whose customers change at once, a machine that ages, and demand with seasons.

As a script:            python changing.py
From this directory:    everlearn run changing:station --agent planner
"""

from __future__ import annotations

import sys

import everlearn as el
from everlearn.tasks.changing import changing
from everlearn.tasks.inventory import inventory
from everlearn.tasks.maintenance import maintenance
from everlearn.tasks.service_station import service_station


def station(*, year: int = 4000) -> el.Task:
    """Serve customers who hate to wait in one half of the year, and do not mind in the other."""
    common = {"window": 2, "cap": 3, "slow_completion": 0.8, "raw": False}
    hasty = service_station(arrival_decay=3.0, **common)
    return changing(hasty, service_station(arrival_decay=0.01, **common), year=year)


def machine(*, year: int = 2000) -> el.Task:
    """Maintain a machine that wears out faster and faster, until it is overhauled slowly."""
    common = {"levels": 3, "limit": 6, "revenue": 2.0, "see": "age"}
    return changing(maintenance(wear=0.05, **common), maintenance(wear=0.5, **common), year=year, change="slow")


def demand(*, year: int = 1000) -> el.Task:
    """Order stock for a demand that is three times as high in one half of the year."""
    common = {"capacity": 8, "most_ordered": 6}
    return changing(inventory(mean_demand=4.0, **common), inventory(mean_demand=1.0, **common), year=year)


if __name__ == "__main__":
    steps = float(sys.argv[1]) if len(sys.argv) > 1 else 1e5
    for system in (station, machine, demand):
        for agent in ("growing-horizon", "planner"):
            result = el.run(system(), agent, steps=steps, runs=4, seed=1)
            print(f"{system.__name__:8} {agent:16} {result.average_reward[-1]:.3f} per step")
