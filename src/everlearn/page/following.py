"""Pages that follow a directory while something else writes to it; this one follows an experiment."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Protocol, TypeAlias

from everlearn.experiments.following import Followed
from everlearn.experiments.following import Follower as ExperimentFollower
from everlearn.labels import counted
from everlearn.locks import is_held
from everlearn.page.chart import Curve, draw, write

Query: TypeAlias = Mapping[str, Sequence[str]]
"""What was chosen on a page: the values of each name."""

COLOURS = 8
"""How many agents are shown at first, on every task; each has a colour of its own."""

WIDE = 1240
"""From this width, two charts stand side by side."""

_FOLDER = Path(__file__).parent / "follow"


class View(Protocol):
    """What a page shows of a directory."""

    title: str
    places: tuple[str, ...]
    """The names of its parts, in order."""

    def look(self, query: Query) -> dict[str, str]:
        """Return the parts as of now."""


class ExperimentView:
    """Curves of an experiment as they grow, and a table of its agents; nothing is written."""

    places: tuple[str, ...] = ("controls", "charts", "table")

    def __init__(self, path: str | Path) -> None:
        self._follower = ExperimentFollower(path)
        self.title = str(self._follower.manifest["name"])

    def look(self, query: Query) -> dict[str, str]:
        """Return the parts as of now."""
        arms = self._follower.look()
        linear = query.get("axis") == ["linear"]
        shown = set(query.get("line", ())) if "chosen" in query else _first(arms)
        path = self._follower.directory.path
        held = is_held(path)
        return {
            "story": _story(path, arms, held),
            "alert": escape("; ".join(self._follower.damaged)),
            "controls": _controls(linear),
            "charts": _charts(arms, shown, linear, read_width(query)),
            "table": _table(arms, shown, held),
        }


def write_view(view: View) -> str:
    """Return the page of a view, still without its parts."""
    parts = "".join(f'<section data-part="{name}"></section>' for name in view.places)
    return write_plain(view.title, "", parts, "follow.js")


def write_plain(title: str, story: str, parts: str, *scripts: str, links: str = "") -> str:
    """Return a page without NiceGUI, in the same style; ``story`` is HTML, and ``links`` are those to other pages."""
    code = "\n".join((_FOLDER / name).read_text(encoding="utf-8") for name in ("theme.js", *scripts))
    style = (_FOLDER.parent / "style.css").read_text(encoding="utf-8")
    texts = {"TITLE": escape(title), "STORY": story, "STYLE": style, "PARTS": parts}
    texts |= {"SCRIPT": code, "LINKS": links}
    page = (_FOLDER / "follow.html").read_text(encoding="utf-8")
    return re.sub(r"/\*([A-Z]+)\*/", lambda match: texts[match[1]], page)


def read_width(query: Query) -> float:
    """Return the width of the page in pixels."""
    text = (query.get("width") or ["1100"])[0]
    return float(min(max(int(text), 280), 4000)) if text.isascii() and text.isdigit() and len(text) < 6 else 1100.0


def _story(path: Path, arms: Sequence[Followed], held: bool) -> str:
    done, steps = sum(arm.steps_done for arm in arms), sum(arm.steps for arm in arms)
    seconds = sum(arm.seconds for arm in arms)
    state = "complete" if done == steps else f"{math.floor(1000 * done / steps) / 10:.1f}% done"
    idle = "" if held or done == steps else "; nobody works on it: run it again to resume"
    return f"{escape(str(path))}: {state}, {done:,} of {steps:,} steps, {seconds:,.1f} s of work{idle}."


def _controls(linear: bool) -> str:
    choices = "".join(
        f'<label><input type="radio" id="axis-{name}" name="axis" value="{name}"{checked}> {text}</label>'
        for name, text, checked in (
            ("log", "logarithmic", "" if linear else " checked"),
            ("linear", "linear", " checked" if linear else ""),
        )
    )
    return f'<fieldset class="switch"><legend>Time axis</legend>{choices}</fieldset>'


def _charts(arms: Sequence[Followed], shown: set[str], linear: bool, width: float) -> str:
    """Draw a chart for each task, with the lines that are switched on."""
    tasks, colours = list(dict.fromkeys(arm.task for arm in arms)), _colours(arms)
    side_by_side = len(tasks) > 1 and width >= WIDE
    room = (width - 16) / 2 if side_by_side else width
    figures = []
    for number, task in enumerate(tasks):
        curves, lines = [], dict[str, float]()
        for place, arm in enumerate(arms):
            if arm.task == task:
                lines |= arm.lines
                if str(place) in shown:
                    low, high = (arm.low, arm.high) if arm.low != arm.high else ([], [])
                    curves.append(Curve(arm.agent, arm.times, arm.mean, low, high, colours[place]))
        height = max(340, 26 * (len(curves) + len(lines)) + 80)
        chart = draw(curves, lines, room - 34, height, linear=linear, name=f"plot{number}")
        caption = f"<figcaption>Average reward so far on {escape(task)}</figcaption>"
        figures.append(f'<figure class="card curve">{caption}{chart}</figure>')
    return f'<div class="charts{" two" if side_by_side else ""}">{"".join(figures)}</div>'


def _first(arms: Sequence[Followed]) -> set[str]:
    """Return the lines that are shown at first."""
    agents = list(dict.fromkeys(arm.agent for arm in arms))[:COLOURS]
    return {str(place) for place, arm in enumerate(arms) if arm.agent in agents}


def _colours(arms: Sequence[Followed]) -> list[int]:
    """Return the number of each arm's colour; an agent has the same on every task."""
    agents = list(dict.fromkeys(arm.agent for arm in arms))
    return [agents.index(arm.agent) % COLOURS for arm in arms]


