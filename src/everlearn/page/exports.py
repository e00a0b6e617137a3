"""Exports: the address, the curves as a picture and as data, and the spec of an experiment, which can be read back."""

from __future__ import annotations

import csv
import io
import json
import shlex
import threading
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from nicegui import events, ui

from everlearn.errors import EverlearnError
from everlearn.figures.style import PALETTE, REFERENCE_COLOUR, REFERENCE_STYLES, house_style
from everlearn.page.chart import merge
from everlearn.page.components import Text, button
from everlearn.page.configuration import LONGEST_SPEC, label
from everlearn.page.offer import Offer
from everlearn.page.race import Race
from everlearn.page.session import Session

STEPS = 1_000_000
"""The length of the experiment if no step was taken yet."""

_PAINTING = threading.Lock()  # all threads share the settings of Matplotlib
_READ = f"""async (event) => {{
  const file = event.target.files[0];
  if (!file) return;
  const text = file.size > {LONGEST_SPEC} ? null : await file.text();
  event.target.value = "";
  emit({{name: file.name, size: file.size, text}});
}}"""


def export_controls(
    session: Callable[[], Session], read: Callable[[str], Awaitable[str]], refuse: Callable[[str], None], local: bool
) -> None:
    """Lay out the buttons for every export, and the field that reads a spec.

    ``read`` is called with the text of a spec, and returns why it cannot be shown; ``refuse`` with the reason why an
    export is not possible.  ``local`` says that nobody else can open the address of the page.
    """

    async def save(name: str, make: Callable[[Race], bytes | str]) -> None:
        try:
            content = await session().read(make)
        except EverlearnError as error:
            refuse(str(error))
            return
        if content is not None:
            ui.download.content(content, f"everlearn.{name}")

    def write_picture(race: Race) -> bytes:
        return write_png(race, session().painter.lines)

    def write_spec(race: Race) -> str:
        return race.configuration.spec(race.t or STEPS, session().workshop.offer)

    copy_command = partial(_copy_command, session().workshop.offer)
    if local:
        Text("p", _about_command(session().workshop.offer))
    else:
        Text("p", "The address of this page carries everything that you chose: anyone who opens it sees the same.")
    copy = ("terminal", "Copy the command", copy_command) if local else ("link", "Copy the address", _copy_address)
    with ui.element("div").classes("buttons"):
        for icon, text, press in (
            copy,
            ("image", "Curve as PNG", lambda: save("png", write_picture)),
            ("table_view", "Curve as CSV", lambda: save("csv", write_csv)),
            ("description", "Experiment as TOML", lambda: save("toml", write_spec)),
        ):
            button(icon, text, press, text).props("outline")
    Text("p", "Run the experiment with: everlearn experiment run everlearn.toml --out DIR").classes("quiet")

    async def open_file(event: events.GenericEventArguments) -> None:
        if isinstance(event.args, dict):
            complaint.set_text(await _read_file(event.args, read))

    with ui.element("label").classes("file"):
        Text("span", "Show what an experiment describes: ")
        field = ui.element("input").props('type=file accept=".toml" aria-label="Show what an experiment describes"')
        field.on("change", open_file, js_handler=_READ)
    complaint = Text("p").classes("complaint").props('role="alert"')


async def _read_file(file: Mapping[str, Any], read: Callable[[str], Awaitable[str]]) -> str:
    """Show what a file describes; return why that is not possible."""
    if isinstance(file.get("text"), str):
        return await read(file["text"])
    return f"{file.get('name')}: has {file.get('size'):,} bytes; give a file of at most {LONGEST_SPEC:,} bytes"


def _copy_address() -> None:
    ui.run_javascript("navigator.clipboard && navigator.clipboard.writeText(location.href)")
    ui.notify("The address is copied.", position="bottom")


def _about_command(offer: Offer) -> str:
    """Say where the command opens the same page."""
    if write_command(offer) is None:
        return "This page runs on your machine only. It was started from Python, so that there is no command for it."
    where = "any other machine that has your module" if offer.own else "any other machine"
    return f"This page runs on your machine only. The command opens the same page on {where}."


def _copy_command(offer: Offer) -> None:
    command = write_command(offer)
    if command is None:
        ui.notify("There is no command: the page was started from Python.", position="bottom")
        return
    text = f'{json.dumps(command)} + " --view " + JSON.stringify(location.search.slice(1))'
    ui.run_javascript(f"navigator.clipboard && navigator.clipboard.writeText({text})")
    ui.notify("The command is copied.", position="bottom")


def write_command(offer: Offer) -> str | None:
    """Return the command that offers the same, without what is shown; None if something was passed from Python."""
    words = ["everlearn", "play"]
    for (kind, _), entry in offer.own.items():
        if not isinstance(entry.given, str):
            return None
        words += [*([] if kind == "task" else [f"--{kind}"]), entry.given]
        for name, value in entry.parameters.items():
            words += ["--set", f"{kind}.{name}={value}"]
    return shlex.join(words)


def write_png(race: Race, lines: Mapping[str, float]) -> bytes:
    """Return the curves as a picture, in the style of every other figure."""
    from matplotlib.figure import Figure

    with _PAINTING, house_style():
        figure = Figure()
        axes = figure.add_subplot()
        for agent, run, colour in zip(race.configuration.agents, race.runs, PALETTE, strict=False):
            axes.plot(*run.recorded(), color=colour, label=label(agent), linewidth=1.8)
        for (names, value), style in zip(merge(lines), REFERENCE_STYLES * (len(lines) + 1), strict=False):
            name = f"{', '.join(names)}: {value:.4g}"
            axes.axhline(value, color=REFERENCE_COLOUR, linestyle=style, linewidth=1.2, label=name)
        title = race.configuration.task.given
        axes.set(xscale="log", xlabel="time step", ylabel="cumulative average reward", title=title)
        figure.legend(loc="outside lower center", ncols=2)
        file = io.BytesIO()
        figure.savefig(file, format="png")
    return file.getvalue()


def write_csv(race: Race) -> str:
    """Return the curves as CSV: one row per time that was recorded of all agents, one column per agent."""
    file = io.StringIO()
    rows = csv.writer(file)
    rows.writerow(["t", *(label(agent) for agent in race.configuration.agents)])
    curves = [dict(zip(*run.recorded(), strict=True)) for run in race.runs]
    rows.writerows([t, *(curve[t] for curve in curves)] for t in curves[0] if all(t in curve for curve in curves))
    return file.getvalue()
