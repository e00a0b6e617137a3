"""The command ``everlearn reproduce``."""

from __future__ import annotations

from pathlib import Path

from everlearn.cli.output import console, print_json
from everlearn.cli.watching import interruptible, watching
from everlearn.paper.reproduce import reproduce


def reproduce_and_print(out: str, runs: int, steps: int, full: bool, as_json: bool) -> None:
    """Reproduce the paper, with progress on a terminal, and say what is to be seen and where it is."""
    with interruptible(out):
        made = reproduce(Path(out), steps=steps, runs=runs, full=full, watching=watching)
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
    screen = console()
    for plate in made.plates:
        screen.print(f"[bold]{plate.title}[/bold]: {plate.sentence}\n")
    for path in made.figures:
        screen.print(f"figure: {path.resolve()}", soft_wrap=True, markup=False)
    screen.print(f"report: {made.report.resolve()}", soft_wrap=True, markup=False)
