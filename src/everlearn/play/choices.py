"""Choosing: the task, the agents and their schedules, and what may be set of each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeAlias

from nicegui import ui

from everlearn.agents.registry import DEFAULT_SCHEDULE
from everlearn.play.components import Name, Text, button
from everlearn.play.configuration import MOST, Configuration
from everlearn.play.contender import Contender, written
from everlearn.play.offer import Offer

Edit: TypeAlias = Callable[[Configuration], Configuration]
"""Makes another configuration of the one that is shown when its turn has come."""

Change: TypeAlias = Callable[[str], Awaitable[bool]]
"""Applies what was chosen or typed, and tells whether it was taken."""

_OPENED = "(event) => { event.stopPropagation(); emit(event.target.open); }"

PAPERS = Contender("growing-horizon", "smooth")
"""The agent of the paper with the schedule of its experiments."""

SUGGESTED = (
    PAPERS,
    Contender(),
    Contender("growing-horizon", "change-points"),
    Contender("q-learning", None),
    Contender("optimistic-q", None),
)
"""What is added to a comparison: the first that is not there yet, so that the paper's agent comes first."""


class Choices:
    """The controls of a configuration; every change is applied at once, or refused and taken back."""

    def __init__(
        self, read: Callable[[], Configuration], apply: Callable[[Edit], Awaitable[bool]], offer: Offer
    ) -> None:
        self._read, self._apply, self._offer = read, apply, offer
        self._opened: set[str] = set()
        self._names: dict[int, Name] = {}

    def refresh(self) -> None:
        """Build everything anew, for other choices."""
        self.first.refresh()
        self.others.refresh()

    def rename(self) -> None:
        """Name the agents anew; whoever is typing is not disturbed."""
        for number, one in enumerate(self._read().contenders):
            self._names[number].tell(one)

    @ui.refreshable_method
    def first(self) -> None:
        """Choose the task, the seed and the first agent."""
        shown = self._read()
        with ui.element("div").classes("fields"):
            self._select("task", self._offer.names("task"), shown.task, self._set_task)
            self._field("seed", str(shown.seed), "", self._set_seed)
        self._parameters("task", shown.task, shown.task_parameters, self._set_task_parameter, "Settings of the task")
        self._contender(0, shown)

    @ui.refreshable_method
    def others(self) -> None:
        """Choose the agents that the first is compared with."""
        shown = self._read()
        Text("p", f"Up to {MOST} agents meet the same task and the same luck.")
        for number in range(1, len(shown.contenders)):
            self._contender(number, shown)
        if len(shown.contenders) < MOST:
            button("add", "Add an agent", self._add, "Add an agent").props("outline")

    def _contender(self, number: int, shown: Configuration) -> None:
        one = shown.contenders[number]
        with ui.element("div").classes(f"contender agent{number}"):
            with ui.element("h3"):
                self._names[number] = Name(one)
                if len(shown.contenders) > 1:
                    remove = button("close", f"Remove {one.label}", lambda: self._remove(number)).props(
                        "flat round dense"
                    )
                    remove.classes("remove quiet")
            with ui.element("div").classes("fields"):
                agents, schedules = self._offer.names("agent"), self._offer.names("schedule")
                self._select("agent", agents, one.agent, lambda name: self._set_agent(number, name))
                if one.schedule is not None:
                    self._select("schedule", schedules, one.schedule, lambda name: self._set_schedule(number, name))
            for kind, name in (("schedule", one.schedule), ("agent", one.agent)):
                title = f"Settings of the {kind}"
                self._parameters(
                    kind, name, one.parameters, lambda key, text: self._set_parameter(number, key, text), title
                )

    def _parameters(
        self,
        kind: str,
        name: str | None,
        chosen: Mapping[str, Any],
        change: Callable[[str, str], Awaitable[bool]],
        title: str,
    ) -> None:
        known = self._offer.settable(kind, name)
        if not known:
            return
        with self._settings(title), ui.element("div").classes("fields"):
            for key, default in known.items():
                self._field(
                    key.partition(".")[2].replace("_", " "),
                    written(chosen[key]) if key in chosen else "",
                    written(default),
                    lambda text, key=key: change(key, text),  # type: ignore[misc]
                )

    @contextmanager
    def _settings(self, title: str) -> Iterator[None]:
        """Hold fields behind a fold, which stays as it was when the choices are built anew."""
        with ui.element("details").classes("settings") as fold:
            fold.props("open" if title in self._opened else "")
            fold.on("toggle", lambda event: self._note(title, event.args is True), js_handler=_OPENED)
            with ui.element("summary"):
                Text("span", title)
            yield

    def _note(self, title: str, opened: bool) -> None:
        (self._opened.add if opened else self._opened.discard)(title)

    def _select(self, label: str, options: list[str], value: str, change: Change) -> None:
        made = ui.select(options, value=value, label=label).props(f'outlined dense options-dense aria-label="{label}"')

        async def changed() -> None:
            if made.value != value and not await change(str(made.value)):
                made.set_value(value)

        made.on_value_change(changed)

    def _field(self, label: str, value: str, default: str, change: Change) -> None:
        """Put down a field that is read when it is left or Enter is pressed; empty, it has its default."""
        field = ui.input(label, value=value, placeholder=default).props(
            f'outlined dense stack-label aria-label="{label}" maxlength=200'
        )
        held = value

        async def changed() -> None:
            nonlocal held
            given = str(field.value or "")
            if given != held and await change(given):
                held = given
            field.set_value(held)

        field.on("change", changed)

    async def _set_task(self, name: str) -> bool:
        return await self._apply(lambda shown: replace(shown, task=name, task_parameters={}))

    async def _set_seed(self, text: str) -> bool:
        given: Any = text or Configuration().seed  # made a number where everything is checked
        return await self._apply(lambda shown: replace(shown, seed=given))

    async def _set_task_parameter(self, key: str, text: str) -> bool:
        return await self._apply(lambda shown: replace(shown, task_parameters=_with(shown.task_parameters, key, text)))

    async def _set_agent(self, number: int, name: str) -> bool:
        schedule = DEFAULT_SCHEDULE if self._offer.takes_schedule(name) else None
        return await self._apply(lambda shown: _put(shown, number, lambda _: Contender(name, schedule)))

    async def _set_schedule(self, number: int, name: str) -> bool:
        return await self._apply(lambda shown: _put(shown, number, lambda one: Contender(one.agent, name)))

    async def _set_parameter(self, number: int, key: str, text: str) -> bool:
        def changed(one: Contender) -> Contender:
            return replace(one, parameters=_with(one.parameters, key, text))

        return await self._apply(lambda shown: _put(shown, number, changed))

    async def _add(self) -> bool:
        return await self._apply(lambda shown: replace(shown, contenders=(*shown.contenders, suggested(shown))))

    async def _remove(self, number: int) -> bool:
        return await self._apply(
            lambda shown: replace(shown, contenders=shown.contenders[:number] + shown.contenders[number + 1 :])
        )


def suggested(shown: Configuration) -> Contender:
    """Return what to compare with: the paper's agent unless it is there, or else another that is not.

    Examples
    --------
    >>> suggested(Configuration()).label
    'growing-horizon, smooth'
    >>> suggested(Configuration(contenders=(PAPERS,))).label
    'growing-horizon, practical'

    """
    there = {one.label for one in shown.contenders}
    return next(one for one in SUGGESTED if one.label not in there)


def _put(shown: Configuration, number: int, change: Callable[[Contender], Contender]) -> Configuration:
    contenders = [*shown.contenders]
    contenders[number] = change(contenders[number])
    return replace(shown, contenders=tuple(contenders))


def _with(chosen: Mapping[str, Any], key: str, text: str) -> dict[str, Any]:
    """Return parameters with one of them changed; an empty text puts it back to its default."""
    kept = {name: value for name, value in chosen.items() if name != key}
    return kept if text.strip() == "" else {**kept, key: text.strip()}
