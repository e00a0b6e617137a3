"""Choices: the controls for the task, the agents, their schedules, and the parameters of each."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from nicegui import ui

from everlearn.agents.spec import AgentSpec, TaskSpec
from everlearn.page.components import Name, Text, button
from everlearn.page.configuration import MOST_AGENTS, Configuration, label, write
from everlearn.page.offer import Offer

Edit: TypeAlias = Callable[[Configuration], Configuration]
"""Makes another configuration of the one that is shown when the edit is applied."""

Change: TypeAlias = Callable[[str], Awaitable[str]]
"""Applies what was chosen or typed, and returns why that was not possible, or an empty text."""

PAPERS = AgentSpec("growing-horizon", "smooth")
"""The agent of the paper with the schedule of its experiments."""

SUGGESTED = (
    PAPERS,
    *Configuration().agents,
    AgentSpec("growing-horizon", "change-points"),
    AgentSpec("q-learning"),
    AgentSpec("optimistic-q"),
)
"""The agents to add to a comparison: the first that is not shown yet."""

_OPENED = "(event) => { event.stopPropagation(); emit(event.target.open); }"


class Choices:
    """The controls of a configuration; every change is applied at once, or refused.

    ``read`` returns the configuration that is shown.  ``apply`` applies an edit, and returns why that was not possible,
    or an empty text.  ``refuse`` shows that reason above the page; a field shows it below what was typed.
    """

    def __init__(
        self,
        read: Callable[[], Configuration],
        apply: Callable[[Edit], Awaitable[str]],
        offer: Offer,
        refuse: Callable[[str], None],
    ) -> None:
        self._read, self._apply, self._offer, self._refuse = read, apply, offer, refuse
        self._unfolded: set[str] = set()
        self._names: dict[int, Name] = {}

    def refresh(self) -> None:
        """Build all controls again, when others are needed."""
        self.first.refresh()
        self.others.refresh()

    def rename(self) -> None:
        """Update the names of the agents alone, which does not disturb whoever is typing."""
        for number, agent in enumerate(self._read().agents):
            self._names[number].show(agent)

    @ui.refreshable_method
    def first(self) -> None:
        """Lay out the controls of the task, the seed and the first agent."""
        shown = self._read()

        def set_task(name: str) -> Awaitable[str]:
            return self._apply(lambda shown: replace(shown, task=TaskSpec(name)))

        def set_seed(text: str) -> Awaitable[str]:
            seed: Any = text or Configuration().seed  # it becomes a number when the configuration is checked
            return self._apply(lambda shown: replace(shown, seed=seed))

        def set_parameter(key: str, text: str) -> Awaitable[str]:
            def edit(shown: Configuration) -> Configuration:
                return replace(shown, task=TaskSpec(shown.task.given, _with(shown.task.parameters, key, text)))

            return self._apply(edit)

        with ui.element("div").classes("fields"):
            self._select("task", shown.task.given, set_task)
            self._field("seed", str(shown.seed), "", set_seed)
        self._parameters("task", shown.task.given, shown.task.parameters, set_parameter)
        self._agent(0, shown)

    @ui.refreshable_method
    def others(self) -> None:
        """Lay out the controls of the agents with which the first is compared."""
        shown = self._read()
        Text("p", f"Up to {MOST_AGENTS} agents meet the same task and the same luck.")
        for number in range(1, len(shown.agents)):
            self._agent(number, shown)
        if len(shown.agents) < MOST_AGENTS:
            button("add", "Add an agent", self.add, "Add an agent").props("outline")

    async def add(self, agent: AgentSpec | None = None) -> None:
        """Add an agent to the comparison; by default the first suggestion that is not shown yet."""
        self._refuse(await self._apply(lambda shown: replace(shown, agents=(*shown.agents, agent or suggest(shown)))))

    def _agent(self, number: int, shown: Configuration) -> None:
        """Lay out the controls of one agent."""
        agent = shown.agents[number]

        def change(edit: Callable[[AgentSpec], AgentSpec]) -> Awaitable[str]:
            return self._apply(lambda shown: _put(shown, number, [edit(shown.agents[number])]))

        def set_agent(name: str) -> Awaitable[str]:
            return change(lambda _: AgentSpec(name))

        def set_schedule(name: str) -> Awaitable[str]:
            return change(lambda agent: AgentSpec(agent.given, name))

        def set_parameter(field: str, key: str, text: str) -> Awaitable[str]:
            return change(lambda agent: replace(agent, **{field: _with(getattr(agent, field), key, text)}))

        with ui.element("div").classes(f"contender agent{number}"):
            with ui.element("h2"):
                self._names[number] = Name(agent)
                if len(shown.agents) > 1:
                    remove = partial(self._apply, lambda shown: _put(shown, number, []))
                    cross = button("close", f"Remove {label(agent)}", remove)
                    cross.props("flat round dense").classes("remove quiet")
            with ui.element("div").classes("fields"):
                self._select("agent", agent.given, set_agent)
                if agent.schedule is not None:
                    self._select("schedule", agent.schedule, set_schedule)
            set_of_schedule = partial(set_parameter, "schedule_parameters")
            self._parameters("schedule", agent.schedule, agent.schedule_parameters, set_of_schedule)
            self._parameters("agent", agent.given, agent.parameters, partial(set_parameter, "parameters"))

    def _parameters(
        self, kind: str, name: object, chosen: Mapping[str, Any], change: Callable[[str, str], Awaitable[str]]
    ) -> None:
        """Lay out a field for each parameter that can be set, behind a fold."""
        defaults = self._offer.defaults(kind, name)
        if not defaults:
            return
        with self._fold(f"Settings of the {kind}"), ui.element("div").classes("fields"):
            for key, default in defaults.items():
                text = write(chosen[key]) if key in chosen else ""
                self._field(key.replace("_", " "), text, write(default), partial(change, key))

    @contextmanager
    def _fold(self, title: str) -> Iterator[None]:
        """Hold fields behind a fold, which stays open when the controls are built again."""

        def note(opened: bool) -> None:
            (self._unfolded.add if opened else self._unfolded.discard)(title)

        with ui.element("details").classes("settings") as fold:
            fold.props("open" if title in self._unfolded else "")
            fold.on("toggle", lambda event: note(event.args is True), js_handler=_OPENED)
            with ui.element("summary"):
                Text("span", title)
            yield

    def _select(self, kind: str, value: object, change: Change) -> None:
        select = ui.select(self._offer.names(kind), value=value, label=kind)
        select.props(f'outlined dense options-dense aria-label="{kind}"')

        async def apply() -> None:
            if select.value != value and (refusal := await change(str(select.value))):
                select.set_value(value)
                self._refuse(refusal)

        select.on_value_change(apply)

    def _field(self, name: str, value: str, default: str, change: Change) -> None:
        """Lay out a field, which is read when it is left or Enter is pressed; empty, it stands for the default.

        What cannot be applied stays in the field, with the reason below it.
        """
        field = ui.input(name, value=value, placeholder=default).props(
            f'outlined dense stack-label aria-label="{name}" maxlength=200'
        )
        accepted = value

        async def apply() -> None:
            nonlocal accepted
            text = str(field.value or "")
            refusal = await change(text) if text != accepted else ""
            accepted = accepted if refusal else text
            key = name.replace(" ", "_")
            field.error = re.sub(rf"\b(task|agent|schedule)\.{key}\b", name, refusal) or None

        field.on("change", apply)


def suggest(shown: Configuration) -> AgentSpec:
    """Return an agent to compare with: the paper's if it is not shown yet, else another that is not."""
    labels = {label(agent) for agent in shown.agents}
    return next(agent for agent in SUGGESTED if label(agent) not in labels)


def _put(shown: Configuration, number: int, agents: Sequence[AgentSpec]) -> Configuration:
    """Return a configuration with other agents, or none, in place of one."""
    return replace(shown, agents=(*shown.agents[:number], *agents, *shown.agents[number + 1 :]))


def _with(parameters: Mapping[str, Any], key: str, text: str) -> dict[str, Any]:
    """Return parameters with one of them changed; an empty text restores its default."""
    others = {name: value for name, value in parameters.items() if name != key}
    return {**others, key: text.strip()} if text.strip() else others
