"""The session of one page: its race runs, pauses and steps, and is painted as often as the browser asks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from contextlib import suppress
from typing import TypeAlias, TypeVar

from everlearn.errors import EverlearnError
from everlearn.page.configuration import Configuration
from everlearn.page.facts import Facts, known_lines
from everlearn.page.pace import SLICE, Pace
from everlearn.page.picture import Painter
from everlearn.page.race import Race, Workshop

Value = TypeVar("Value")

Parts: TypeAlias = Mapping[str, str]
"""What is shown, by the name of its place."""


class Session:
    """The race of one page.  Everything long happens in threads; the race is painted between two slices of work.

    ``threads`` must not be those of the engine.  ``show`` is called with the parts that changed, and ``say`` with the
    error that stopped the race, and with an empty text when it has stopped.
    """

    def __init__(
        self, workshop: Workshop, threads: Executor, show: Callable[[Parts], None], say: Callable[[str], None]
    ) -> None:
        self.workshop, self.threads = workshop, threads
        self._show, self._say = show, say
        self.race: Race | None = None
        self._ahead: Race | None = None  # the same race at a later step, while somebody looks back
        self.painter = Painter()
        self.pace = Pace()
        self.running, self.wanting, self.closed = False, True, False
        self._sent: dict[str, str] = {}
        self._busy = asyncio.Lock()
        self._loop: asyncio.Task[None] | None = None
        self._turn = 0  # a loop ends when its turn is over, even if another has begun since

    async def open(self, configuration: Configuration) -> None:
        """Begin a race in place of the present one, which stays if the new one cannot be made."""
        race = await self._in_thread(lambda: self.workshop.race(configuration), self.workshop.preparing)
        async with self._busy:
            painter = Painter(self.painter.width, known_lines(race.task))
            parts = await self._in_thread(lambda: painter.paint(race))  # a user's code may fail here too
            if self.closed:
                return
            self.race, self._ahead, self.painter, self._sent = race, None, painter, {}
        self.pace.speed, self.pace.growing = configuration.speed, configuration.growing
        self._send({**parts, "pace": self.pace.describe(0)})

    def set_speed(self, configuration: Configuration) -> None:
        """Set the speed of a configuration."""
        self.pace.speed, self.pace.growing = configuration.speed, configuration.growing
        self._send({"pace": self.pace.describe(self.t)})

    @property
    def t(self) -> int:
        """The number of steps that the race has taken."""
        return 0 if self.race is None else self.race.t

    @property
    def last(self) -> int:
        """The farthest step that was reached."""
        return self.t if self._ahead is None else self._ahead.t

    async def facts(self) -> Facts | None:
        """Return what theory says of the task, and draw its lines from now on."""
        race = self.race
        if race is None:
            return None
        facts = await self._in_thread(lambda: self.workshop.facts(race.configuration.task), self.workshop.preparing)
        if race is self.race:
            self.painter.lines = dict(facts.lines)
            await self.paint()
        return facts

    def run(self, until: int = 0) -> None:
        """Run until paused; if no race is open yet, begin as soon as one is.

        If ``until`` is given, run as fast as possible to that step, and pause there.
        """
        if not self.running and not self.closed:
            self.running = True
            self._turn += 1
            self._loop = asyncio.create_task(self._run(self._turn, until))

    async def pause(self) -> int:
        """Pause, and wait until it has; return the turn that begins, which ends with the next run, pause or step."""
        self.running = False
        self._turn += 1
        turn = self._turn
        if self._loop is not None:
            await self._loop
        return turn

    async def step(self) -> None:
        """Take one step."""
        await self.pause()
        await self._advance(1)
        await self.paint()

    async def go(self, t: int) -> asyncio.Task[None] | None:
        """Show the race at another step, which is reached from the beginning, as it was before, to the last bit.

        Of several calls the latest counts.  Return the task that takes the steps, if there are any to take.
        """
        turn = await self.pause()
        if self.race is None:
            return None
        before = race = self.race
        farthest = self._ahead or race
        if t >= farthest.t:
            race = farthest
        elif t < race.t:
            configuration = race.configuration
            race = await self._in_thread(lambda: self.workshop.race(configuration), self.workshop.preparing)
        async with self._busy:
            if self.closed or self._turn != turn or self.race is not before:  # something else was asked for meanwhile
                return None
            self.race, self._ahead = race, farthest if race is not farthest else None
        await self.paint()
        if race.t >= t or self._turn != turn:
            return None
        self.run(until=t)
        return self._loop

    async def close(self) -> None:
        """Stop, and release the race."""
        self.closed = True
        await self.pause()
        self.race = self._ahead = None

    async def look(self, width: float | None = None) -> None:
        """Show what is new as soon as there is something; the browser calls this, and says how wide the chart is."""
        self.wanting = True
        if width is not None and abs(width - self.painter.width) >= 1:
            self.painter.width = width
            await self.paint()

    async def read(self, work: Callable[[Race], Value]) -> Value | None:
        """Return what ``work`` makes of the race, which waits meanwhile; None if there is no race."""
        async with self._busy:
            race = self.race
            return None if race is None else await self._in_thread(lambda: work(race))

    def forget_shown(self) -> None:
        """Show everything again next time, since the places were emptied."""
        self._sent = {}

    async def paint(self) -> None:
        """Show what changed."""
        self.painter.brief = self.running and self.pace.flickers(self.t)
        parts = await self.read(lambda race: self.painter.paint(race, self._ahead))
        if parts is not None:
            self._send(parts)

    async def _run(self, turn: int, until: int) -> None:
        while self._turn == turn and self.race is None:
            await asyncio.sleep(SLICE)
        last, begun = time.monotonic(), self.race
        try:
            while self._turn == turn and self.race is not None and not self.race.is_over:
                await asyncio.sleep(0)
                began = time.monotonic()
                steps = self.pace.due(self.race.t, began - last)
                last = began
                if until:
                    steps = min(self.pace.most(), until - self.race.t) if self.race is begun else 0
                    if steps <= 0:
                        break
                if steps:
                    await self._advance(steps)
                spare = SLICE - (time.monotonic() - began)
                if spare > 0 and (steps == 0 or self.pace.speed) and not until:
                    await asyncio.sleep(spare)
        except EverlearnError as error:
            self._say(str(error))
        if self._turn == turn:
            self.running = False
        if not self.closed:
            with suppress(EverlearnError):  # if a user's code fails here, it was said above
                await self.paint()
            self._say("")

    async def _advance(self, steps: int) -> None:
        """Take steps, and paint if the browser asked for it; nothing else may touch the race meanwhile."""
        async with self._busy:
            race = self.race
            if race is None:
                return

            def work() -> Parts | None:
                began = time.perf_counter()
                race.advance(steps)
                if self._ahead is not None and race.t >= self._ahead.t:
                    self._ahead = None
                self.pace.took(steps, time.perf_counter() - began)
                if not self.wanting:  # which may have changed by now
                    return None
                self.painter.brief = self.running and self.pace.flickers(race.t)
                return {**self.painter.paint(race, self._ahead), "pace": self.pace.describe(race.t)}

            parts = await self._in_thread(work)
        if parts is not None:
            self._send(parts)

    def _send(self, parts: Parts) -> None:
        changed = {name: text for name, text in parts.items() if self._sent.get(name) != text}
        if changed and not self.closed:
            self._sent |= changed
            self.wanting = False
            self._show(changed)

    async def _in_thread(self, work: Callable[[], Value], threads: Executor | None = None) -> Value:
        return await asyncio.get_running_loop().run_in_executor(threads or self.threads, work)
