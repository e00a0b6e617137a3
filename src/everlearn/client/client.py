"""A controller's side of the service: it answers in time, repeats safely, and goes on alone while the service is away.

Every request carries the number of its step, so that repeating one changes nothing.  When the service cannot be
reached within the deadline, ``act`` returns what the fallback says; what is executed and observed meanwhile is kept, in
order, and told when the service is back, as executed actions, from which the agent learns.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, TypeAlias
from urllib.parse import quote

from everlearn.client.connection import Connection, ServiceError, Unreachable, as_label
from everlearn.client.fallback import Fallback, make_fallback
from everlearn.client.line import Line
from everlearn.errors import InputError, require

Label: TypeAlias = Any
"""An int, a str or a tuple of labels."""

NEVER = (409, 422)
"""What an observation is refused with that contradicts what is recorded, or that cannot be used."""

_LOG = logging.getLogger("everlearn.client")


class Client:
    """One agent of a service, asked and told from one thread.

    Parameters
    ----------
    url:
        where the service is, as in ``http://127.0.0.1:8321``
    agent:
        the name of the agent
    token:
        where the service asks for one
    deadline:
        seconds that a call may take
    fallback:
        what to do while the service cannot be reached: an action; a policy table, as ``policy()`` returns it; or a
        function of the last aleatoric state and the last observation that are known (None, where none is)
    backlog:
        how many observations are kept while the service cannot be reached

    Examples
    --------
    >>> client = Client("http://127.0.0.1:9", "pump", deadline=0.05, fallback="off")  # nobody listens there
    >>> client.act()
    'off'
    >>> client.observe("low"), client.waiting
    (None, 1)

    """

    def __init__(
        self,
        url: str,
        agent: str,
        *,
        token: str | None = None,
        deadline: float = 1.0,
        fallback: Fallback | None = None,
        backlog: int = 10_000,
    ) -> None:
        require(deadline > 0, "deadline", deadline, "give a positive number of seconds")
        require(backlog >= 2, "backlog", backlog, "give at least 2")
        self.agent, self.deadline, self.backlog = agent, deadline, backlog
        self.lost = 0
        self._line = Line(Connection(url, token))
        self._fallback = None if fallback is None else make_fallback(fallback)
        self._kept: deque[dict[str, Any]] = deque()
        self._step: int | None = None
        self._pending: Label | None = None
        self._allowed: list[Label] | None = None
        self._state: Label | None = None
        self._observation: Label | None = None
        self._mode = "learn"

    def __repr__(self) -> str:
        """Return one line: the agent, the service and how many observations wait; never the token."""
        state = "connected" if self.connected else "not connected"
        return f"Client({self.agent!r} at {self._line.connection.address}, {state}, {self.waiting:,} waiting)"

    @property
    def connected(self) -> bool:
        """Whether the last attempt to reach the service succeeded (or there was none yet)."""
        return self._line.connected

    @property
    def waiting(self) -> int:
        """How many observations are still to be told; ``lost`` counts those that never will be."""
        return len(self._kept)

    def act(self, *, allowed: Iterable[Label] | None = None) -> Label:
        """Return the action for the next step, within the deadline.  Asked again before ``observe``, it is the same."""
        if self._pending is None:
            ends = time.monotonic() + self.deadline
            self._allowed = None if allowed is None else list(allowed)
            self._take(self._ask("act", {"allowed": self._allowed}, ends) if self._tell(ends) else None)
        return self._pending

    def observe(
        self,
        observation: Label,
        *,
        executed: Label | None = None,
        reward: float | None = None,
        state: Label | None = None,
    ) -> float | None:
        """Tell what was observed; return the reward once it is on the service's disk, or None if it is kept for later.

        Parameters
        ----------
        observation:
            what followed
        executed:
            the action that was really executed, where it was not the one that ``act`` returned
        reward:
            what the step was worth, for agents whose reward is given
        state:
            the aleatoric state that follows, for agents whose state is given

        """
        self._keep(observation, executed, reward, state)
        ends = time.monotonic() + self.deadline
        answer = self._send("observe", ends) if self._tell(ends, but=1) else None
        return None if answer is None else float(answer["reward"])

    def step(
        self,
        observation: Label,
        *,
        executed: Label | None = None,
        reward: float | None = None,
        state: Label | None = None,
        allowed: Iterable[Label] | None = None,
    ) -> Label:
        """Tell what was observed and return the next action: ``observe`` and ``act`` in one request."""
        self._keep(observation, executed, reward, state)
        self._allowed = None if allowed is None else list(allowed)
        ends = time.monotonic() + self.deadline
        answer = self._send("step", ends, next_allowed=self._allowed) if self._tell(ends, but=1) else None
        self._take(None if answer is None else answer["next"])
        return self._pending

    def create(self, setup: Mapping[str, Any]) -> dict[str, Any]:
        """Make the agent; where it is there already with the same setup, that is fine."""
        return self._request("POST", "/v1/agents", {"name": self.agent, "setup": dict(setup)})

    def inspect(self) -> dict[str, Any]:
        """Return what the agent knows."""
        return self._request("GET", self._path())

    def policy(self) -> dict[str, Any]:
        """Return the greedy policy as a table, which a later client can take as its fallback."""
        return self._request("GET", self._path("/policy"))

    def mode(self, mode: str) -> dict[str, Any]:
        """Let the agent ``learn``, or be ``frozen`` or a ``shadow``."""
        return self._request("PUT", self._path("/mode"), {"mode": mode})

    def close(self) -> int:
        """Tell what is still kept, within the deadline; return how many observations could not be told and are lost."""
        self._line.insist()
        try:
            self._tell(time.monotonic() + self.deadline)
        except ServiceError as error:
            _LOG.warning("%s: %s", self.agent, error)
        finally:
            self._line.connection.close()
        if self._kept:
            _LOG.warning("%s: %d observations could not be told and are lost", self.agent, len(self._kept))
        return len(self._kept)

    def __enter__(self) -> Client:
        """Return itself."""
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _where: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    def _keep(self, observation: Label, executed: Label | None, reward: float | None, state: Label | None) -> None:
        action = self._pending if executed is None else executed
        if executed is None and self._mode == "shadow":
            raise InputError("executed", executed, "in shadow mode somebody else decides; name what was executed")
        if action is None:
            raise InputError("executed", executed, "nothing was asked for; call act() first, or name what was executed")
        entry = {"observation": observation, "executed": action, "reward": reward, "state": state}
        self._kept.append({**entry, "allowed": self._allowed})
        self._pending, self._allowed, self._observation = None, None, observation
        if self._fallback is not None:
            self._state = self._fallback.follow(self._state, action, observation, state)
        if len(self._kept) > self.backlog:
            # The first may have arrived though its answer did not; to say something else of its step would be refused.
            del self._kept[1]
            self.lost += 1

    def _take(self, answer: dict[str, Any] | None) -> None:
        """Take the action that was proposed, or else what the fallback says."""
        if answer is not None:
            self._step, self._pending = int(answer["step"]), as_label(answer["action"])
            self._state, self._mode = as_label(answer["state"]), str(answer["mode"])
        elif self._fallback is None:
            raise Unreachable(f"{self.agent}: no action within {self.deadline} seconds, and there is no fallback")
        else:
            self._pending = self._fallback.choose(self._state, self._observation, self._allowed)

    def _tell(self, ends: float, but: int = 0) -> bool:
        """Tell what is kept, all but the last so many; return whether that succeeded."""
        while len(self._kept) > but:
            if self._send("observe", ends) is None:
                return False
        return True

    def _send(self, operation: str, ends: float, **more: Any) -> dict[str, Any] | None:
        """Tell the first of what is kept; once that is acknowledged it is kept no longer."""
        entry = self._kept[0]
        if self._step is None:  # the service was away from the beginning, and only it knows which step this is
            first = self._ask("act", {"allowed": entry["allowed"]}, ends)
            if first is None:
                return None
            self._step = int(first["step"])
        try:
            answer = self._ask(operation, {"step": self._step, **entry, **more}, ends)
        except ServiceError as error:
            self._drop(error)
            raise
        if answer is not None:
            self._kept.popleft()
            self._step += 1
        return answer

    def _drop(self, error: ServiceError) -> None:
        """Keep no longer what the service will never take; which step is due, it will say when it is asked."""
        if error.status in NEVER:
            self._kept.popleft()
            self._step = None
            self.lost += 1

    def _ask(self, operation: str, body: dict[str, Any], ends: float) -> dict[str, Any] | None:
        given = {key: value for key, value in body.items() if value is not None}
        answer: dict[str, Any] | None = self._line.ask("POST", self._path(f"/{operation}"), given, ends=ends)
        return answer

    def _path(self, what: str = "") -> str:
        return f"/v1/agents/{quote(self.agent, safe='')}{what}"

    def _request(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        self._line.insist()
        answer: dict[str, Any] | None = self._line.ask(method, path, body, ends=time.monotonic() + self.deadline)
        if answer is None:
            raise Unreachable(f"{self.agent}: no answer within {self.deadline} seconds")
        return answer
