"""``everlearn replay``: train another setup on the journal of a durable agent, and write it to a new directory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from everlearn.cli.live import AgentName
from everlearn.cli.options import AsJson, integer
from everlearn.cli.output import print_json, print_table, say

if TYPE_CHECKING:
    from everlearn.analysis.replay import Replay

SHOWN = 20
"""How many rows of the policy are printed; ``--json`` has all."""


def replay(
    source: Annotated[
        str, typer.Argument(metavar="DIR", help="A directory of durable agents, or a log: CSV, or JSON lines (.jsonl).")
    ],
    agent: AgentName = None,
    setup: Annotated[
        str,
        typer.Option(
            metavar="SETUP",
            help="What differs, as in schedule=smooth,aleatoric=window:2, or a TOML file; 'present' changes nothing.",
        ),
    ] = "present",
    out: Annotated[str | None, typer.Option(metavar="NEWDIR", help="A new directory for the trained agent.")] = None,
    first: Annotated[int | None, integer("--from", help="The first step to use.")] = None,
    last: Annotated[int | None, integer("--to", help="The last step to use.")] = None,
    as_json: AsJson = False,
) -> None:
    """Train another setup on the journal of a durable agent or on a log, and let it resume from there."""
    from everlearn.analysis.replay import replay as replay_past
    from everlearn.durable.variation import read_changes

    found = replay_past(source, out, name=agent, first=first, last=last, **read_changes(setup))
    if as_json:
        print_json(found.to_dict())
    else:
        _print(found)


def _print_policy(actions: list[dict[str, Any]]) -> None:
    from everlearn.labels import counted, show

    rows = [[show(row["state"]), show(row["action"])] for row in actions]
    print_table(["state", "what it would do now"], [[*row] for row in rows[:SHOWN]], left=2)
    if len(rows) > SHOWN:
        say(f"and {counted(len(rows) - SHOWN, 'more state')}; --json has all")


def _print(found: Replay) -> None:
    from everlearn.labels import show

    say(f"learned from {found.learned:,} of {found.rows:,} rows; rewards {found.rewards}")
    for number, what in ((found.unrewarded, "have no reward"), (found.forbidden, "have an action that is not allowed")):
        if number:
            say(f"left out: {number:,} rows {what}")
    if found.states_changed:
        say(f"the aleatoric state is another one in {found.states_changed:,} rows")
    if found.policy["actions"] is None:
        say(found.policy["explanation"])
    else:
        _print_policy(found.policy["actions"])
    if found.pairs_unseen and found.policy["actions"] is not None:
        named = ", ".join(f"{show(action)} in {show(state)}" for state, action in found.unseen)
        more = ", ..." if found.pairs_unseen > len(found.unseen) else ""
        say(f"never tried, in states that occurred: {named}{more} ({found.pairs_unseen:,} in all)")
    if found.out is not None:
        say(f"to resume: everlearn.live({found.out!r})")
