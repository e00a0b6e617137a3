"""The command ``everlearn theory``."""

from __future__ import annotations

from rich.table import Table

from everlearn.agents.agent import split
from everlearn.cli.output import console, print_json
from everlearn.cli.run import parse_settings
from everlearn.errors import InputError
from everlearn.theory.aleatoric import attained
from everlearn.theory.bounds import growing_horizon_regret, says_something_from
from everlearn.theory.report import Theory


def theory_and_print(
    task: str, settings: list[str], policies: list[str], horizons: list[float], steps: list[int], as_json: bool
) -> None:
    """Compute what was asked for, and print it."""
    chosen = split(parse_settings(settings))
    for kind in ("agent", "schedule"):
        if chosen[kind]:
            raise InputError("--set", f"{kind}.{next(iter(chosen[kind]))}", "theory takes parameters of the task alone")
    theory = Theory(task, chosen["task"])
    document = theory.to_dict(policies, horizons, steps)
    if as_json:
        print_json(document)
    else:
        print_report(theory, policies, horizons, steps)


def print_report(theory: Theory, policies: list[str], horizons: list[float], steps: list[int]) -> None:
    """Print a table that says in a sentence what each number means."""
    screen = console()
    pairs, best, found = theory.pairs, theory.best_aleatoric, theory.optimum
    screen.print(
        f"[bold]{theory.task.name}[/bold]: {pairs.memories:,} memories, {pairs.size:,} pairs with aleatoric states"
    )
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    table.add_column()
    table.add_row(f"{found.average_reward:.10g}", _optimum(found.lower, found.upper))
    table.add_row(f"{found.span:.6g}", "the span of an optimal bias: what the best start is worth beyond the worst")
    kind = _searched(theory)
    table.add_row(f"{best.average_reward:.10g}", f"the best average reward of a policy over aleatoric states; {kind}")
    table.add_row("", f"[dim]{_policy(theory.written(best.policy))}[/dim]")
    for text in policies:
        one = theory.policy(text)
        table.add_row(f"{one.average_reward:.10g}", f"the average reward of {text}, from the empty history")
        if one.depends_on_start:
            table.add_row("", one.depends_on_start)
        table.add_row(
            f"{one.averaging_time.value:.6g}", "its averaging time: over T steps it is off by at most that / T"
        )
    for tau in horizons:
        spread, sup = theory.distortion(tau), theory.distortion_sup(tau)
        table.add_row(
            f"{spread.value:.9g}", f"distortion at horizon {tau:g}: what the aleatoric state hides of optimal values"
        )
        proof = "certified" if sup.certified else "the best of a grid"
        table.add_row(f"{sup.value:.9g}", f"the greatest distortion at longer horizons, {proof}")
    for number in steps:
        for label, bound in theory.bounds(number).items():
            table.add_row(f"{bound.value:.4g}", f"{label}, after {number:,} steps")
    screen.print(table)
    if steps:
        _print_vacuity(theory)


LISTED = 24
"""Up to how many aleatoric states a policy is written out."""


def _searched(theory: Theory) -> str:
    if theory.best_aleatoric.randomised:
        return "a randomised policy, the best that a search found"
    if not theory.best_deterministic.exact:
        return "the best that a search found"
    lossless = attained(theory.best_aleatoric.average_reward, theory.optimum)
    return "nothing is lost" if lossless else "every deterministic policy was tried"


def _policy(written: dict[str, dict[str, float]]) -> str:
    if len(written) <= LISTED:
        return str(written)
    return f"{dict(list(written.items())[:LISTED])} and {len(written) - LISTED:,} more states; --json lists them"


def _optimum(lower: float, upper: float) -> str:
    return f"the optimal average reward over all policies, certified between {lower:.12g} and {upper:.12g}"


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
