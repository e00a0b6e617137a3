"""The looks that the promotion rule of an agent takes at its evidence, in the process that has the agent open."""

from __future__ import annotations

import logging
from collections.abc import Callable

from everlearn.durable.core import Core
from everlearn.durable.entry import Entry
from everlearn.durable.promotion import Rule
from everlearn.durable.store import Store

LOG = logging.getLogger("everlearn.durable")


class Looks:
    """Takes the looks that are due; one that fails is tried again after 1, 2, 4, ... further steps."""

    def __init__(self) -> None:
        self._again, self._pause = 0, 1  # when a look that failed is tried again, and how long after that
        self._said = ""  # why it failed

    def take(self, store: Store, core: Core, commit: Callable[[Entry], None]) -> None:
        """Let the rule look at its evidence, if that is due; what was observed is safe in any case."""
        if core.step < max(core.look_at, self._again):
            return
        from everlearn.analysis.promotion import answer, disobeyed, entry_of, question

        try:
            while core.step >= core.look_at:
                asked = question(core)
                look = None if asked is None else answer(store, core.agent.task, asked)
                commit(entry_of(core, look))
                self._said, self._pause = "", 1
                if look is not None and (warning := disobeyed(look.evidence)) is not None:
                    LOG.warning("step %d: %s", core.step, warning)
        except Exception as error:
            self._again = core.step + self._pause
            self._pause = min(2 * self._pause, (core.setup.promotion or Rule()).every)
            if str(error) != self._said:
                LOG.warning("the promotion rule could not look at step %d: %s", core.step, error)
            self._said = str(error)
