"""The command ``everlearn theory``: exact quantities of a task."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

import everlearn as el
from everlearn.cli import options
from everlearn.cli.options import integer, number
from everlearn.cli.output import print_json, print_pairs, print_table, say
from everlearn.errors import InputError

LONGEST = 10**60
"""The most steps of a bound, which may say something only after many more than can be run."""

LONGEST_SHOWN = 60
"""The most characters of a policy in a table."""

LONGEST_POLICY = 1_000
"""The most characters of a policy that is printed."""


def theory(
    task: Annotated[str, options.TASK],
    policy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="POLICY", help="A policy over aleatoric states, as in 0=slow,1=fast:0.5; may be repeated."
        ),
    ] = None,
    horizon: Annotated[
        list[float] | None,
        number(help="A horizon at which to compute the distortion, and tau in the bounds of --steps; may be repeated."),
    ] = None,
    steps: Annotated[
        list[int] | None,
        integer(
            "--steps",
            help="A number of steps at which to evaluate the regret bounds; may be repeated.",
            least=1,
            most=LONGEST,
        ),
    ] = None,
    settings: options.Settings = None,
    frontier: Annotated[
        bool,
        typer.Option(
            "--frontier",
            help="Also print the frontier: the most that policies with averaging time at most tau can earn, for several"
            " tau.",
        ),
    ] = False,
    figure: Annotated[Path | None, typer.Option(help="Draw the frontier to this file (PNG, SVG or PDF).")] = None,
    only: Annotated[
        str | None, typer.Option(help="Compute only this part; the one choice is optimum. Useful for large tasks.")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Compute the optimal average reward, averaging times and regret bounds of a task with a model."""
    from rich.console import Console
    from rich.markup import escape

    from everlearn.agents.spec import split
    from everlearn.theory.summary import optimum_rows, summary_rows

    chosen = split(options.parse_settings(settings))
    _check(chosen, only, bool(policy or horizon or steps or frontier or figure))
    report, asked = el.Theory(task, chosen["task"]), (policy or [], horizon or [], steps or [])
    unbounded = report.task.network is not None and not any((*asked, frontier, figure))
    with Console(stderr=True).status(f"finding what can happen in {escape(task)}"):  # shown on a terminal only
        _ = report.optimum if unbounded else report.pairs
    if unbounded:
        _print_unbounded(report, as_json)
    elif as_json:
        extra = {"frontier": report.frontier_to_list()} if frontier or figure else {}
        print_json(report.optimum_to_dict() if only else {**report.to_dict(*asked), **extra})
    elif only:
        _print_rows(report, optimum_rows(report))
    else:
        _print_rows(report, summary_rows(report, *asked))
        _print_best_policy(report)
        if steps and report.bounds(steps[0]):
            _print_vacuity(report)
        if frontier or figure:
            _print_frontier(report)
    if figure:
        from everlearn.figures.frontier import frontier_figure
        from everlearn.figures.saving import save_figure

        save_figure(frontier_figure(report), figure)


def _check(chosen: dict[str, dict[str, Any]], only: str | None, more: bool) -> None:
    """Raise if parameters are not those of a task, or ``--only`` is not alone."""
    for kind in ("agent", "schedule"):
        if chosen[kind]:
            raise InputError("--set", f"{kind}.{next(iter(chosen[kind]))}", "theory takes parameters of the task alone")
    if only is not None and only != "optimum":
        raise InputError("--only", only, "give optimum, or leave it out")
    if only and more:
        remedy = "computes nothing else; leave out --policy, --horizon, --steps, --frontier and --figure"
        raise InputError("--only", only, remedy)


def _print_frontier(report: el.Theory) -> None:
    """Print the frontier, one row per policy that is the best within its averaging time."""
    say(f"The best policies within an averaging time, of {report.frontier.tried} that were tried:")
    rows = [
        (
            f"{row['averaging_time']:.6g}",
            f"{row['learner']['averaging_time']:.6g}",
            f"{row['lower']:.6g}",
            f"{row['upper']:.6g}",
            f"{row['distortion']:.6g}",
            row["policy"] if len(row["policy"]) <= LONGEST_SHOWN else "(see --json)",
        )
        for row in report.frontier_to_list()
    ]
    headers = ["tau", "tau, learner", "at least", "at most", "distortion", "policy"]
    print_table(headers, rows, text="policy")


def _print_unbounded(report: el.Theory, as_json: bool) -> None:
    """Print the bounds of a network of queues, of which nothing else is computed."""
    from everlearn.theory.summary import optimum_rows

    if as_json:
        print_json(report.optimum_to_dict())
        return
    say((report.task.name, "bold"), ": unbounded queues, so that only the optimum is computed", wrap=True)
    print_pairs(optimum_rows(report), right=True)


def _print_rows(report: el.Theory, rows: list[tuple[str, str]]) -> None:
    from everlearn.labels import counted

    pairs = report.pairs
    memories = f"{pairs.memories:,} {'memory' if pairs.memories == 1 else 'memories'}"
    say((report.task.name, "bold"), f": {memories}, {counted(pairs.size, 'pair')} with aleatoric states", wrap=True)
    print_pairs(rows, right=True)


def _print_best_policy(report: el.Theory) -> None:
    text = shlex.quote(report.best_policy)
    if len(text) <= LONGEST_POLICY:
        say(f"The best policy over aleatoric states:\n  --policy {text}")
    else:
        size = f"names {len(report.task.states):,} states"
        say(f"The best policy over aleatoric states {size}; --json has it under best_aleatoric.text.", wrap=True)


def _print_vacuity(report: el.Theory) -> None:
    """Print from which T on the theorem's bound is less than the range of rewards times T."""
    from everlearn.theory.ledger import MAIN, thresholds
    from everlearn.theory.places import place_of

    limits = thresholds(report)
    never = "at no T, because of the distortion"
    before = f"from T = {limits.printed:.3g} on" if limits.printed < float("inf") else never
    after = f"from T = {limits.repaired:.3g} on, repaired, with tau = {limits.horizon:.4g}"
    if limits.repaired == float("inf"):
        after = f"{never}, repaired" if limits.hopeless else "at no T with any tau that was tried, repaired"
    text = f"{place_of(MAIN)} says more than that regret is at most the range of rewards times T {before}, as printed"
    say(f"{text}, and {after}.", style="dim", wrap=True)
