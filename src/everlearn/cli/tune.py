"""The command ``everlearn tune``: search for parameters, and compare the result with the default."""

from __future__ import annotations

from typing import Annotated

import typer

import everlearn as el
from everlearn.cli import options
from everlearn.cli.output import Cell, estimate, print_json, print_table, say


def tune(
    spec: Annotated[str, typer.Argument(metavar="SPEC", help="A TOML file that describes the search.")],
    out: options.Out,
    threads: options.Threads = None,
    cluster: options.Cluster = None,
    as_json: options.AsJson = False,
) -> None:
    """Search for good parameters of an agent. If it is interrupted, run the same command again to resume."""
    from everlearn.cli.progress import interruptible, show_progress

    with interruptible(out), show_progress("search") as bar:
        tuned = el.tune(spec, out=out, threads=threads, cluster=cluster, watcher=bar)
    if as_json:
        print_json(tuned.to_dict())
        return
    _print_candidates(tuned)
    say(_verdict(tuned))
    say(f"the agent: {tuned.path.resolve() / 'tuned.toml'}")
    say(f"everything tried: {tuned.path.resolve() / 'tried.parquet'}, tried.png")


def _print_candidates(tuned: el.Tuned) -> None:

    from everlearn.analysis.names import described
    from everlearn.labels import counted

    spec, rows = tuned.spec.experiment, tuned.table()
    tried = len({standing.candidate.number for standing in tuned.standings})
    say(f"{spec.name}: {tried:,} candidates, {counted(tuned.rungs, 'rung')}, {spec.steps:,} steps", style="bold")
    losses: list[list[Cell]] = []
    for number, row in enumerate(rows):
        label = f"{row['candidate']}{'' if number else ', chosen'}"
        settings = described(row["settings"], row["settings"]).replace(", ", "\n")
        interval = (None if row[end] is None else f"{row[end]:.3g}" for end in ("low", "high"))
        losses.append([[f"{label}\n", (settings, "dim")], estimate(f"{row['score']:.4g}", *interval)])
    measure = f"{tuned.spec.objective} loss" if tuned.several else "loss"
    print_table(["candidate", measure], losses)
    if tuned.several:
        tasks = [[task, *(f"{row['tasks'][task]:.4g}" for row in rows)] for task in rows[0]["tasks"]]
        print_table(["task", *(row["candidate"] for row in rows)], tasks)
    runs = f"{rows[0]['runs']:,} fresh runs, which were not used to choose"
    say(f"Means over {runs}; below each its 95% interval.", style="dim")


def _verdict(tuned: el.Tuned) -> str:
    """Return a sentence that says what tuning gained."""
    mean, low, high = tuned.improvement
    if tuned.best.number == 1:
        return "nothing that was tried did better than the default"
    if low is None or high is None:
        return f"the chosen one lost {mean:.4g} less than the default, in a single unit, which shows nothing"
    interval = f"95% interval {low:.3g} to {high:.3g}"
    if low > 0:
        return f"the chosen one lost {mean:.4g} less than the default ({interval})"
    unsure = "that the chosen one is better than the default is not shown"
    if mean < 0:
        return f"{unsure}: it lost {-mean:.4g} more (95% interval {-high:.3g} to {-low:.3g})"
    return f"{unsure}: it lost {mean:.4g} less ({interval})"
