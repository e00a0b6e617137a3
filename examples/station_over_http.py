"""The service station as a separate process, controlled by an agent in the service.

As a script: python station_over_http.py [STEPS [URL]].  Without a URL it starts a service, on a free port
and in a temporary directory, and ends it afterwards; with one it uses the service that is there.  The learning curve of
the paper is the result, recorded where the station is, not where the agent is.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

import everlearn as el

SERVE = [sys.executable, "-c", "from everlearn.cli.main import main; main()", "serve", "--port", "0", "--data"]


@contextmanager
def own_service() -> Iterator[str]:
    """Start a service and yield its address, which is in its first log line."""
    with tempfile.TemporaryDirectory() as directory:
        service = subprocess.Popen([*SERVE, directory], stderr=subprocess.PIPE, text=True)  # noqa: S603 - our own command
        try:
            entry = json.loads(service.stderr.readline())
            yield f"http://127.0.0.1:{entry['port']}"
        finally:
            service.terminate()
            service.communicate()


def curve(url: str, steps: int, seed: int = 1) -> list[tuple[int, float]]:
    """Let station and agent meet; return the average reward so far at some times."""
    station = el.Agent("service-station").task
    world = station.start(np.random.default_rng(seed))
    times = {int(10 ** (k / 4)) for k in range(40)} | {steps}
    found, total, state = [], 0.0, station.aleatoric.start
    with el.Client(url, "station", deadline=30, fallback="slow") as agent:
        agent.create({"task": "service-station", "schedule": "smooth", "seed": seed})
        action = agent.act()
        for step in range(1, steps + 1):
            observation = world.step(action)
            total += station.reward(state, action, observation)
            state = station.aleatoric.update(state, action, observation)
            action = agent.step(observation)
            if step in times:
                found.append((step, total / step))
    return found


def main(steps: float = 20_000, url: str = "") -> None:
    if url:
        found = curve(url, int(float(steps)))
    else:
        with own_service() as address:
            found = curve(address, int(float(steps)))
    known = el.Agent("service-station").task.references
    print(f"always slow {known['always slow']:.4f} per step, optimum over all policies {known['optimum']:.4f}")
    for step, average in found:
        print(f"{step:>9,} steps  {average:7.4f}  " + "#" * round(100 * max(average, 0.0)))


if __name__ == "__main__":
    main(*sys.argv[1:])
