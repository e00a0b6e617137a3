"""The page that follows a durable agent: its recent average, drift alarm, policy, and the end of its journal."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from everlearn.durable.audit import tell
from everlearn.durable.following import Follower, Seen
from everlearn.files import expanded
from everlearn.page.chart import Curve, draw, write
from everlearn.page.following import Query, read_width
from everlearn.tasks.portrait import Portrait, words

SOON = 2
"""A step counts as just taken for so many seconds: the page looks about once per second."""

LISTED = 60
"""How many states of the policy to list: all, or those around the present one."""


class LiveView:
    """A durable agent, which another process may be running; it is only read."""

    places: tuple[str, ...] = ("controls", "numbers", "charts", "policy", "journal")

    def __init__(self, path: str | Path) -> None:
        self._path, self._follower = expanded(path), Follower(path)
        self.title = self._path.resolve().name

    def look(self, query: Query) -> dict[str, str]:
        """Return the parts as of now."""
        standings = self._follower.standings()
        if not standings:
            return {"story": f"{escape(str(self._path))}: there is no agent yet."}
        [wanted, *_] = query.get("agent") or [""]
        name = wanted if wanted in standings else next(iter(standings))
        seen = self._follower.look(name)
        document = seen.document
        return {
            "story": _story(self._path, name, seen),
            "alert": escape(document["quarantined"] or ""),
            "controls": _controls(standings, name),
            "numbers": _numbers(document, seen.task.portrait),
            "charts": _chart(seen, read_width(query)),
            "policy": _policy(seen),
            "journal": _journal(seen),
        }


def _story(path: Path, name: str, seen: Seen) -> str:
    document = seen.document
    modes = {
        "learn": "it acts and learns",
        "frozen": "it acts and does not learn",
        "shadow": "it learns and does not act",
    }
    mode = modes.get(document["mode"], document["mode"])
    who = "the agent is" if name == "agent" else f"agent {escape(name)} is"
    where = f"{escape(str(path))}: {who} at step {document['step']:,}; {_last(seen)}"
    if seen.held:
        return f"{where}; a process has it open, and {escape(mode)}."
    return f"{where}; no process has it open (when one does, {escape(mode)})."


def _last(seen: Seen) -> str:
    """Return how long ago the last step was, or whatever else the journal has of late."""
    if seen.age is None:
        return "it has not taken a step yet"
    what = "last step" if seen.journal[0]["kind"] == "observed" else "last row of its journal"
    return f"{what} {_ago(seen.age)}"


def _ago(seconds: float) -> str:
    """Return a duration until now in words; clocks may differ a little.

    Examples
    --------
    >>> [_ago(seconds) for seconds in (-3, 14.2, 150, 7200, 300_000)]
    ['just now', '14 s ago', '2 min ago', '2 h ago', '3 days ago']

    """
    if seconds < SOON:
        return "just now"
    for size, unit in ((86_400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{int(seconds // size):,} {unit} ago"
    return f"{int(seconds)} s ago"


def _controls(standings: Mapping[str, tuple[int, str | None]], chosen: str) -> str:
    if len(standings) == 1:
        return ""
    options = "".join(
        f'<option value="{escape(name)}"{" selected" if name == chosen else ""}>{escape(name)}, step {step:,}</option>'
        for name, (step, _) in standings.items()
    )
    return f'<label class="pick">Agent <select id="agent" name="agent">{options}</select></label>'


def _numbers(document: Mapping[str, Any], portrait: Portrait) -> str:
    drift = document["drift"]
    threshold, alarm = drift["threshold"], drift["last_alarm"]
    level = math.log1p(drift["statistic"]) / math.log1p(threshold)
    meter = f'<meter max="1" value="{level:.3f}" aria-label="drift, towards an alarm"></meter>'
    last = "none"
    if alarm is not None:
        last = f"step {alarm['step']:,}: {write(alarm['recent'])} after {write(alarm['past'])}"
    numbers = {
        "recent average": _number(document["recent_average"]),
        "average since the start": _number(document["average_reward"]),
        "drift": f"{write(drift['statistic'], 3)} of {threshold:,.0f} {meter}",
        "alarms": f"{drift['alarms']:,}",
        "last alarm": last,
        "state now": escape(portrait.name(document["aleatoric_state"])),
    }
    parts = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in numbers.items())
    return f'<dl class="numbers">{parts}</dl>'


def _number(value: float | None) -> str:
    return "–" if value is None else write(value)


def _chart(seen: Seen, width: float) -> str:
    times, means = ([value for value, _ in seen.batches], [mean for _, mean in seen.batches])
    average = seen.document["average_reward"]
    lines = {} if average is None else {"average since the start": average}
    what = f"Average reward of {seen.size:,} steps each" if seen.size > 1 else "Reward of each step"
    first = times[0] - seen.size if times else 0
    chart = draw([Curve("recent average", times, means)], lines, width - 34, 300, linear=True, first=first, what=what)
    return f'<figure class="card curve agent0"><figcaption>{what}</figcaption>{chart}</figure>'


def _policy(seen: Seen) -> str:
    if isinstance(seen.greedy, str):
        return f"<h2>Policy</h2><p>{escape(seen.greedy)}</p>"
    states, here = seen.task.states, seen.document["aleatoric_state"]
    portrait = seen.task.portrait
    place = states.index(here)
    start = 0 if len(states) <= LISTED else min(max(place - LISTED // 2, 0), len(states) - LISTED)
    documents = seen.greedy.rows(start, start + LISTED)
    if len(states) <= LISTED:
        documents.sort(key=lambda row: row["count"] == 0)  # such as short windows, which never come back
    rows: list[str] = []
    for row in [*seen.greedy.rows(place, place + 1), *documents]:
        now, mark = ("", "") if rows else (' class="here"', "now: ")
        count = "–" if row["count"] is None else f"{row['count']:,.0f}"
        numbers = f"<td>{_number(row['value'])}</td><td>{count}</td>"
        names = f"<th scope=row>{mark}{escape(portrait.name(row['state']))}</th><td>{escape(words(row['action']))}</td>"
        rows.append(f"<tr{now}>{names}{numbers}</tr>")
    left = f"{LISTED} of {len(states):,} states, around the present one. " if len(states) > LISTED else ""
    caption = f"{left}The action that it takes in each state; the state now comes first."
    return _scrolled("Policy", ("state", "action", "value", "count"), rows, caption)


def _journal(seen: Seen) -> str:
    rows = [
        f"<tr><th scope=row>{row['step']:,}</th><td>{escape(row['at'][11:19])}</td>"
        f"<td>{escape(tell(row, seen.task.portrait.name))}</td></tr>"
        for row in seen.journal
    ]
    return _scrolled(
        "Journal", ("step", "time (UTC)", "what happened"), rows, "The last rows of the journal, the newest first."
    )


def _scrolled(name: str, heads: tuple[str, ...], rows: list[str], caption: str) -> str:
    head = "".join(f"<th scope=col>{head}</th>" for head in heads)
    return (
        f'<h2>{name}</h2><div class="card scroll tall agent0" id="{name.lower()}" tabindex="0" role="group" '
        f'aria-label="{name}"><table class="known {name.lower()}"><caption>{caption}</caption><thead><tr>{head}</tr>'
        f"</thead><tbody>{''.join(rows)}</tbody></table></div>"
    )
