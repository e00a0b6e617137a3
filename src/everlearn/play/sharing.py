"""Sharing what is seen: the address, the curve as a picture and as data, and the spec of an experiment."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import events, ui

from everlearn.errors import EverlearnError
from everlearn.play import exports
from everlearn.play.components import Text, button
from everlearn.play.race import Race
from everlearn.play.session import Session

STEPS = 1_000_000
"""How long the experiment is to be where nothing has been run yet."""


_READ = "(event) => event.target.files[0]?.text().then((text) => { event.target.value = ''; emit(text); })"


def share(
    session: Callable[[], Session], read: Callable[[str], Awaitable[object]], refuse: Callable[[str], None]
) -> None:
    """Put down what can be taken away, and what brings it back.

    ``read`` is called with the text of a spec, and ``refuse`` with the reason why something cannot be taken away.
    """

    async def save(name: str, make: Callable[[Race], bytes | str]) -> None:
        try:
            made = await session().read(make)
        except EverlearnError as error:
            refuse(str(error))
            return
        if made is not None:
            ui.download.content(made, f"everlearn.{name}")

    def picture(race: Race) -> bytes:
        return exports.png(race, session().painter.lines)

    def spec(race: Race) -> str:
        return race.configuration.spec(race.t or STEPS, session().workshop.offer)

    Text("p", "The address of this page carries everything that you chose: whoever opens it sees the same.")
    with ui.element("div").classes("buttons"):
        button("link", "Copy the address", _copy, "Copy the address").props("outline")
        button("image", "Curve as PNG", lambda: save("png", picture), "Curve as PNG").props("outline")
        button("table_view", "Curve as CSV", lambda: save("csv", exports.data), "Curve as CSV").props("outline")
        button("description", "Experiment as TOML", lambda: save("toml", spec), "Experiment as TOML").props("outline")
    Text("p", "Run the experiment with: everlearn experiment run everlearn.toml --out DIR").classes("quiet")

    async def opened(event: events.GenericEventArguments) -> None:
        if isinstance(event.args, str):
            await read(event.args)

    with ui.element("label").classes("file"):
        Text("span", "Show what an experiment describes: ")
        chosen = ui.element("input").props('type=file accept=".toml" aria-label="Show what an experiment describes"')
        chosen.on("change", opened, js_handler=_READ)


def _copy() -> None:
    ui.run_javascript("navigator.clipboard && navigator.clipboard.writeText(location.href)")
    ui.notify("The address is copied.", position="bottom")
