"""What the page shows of a race, painted part by part as HTML and SVG; nothing here knows a browser."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from everlearn.blame import blame
from everlearn.play import chart, drawing, knowledge
from everlearn.play.chart import Curve
from everlearn.play.explanation import Explanation, Update, explain
from everlearn.play.facts import Facts
from everlearn.play.interpreted import Watched
from everlearn.play.knowledge import Known
from everlearn.play.race import Race

NARROWEST, WIDEST = 260.0, 2000.0
HEIGHT, HEIGHT_NARROW = 340.0, 270.0


class Painter:
    """Paints a race; it remembers what the agents knew when it last did, to mark what changed.

    Examples
    --------
    >>> from everlearn.play.configuration import Configuration
    >>> from everlearn.play.race import Workshop
    >>> race = Workshop().race(Configuration("riverswim"))
    >>> painter = Painter()
    >>> sorted(painter.paint(race))
    ['chart', 'drawing0', 'explained0', 'known0', 'numbers0', 'score0', 'time']

    """

    def __init__(self, width: float = 720.0, lines: Mapping[str, float] | None = None) -> None:
        self.width, self.lines = width, dict(lines or {})
        self._latest: dict[int, tuple[int, Known]] = {}
        self._before: dict[int, Known] = {}

    def paint(self, race: Race) -> dict[str, str]:
        """Return every part of the picture by the name of its place."""
        contenders = race.configuration.contenders
        curves = [Curve(one.label, *stream.recorded()) for one, stream in zip(contenders, race.streams, strict=True)]
        width = min(max(self.width, NARROWEST), WIDEST)
        height = HEIGHT_NARROW if width < chart.NARROW else HEIGHT
        parts = {
            "chart": chart.draw(curves, self.lines, width, height),
            "time": f"{race.t:,}",
        }
        for number, stream in enumerate(race.streams):
            parts |= {f"{name}{number}": text for name, text in self._of(number, stream).items()}
        return parts

    def _of(self, number: int, stream: Watched) -> dict[str, str]:
        with blame(f"agent {stream.design.name!r}: what it shows"):  # arrays of a user's own may have any shape
            return self._painted(number, stream)

    def _painted(self, number: int, stream: Watched) -> dict[str, str]:
        told, known = explain(stream), knowledge.look(stream)
        alpha = None if told is None or told.update is None else told.update.step_size
        now = [] if stream.design.schedule is None else knowledge.numbers(stream.now, alpha)
        score = f"{stream.total_reward / stream.t:.4f}" if stream.t else "–"
        return {
            "drawing": drawing.draw(stream, told),
            "known": knowledge.table(stream, known, self._since(number, stream.t, known)),
            "numbers": "".join(
                f"<div><dt>{symbol} <span>{name}</span></dt><dd>{value}</dd></div>" for symbol, value, name in now
            ),
            "explained": write_out(told),
            "score": score,
        }

    def _since(self, number: int, t: int, known: Known) -> Known | None:
        """Return what was known when this was last painted at another time."""
        t_latest, latest = self._latest.get(number, (t, known))
        if t_latest != t:
            self._before[number] = latest
        self._latest[number] = (t, known)
        return self._before.get(number)


def write_out(told: Explanation | None) -> str:
    """Return an explanation in HTML: what happened, the update with its numbers, and where each came from."""
    if told is None:
        return "<p>Nothing has happened yet. Take a step.</p>"
    happened = (
        f"<p>At step <b>{told.t:,}</b> the agent was in state <b>{escape(told.aleatoric_state)}</b>, did "
        f"<b>{escape(told.action)}</b>, saw <b>{escape(told.observation)}</b>, earned <b>{told.reward:.4g}</b>, "
        f"and is now in state <b>{escape(told.following)}</b>.</p>"
    )
    if told.update is not None:
        return happened + _equation(told, told.update)
    if not told.changes:
        return happened + "<p>This agent keeps no value for what it did.</p>"
    rows = "".join(
        f"<tr><th scope='row'>{escape(one.name)}</th><td>{one.before:.6g}</td><td>{one.after:.6g}</td></tr>"
        for one in told.changes
    )
    heads = "".join(f"<th scope='col'>{name}</th>" for name in ("", "before", "after"))
    changed = f"<table class='terms'><tr>{heads}</tr>{rows}</table>"
    return f"{happened}<p>What it changed for that state and action:</p>{changed}"


def _equation(told: Explanation, update: Update) -> str:
    pair = f"Q({escape(told.aleatoric_state)}, {escape(told.action)})"
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
        for symbol, kind, value, source in _sources(told, update)
    )
    heads = "<tr><th scope='col'>term</th><th scope='col'>value</th><th scope='col'>where it comes from</th></tr>"
    return (
        f"<div class='equation'><div>{symbols}</div><div>{values}</div><div>{result}</div></div>"
        f"<table class='terms'>{heads}{rows}</table>"
    )


def _sources(told: Explanation, update: Update) -> list[tuple[str, str, float, str]]:
    w, n, tau = update.weight, update.count, update.horizon
    clip = "it decided: the value would have been above" if update.clipped else "not reached"
    return [
        ("α", "rate", update.step_size, f"step size (1 + {w:g}τ) / (N + {w:g}τ), at visit N = {n:,.6g}"),
        ("Q", "old", update.value, f"its value before; {update.shift:.3g} was just added to every value"),
        ("r", "reward", update.reward, "the reward of this step, as learned from"),
        ("γ", "next", update.discount, f"the discount 1 − 1/τ at horizon τ = {tau:.5g}"),
        ("max Q′", "next", update.following, f"the value of the best action in state {told.following}"),
        ("bonus", "bonus", update.bonus, f"optimism: {update.bonus_from}"),
        ("τ", "clip", tau, f"no value may exceed the horizon; {clip}"),
    ]


def theory(facts: Facts | None) -> str:
    """Return what theory says of a task in HTML."""
    if facts is None:
        return "<p>Computing…</p>"
    if facts.refusal:
        return f"<p>{escape(facts.refusal)}</p>"
    rows = "".join(
        f"<tr><th scope='row'>{escape(one.name)}</th><td>{escape(one.value)}</td><td>{escape(one.meaning)}</td></tr>"
        for one in facts.facts
    )
    return f"<table class='terms theory'>{rows}</table>"
