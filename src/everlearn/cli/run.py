"""The command ``everlearn run``: run an agent on a task, and print its reward."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

import everlearn as el
from everlearn.cli import options
from everlearn.cli.endings import INTERRUPTED
from everlearn.cli.options import integer
from everlearn.cli.output import Cell, print_json, print_table, say, say_paths
from everlearn.errors import InputError
from everlearn.files import expanded

MEASURED = 10**7
"""So many steps say how fast the compiled engine is; fewer take less time than compiling an agent does."""


LONG = 0.5
"""For how many seconds one may wait for other things than the simulation without being told."""


def run(
    task: Annotated[str, options.TASK],
    agent: Annotated[str | None, options.AGENT] = None,
    schedule: Annotated[str | None, options.SCHEDULE] = None,
    settings: options.Settings = None,
    steps: Annotated[int, options.steps("The number of steps of each run; you may write 1e6.")] = 100_000,
    runs: Annotated[int, integer(help="The number of independent runs.", least=1)] = 1,
    seed: Annotated[int, integer(help="The seed; the same seed gives the same result.")] = 0,
    engine: Annotated[
        str, typer.Option(help="auto, compiled or reference.", autocompletion=options.engine_names)
    ] = "auto",
    threads: options.Threads = None,
    max_pairs: Annotated[
        int, integer(help="Maximum number of pairs (memory, aleatoric state) stored by the compiled engine.", least=1)
    ] = 1_000_000,
    plot: Annotated[
        str | None, typer.Option(metavar="FILE", help="Draw the result to a .png, .svg or .pdf file.")
    ] = None,
    out: Annotated[str | None, typer.Option(metavar="DIR", help="Save the result and its tables in a folder.")] = None,
    show_state: Annotated[
        bool,
        typer.Option(
            "--show-state",
            help="Print what the agent of the first run has learned to remember; only for agents that learn this, such"
            " as learned.",
        ),
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Run an agent on a task, and print how much reward it earned."""
    from everlearn.cli.progress import show_progress
    from everlearn.figures.curves import picture
    from everlearn.figures.saving import save_figure
    from everlearn.results.saving import keep, make_folder_for

    parameters = options.parse_settings(settings)
    if plot is not None:
        _check_plot(plot, out)
    folder = None if out is None else make_folder_for(out, "--out")
    learned: list[str | None] = []
    began = time.perf_counter()
    with show_progress(f"{agent or 'the default agent'} on {task}", steps * runs) as bar:
        try:
            result = el.run(
                task,
                agent,
                schedule=schedule,
                steps=steps,
                runs=runs,
                seed=seed,
                engine=engine,
                threads=threads,
                max_pairs=max_pairs,
                parameters=parameters,
                progress=bar.steps,
                finished=(lambda known: learned.append(known.explain())) if show_state else None,
            )
        except KeyboardInterrupt:
            typer.echo(f"everlearn: interrupted after {bar.done:,} of {steps * runs:,} steps", err=True)
            raise typer.Exit(INTERRUPTED) from None
    if as_json:
        print_json({**result.to_dict(), **({"state": learned[0]} if learned else {})})
    else:
        _print_result(result, time.perf_counter() - began, lambda: _has_model(task, parameters))
        for text in learned:
            typer.echo(text or f"the agent {result.agent} learns no state of its own; its state is that of the task")
    written = [] if plot is None else [save_figure(picture(result), plot)]
    if folder is not None:
        written += keep(result, folder)
    if not as_json:
        say_paths("written", written)


def _check_plot(plot: str, out: str | None) -> None:
    """Raise if the figure could not be written after the run."""
    from everlearn.figures.saving import figure_kind

    figure_kind(plot, "--plot")
    folder = expanded(plot).parent
    if expanded(plot).is_dir():
        raise InputError("--plot", plot, "is a folder; give a file")
    if not folder.is_dir() and (out is None or folder != expanded(out)):
        raise InputError("--plot", plot, f"there is no folder {str(folder)!r}; make it first")


def _has_model(task: str, parameters: Mapping[str, Any]) -> bool:
    from everlearn.agents.spec import read_specs

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it was warned when the task was made for the run
        return read_specs(task, parameters=parameters)[0].make().model is not None


def _print_result(result: el.Result, seconds: float, has_model: Callable[[], bool]) -> None:
    """Print a result, which took so many seconds in all; ``has_model`` is asked if the optimum is not known."""
    from everlearn.labels import counted
    from everlearn.results.references import AT_MOST, OPTIMUM
    from everlearn.theory.known import MOST_OUTCOMES, MOST_PAIRS

    schedule = f", schedule {result.schedule}" if result.schedule else ""
    say((result.agent if result.schedule else result.label, "bold"), schedule, " on ", (result.task, "bold"), wrap=True)
    size = f"{counted(result.runs, 'run')} of {counted(result.steps, 'step')}"
    say(f"{size}, seed {result.seed}\nlearns from {result.scaling}", wrap=True)
    final = result.final
    error = f"{final['standard_error']:.4f}" if result.runs > 1 else "-"
    mean, worst, best = (f"{final[name]:.4f}" for name in ("mean", "min", "max"))
    rows: list[list[Cell]] = [[f"over {counted(result.steps, 'step')}", mean, error, worst, best]]
    for name, value in result.references.items():
        rows.append([(name, "dim"), (f"{value:.4f}", "dim"), "", "", ""])
    columns = ["average reward", "mean", "standard error", "worst run", "best run"]
    print_table(columns, rows)
    if OPTIMUM not in result.references and AT_MOST not in result.references:
        limits = f"{MOST_PAIRS:,} pairs of memory and state and {MOST_OUTCOMES:,} outcomes"
        reason = f"by default it is computed for models of at most {limits}; see everlearn theory"
        if result.engine != "compiled" and not has_model():
            reason = "the task has no model"
        say(f"The {OPTIMUM} is not known: {reason}.", style="dim", wrap=True)
    rate = f", {result.steps_per_second:,.0f} steps per second"
    if result.engine == "compiled" and result.runs * result.steps < MEASURED:
        rate = ""
    speed = f"{result.seconds:.2f} s of simulation{rate}, {result.engine} engine"
    expanded = "" if result.pairs is None else f", {counted(result.pairs, 'pair')} of memory and state expanded"
    waited = f"; {seconds:.1f} s in all, with preparation such as compilation and the optimum"
    say(speed + expanded + (waited if seconds >= result.seconds + LONG else ""), style="dim", wrap=True)
