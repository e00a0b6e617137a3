"""The commands about regret: ``everlearn diagnose``, where it came from, and ``everlearn rates``, how fast it grows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import everlearn as el
from everlearn.cli import options
from everlearn.cli.options import integer, number
from everlearn.cli.output import print_json, print_table, say
from everlearn.errors import InputError

if TYPE_CHECKING:
    from everlearn.analysis.diagnosis import Diagnosis

MEANINGS = {
    "actions": "not the best of their state over that horizon: explored, or explored too little to know better",
    "distortion": "what no fixed action per aleatoric state could avoid",
    "horizon": "states worth less than average over the horizon of the agent",
    "averaging": "what the last state is worth less the first",
    "luck": "rewards and transitions against their means",
}


def diagnose(
    task: Annotated[str, options.TASK],
    agent: Annotated[str | None, options.AGENT] = None,
    schedule: Annotated[str | None, options.SCHEDULE] = None,
    settings: options.Settings = None,
    steps: Annotated[int, options.steps("The number of steps of each run; you may write 1e4.")] = 20_000,
    runs: Annotated[int, integer(help="The number of independent runs.", least=1)] = 4,
    seed: Annotated[int, integer(help="The seed; the same seed gives the same result.")] = 0,
    figure: Annotated[Path | None, typer.Option(help="Draw the parts to this file (PNG, SVG or PDF).")] = None,
    as_json: options.AsJson = False,
) -> None:
    """Split the regret of an agent exactly into its sources: actions, distortion, horizon, averaging and luck."""
    from everlearn.analysis.diagnosis import diagnose as analyse
    from everlearn.cli.progress import show_progress
    from everlearn.labels import counted

    parameters = options.parse_settings(settings)
    at: dict[str, Any] = {"schedule": schedule, "parameters": parameters, "steps": steps, "runs": runs, "seed": seed}
    with show_progress(f"{agent or 'the default agent'} on {task}", steps * runs) as bar:
        diagnosis = analyse(task, agent, **at, progress=bar.steps)
    if figure:
        from everlearn.figures.diagnosis import diagnosis_figure
        from everlearn.figures.saving import save_figure

        save_figure(diagnosis_figure(diagnosis), figure)
    if as_json:
        print_json(diagnosis.to_dict())
        return
    document = diagnosis.to_dict()
    say(
        (diagnosis.agent, "bold"),
        " on ",
        (diagnosis.task, "bold"),
        f": mean regret after {steps:,} steps, {counted(runs, 'run')}",
    )
    say(_horizon(diagnosis), wrap=True)
    errors = document["standard_error"]
    rows = [
        (name, f"{round(curve[-1], 2) + 0.0:,.2f}", f"{errors[name][-1]:,.2f}" if errors[name] else "-", MEANINGS[name])
        for name, curve in document["parts"].items()
    ]
    error = f"{errors['regret'][-1]:,.2f}" if errors["regret"] else "-"
    rows.append(("regret", f"{document['regret'][-1]:,.2f}", error, f"their sum, up to {diagnosis.residual:.0e}"))
    if diagnosis.hidden:
        say(f"relative to {diagnosis.optimum:.6g}, the optimum if the memory were seen")
    print_table(["part", "mean", "standard error", "what it is"], rows, text="what it is")
    if document["optimism"]:
        _print_optimism(document["optimism"])


def _horizon(diagnosis: Diagnosis) -> str:
    """Return sentences about the horizon to which the parts refer, and what can be earned with it."""
    first, last = float(diagnosis.horizons[0]), float(diagnosis.horizons[-1])
    if first == last == float("inf"):
        return "The agent has no horizon: actions are judged by their consequences for all time."
    text = f"{first:.4g}" if first == last else f"{first:.4g} at first and {last:.4g} at the end"
    judged = f"Actions are judged over the agent's own horizon, {text}."
    earned = f"earns {diagnosis.within:.4g} per step in the long run, of {diagnosis.optimum:.4g}"
    return f"{judged} The best policy over a horizon of {last:.4g} {earned}."


def _print_optimism(optimism: dict[str, Any]) -> None:
    """Print where values were furthest below what Lemma 11 allows, and chi and xi at the end."""
    beyond = [fell - allowed for fell, allowed in zip(optimism["shortfall"], optimism["allowed"], strict=True)]
    place = max(range(len(beyond)), key=beyond.__getitem__)
    text = f"No value was below the optimal one of its horizon at the {len(beyond)} steps that were looked at."
    if max(optimism["shortfall"]) > 0:
        text = f"Values were up to {optimism['shortfall'][place]:.4g} below the optimal ones of their horizon, at step"
        text += f" {optimism['times'][place]:,}, where Lemma 11 allows {optimism['allowed'][place]:.4g}."
    text += f" At step {optimism['times'][-1]:,} the mean of chi is {optimism['chi'][-1]:.4g}, and that of xi"
    text += f" {optimism['xi'][-1]:.4g}."
    say(text, wrap=True)


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
    fits = {name: rate(name, agent, **at) for name in tasks or ()}
    distorted = [name for name in fits if has_distortion(name, parameters)]
    worlds = 0
    if budget is not None:
        searched = list(steepest(agent, seconds=budget, **at))
        worlds = len(searched)
        world, worst = max(searched, key=lambda entry: entry[1].exponent)
        fits["garnet: " + ", ".join(f"{key}={value}" for key, value in world.items())] = worst
    if as_json:
        unknown = dict.fromkeys(("low", "high", "standard_error")) if runs == 1 else {}
        rows = {name: {**fitted._asdict(), **unknown} for name, fitted in fits.items()}
        print_json({"agent": agent, **at, "rates": rows, "distorted": distorted, "worlds": worlds})
        return
    table = [
        (name, f"{r.exponent:.3f}", f"{r.low:.3f} to {r.high:.3f}", f"{r.regret:,.0f}", f"{r.standard_error:,.0f}")
        if runs > 1
        else (name, f"{r.exponent:.3f}", "-", f"{r.regret:,.0f}", "-")
        for name, r in fits.items()
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
