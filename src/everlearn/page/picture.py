"""The picture of a race, painted part by part as HTML and SVG, without a browser."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from html import escape

import numpy as np

from everlearn.blame import blame
from everlearn.page import belief, chart, knowledge, scene
from everlearn.page.chart import Curve
from everlearn.page.configuration import label
from everlearn.page.explanation import Explanation, Update, explain
from everlearn.page.facts import Facts
from everlearn.page.knowledge import Known
from everlearn.page.moments import Moment, find_moments, write_moments
from everlearn.page.race import Race
from everlearn.page.run import WatchedRun

NARROWEST, WIDEST = 260.0, 2000.0
PHONE = 420.0
SNAPSHOT = 0.35
"""Seconds between two drawings of a scene whose steps are too fast to be followed: it must not flash."""

HEIGHT, HEIGHT_SEVERAL, HEIGHT_PHONE = 340.0, 420.0, 210.0


class Painter:
    """Paints a race; it remembers what the agents knew when it last did, to mark what changed."""

    def __init__(self, width: float = 720.0, lines: Mapping[str, float] | None = None) -> None:
        self.width, self.lines = width, dict(lines or {})
        self._span: tuple[float, float] | None = None
        self._latest: dict[int, tuple[int, Known]] = {}
        self._before: dict[int, Known] = {}
        self._moments: dict[int, tuple[object, list[Moment]]] = {}
        self.brief = False
        """Whether to draw scenes only now and then, since they would flicker."""
        self._drawn: dict[int, tuple[float, str]] = {}

    def paint(self, race: Race, ahead: Race | None = None) -> dict[str, str]:
        """Return every part of the picture by the name of its place; ``ahead`` is the same race at a later step."""
        agents, farthest = race.configuration.agents, ahead or race
        curves = [Curve(label(agent), *run.recorded()) for agent, run in zip(agents, race.runs, strict=True)]
        if ahead is not None:
            later = [tuple(zip(*run.recorded(), strict=True)) for run in ahead.runs]
            curves = [curve._replace(later=points) for curve, points in zip(curves, later, strict=True)]
        width = min(max(self.width, NARROWEST), WIDEST)
        height = HEIGHT_PHONE if width < PHONE else HEIGHT if len(agents) == 1 else HEIGHT_SEVERAL
        self._span = chart.find_span(curves, self.lines, self._span)
        parts = {"chart": chart.draw(curves, self.lines, width, height, self._span), "time": f"{race.t:,}"}
        moments = [
            (curve.label, self._find_moments(number, run))
            for number, (curve, run) in enumerate(zip(curves, farthest.runs, strict=True))
        ]
        parts |= {"moments": write_moments(moments, race.t), "scrub": f"{race.t} {farthest.t}"}
        for number, run in enumerate(race.runs):
            with blame(f"agent {run.design.name!r}: what it shows"):  # arrays of a user's design may have any shape
                parts |= {f"{name}{number}": text for name, text in self._paint_run(number, run).items()}
        return parts

    def _find_moments(self, number: int, run: WatchedRun) -> list[Moment]:
        """Return the moments of a run, which change only when more of it was recorded."""
        key = run, int(np.searchsorted(run.batch.plan.times, run.t, side="right")), tuple(self.lines.items())
        if self._moments.get(number, (None, []))[0] != key:
            self._moments[number] = key, find_moments(run, self.lines)
        return self._moments[number][1]

    def _paint_run(self, number: int, run: WatchedRun) -> dict[str, str]:
        explanation, known = explain(run), knowledge.look(run)
        alpha = None if explanation is None or explanation.update is None else explanation.update.step_size
        numbers = [] if run.design.schedule is None else knowledge.numbers(run.now, alpha)
        return {
            "drawing": self._draw(number, run, explanation),
            "belief": belief.draw(run, known),
            "known": knowledge.draw_table(run, known, self._known_before(number, run.t, known)),
            "numbers": "".join(
                f"<div><dt>{symbol} <span>{name}</span></dt><dd>{value}</dd></div>" for symbol, value, name in numbers
            ),
            "explained": write_explanation(explanation),
            "score": f"{run.total_reward / run.t:.4f}" if run.t else "–",
        }

    def _draw(self, number: int, run: WatchedRun, explanation: Explanation | None) -> str:
        """Return the scene with its summary; if single steps are too fast to be followed, that of a moment ago."""
        now, (drawn_at, _) = time.monotonic(), self._drawn.get(number, (-math.inf, ""))
        if not self.brief or now >= drawn_at + SNAPSHOT:
            self._drawn[number] = now, scene.draw(run, explanation) + scene.summarise(run)
        return self._drawn[number][1]

    def _known_before(self, number: int, t: int, known: Known) -> Known | None:
        """Return what was known when this was last painted at another time."""
        t_latest, latest = self._latest.get(number, (t, known))
        if t_latest != t:
            self._before[number] = latest
        self._latest[number] = (t, known)
        return self._before.get(number)


def write_explanation(step: Explanation | None) -> str:
    """Return an explanation in HTML: what happened, the update with its numbers, and the source of each."""
    if step is None:
        return "<p>Nothing has happened yet. Take a step.</p>"
    happened = (
        f"<p>At step <b>{step.t:,}</b> the agent was in state <b>{escape(step.aleatoric_state)}</b>, did "
        f"<b>{escape(step.action)}</b>, saw <b>{escape(step.observation)}</b>, earned <b>{step.reward:.4g}</b>, "
        f"and is now in state <b>{escape(step.following)}</b>.</p>"
    )
    if step.update is not None:
        return happened + _write_equation(step, step.update)
    if not step.changes:
        return happened + "<p>This agent keeps no value for what it did.</p>"
    rows = "".join(
        f"<tr><th scope='row'>{escape(change.name)}</th><td>{change.before:.6g}</td><td>{change.after:.6g}</td></tr>"
        for change in step.changes
    )
    heads = "".join(f"<th scope='col'>{name}</th>" for name in ("", "before", "after"))
    changed = f"<table class='terms'><tr>{heads}</tr>{rows}</table>"
    return f"{happened}<p>What it changed for that state and action:</p>{changed}"


def _write_equation(step: Explanation, update: Update) -> str:
    pair = f"Q({escape(step.aleatoric_state)}, {escape(step.action)})"
    alpha, tau = update.step_size, update.horizon
    symbols = (
        f"{pair} ← min( <i class='clip'>τ</i>, (1 − <i class='rate'>α</i>) · <i class='old'>Q</i> + "
        "<i class='rate'>α</i> · ( <i class='reward'>r</i> + <i class='next'>γ max Q′</i> + "
        "<i class='bonus'>bonus</i> ) )"
    )
    values = (
        f"= min( <i class='clip'>{tau:.5g}</i>, {1 - alpha:.4g} · <i class='old'>{update.value:.5g}</i> + "
        f"<i class='rate'>{alpha:.4g}</i> · ( <i class='reward'>{update.reward:.4g}</i> + "
        f"<i class='next'>{update.discount:.5g} · {update.following:.5g}</i> + "
        f"<i class='bonus'>{update.bonus:.4g}</i> ) )"
    )
    result = f"= min( {tau:.6g}, {update.unclipped:.6g} ) = <b>{update.after:.6g}</b>"
    rows = "".join(
        f"<tr><th scope='row'><i class='{kind}'>{symbol}</i></th><td>{value:.6g}</td><td>{escape(source)}</td></tr>"
        for symbol, kind, value, source in _sources(step, update)
    )
    heads = "<tr><th scope='col'>term</th><th scope='col'>value</th><th scope='col'>where it comes from</th></tr>"
    return (
        f"<div class='equation'><div>{symbols}</div><div>{values}</div><div>{result}</div></div>"
        f"<table class='terms'>{heads}{rows}</table>"
    )


def _sources(step: Explanation, update: Update) -> list[tuple[str, str, float, str]]:
    w, n, tau = update.weight, update.count, update.horizon
    scaled = "" if update.reward == step.reward else ", scaled to [0, 1], as learned from"
    clip = "it decided: the value would have been above" if update.clipped else "not reached"
    return [
        ("α", "rate", update.step_size, f"step size (1 + {w:g}τ) / (N + {w:g}τ), at visit N = {n:,.6g}"),
        ("Q", "old", update.value, f"its value before; {update.shift:.3g} was just added to every value"),
        ("r", "reward", update.reward, f"the reward of this step{scaled}"),
        ("γ", "next", update.discount, f"the discount 1 − 1/τ at horizon τ = {tau:.5g}"),
        ("max Q′", "next", update.following, f"the value of the best action in state {step.following}"),
        ("bonus", "bonus", update.bonus, f"optimism: {update.bonus_from}"),
        ("τ", "clip", tau, f"no value may exceed the horizon; {clip}"),
    ]


def write_theory(facts: Facts | None) -> str:
    """Return what theory says of a task, in HTML."""
    if facts is None:
        return "<p>Computing… This can take minutes if the task has many states. The run does not wait for it.</p>"
    if facts.refusal:
        return f"<p>{escape(facts.refusal)}</p>"
    rows = "".join(
        f"<tr><th scope='row'>{escape(fact.name)}</th><td>{escape(fact.value)}</td><td>{escape(fact.meaning)}</td></tr>"
        for fact in facts.facts
    )
    return f"<table class='terms theory'>{rows}</table>"
