"""``everlearn evaluate``: estimate what another policy or setup would earn, from the journal of a durable agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from everlearn.cli.live import AgentName, Directory
from everlearn.cli.options import AsJson, integer, number
from everlearn.cli.output import Cell, print_json, print_table, say
from everlearn.errors import InputError

if TYPE_CHECKING:
    from everlearn.analysis.evaluation import Evaluation

ASSUMED = "assumed: the aleatoric state predicts what follows (Markov); to test it, compare --setup aleatoric=window:2"


def evaluate(
    directory: Directory,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="POLICY", help="The policy, as in 0=slow,1=fast:0.5; or greedy, the greedy policy of the agent now."
        ),
    ] = None,
    setup: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SETUP", help="A setup to train and compare, as in schedule=smooth or a TOML file; may be repeated."
        ),
    ] = None,
    agent: AgentName = None,
    confidence: Annotated[float, number("--confidence", help="How often the interval covers the true average.")] = 0.95,
    first: Annotated[int | None, integer("--from", help="The first step to use.")] = None,
    last: Annotated[int | None, integer("--to", help="The last step to use.")] = None,
    reward: Annotated[
        str | None,
        typer.Option(metavar="MODULE:NAME", help="Another reward: a function of (state, action, observation)."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Estimate what another policy or setup would earn per step, from the journal of a durable agent.

    The agent may be in use.
    """
    from everlearn.analysis.evaluation import evaluate as evaluate_policy

    given: dict[str, Any] = {"agent": agent, "confidence": confidence, "first": first, "last": last, "reward": reward}
    if setup:
        if policy is not None:
            raise InputError("--policy", policy, "give either a policy or setups")
        _compare(directory, setup, given, as_json)
        return
    if policy is None:
        raise InputError("--policy", None, "give a policy, such as greedy, or a setup, as in --setup schedule=smooth")
    result = evaluate_policy(directory, policy, **given)
    if as_json:
        print_json(result.to_dict())
    else:
        _print(result)


def _compare(directory: str, setups: list[str], given: dict[str, Any], as_json: bool) -> None:
    """Compare setups with the present one, which comes first."""
    from everlearn.analysis.what_if import evaluate_setups, verdict
    from everlearn.durable.variation import AS_IT_IS, read_changes

    changes = {text: read_changes(text) for text in (AS_IT_IS, *setups)}
    results = evaluate_setups(directory, changes, **given)
    now, *others = results
    verdicts = [None, *(verdict(each, now) for each in others)]
    if as_json:
        rows = [{**each.to_dict(), "verdict": said} for each, said in zip(results, verdicts, strict=True)]
        print_json({"trained": now.trained, "steps": now.steps, "earned": now.earned, "setups": rows})
        return
    say(f"each setup learned from the first half of the steps, {now.trained:,} of them for the present one")
    say(f"judged by the second half, {now.steps:,} steps: the frozen policy, if the state is a Markov state")
    say(f"earned there: {now.earned:.6g} per step")
    table: list[list[Cell]] = [
        [each.policy, *_interval(each), said or "", _weighted(each)]
        for each, said in zip(results, verdicts, strict=True)
    ]
    print_table(["setup", "per step", "interval", "than present", "by propensities"], table, left=5)
    for each in results:
        _print_remarks(each)


def _interval(result: Evaluation) -> tuple[str, str]:
    if not result.supported:
        return "", "not supported"
    return f"{result.estimate:.6g}", f"{result.lower:.6g} to {result.upper:.6g}"


def _weighted(result: Evaluation) -> str:
    number = result.weighted
    return "" if number is None else f"{number['estimate']:.6g}, {number['lower']:.6g} to {number['upper']:.6g}"


def _print(result: Evaluation) -> None:
    say(f"earned: {result.earned:.6g} per step, over {result.steps:,} steps")
    if result.supported:
        interval = f"{result.lower:.6g} to {result.upper:.6g} with confidence {result.confidence:g}"
        say(f"policy {result.policy}: {result.estimate:.6g} per step, {interval}")
        say(ASSUMED)
    if result.weighted is not None:
        rests = (
            f"the last {result.weighted['history']} decisions, {result.weighted['effective_steps']:,} effective steps"
        )
        say(f"by logged propensities, without a Markov state: {_weighted(result)} ({rests})")
    _print_remarks(result)


def _print_remarks(result: Evaluation) -> None:
    for reason in result.reasons:
        say(f"policy {result.policy}: not supported, {reason}")
    for warning in result.warnings:
        typer.echo(f"everlearn: warning: {warning}", err=True)