def _state(arm: Followed, held: bool) -> str:
    """Return how far a line is; without anybody who works on it, what is begun is interrupted."""
    return arm.state if held or arm.state == "finished" else {"begun": "interrupted", "waiting": "not begun"}[arm.state]


def _table(arms: Sequence[Followed], shown: set[str], held: bool) -> str:
    heads = ("line", "task", "agent", "state", "runs", "steps", "average", "95% interval", "seconds")
    rows, colours = [], _colours(arms)
    for place, arm in enumerate(arms):
        box = (
            f'<input type="checkbox" id="line{place}" name="line" value="{place}"'
            f'{" checked" if str(place) in shown else ""} aria-label="Show {escape(arm.agent)} on {escape(arm.task)}">'
            '<span class="chip" aria-hidden="true"></span>'
        )
        average, interval = "–", "–"
        if arm.times:
            average = write(arm.mean[-1])
            if arm.low[-1] < arm.high[-1]:
                interval = f"{write(arm.low[-1])} to {write(arm.high[-1])}"
        runs = f"{arm.runs_done:,} of {arm.runs:,}"
        bar = f'<progress max="{arm.steps}" value="{arm.steps_done}" aria-label="steps done"></progress>'
        steps = f"{arm.steps_done:,} {bar}"
        names = f"<td>{escape(arm.task)}</td><th scope=row>{escape(arm.agent)}</th>"
        cells = (_state(arm, held), runs, steps, average, interval, f"{arm.seconds:,.1f}")
        numbers = "".join(f"<td>{cell}</td>" for cell in cells)
        rows.append(f'<tr class="agent{colours[place]}"><td class="box">{box}</td>{names}{numbers}</tr>')
    head = "".join(f"<th scope=col>{head}</th>" for head in heads)
    caption = (
        f"{counted(len(arms), 'line')}: the mean over the runs that have reached a step, with a 95% interval over runs "
        "or, for a family of tasks, over its members. A cell writes what it has about once per second."
    )
    return (
        '<input type="hidden" name="chosen" value="1"><div class="card scroll" id="table" tabindex="0" role="group" '
        f'aria-label="Agents"><table class="known runs"><thead><tr>{head}</tr></thead>'
        f'<tbody>{"".join(rows)}</tbody></table></div><p class="quiet">{caption}</p>'
    )
