"""What is run for the reproduction: experiments like any other, as data."""

from __future__ import annotations

from typing import Any

SEED = 1

SMOOTH, THEOREM = "optimistic Q-learning, smooth schedule", "optimistic Q-learning, change points"
SLOW = "always slow"
BASELINES = {"static": "first baseline, static", "gradient": "second baseline, gradient", "curvature": "third baseline"}

_AGENTS = [
    {"name": "growing-horizon", "schedule": "smooth", "label": SMOOTH},
    {"name": "growing-horizon", "schedule": "change-points", "label": THEOREM},
]

LONG_STEPS, LONG_RUNS = 2_000_000_000, 8


def experiments(steps: int, runs: int, full: bool) -> dict[str, dict[str, Any]]:
    """Return the spec of each experiment by its name; ``full`` follows the theorem's schedule for long enough.

    Examples
    --------
    >>> list(experiments(10**6, 200, full=False))
    ['station', 'bound', 'aggregation']

    """
    size = {"steps": steps, "runs": runs, "seed": SEED}
    found: dict[str, dict[str, Any]] = {
        "station": {
            **size,
            "name": "the service station",
            "task": [{"name": "service-station"}],
            "agent": [
                *_AGENTS,
                {"name": "always", "parameters": {"policy": "slow"}, "label": SLOW},
                *({"name": name, "label": label} for name, label in BASELINES.items()),
            ],
        },
        "bound": {
            **size,
            "name": "two coins",
            "task": [{"name": "everlearn.paper.claims.bounds:coins", "label": "two coins"}],
            "agent": [{"name": "discounted", "parameters": {"horizon": 1.0}, "label": "Algorithm 1, horizon 1"}],
        },
        "aggregation": {
            **size,
            "name": "the examples of Appendix D",
            "task": [{"name": "aggregation"}, {"name": "alternating"}],
            "agent": list(_AGENTS),
        },
    }
    if full:
        found["long"] = {
            "name": "the schedule of the theorem, for long enough",
            "steps": LONG_STEPS,
            "runs": LONG_RUNS,
            "seed": SEED,
            "task": [{"name": "service-station"}],
            "agent": [{**_AGENTS[1], "label": f"{THEOREM}, {LONG_RUNS} runs of 2e9 steps"}],
        }
    return found
