"""The command ``everlearn theory``."""

from __future__ import annotations

import shlex

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from everlearn.agents.spec import split
from everlearn.cli.output import console, print_json
from everlearn.cli.run import parse_settings
from everlearn.errors import InputError
from everlearn.labels import counted
from everlearn.theory.bounds import growing_horizon_regret, says_something_from
from everlearn.theory.report import Theory
from everlearn.theory.summary import optimum_rows, summary_rows


def theory_and_print(
    task: str,
    settings: list[str],
    policies: list[str],
    horizons: list[float],
    steps: list[int],
    only: str | None,
    as_json: bool,
) -> None:
    """Compute what was asked for, and print it."""
    chosen = split(parse_settings(settings))
    for kind in ("agent", "schedule"):
        if chosen[kind]:
            raise InputError("--set", f"{kind}.{next(iter(chosen[kind]))}", "theory takes parameters of the task alone")
    _check_only(only, [*policies, *horizons, *steps])
    theory = Theory(task, chosen["task"])
    with Console(stderr=True).status(f"finding what can happen in {escape(task)}"):  # where that is a terminal
        _ = theory.pairs
    if as_json:
        print_json(theory.optimum_to_dict() if only else theory.to_dict(policies, horizons, steps))
    elif only:
        _print_rows(theory, optimum_rows(theory))
    else:
        print_report(theory, policies, horizons, steps)


def _check_only(only: str | None, others: list[object]) -> None:
    if only is not None and only != "optimum":
        raise InputError("--only", only, "give optimum, or leave it out")
    if only and others:
        raise InputError("--only", only, "computes nothing else; leave out --policy, --horizon and --steps")


def print_report(theory: Theory, policies: list[str], horizons: list[float], steps: list[int]) -> None:
    """Print a table that says in a sentence what each number means, and the best policy."""
    _print_rows(theory, summary_rows(theory, policies, horizons, steps))
    screen, text = console(), shlex.quote(theory.best_policy)
    if len(text) > LISTED:
        whole_text = "--json has all of it, under best_aleatoric.text"
        screen.print(f"The best policy over aleatoric states names {len(theory.task.states):,} states; {whole_text}.")
    else:
        screen.print("The best policy over aleatoric states:")
        screen.print(f"  --policy {text}", soft_wrap=True, markup=False)
    if steps:
        _print_vacuity(theory)


LISTED = 1_000
"""Up to how many letters a policy is written out."""


def _print_rows(theory: Theory, rows: list[tuple[str, str]]) -> None:
    screen, pairs = console(), theory.pairs
    memories = f"{pairs.memories:,} {'memory' if pairs.memories == 1 else 'memories'}"
    size = f"{memories}, {counted(pairs.size, 'pair')} with aleatoric states"
    screen.print(f"[bold]{escape(theory.task.name)}[/bold]: {size}")
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    table.add_column()
    for number, meaning in rows:
        table.add_row(number, escape(meaning))
    screen.print(table)


def _print_vacuity(theory: Theory) -> None:
    width = theory.task.reward.high - theory.task.reward.low
    tau = theory.averaging_time(theory.best_aleatoric.policy).value
    delta = theory.distortion_sup(tau / width).value
    size = len(theory.task.states) * len(theory.task.actions)
    first = says_something_from(
        lambda steps: growing_horizon_regret(steps, pairs=size, averaging_time=tau, distortion_sup=delta, width=width),
        width,
    )
    when = f"from about T = {first:.2g} on" if first < float("inf") else "at no T, because of the distortion"
    console().print(
        f"[dim]theorem:main says more than that regret is at most the range of rewards times T {when}.[/dim]"
    )
