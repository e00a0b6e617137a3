"""A process that controls the station and is killed: it says which steps were acknowledged, and nothing else.

``python killed.py DIR STEPS``: open the agent in DIR, go on up to a step, and print the number of each step once
``observe`` has returned.
"""

from __future__ import annotations

import sys

import everlearn as el
from tests.durable.worlds import seen

if __name__ == "__main__":
    with el.live(sys.argv[1], task="service-station", seed=3, snapshot_every=25) as agent:
        print("open", agent.step, flush=True)
        while agent.step < int(sys.argv[2]):
            action = agent.act()
            agent.observe(seen(agent.step + 1, str(action)))
            sys.stdout.write(f"{agent.step}\n")
            sys.stdout.flush()
