"""The command ``everlearn reproduce``: reproduce the paper."""

from __future__ import annotations

from typing import Annotated

import typer

from everlearn.cli import options
from everlearn.cli.options import integer
from everlearn.cli.output import print_json, say, say_paths
from everlearn.files import expanded


def reproduce(
    out: Annotated[str, typer.Option(help="The directory for figures, tables and report.")] = "reproduction",
    runs: Annotated[int, integer(help="The number of independent runs of each agent.", least=1)] = 200,
    steps: Annotated[int, options.steps("The number of steps of each run.")] = 1_000_000,
    full: Annotated[
        bool,
        typer.Option("--full", help="Also run the theorem's schedule for 2e9 steps, which it needs to improve."),
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Reproduce the paper: every figure, the tables behind them, and a report."""
    from everlearn.cli.progress import interruptible, show_progress
    from everlearn.paper.reproduce import reproduce as reproduce_paper

    with interruptible(out):
        made = reproduce_paper(expanded(out), steps=steps, runs=runs, full=full, watching=show_progress)
    if as_json:
        print_json(
            {
                "figures": [str(path) for path in made.figures],
                "tables": [str(path) for path in made.tables],
                "report": str(made.report),
                "seen": {plate.name: plate.sentence for plate in made.plates},
                "summary": made.experiments["station"].table(["final"]),
            }
        )
        return
    for plate in made.plates:
        say((plate.title, "bold"), f": {plate.sentence}\n", wrap=True)
    say_paths("figure", made.figures)
    say_paths("report", [made.report])
