"""The command ``everlearn diagnose``: where the regret of a run came from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from everlearn.cli import options
from everlearn.cli.options import integer
from everlearn.cli.output import print_json, print_table, say

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
        found = analyse(task, agent, **at, progress=bar.steps)
    if figure:
        from everlearn.figures.diagnosis import diagnosis_figure
        from everlearn.figures.saving import save_figure

        save_figure(diagnosis_figure(found), figure)
    if as_json:
        print_json(found.to_dict())
        return
    document = found.to_dict()
    say(
        (found.agent, "bold"),
        " on ",
        (found.task, "bold"),
        f": mean regret after {steps:,} steps, {counted(runs, 'run')}",
    )
    say(_horizon(found), wrap=True)
    errors = document["standard_error"]
    rows = [
        (name, f"{round(curve[-1], 2) + 0.0:,.2f}", f"{errors[name][-1]:,.2f}" if errors[name] else "-", MEANINGS[name])
        for name, curve in document["parts"].items()
    ]
    error = f"{errors['regret'][-1]:,.2f}" if errors["regret"] else "-"
    rows.append(("regret", f"{document['regret'][-1]:,.2f}", error, f"their sum, up to {found.residual:.0e}"))
    if found.hidden:
        say(f"relative to {found.optimum:.6g}, the optimum if the memory were seen")
    print_table(["part", "mean", "standard error", "what it is"], rows, text="what it is")
    if document["optimism"]:
        _print_optimism(document["optimism"])


def _horizon(found: Diagnosis) -> str:
    """Return sentences about the horizon to which the parts refer, and what can be earned with it."""
    first, last = float(found.horizons[0]), float(found.horizons[-1])
    if first == last == float("inf"):
        return "The agent has no horizon: actions are judged by their consequences for all time."
    text = f"{first:.4g}" if first == last else f"{first:.4g} at first and {last:.4g} at the end"
    judged = f"Actions are judged over the agent's own horizon, {text}."
    earned = f"earns {found.within:.4g} per step in the long run, of {found.optimum:.4g}"
    return f"{judged} The best policy over a horizon of {last:.4g} {earned}."


def _print_optimism(found: dict[str, Any]) -> None:
    """Print where values were furthest below what Lemma 11 allows, and chi and xi at the end."""
    beyond = [shortfall - allowed for shortfall, allowed in zip(found["shortfall"], found["allowed"], strict=True)]
    place = max(range(len(beyond)), key=beyond.__getitem__)
    text = f"No value was below the optimal one of its horizon at the {len(beyond)} steps that were looked at."
    if max(found["shortfall"]) > 0:
        text = f"Values were up to {found['shortfall'][place]:.4g} below the optimal ones of their horizon, at step"
        text += f" {found['times'][place]:,}, where Lemma 11 allows {found['allowed'][place]:.4g}."
    text += f" At step {found['times'][-1]:,} the mean of chi is {found['chi'][-1]:.4g}, and that of xi"
    text += f" {found['xi'][-1]:.4g}."
    say(text, wrap=True)
