"""``everlearn shadow``: how an agent in shadow mode compares with the controller in charge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from everlearn.cli.live import AgentName
from everlearn.cli.options import AsJson, integer, number
from everlearn.cli.output import Cell, print_json, print_table, say
from everlearn.cli.remote import Deadline, Place, TokenFile, connected, is_address

if TYPE_CHECKING:
    from everlearn.analysis.shadow import ShadowReport

LISTED = 20
"""How many states are printed."""


def shadow(
    place: Place,
    agent: AgentName = None,
    confidence: Annotated[float, number("--confidence", help="How often the interval covers the true gain.")] = 0.95,
    first: Annotated[int | None, integer("--from", help="The first step to use.")] = None,
    last: Annotated[int | None, integer("--to", help="The last step to use.")] = None,
    token_file: TokenFile = None,
    deadline: Deadline = 120.0,
    as_json: AsJson = False,
) -> None:
    """Compare an agent in shadow mode with the controller in charge: agreement and gain. The agent may be in use."""
    from everlearn.analysis.shadow import ShadowReport, shadow_report

    if is_address(place, token_file):
        with connected(place, agent, token_file, deadline) as operator:
            report = ShadowReport(**operator.report(confidence=confidence, first=first, last=last))
    else:
        report = shadow_report(place, agent=agent, confidence=confidence, first=first, last=last)
    if as_json:
        print_json(report.to_dict())
    else:
        _print(report)


def _print(report: ShadowReport) -> None:
    from everlearn.labels import counted, show

    agreement = report.agreement
    say(f"agent {report.agent}: {report.mode}, compared in steps {report.first:,} to {report.last:,}")
    if agreement["overall"] is None:
        say("agreement: unknown, since no proposals were asked for")
    else:
        recent = f"{agreement['recent']:.1%} in the last {agreement['recent_steps']:,} steps"
        say(f"agreement: {agreement['overall']:.1%}, {recent}")
    _print_gain(report.gain)
    judged = f"steps {report.gain['first']:,} to {report.gain['last']:,}"
    for row in report.missing:
        state, action, needed = show(row["state"]), show(row["action"]), row["needed"]
        if row["steps"] is None:
            known = f"the gain is known after it did so {needed} times"
            say(f"in state {state} the controller never did {action} in {judged}; {known}")
        else:
            more = f"{needed} more executions of {action} would help, in about {row['steps']:,} more steps like these"
            say(f"in state {state} the controller hardly ever did what the agent would do in {judged}; {more}")
    print_rule(report.promotion)
    rows: list[list[Cell]] = []
    for row in report.states[:LISTED]:
        agreed = "" if row["agreement"] is None else f"{row['agreement']:.1%}"
        rows.append([show(row["state"]), show(row["action"]), str(row["visits"]), str(row["executed"]), agreed])
    step = f"{report.gain['policy_step']:,}"
    period = f"in steps {report.first:,} to {report.last:,}"
    say(f"did it: how often the controller did what the policy of the agent at step {step} would do, {period}")
    say("agreed: how often it did what the agent proposed at the time, which changes as the agent learns")
    headings = ["state", f"policy at step {step}", "visits", "did it", "agreed"]
    print_table(headings, rows, left=2)
    if len(report.states) > LISTED:
        say(f"and {counted(len(report.states) - LISTED, 'more state')}; --json has all of them")
    for warning in report.warnings:
        typer.echo(f"everlearn: warning: {warning}", err=True)


def _print_gain(gain: dict[str, Any]) -> None:
    judged = f"in steps {gain['first']:,} to {gain['last']:,}, which judge the policy"
    say(f"controller: {gain['controller']:.6g} per step {judged}")
    if gain["supported"]:
        interval = f"{gain['lower']:.6g} to {gain['upper']:.6g} with confidence {gain['confidence']:g}"
        say(f"policy of the agent at step {gain['policy_step']:,}: gain {gain['estimate']:.6g} per step, {interval}")
    for reason in gain["reasons"]:
        say(f"gain: the data cannot tell, {reason}")
    if gain["more_steps"] is not None:
        say(f"about {gain['more_steps']:,} more steps could show whether there is a gain")


def print_rule(promotion: dict[str, Any] | None) -> None:
    """Print the promotion rule of an agent and what it knows, if there is one."""
    from everlearn.analysis.promotion import disobeyed

    if promotion is None or promotion["rule"] is None:
        return
    rule, last = promotion["rule"], promotion["last_look"]
    held = f"for {rule['steps']:,} steps and {rule['hours']:g} hours"
    say(f"rule: gain above {rule['gain']:g} {held}, a look every {rule['every']:,} steps, error {rule['error']:g}")
    waits = promotion["next_look"] is None
    armed = "disarmed" if not promotion["armed"] else "waits for shadow mode" if waits else "armed"
    armed = "in control" if promotion["in_control"] else armed
    say(f"promotion to {rule['to']}: {armed}, candidate {promotion['candidates']}, look {promotion['looks']}")
    if (demoted := promotion["demoted"]) is not None:
        why = f": {demoted['reason']}" if demoted["reason"] != demoted["by"] else ""
        say(f"demoted by {demoted['by']} at step {demoted['step']:,}{why}")
        say("the rule is disarmed until it is set again")
    elif last is not None and last["supported"] and promotion["in_control"]:
        interval = (
            f"{last['gain']:.6g} more per step than the controller did ({last['lower']:.6g} to {last['upper']:.6g})"
        )
        say(f"last look, at step {last['last']:,}: it earns {interval}")
        say("it is demoted if the upper end is below 0")
        if (warning := disobeyed(last)) is not None:
            typer.echo(f"everlearn: warning: {warning}", err=True)
    elif last is not None and last["supported"]:
        say(f"last look, at step {last['last']:,}: lower bound {last['lower']:.6g}, to exceed {rule['gain']:.6g}")
    elif last is not None:
        say(f"last look, at step {last['last']:,}: the data could not tell, {last['reasons'][0]}")
