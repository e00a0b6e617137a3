"""The small pieces of which the page is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from nicegui import events, ui
from nicegui.elements.mixins.text_element import TextElement

from everlearn.play.contender import Contender


class Screen(ui.element, component="screen.js"):
    """Puts painted parts into their places in the browser, and says when they were seen and what was pressed."""

    def show(self, parts: Mapping[str, str]) -> None:
        """Put parts into their places."""
        self.run_method("show", dict(parts))


class Text(TextElement):
    """A text, in whatever element it belongs."""

    def __init__(self, tag: str, text: str = "") -> None:
        super().__init__(tag=tag, text=text)


@contextmanager
def fold(title: str, icon: str) -> Iterator[None]:
    """Hold what a newcomer need not see; open or closed by a click or a key, as every browser has it."""
    with ui.element("details").classes("card fold"):
        with ui.element("summary"):
            ui.icon(icon).props('aria-hidden="true"')
            Text("span", title)
        with ui.element("div").classes("inside"):
            yield


def place(name: str, tag: str = "div") -> ui.element:
    """Return an empty place for a painted part."""
    return ui.element(tag).props(f'data-part="{name}"')


class Name:
    """The name of an agent, with its colour before it, and a badge where it is the paper's."""

    def __init__(self, one: Contender) -> None:
        ui.element("span").classes("chip").props('aria-hidden="true"')
        self.label = Text("span").classes("label")
        self.badge = Text("span", "the paper's").classes("badge")
        self.tell(one)

    def tell(self, one: Contender) -> None:
        """Name an agent."""
        self.label.set_text(one.label)
        self.badge.set_visibility(one.is_of_the_paper)


def button(icon: str, hint: str, press: Callable[[], Any], text: str = "") -> ui.button:
    """Return a button; without a text it is told by its hint."""
    made = ui.button(text, icon=icon, on_click=press, color=None)
    return made.props(f'no-caps aria-label="{text or hint}" title="{hint}"')


def slider(name: str, number: int, chosen: int, change: Callable[[int], Any]) -> ui.element:
    """Return a slider over so many places; that of the browser, which every key and every screen reader knows."""
    made = ui.element("input").props(f'type=range min=0 max={number - 1} step=1 value={chosen} aria-label="{name}"')

    def moved(event: events.GenericEventArguments) -> None:
        if isinstance(event.args, int) and 0 <= event.args < number:
            change(event.args)

    return made.on("input", moved, js_handler="(event) => emit(Number(event.target.value))")
