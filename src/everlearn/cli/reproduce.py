"""The command ``everlearn reproduce``."""

from __future__ import annotations

from pathlib import Path

from everlearn.agents.agent import whole
from everlearn.cli.output import console, print_json
from everlearn.cli.watching import interruptible, watching
from everlearn.paper.reproduce import reproduce


def reproduce_and_print(out: str, runs: str, steps: str, as_json: bool) -> None:
    """Reproduce the experiment, with a progress bar on a terminal, and say where the figure is."""
    length, number = whole(steps, "--steps", least=1), whole(runs, "--runs", least=1)
    with interruptible(out), watching("the service station") as watcher:
        results, figures = reproduce(Path(out), steps=length, runs=number, watcher=watcher)
    if as_json:
        curves = {label: result.to_dict() for label, result in results.items()}
        print_json({"curves": curves, "figures": [str(figure) for figure in figures]})
        return
    screen = console()
    for label, result in results.items():
        final = result.final
        screen.print(f"{label}: {final['mean']:.4f} ± {final['standard_error']:.4f} a step")
    for figure in figures:
        screen.print(f"figure: {figure.resolve()}", soft_wrap=True)
