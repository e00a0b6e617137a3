"""The page: its layout, and what happens when something is pressed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from nicegui import Client, events, ui

from everlearn.agents.spec import AgentSpec
from everlearn.errors import EverlearnError
from everlearn.page.choices import PAPERS, Choices, Edit
from everlearn.page.components import Name, Screen, Scrubber, Text, Theme, button, fold, place, slider
from everlearn.page.configuration import MOST_AGENTS, Configuration, is_papers, read_toml
from everlearn.page.exports import export_controls
from everlearn.page.facts import list_labels
from everlearn.page.pace import SPEEDS, describe
from everlearn.page.picture import write_theory
from everlearn.page.session import Parts, Session

SECONDS_NOTED = 1.0
"""How often the address notes the time of a race that runs."""

EXPLAIN = "functions"
"""The icon of the fold that explains a step."""

STAGES = {1: "one", 2: "two", 3: "many", 4: "many"}
"""The layout class for each number of agents."""


class Page:
    """One page in one browser: what shows a session, and the controls that drive it.

    ``refusal`` says why the address could not be read, if it could not; ``local``, that nobody else can open it.
    """

    def __init__(self, client: Client, configuration: Configuration, refusal: str = "", local: bool = True) -> None:
        self.client, self.refusal, self.local = client, refusal, local
        self.configuration, self._at = replace(configuration, at=0), configuration.at
        self._gone: tuple[Configuration, int] = self.configuration, 0
        self._noted = 0.0
        self._resuming = False  # whether to run again when the explanation is closed
        self._asked = -1  # the step that the scrubber asked for last, while it is being gone to
        self.session: Session
        self._applying = asyncio.Lock()
        self._wanted = False  # whether to run what is being prepared
        self._theory_of: object = None

    def build(self, session: Session) -> None:
        """Lay out everything; the painted parts come when the browser has connected."""
        self.session, self.offer = session, session.workshop.offer
        self.theme = Theme(lambda theme: self.screen.keep_theme(theme))
        with ui.element("div").classes("page"):
            self._header()
            self.alert = Text("p").classes("alert").props('role="alert"')
            with ui.element("p").classes("notice").props('role="status"') as self.notice:
                self.notice_text = Text("span")
                button("undo", "Bring it back", self._bring_back, "Bring it back").props("flat dense")
            self.notice.set_visibility(False)
            self._stage()
            self._controls()
            self._timeline()
            self.remark = Text("p").classes("quiet")
            self._folds()
        self.screen = Screen().on("look", self._look).on("press", self._press).on("theme", self.theme.read)
        self.screen.on("go", self._go_to_moment)
        self._refuse(self.refusal)

    async def begin(self) -> None:
        """Begin the race; called when the browser has connected."""
        try:
            await self._open(self.configuration, self.refusal)
        except EverlearnError as error:
            await self._open(self.session.workshop.start, str(error))
            self._at = 0
        self._return_to(self._at)
        await self._show_theory()

    def show(self, parts: Parts) -> None:
        """Show what the session painted, and note the time in the address, so that a reload returns to it."""
        self.screen.show(parts)
        if "time" in parts and time.monotonic() > self._noted + SECONDS_NOTED:
            self._address()

    def report(self, refusal: str) -> None:
        """Show why the session stopped, if it failed, and update the button."""
        if refusal:
            self._refuse(refusal)
        self.status.set_text("")
        self._name_button()
        self._address()

    def _header(self) -> None:
        with ui.element("header"):
            with ui.element("div"):
                self.name = Text("h1")
                self.story = Text("p", "").classes("story")
            with ui.element("nav"):
                ui.link("All tasks", "/tasks").classes("more")
                ui.link("Play the station", "/station").classes("more")
                self.theme.lay_out()
        self._show_story()

    @ui.refreshable_method
    def _stage(self) -> None:
        shown = self.configuration.agents
        with ui.element("section").classes(f"stage {STAGES[len(shown)]}"):
            with ui.element("figure").classes("card curve"):
                with ui.element("figcaption"):
                    Text("span", "Average reward so far")
                    if len(shown) < MOST_AGENTS and not any(is_papers(agent) for agent in shown):
                        self._offer_papers()
                place("chart")
            with ui.element("div").classes("scenes").props('tabindex=0 role=group aria-label="What the agents do"'):
                for row, agent in enumerate(shown):
                    self._scene(row, agent)

    def _offer_papers(self) -> None:
        async def add() -> None:
            offered.props("loading")
            await self.choices.add(PAPERS)
            if not offered.is_deleted:
                offered.props(remove="loading")

        hint = "Start again from step 0, with the paper's agent beside this one"
        offered = button("compare_arrows", hint, add, "Compare with the paper's")
        offered.props("flat dense").classes("compare")

    @staticmethod
    def _scene(row: int, agent: AgentSpec) -> None:
        with ui.element("figure").classes(f"card scene agent{row}"):
            with ui.element("figcaption"):
                Name(agent)
                with ui.element("span").classes("score"):
                    Text("span", "average ")
                    place(f"score{row}", "b")
            place(f"drawing{row}")

    def _controls(self) -> None:
        def set_speed(place: int) -> None:
            self._set_pace(SPEEDS[place], self.configuration.growing)

        def set_growing(event: events.ValueChangeEventArguments[bool | None]) -> None:
            self._set_pace(self.configuration.speed, bool(event.value))

        with ui.element("section").classes("controls").props('aria-label="Run the agent"'):
            self.run_button = button("play_arrow", "Run", self._toggle, "Run").props("unelevated").classes("run")
            button("skip_next", "Take one step", self._step, "Step").props("outline")
            button("replay", "Start again from step 0", self._restart, "Restart").props("outline")
            with ui.element("div").classes("clock"):
                with ui.element("div").classes("steps"):
                    Text("span", "step ")
                    place("time", "b")
                self.status = Text("div").classes("status").props('role="status"')
            with ui.element("div").classes("speed"):
                shown = self.configuration
                self.speed = slider("Speed", len(SPEEDS), SPEEDS.index(shown.speed), set_speed)
                place("pace", "span").classes("quiet")
                ui.switch("ever faster", value=shown.growing, on_change=set_growing)
        self._name_speed()

    def _timeline(self) -> None:
        """Lay out the moments so far, and a scrubber that goes back to any step."""
        with ui.element("section").classes("card timeline").props('aria-label="Timeline"'):
            self.scrubber = Scrubber().on("go", self._scrub)
            place("moments", "ol").classes("moments")

    def _folds(self) -> None:
        with ui.element("section").classes("folds"):
            with fold("Change the task, the agent or the schedule", "tune"):
                self.choices = Choices(lambda: self.configuration, self._apply, self.offer, self._refuse)
                self.choices.first()
            with fold("Compare with other agents", "compare_arrows"):
                self.choices.others()
            with fold("See what the agent knows", "grid_on"):
                self._knowledge()
            with fold("Explain this step", EXPLAIN, self._explain):
                self._each("explained")
            with fold("What theory says of this task", "school"):
                place("theory").classes("scroll")
            with fold("Share and export", "ios_share"):
                export_controls(lambda: self.session, self._read, self._refuse, self.local)

    def _knowledge(self) -> None:
        """Lay out what the agents know, with numbers if they are switched on."""
        with ui.element("div").classes("speed"):  # as the other switch
            switch = ui.switch("Numbers").props("aria-label=Numbers")
        with ui.element("div").classes("knowledge") as shown:
            self._each("belief")
            with ui.element("div").classes("counted"):
                self._each("numbers", "known")
        switch.on_value_change(lambda event: shown.classes(**{"add" if event.value else "remove": "all"}))

    @ui.refreshable_method
    def _each(self, *names: str) -> None:
        several = len(self.configuration.agents) > 1
        with ui.element("div").classes("each"):
            for row, agent in enumerate(self.configuration.agents):
                with ui.element("div").classes(f"agent{row} scroll"):
                    if several:
                        with ui.element("h2"):
                            Name(agent)
                    for name in names:
                        place(f"{name}{row}", "dl" if name == "numbers" else "div").classes(name)

    async def _look(self, event: events.GenericEventArguments) -> None:
        width = event.args.get("width") if isinstance(event.args, dict) else None
        await self.session.look(float(width) if isinstance(width, int | float) and width > 0 else None)

    async def _press(self, event: events.GenericEventArguments) -> None:
        actions: dict[Any, Callable[[], Awaitable[None]]] = {"run": self._toggle, "step": self._step}
        if isinstance(event.args, dict) and event.args.get("name") in actions:
            await actions[event.args["name"]]()

    async def _toggle(self) -> None:
        if self._applying.locked():
            self._wanted = not self._wanted
        elif self.session.running:
            await self.session.pause()
        else:
            self._refuse("")
            self.status.set_text("")
            self._resuming = False
            self.screen.fold(EXPLAIN)  # what is explained must stay
            self.session.run()
        self._name_button()

    async def _explain(self, opened: bool) -> None:
        """Pause while the explanation is open, so that what is explained stays."""
        if opened:
            self._resuming = self.session.running
            await self.session.pause()
            if self._resuming:
                self.status.set_text(f"paused to explain step {self.session.t:,}")
        else:
            self.status.set_text("")
            if self._resuming:
                self.session.run()
        self._name_button()

    async def _scrub(self, event: events.GenericEventArguments) -> None:
        """Go to a step, and then to the latest that was asked for meanwhile, unless something else was done."""
        under_way, self._asked = self._asked >= 0, self._step_of(event)
        if under_way:
            return
        at = -1
        try:
            while at != self._asked:
                at = self._asked
                await self._go(at)
                if self.session.t != at:
                    break
        finally:
            self._asked = -1
            if not self.session.closed:
                self.scrubber.arrive()

    async def _go_to_moment(self, event: events.GenericEventArguments) -> None:
        await self._go(self._step_of(event))

    def _step_of(self, event: events.GenericEventArguments) -> int:
        """Return the step that is asked for; if there is no such step, the present one."""
        at = event.args.get("at") if isinstance(event.args, dict) else None
        return at if isinstance(at, int) and 0 <= at <= self.session.last else self.session.t

    async def _go(self, t: int) -> None:
        """Show the same run at another step, and return when it is there, or does something else."""
        if self._applying.locked():
            return
        self._resuming = False
        self.status.set_text("")
        try:
            arrival = await self.session.go(t)
            self._name_button()
            if arrival is not None:
                await arrival
        except EverlearnError as error:
            self._refuse(str(error))
        self._name_button()

    async def _step(self) -> None:
        if self._applying.locked():
            return
        self.status.set_text("")
        try:
            await self.session.step()
        except EverlearnError as error:
            self._refuse(str(error))
        self._name_button()

    async def _restart(self) -> None:
        self._refuse(await self._apply(lambda shown: shown))

    async def _bring_back(self) -> None:
        configuration, at = self._gone
        self._refuse(await self._apply(lambda _: configuration, at))

    def _return_to(self, at: int) -> None:
        """Take the steps to a time again, which gives the same run to the last bit."""
        if at:
            self.status.set_text(f"returning to step {at:,}…")
            self.session.run(until=at)
            self._name_button()

    async def _read(self, spec: str) -> str:
        def edit(shown: Configuration) -> Configuration:
            return replace(read_toml(spec, self.offer), speed=shown.speed, growing=shown.growing)

        return await self._apply(edit)

    async def _apply(self, edit: Edit, at: int = 0) -> str:
        """Show another configuration from the beginning, one edit after the other; return why that is not possible.

        ``at`` is a step to which to return at once.
        """
        async with self._applying:
            self._wanted, before = self.session.running and not at, (self.configuration, self.session.t)
            await self.session.pause()
            self.status.set_text("preparing…")
            self._name_button()
            try:
                await self._open(edit(self.configuration).checked(self.offer))
            except EverlearnError as error:
                self._wanted = False
                return str(error)
            finally:
                self.status.set_text("")
                self._name_button()
            self._offer_back(before)
            self._return_to(at)
            if self._wanted:
                self.session.run()
        self._name_button()
        await self._show_theory()
        return ""

    def _offer_back(self, before: tuple[Configuration, int]) -> None:
        """Say that a run has ended, and offer to bring it back."""
        _, at = self._gone = before
        self.notice_text.set_text(f"This run starts again. The run before ended at step {at:,}.")
        self.notice.set_visibility(at > 0)

    async def _open(self, configuration: Configuration, refusal: str = "") -> None:
        """Open a race, and build again what depends on its agents."""
        await self.session.open(configuration)
        before, self.configuration = self.configuration, configuration
        self._refuse(refusal)
        self.remark.set_text("" if self.session.race is None else self.session.race.remark)
        self.remark.set_visibility(bool(self.remark.text))
        if configuration != before:
            self._stage.refresh()
            self._each.refresh()
            other_choices = before.kinds != configuration.kinds
            (self.choices.refresh if other_choices else self.choices.rename)()  # somebody may be typing in these
            self.session.forget_shown()
        self._show_story()
        self._address()
        await self.session.paint()

    async def _show_theory(self) -> None:
        if self.configuration.task != self._theory_of:
            self._theory_of = self.configuration.task
            self.show({"theory": write_theory(None)})
        self.show({"theory": write_theory(await self.session.facts())})

    def _set_pace(self, speed: int, growing: bool) -> None:
        self.configuration = replace(self.configuration, speed=speed, growing=growing)
        self.session.set_speed(self.configuration)
        self._name_speed()
        self._address()

    def _name_speed(self) -> None:
        self.speed.props(f'aria-valuetext="{describe(self.configuration.speed)}"')

    def _name_button(self) -> None:
        running = self.session.running or (self._wanted and self._applying.locked())
        name, icon = ("Pause", "pause") if running else ("Run", "play_arrow")
        self.run_button.set_text(name)
        self.run_button.props(f'icon={icon} aria-label="{name}"')

    def _show_story(self) -> None:
        race, given = self.session.race, self.configuration.task.given
        self.name.set_text(f"everlearn: {given}")
        with self.client:
            ui.page_title(f"{given} – everlearn")
        dilemma = "" if race is None else race.task.portrait.dilemma
        self.story.set_text(dilemma or self.offer.summary(given) or ("" if race is None else list_labels(race.task)))

    def _refuse(self, refusal: str) -> None:
        self.alert.set_text(refusal)
        self.alert.set_visibility(bool(refusal))

    def _address(self) -> None:
        self._noted = time.monotonic()
        with self.client:
            ui.navigate.history.replace(f"/?{replace(self.configuration, at=self.session.t).query()}")
