"""The experiments of the reproduction, as specs."""

from __future__ import annotations

from typing import Any

SEED = 1
LONG_STEPS, LONG_RUNS = 2_000_000_000, 8

SMOOTH, THEOREM = "optimistic Q-learning, smooth schedule", "optimistic Q-learning, change points"
SLOW = "always slow"
BASELINES = {"static": "first baseline, static", "gradient": "second baseline, gradient", "curvature": "third baseline"}

_STATION = {"name": "service-station"}
_SMOOTH = {"name": "growing-horizon", "schedule": "smooth", "label": SMOOTH}
_THEOREM = {"name": "growing-horizon", "schedule": "change-points", "label": THEOREM}
_SLOW = {"name": "always", "parameters": {"policy": "slow"}, "label": SLOW}
_BASELINES = [{"name": name, "label": label} for name, label in BASELINES.items()]
_COINS = {"name": "everlearn.paper.claims.worlds:coins", "label": "two coins"}
_ALGORITHM_1 = {"name": "discounted", "parameters": {"horizon": 1.0}, "label": "Algorithm 1, horizon 1"}


def experiments(steps: int, runs: int, full: bool) -> dict[str, dict[str, Any]]:
    """Return the spec of each experiment by name; ``full`` adds a run of the theorem's schedule that is long enough."""

    def spec(name: str, tasks: list[Any], agents: list[Any], steps: int = steps, runs: int = runs) -> dict[str, Any]:
        return {"steps": steps, "runs": runs, "seed": SEED, "name": name, "task": tasks, "agent": agents}

    specs = {
        "station": spec("the service station", [_STATION], [_SMOOTH, _THEOREM, _SLOW, *_BASELINES]),
        "bound": spec("two coins", [_COINS], [_ALGORITHM_1]),
        "aggregation": spec(
            "the examples of Appendix D", [{"name": "aggregation"}, {"name": "alternating"}], [_SMOOTH, _THEOREM]
        ),
    }
    if full:
        longer = {**_THEOREM, "label": f"{THEOREM}, {LONG_RUNS} runs of 2e9 steps"}
        name = "the schedule of the theorem, for long enough"
        specs["long"] = spec(name, [_STATION], [longer], LONG_STEPS, LONG_RUNS)
    return specs
