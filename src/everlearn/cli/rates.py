"""The command ``everlearn rates``: at which rate regret grows."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import everlearn as el
from everlearn.cli import options
from everlearn.cli.options import integer, number
from everlearn.cli.output import print_json, print_table, say
from everlearn.errors import InputError


def rates(
    tasks: Annotated[list[str] | None, typer.Argument(metavar="TASK", help="A task; may be repeated.")] = None,
    agent: Annotated[str, options.AGENT] = "growing-horizon",
    schedule: Annotated[str | None, options.SCHEDULE] = None,
    settings: options.Settings = None,
    steps: Annotated[int, options.steps("The number of steps of each run; you may write 1e9.")] = 1_000_000,
    runs: Annotated[int, integer(help="The number of independent runs.", least=1)] = 8,
    seed: Annotated[int, integer(help="The seed; the same seed gives the same result.")] = 0,
    since: Annotated[
        int | None,
        integer(
            help="The step from which the exponent is fitted; by default 1,000, or a hundredth of the steps if less."
        ),
    ] = None,
    budget: Annotated[
        float | None, number(help="Seconds for which random tasks are searched for the largest exponent.")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Fit the exponent at which regret grows with time, on tasks that you name or on random ones without distortion."""
    from everlearn.paper.rates import has_distortion, rate, steepest

    parameters = options.parse_settings(settings)
    _check(parameters, steps, since, budget)
    at: dict[str, Any] = {"schedule": schedule, "steps": steps, "runs": runs, "seed": seed, "since": since}
    at["parameters"] = parameters
    found = {name: rate(name, agent, **at) for name in tasks or ()}
    distorted = [name for name in found if has_distortion(name, parameters)]
    worlds = 0
    if budget is not None:
        searched = list(steepest(agent, seconds=budget, **at))
        worlds = len(searched)
        world, worst = max(searched, key=lambda entry: entry[1].exponent)
        found["garnet: " + ", ".join(f"{key}={value}" for key, value in world.items())] = worst
    if as_json:
        unknown = dict.fromkeys(("low", "high", "standard_error")) if runs == 1 else {}
        rows = {name: {**fitted._asdict(), **unknown} for name, fitted in found.items()}
        print_json({"agent": agent, **at, "rates": rows, "distorted": distorted, "worlds": worlds})
        return
    table = [
        (name, f"{r.exponent:.3f}", f"{r.low:.3f} to {r.high:.3f}", f"{r.regret:,.0f}", f"{r.standard_error:,.0f}")
        if runs > 1
        else (name, f"{r.exponent:.3f}", "-", f"{r.regret:,.0f}", "-")
        for name, r in found.items()
    ]
    if table:
        print_table(["task", "exponent", "95% interval", "regret", "standard error"], table)
    if distorted:
        text = "There is distortion, so that regret may grow as T, and Theorem 4 has no exponent below 1: "
        say(text + ", ".join(distorted), style="dim", wrap=True)
    if worlds:
        say(f"The last is the largest of {worlds} random tasks. Theorem 4 has 0.8 for large T.", style="dim")
    elif not table:
        raise el.EverlearnError("TASK: is missing; name a task, or give --budget")


def _check(parameters: dict[str, str], steps: int, since: int | None, budget: float | None) -> None:
    """Raise if the exponent is fitted from too late a step on, or random tasks are to have parameters."""
    most = steps // 10
    if since is not None and most >= 1 and not 0 < since <= most:
        raise InputError("--since", since, f"give at least 1, and at most a tenth of the steps, {most}")
    of_tasks = [key for key in parameters if key.startswith("task.")]
    if budget is not None and of_tasks:
        raise InputError("--set", of_tasks[0], "the random tasks of --budget take no parameters; leave it out")
