"""The command ``everlearn leaderboard``: compare agents on its tasks, and print how much each lost."""

from __future__ import annotations

from typing import Annotated

import typer

from everlearn.cli import options
from everlearn.cli.options import integer
from everlearn.cli.output import print_json, print_table, say, say_paths


def leaderboard(
    agent: Annotated[
        list[str] | None,
        typer.Option(
            metavar="AGENT",
            help="An agent of the leaderboard, or your own as module:attribute; may be repeated.",
            autocompletion=options.agent_names,
        ),
    ] = None,
    task: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TASK", help="A task of the leaderboard; may be repeated.", autocompletion=options.task_names
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(metavar="DIR", help=f"{options.OUT_HELP} Default: board, or board-fresh with --fresh."),
    ] = None,
    runs: Annotated[
        int | None, integer(help="The number of independent runs of each agent. Default: 10.", least=1)
    ] = None,
    steps: Annotated[int | None, options.steps("The number of steps of each run. Default: 1e6.")] = None,
    afresh: Annotated[
        bool, typer.Option("--afresh", help="Run the agents of the leaderboard again; do not use the shipped results.")
    ] = False,
    fresh: Annotated[
        bool,
        typer.Option("--fresh", help="Run on tasks on which nothing was chosen, instead of the board's."),
    ] = False,
    threads: options.Threads = None,
    cluster: options.Cluster = None,
    as_json: options.AsJson = False,
) -> None:
    """Compare your agent with those of the leaderboard, whose results are shipped. Run it again to resume."""
    from everlearn.agents.registry import make_design
    from everlearn.api import workforce
    from everlearn.cli.progress import interruptible, show_progress
    from everlearn.leaderboard import tables
    from everlearn.leaderboard.board import make_board
    from everlearn.leaderboard.lineup import STEPS, lineup
    from everlearn.results.references import OPTIMUM

    for name in [name for name in agent or [] if ":" in name]:
        make_design(name, duration=steps or STEPS)  # raises at once, before anything is run
    out = out or ("board-fresh" if fresh else "board")
    chosen = lineup(agent or [], task or [], runs=runs, steps=steps, afresh=afresh, fresh=fresh)
    with interruptible(out), show_progress(chosen.spec.name) as bar:
        board = make_board(chosen, out, workforce=workforce(threads, cluster), watcher=bar)
        written = board.write()
    if as_json:
        print_json({**board.to_dict(), "files": [str(path) for path in written]})
        return
    say(tables.size(board))
    grids = [*tables.agents_tables(board), tables.tasks_table(board)]
    for grid in [*grids, tables.duels_table(board)] if board.duels else grids:
        # A terminal has no room for these columns.
        kept = [number for number, column in enumerate(grid.columns) if column not in (OPTIMUM, "worst run")]
        say(grid.title, style="bold")
        columns, *rows = ([row[number] for number in kept] for row in (grid.columns, *grid.rows))
        print_table(columns, rows, first={"no_wrap": True})
    note = f"Regret is a share of the {OPTIMUM}; agents are compared in pairs of runs with the same random numbers."
    say(note, style="dim")
    if tables.some_are_partial(board):
        say("An agent that was run on fewer tasks stands as if it beat nobody on the others.", style="dim")
    say_paths("written", written)
