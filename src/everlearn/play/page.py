"""The page: what stands where, and what happens when something is pressed.  Everything else is in its neighbours."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from nicegui import Client, events, ui

from everlearn.errors import EverlearnError
from everlearn.play import picture
from everlearn.play.choices import PAPERS, Choices, Edit
from everlearn.play.components import Name, Screen, Text, button, fold, place, slider
from everlearn.play.configuration import MOST, Configuration
from everlearn.play.pace import SPEEDS, say
from everlearn.play.reading import read_text
from everlearn.play.session import Parts, Session
from everlearn.play.sharing import share

STORIES = {
    "service-station": "Slow service is free today, and keeps customers away tomorrow. Will the agent find out?",
}
"""What a newcomer is told of a task, where its summary is not enough."""

STAGES = {1: "alone", 2: "several", 3: "three", 4: "several"}
"""How agents stand side by side, for each number of them."""


class Page:
    """One page in one browser: a session, and what it is shown and driven with.

    ``start`` is what is shown if the address cannot be.
    """

    def __init__(self, client: Client, configuration: Configuration, start: Configuration, refusal: str = "") -> None:
        self.client, self.configuration, self.start, self.refusal = client, configuration, start, refusal
        self.session: Session
        self._applying = asyncio.Lock()
        self._told: object = None

    def build(self, session: Session) -> None:
        """Lay out everything; what is painted comes when the browser has connected."""
        self.session, self.offer = session, session.workshop.offer
        self.dark = ui.dark_mode(None)
        with ui.element("div").classes("page"):
            self._header()
            self.alert = Text("p").classes("alert").props('role="alert"')
            self._stage()
            self._controls()
            self.remark = Text("p").classes("quiet")
            self._folds()
        self.screen = Screen().on("look", self._looked).on("press", self._pressed)
        self._refuse(self.refusal)

    async def begin(self) -> None:
        """Begin the race; called when the browser has connected."""
        try:
            await self.session.open(self.configuration)
        except EverlearnError as error:
            self.configuration = self.start
            self._refuse(str(error))
            self._lay_out_anew()
            await self.session.open(self.configuration)
        self._tell_remark()
        self._address()
        await self._tell_theory()

    def show(self, parts: Parts) -> None:
        """Show what the session painted."""
        self.screen.show(parts)

    def said(self, refusal: str) -> None:
        """Say why the session stopped, and let the button say what it does next."""
        if refusal:
            self._refuse(refusal)
        self._name_button()

    def _header(self) -> None:
        with ui.element("header"):
            with ui.element("div"):
                Text("h1", "everlearn")
                self.story = Text("p", "").classes("story")
            self.theme = button("contrast", "Light or dark", self._change_theme).props("flat round")
            self.theme.classes("quiet")
        self._tell_story()

    @ui.refreshable_method
    def _stage(self) -> None:
        shown = self.configuration.contenders
        with ui.element("section").classes(f"stage {STAGES[len(shown)]}"):
            with ui.element("figure").classes("card curve"):
                with ui.element("figcaption"):
                    Text("span", "Average reward so far")
                    if len(shown) < MOST and not any(one.is_of_the_paper for one in shown):
                        text = "Compare with the paper's"
                        button("compare_arrows", text, self._add_papers, text).props("flat dense").classes("compare")
                place("chart")
            for row, one in enumerate(shown):
                with ui.element("figure").classes(f"card scene agent{row}"):
                    with ui.element("figcaption"):
                        Name(one)
                        with ui.element("span").classes("score"):
                            Text("span", "average ")
                            place(f"score{row}", "b")
                    place(f"drawing{row}")

    def _controls(self) -> None:
        with ui.element("section").classes("controls").props('aria-label="Run the agent"'):
            self.run_button = button("play_arrow", "Run", self._toggle, "Run").props("unelevated").classes("run")
            button("skip_next", "Take one step", self._step, "Step").props("outline")
            button("replay", "Start again from step 0", self._restart, "Restart").props("outline")
            with ui.element("div").classes("clock"):
                Text("span", "step ")
                place("time", "b")
                self.status = Text("span").classes("status").props('role="status"')
            with ui.element("div").classes("speed"):
                self.speed = slider("Speed", len(SPEEDS), SPEEDS.index(self.configuration.speed), self._set_speed)
                self.speed_text = Text("span", "").classes("quiet")
                self.growing = ui.switch("ever faster", value=self.configuration.growing, on_change=self._set_growing)
        self._name_speed()

    def _folds(self) -> None:
        with ui.element("section").classes("folds"):
            with fold("Change the task, the agent or the schedule", "tune"):
                self.choices = Choices(lambda: self.configuration, self._apply, self.offer)
                self.choices.first()
            with fold("Compare with other agents", "compare_arrows"):
                self.choices.others()
            with fold("See what the agent knows", "grid_on"):
                self._each("numbers", "known")
            with fold("Explain this step", "functions"):
                self._each("explained")
            with fold("What theory says of this task", "school"):
                place("theory").classes("scroll")
            with fold("Share and export", "ios_share"):
                share(lambda: self.session, self._read, self._refuse)

    @ui.refreshable_method
    def _each(self, *names: str) -> None:
        several = len(self.configuration.contenders) > 1
        with ui.element("div").classes("each"):
            for row, one in enumerate(self.configuration.contenders):
                with ui.element("div").classes(f"agent{row} scroll"):
                    if several:
                        with ui.element("h3"):
                            Name(one)
                    for name in names:
                        place(f"{name}{row}", "dl" if name == "numbers" else "div").classes(name)

    async def _looked(self, event: events.GenericEventArguments) -> None:
        width = event.args.get("width") if isinstance(event.args, dict) else None
        await self.session.look(float(width) if isinstance(width, int | float) and width > 0 else None)

    async def _pressed(self, event: events.GenericEventArguments) -> None:
        pressed: dict[Any, Callable[[], Awaitable[None]]] = {"run": self._toggle, "step": self._step}
        if isinstance(event.args, dict) and event.args.get("name") in pressed:
            await pressed[event.args["name"]]()

    async def _toggle(self) -> None:
        if self.session.running:
            await self.session.pause()
        else:
            self._refuse("")
            self.session.run()
        self._name_button()

    async def _step(self) -> None:
        try:
            await self.session.step()
        except EverlearnError as error:
            self._refuse(str(error))
        self._name_button()

    async def _restart(self) -> None:
        await self._apply(lambda shown: shown)

    async def _add_papers(self) -> None:
        await self._apply(lambda shown: replace(shown, contenders=(*shown.contenders, PAPERS)))

    async def _read(self, spec: str) -> bool:
        def edit(shown: Configuration) -> Configuration:
            return replace(read_text(spec, self.offer), speed=shown.speed, growing=shown.growing)

        return await self._apply(edit)

    async def _apply(self, edit: Edit) -> bool:
        """Show another configuration from the beginning, one after the other; refused, what was there stays."""
        async with self._applying:
            running = self.session.running
            await self.session.pause()
            self.status.set_text("preparing…")
            try:
                await self._open(edit(self.configuration).checked(self.offer))
            except EverlearnError as error:
                self._refuse(str(error))
                return False
            finally:
                self.status.set_text("")
                self._name_button()
            if running:
                self.session.run()
                self._name_button()
        await self._tell_theory()
        return True

    async def _open(self, configuration: Configuration) -> None:
        await self.session.open(configuration)
        before, self.configuration = self.configuration, configuration
        self._refuse("")
        self._tell_remark()
        self._lay_out_anew(_kinds(before) != _kinds(configuration))
        self._address()
        await self.session.paint()

    def _lay_out_anew(self, choices_too: bool = True) -> None:
        """Build what depends on the agents; the choices only where others can be made, since somebody may be typing."""
        self._stage.refresh()
        self._each.refresh()
        (self.choices.refresh if choices_too else self.choices.rename)()
        self._tell_story()
        self.session.forget_shown()

    async def _tell_theory(self) -> None:
        shown = self.configuration
        asked = shown.task, shown.task_parameters
        if asked != self._told:
            self._told = asked
            self.show({"theory": picture.theory(None)})
        self.show({"theory": picture.theory(await self.session.facts())})

    def _set_speed(self, place: int) -> None:
        self._go(SPEEDS[place], self.configuration.growing)

    def _go(self, speed: int, growing: bool) -> None:
        self.configuration = replace(self.configuration, speed=speed, growing=growing)
        self.session.set_speed(self.configuration)
        self._name_speed()
        self._address()

    def _set_growing(self, event: events.ValueChangeEventArguments[bool | None]) -> None:
        self._go(self.configuration.speed, bool(event.value))

    def _name_speed(self) -> None:
        text = say(self.configuration.speed)
        self.speed_text.set_text(text)
        self.speed.props(f'aria-valuetext="{text}"')

    def _name_button(self) -> None:
        name, icon = ("Pause", "pause") if self.session.running else ("Run", "play_arrow")
        self.run_button.set_text(name)
        self.run_button.props(f'icon={icon} aria-label="{name}"')

    def _tell_story(self) -> None:
        task = self.configuration.task
        story = "" if self.configuration.task_parameters else STORIES.get(task, "")
        self.story.set_text(story or self.offer.summary(task) or f"The task {task}.")

    def _tell_remark(self) -> None:
        remark = "" if self.session.race is None else self.session.race.remark
        self.remark.set_text(remark)
        self.remark.set_visibility(bool(remark))

    def _refuse(self, refusal: str) -> None:
        self.alert.set_text(refusal)
        self.alert.set_visibility(bool(refusal))

    def _address(self) -> None:
        with self.client:
            ui.navigate.history.replace(f"/?{self.configuration.query()}")

    def _change_theme(self) -> None:
        self.dark.value = {None: True, True: False, False: None}[self.dark.value]
        names = {None: "contrast", True: "dark_mode", False: "light_mode"}
        self.theme.props(f"icon={names[self.dark.value]}")


def _kinds(configuration: Configuration) -> tuple[object, ...]:
    """Return on what it depends which choices there are."""
    return configuration.task, *((one.agent, one.schedule) for one in configuration.contenders)
