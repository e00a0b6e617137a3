"""The small components of which the page is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from nicegui import events, ui
from nicegui.elements.mixins.text_element import TextElement

from everlearn.agents.spec import AgentSpec
from everlearn.page.configuration import is_papers, label

THEMES = {"auto": (None, "contrast"), "dark": (True, "dark_mode"), "light": (False, "light_mode")}
"""For each theme, whether it is dark, and its icon."""


class Screen(ui.element, component="screen.js"):
    """Puts painted parts into their places in the browser, and reports when they were seen and what was pressed."""

    def show(self, parts: Mapping[str, str]) -> None:
        """Put parts into their places."""
        self.run_method("show", dict(parts))

    def fold(self, name: str) -> None:
        """Close a fold."""
        self.run_method("fold", name)

    def keep_theme(self, theme: str) -> None:
        """Let the browser remember whether the page is light or dark."""
        self.run_method("keepTheme", theme)


class Scrubber(ui.element, component="scrubber.js"):
    """The slider of the timeline: it emits "go" with a step, and holds that step until the server has gone there."""

    def arrive(self) -> None:
        """Let the slider show where the run is again."""
        self.run_method("arrive")


class Text(TextElement):
    """A text in an element of any kind."""

    def __init__(self, tag: str, text: str = "") -> None:
        super().__init__(tag=tag, text=text)


class Name:
    """The name of an agent, with its colour before it, and a badge if it is the paper's."""

    def __init__(self, agent: AgentSpec) -> None:
        ui.element("span").classes("chip").props('aria-hidden="true"')
        self.label = Text("span").classes("label")
        self.badge = Text("span", "the paper's").classes("badge")
        self.show(agent)

    def show(self, agent: AgentSpec) -> None:
        """Show the name of an agent."""
        self.label.set_text(label(agent))
        self.badge.set_visibility(is_papers(agent))


@contextmanager
def fold(title: str, icon: str, toggled: Callable[[bool], Any] | None = None) -> Iterator[None]:
    """Hold what a newcomer need not see, until it is unfolded; ``toggled`` is called with whether it is open."""
    with ui.element("details").classes("card fold").props(f'data-fold="{icon}"') as element:
        if toggled is not None:
            element.on("toggle", lambda event: toggled(event.args is True), js_handler="(e) => emit(e.target.open)")
        with ui.element("summary"):
            ui.icon(icon).props('aria-hidden="true"')
            Text("span", title)
        with ui.element("div").classes("inside"):
            yield


def place(name: str, tag: str = "div") -> ui.element:
    """Return an empty place for a painted part."""
    return ui.element(tag).props(f'data-part="{name}"')


def button(icon: str, hint: str, press: Callable[[], Any], text: str = "") -> ui.button:
    """Return a button; without a text, its hint is its name."""
    element = ui.button(text, icon=icon, on_click=press, color=None)
    return element.props(f'no-caps aria-label="{text or hint}" title="{hint}"')


def slider(name: str, number: int, chosen: int, change: Callable[[int], Any]) -> ui.element:
    """Return the slider of the browser, which every screen reader knows, with a number of positions.

    ``change`` is called while it moves.
    """
    element = ui.element("input").props(f'type=range min=0 max={number - 1} step=1 aria-label="{name}"')
    element.props["^value"] = chosen  # where it begins; a plain "value" would put it back whenever the page is rendered

    def call(event: events.GenericEventArguments) -> Any:
        return change(event.args) if isinstance(event.args, int) and 0 <= event.args < number else None

    return element.on("input", call, js_handler="(event) => emit(Number(event.target.value))")


class Theme:
    """The button for a dark page, a light one, or whichever the system prefers; ``keep`` lets the browser remember."""

    def __init__(self, keep: Callable[[str], None]) -> None:
        self._dark, self._keep = ui.dark_mode(None), keep

    def lay_out(self) -> None:
        """Lay out the button."""
        self._button = button("contrast", "Light or dark", self._change)
        self._button.props("flat round").classes("quiet")

    def read(self, event: events.GenericEventArguments) -> None:
        """Set the theme that the browser remembers."""
        if isinstance(event.args, dict) and event.args.get("theme") in THEMES:
            self._set(event.args["theme"])

    def _change(self) -> None:
        following = {None: "dark", True: "light", False: "auto"}[self._dark.value]
        self._set(following)
        self._keep(following)

    def _set(self, theme: str) -> None:
        self._dark.value, icon = THEMES[theme]
        self._button.props(f"icon={icon}")
