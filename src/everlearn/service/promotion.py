"""Promotion rules in the service: looks at the evidence, and reports, are computed outside the committer's thread.

A look or a report reads the journal through a connection of its own, in a process of the sandbox, with its limits on
time and memory.  So no other agent waits for it.  The committer writes the row that records a look, unless the rule
or the mode of the agent has changed meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path
from typing import Any

import numpy as np

from everlearn.analysis.promotion import Look, Question, answer, disobeyed, entry_of, nothing_known, question
from everlearn.durable import database
from everlearn.durable.core import Core
from everlearn.durable.reader import Reader
from everlearn.errors import EverlearnError, LiveError
from everlearn.service.agents import Agents
from everlearn.service.committer import Busy, Committer, Prepared
from everlearn.service.logs import log
from everlearn.service.sandbox import Refused, Sandbox

PERIOD = 0.1
"""Seconds between two glances at which rules are due."""

REST = 10.0
"""Seconds before a look is tried again that failed."""


Asked = Question | Exception | None
"""What is to be looked at, or why that cannot be said; None if a first candidate is to be fixed."""


class Promoter:
    """Takes the looks that are due, one after another, while the service runs."""

    def __init__(self, committer: Committer[Agents], sandbox: Sandbox) -> None:
        self.committer, self.sandbox = committer, sandbox
        self._rests: dict[str, tuple[float, str]] = {}  # until when an agent is let be after an error, and that error

    async def run(self) -> None:
        """Take looks for ever; an error in one is logged, and concerns that one alone."""
        while True:
            await asyncio.sleep(PERIOD)
            try:
                await self._take_due()
            except Busy:
                continue
            except Exception as error:  # else no rule of any agent would look again until the next start
                self._rest("", error)

    async def _take_due(self) -> None:
        keeper = self.committer.keeper
        if keeper is not None and keeper.looking:
            for name, asked in await self.committer.do(None, _due):
                if time.monotonic() >= self._rests.get(name, (0.0, ""))[0]:
                    await self._take(name, asked)

    async def _take(self, name: str, asked: Asked) -> None:
        try:
            if isinstance(asked, Exception):
                raise asked
            look = None if asked is None else await self._look(name, asked)
            await self.committer.do(name, lambda agents: _record(agents, name, asked, look))
            self._rests.pop(name, None)
        except Exception as error:  # a later observation asks for it again
            self._rest(name, error)

    def _rest(self, name: str, error: Exception) -> None:
        """Let an agent be for a while, and say why, unless that was said before; forget those that were deleted."""
        line = str(error) if isinstance(error, EverlearnError) else repr(error)
        if self._rests.get(name, (0.0, ""))[1] != line:
            log(logging.ERROR, "the promotion rule could not look", agent=name, error=line)
        names = () if self.committer.keeper is None else self.committer.keeper.names
        self._rests = {kept: rest for kept, rest in self._rests.items() if not kept or kept in names}
        self._rests[name] = time.monotonic() + REST, line

    async def _look(self, name: str, asked: Question) -> Look:
        keeper = self.committer.keeper
        path = keeper.store.path if keeper is not None else Path()
        try:
            document = await asyncio.to_thread(self.sandbox.compute, compute_look, path, name, asked)
        except Refused as error:
            return Look(nothing_known(asked, str(error)), np.zeros(len(asked.policy)))
        return Look(document["evidence"], np.array(document["shares"]))


def compute_look(path: Path, name: str, asked: Question) -> dict[str, Any]:
    """Return the evidence of a look as a JSON document."""
    with database.errors(path), Reader.on(database.connect_to_read(path), path) as reader:
        look = answer(reader, reader.enrolled(name).stored_setup().task, asked)
    return {"evidence": look.evidence, "shares": look.shares.tolist()}


def compute_report(path: Path, name: str, *given: Any) -> dict[str, Any]:
    """Return a report as a JSON document."""
    from everlearn.analysis.shadow import report_of

    try:
        with database.errors(path), Reader.on(database.connect_to_read(path), path) as reader:
            return report_of(reader, name, reader.look(name), *given).to_dict()
    except LiveError:  # it names files, which are nobody's business
        raise LiveError("the journal cannot be read; an operator can say why: everlearn check DIR") from None


def _due(agents: Agents) -> list[tuple[str, Asked]]:
    """Return the agents whose rules are due, and what they are to look at."""
    cores, agents.looking = agents.looking, set()
    names = [(name, core) for name, core in agents.cores.items() if core in cores and core.step >= core.look_at]
    return [(name, _asked(core)) for name, core in names]


def _asked(core: Core) -> Asked:
    """Return what a rule is to look at; an error in that concerns this agent alone."""
    try:
        return question(core)
    except Exception as error:
        return error


def _record(agents: Agents, name: str, asked: Question | None, look: Look | None) -> Prepared | None:
    """Write the row of a look, unless the rule asks something else by now."""
    core = agents.core(name)
    if core.step < core.look_at or question(core) != asked or core.failure is not None:
        return None
    entry = entry_of(core, look)

    def then() -> None:
        mode = core.mode
        agents.apply(core, entry)
        if look is not None and (warning := disobeyed(look.evidence)) is not None:
            log(logging.WARNING, warning, agent=name, step=core.step)
        if core.mode != mode:
            _tell(name, core)

    return Prepared((core.number, entry), then)


def _tell(name: str, core: Core) -> None:
    event = "agent promoted" if core.rule_state.in_control else "agent demoted"
    log(logging.WARNING, event, agent=name, step=core.step, mode=core.mode, evidence=core.rule_state.last)
