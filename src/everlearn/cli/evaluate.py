"""``everlearn evaluate``: estimate what another policy would earn, from the journal of a durable agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from everlearn.cli.live import AgentName, Directory
from everlearn.cli.options import AsJson, integer, number
from everlearn.cli.output import print_json, say

if TYPE_CHECKING:
    from everlearn.analysis.evaluation import Evaluation


def evaluate(
    directory: Directory,
    policy: Annotated[
        str, typer.Option(metavar="POLICY", help="The policy, as in 0=slow,1=fast:0.5; or greedy, as the agent is now.")
    ],
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
    """Estimate what another policy would earn per step, from the journal of a durable agent, even while it runs."""
    from everlearn.analysis.evaluation import evaluate as evaluate_policy

    found = evaluate_policy(
        directory, policy, agent=agent, confidence=confidence, first=first, last=last, reward=reward
    )
    if as_json:
        print_json(found.to_dict())
    else:
        _print(found)


def _print(found: Evaluation) -> None:
    say(f"earned: {found.earned:.6g} per step, over {found.steps:,} steps")
    if found.supported:
        interval = f"{found.lower:.6g} to {found.upper:.6g} with confidence {found.confidence:g}"
        say(f"policy {found.policy}: {found.estimate:.6g} per step, {interval}")
    for reason in found.reasons:
        say(f"policy {found.policy}: not supported, {reason}")
    for warning in found.warnings:
        typer.echo(f"everlearn: warning: {warning}", err=True)
