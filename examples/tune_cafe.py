"""Your own task, and an agent that is tuned for it: a café that depends on its regular customers.

As a script:            python tune_cafe.py
On the command line:    everlearn tune tune_cafe.toml --out cafe
"""

import sys

import everlearn as el

SEATS = 6
EVERYBODY = [(regulars, came) for regulars in range(SEATS + 1) for came in (0, 1)]


@el.task(
    actions=["cheap", "dear"],
    observations=EVERYBODY,
    reward_range=(0, 1),
    memory=0,
)
def cafe(regulars, action):
    """Charge little and win regulars, or charge much and lose them: a full café earns more, much later."""
    visit = 0.1 + 0.8 * regulars / SEATS
    yield (regulars, 0), 1 - visit, regulars
    after = min(regulars + 1, SEATS) if action == "cheap" else max(regulars - 1, 0)
    if after == regulars:
        yield (regulars, 1), visit, regulars
    else:
        yield (regulars, 1), 0.7 * visit, regulars
        yield (after, 1), 0.3 * visit, after


@cafe.reward
def takings(_s, action, observation):
    _, came = observation
    return came * (0.3 if action == "cheap" else 1.0)


def main(steps: float = 20_000) -> None:
    tuned = el.tune(
        {
            "steps": steps,
            "runs": 4,
            "candidates": 12,
            "final_runs": 20,
            "seed": 1,
            "task": cafe,
            "agent": {"name": "growing-horizon", "schedule": "smooth"},
            "search": {
                "schedule.horizon_scale": {"low": 1, "high": 20, "scale": "log"},
                "schedule.optimism_scale": {"low": 0.01, "high": 1, "scale": "log"},
            },
        }
    )
    for row in tuned.table():
        print(f"{row['candidate']:14} {row['score']:.3f}  {row['settings']}")
    print(f"lost less than the default by {tuned.improvement.mean:.3f} of the optimum")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
