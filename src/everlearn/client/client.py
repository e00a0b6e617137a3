"""The client of the service: calls return within a deadline, retries are safe, and a fallback bridges outages.

Every request has the number of its step, so the service recognises a repeated request.  If the service cannot be
reached within the deadline, ``act`` returns the fallback's action.  Observations made meanwhile are kept in order, and
sent when the service is back, with the actions that were executed, so that the agent learns from them.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from everlearn.client.connection import ServiceError, Unreachable, as_label
from everlearn.client.fallback import Fallback, make_fallback
from everlearn.client.operator import Operator
from everlearn.client.wire import as_action, as_actions, as_number, as_observation, is_number
from everlearn.errors import InputError, require

Label: TypeAlias = Any
"""An int, a str or a tuple of labels."""

INVALID = 422
"""The HTTP status for an observation that is invalid; nothing of it was recorded."""

REFUSED_FOREVER = (409, INVALID)
"""HTTP statuses for an observation that contradicts what is recorded, or that is invalid."""

_LOG = logging.getLogger("everlearn.client")


class Client(Operator):
    """A client for one agent of a service. Not thread-safe: use it from one thread only.

    Parameters
    ----------
    url:
        where the service is, as in ``http://127.0.0.1:8321``
    agent:
        the name of the agent
    token:
        the token, if the service requires one
    deadline:
        seconds that a call may take
    fallback:
        how to act while the service cannot be reached: an action; a policy table, as ``policy()`` returns it; or a
        function of the last known aleatoric state and the last known observation (None if there is none)
    backlog:
        maximum number of observations to buffer while the service cannot be reached

    Examples
    --------
    >>> client = Client("http://127.0.0.1:9", "pump", deadline=0.05, fallback="off")  # no service at this address
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
        super().__init__(url, agent, token=token, deadline=deadline)
        require(is_number(backlog) and backlog >= 2, "backlog", backlog, "give a whole number of at least 2")
        self.backlog, self.lost = backlog, 0
        self.refused: ServiceError | None = None
        """Why the service refused a buffered observation, the last time that it did; None if it never did."""
        self._fallback = None if fallback is None else make_fallback(fallback)
        self._unsent: deque[dict[str, Any]] = deque()
        self._step: int | None = None
        self.last_step: int | None = None
        """The number of the step that was last recorded, for ``reward``."""
        self._pending: Label | None = None
        self._allowed: list[Label] | None = None
        self._state: Label | None = None
        self._observation: Label | None = None

    def __repr__(self) -> str:
        state = "connected" if self.connected else "not connected"
        return f"Client({self.agent!r} at {self._connection.address}, {state}, {self.waiting:,} waiting)"

    @property
    def connected(self) -> bool:
        """Whether the last attempt to reach the service succeeded (or there was none yet)."""
        return self._connection.connected

    @property
    def waiting(self) -> int:
        """The number of buffered observations.  ``lost`` is the number of observations that were dropped or refused."""
        return len(self._unsent)

    def create(self, setup: Mapping[str, Any]) -> dict[str, Any]:
        """Create the agent; it is no error if it exists already with the same setup."""
        given: object = setup
        actions = given.get("actions") if isinstance(given, Mapping) else None
        if actions is not None and self._fallback is not None:
            declared = as_actions(actions, "actions") or []
            for action in self._fallback.choices:
                require(action in declared, "fallback", action, f"is not among the actions, {declared}")
        return super().create(setup)

    def act(self, *, allowed: Iterable[Label] | None = None) -> Label:
        """Return the action for the next step, within the deadline. Until ``observe`` is called, it stays the same."""
        if self._pending is None:
            deadline = time.monotonic() + self.deadline
            self._allowed = as_actions(allowed)
            sent = self._send_all(deadline)
            self._take(None if sent is None else self._ask(self._allowed, deadline))
        return self._pending

    def observe(
        self,
        observation: Label,
        *,
        executed: Label | None = None,
        reward: float | None = None,
        state: Label | None = None,
        duration: float | None = None,
        cost: float | None = None,
    ) -> float | None:
        """Send an observation and return its reward; None if the observation was buffered or has no reward yet.

        Parameters
        ----------
        observation:
            what followed the action
        executed:
            the action that was executed, if it was not the one that ``act`` returned
        reward:
            the reward of the step, for agents whose reward is given
        state:
            the aleatoric state that follows, for agents whose state is given
        duration:
            how long the decision took, for agents that declare durations
        cost:
            what the decision cost, for agents that declare a limit

        """
        with self._corrigible():
            self._keep(observation, executed, reward=reward, state=state, duration=duration, cost=cost)
            answer = self._send_all(time.monotonic() + self.deadline, "observe")
        if answer is not None:
            self.last_step = int(answer["step"])
        return None if answer is None or answer["reward"] is None else float(answer["reward"])

    def step(
        self,
        observation: Label,
        *,
        executed: Label | None = None,
        reward: float | None = None,
        state: Label | None = None,
        duration: float | None = None,
        cost: float | None = None,
        allowed: Iterable[Label] | None = None,
    ) -> Label:
        """Send an observation and return the next action: ``observe`` and ``act`` in one request."""
        allowed_next = as_actions(allowed)
        with self._corrigible():
            self._keep(observation, executed, reward=reward, state=state, duration=duration, cost=cost)
            self._allowed = allowed_next
            answer = self._send_all(time.monotonic() + self.deadline, "step", next_allowed=allowed_next)
        self._take(None if answer is None else answer["next"])
        return self._pending

    def close(self) -> int:
        """Send the buffered observations, within the deadline; return how many could not be sent and are lost."""
        self._connection.retry_now()
        try:
            self._send_all(time.monotonic() + self.deadline)
        except ServiceError as error:
            _LOG.warning("%s: %s", self.agent, error)
        finally:
            self._connection.close()
        if self._unsent:
            _LOG.warning("%s: %d observations could not be sent and are lost", self.agent, len(self._unsent))
        return len(self._unsent)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()

    @contextmanager
    def _corrigible(self) -> Iterator[None]:
        """If the new observation is refused as invalid, be as before it, so that the corrected call works."""
        before = (self._pending, self._allowed, self._observation, self._state)
        try:
            yield
        except ServiceError as error:
            if error.status == INVALID and not self._unsent:  # the last that was sent is the new one
                self._pending, self._allowed, self._observation, self._state = before
                self.lost -= 1
            raise

    def _keep(self, observation: Label, executed: Label | None, state: Label | None, **measures: Any) -> None:
        """Check an observation and keep it until it is sent, and follow the state for the fallback."""
        action = self._pending if executed is None else as_action(executed, "executed")
        if executed is None and self._mode == "shadow":
            raise InputError("executed", executed, "in shadow mode somebody else decides; name what was executed")
        if action is None:
            raise InputError("executed", executed, "no action is pending; call act() first, or name what was executed")
        observation = as_observation(observation, "observation")
        others: dict[str, Any] = {name: as_number(value, name) for name, value in measures.items()}
        others["state"] = None if state is None else as_observation(state, "state")
        self._unsent.append({"observation": observation, "executed": action, **others, "allowed": self._allowed})
        self._pending, self._allowed, self._observation = None, None, observation
        if self._fallback is not None:
            self._state = self._fallback.follow(self._state, action, observation, others["state"])
        if len(self._unsent) > self.backlog:
            # The first may have arrived although its answer did not; the service would refuse another for its step.
            del self._unsent[1]
            self.lost += 1

    def _take(self, answer: dict[str, Any] | None) -> None:
        """Take the action that the service proposed, or else that of the fallback."""
        if answer is not None:
            self._step, self._pending = int(answer["step"]), as_label(answer["action"])
            self._state = as_label(self._hear(answer)["state"])
            self._allowed = answer.get("allowed")  # of a call that was pending, those of whoever made it
        elif self._fallback is None:
            raise Unreachable(f"{self.agent}: no action within {self.deadline} seconds, and there is no fallback")
        else:
            self._pending = self._fallback.choose(self._state, self._observation, self._allowed)

    def _send_all(self, deadline: float, last: str | None = None, **more: Any) -> dict[str, Any] | None:
        """Send all unsent observations; return the answer to the last, or None if the service cannot be reached.

        ``last`` is how the last one is sent, if it is that of the present call, which then raises if it is refused.
        The others are of earlier calls: if one of them is refused, the call that is made now is not to blame.
        """
        answer: dict[str, Any] | None = {}
        while self._unsent and answer is not None:
            if last is not None and len(self._unsent) == 1:
                answer = self._send(last, deadline, **more)
            else:
                answer = self._send_earlier(deadline)
        return answer

    def _send_earlier(self, deadline: float) -> dict[str, Any] | None:
        """Send the first unsent observation, which is of an earlier call; if it is refused for good, report that."""
        entry = self._unsent[0]
        try:
            return self._send("observe", deadline)
        except ServiceError as error:
            if self._unsent and self._unsent[0] is entry:
                raise
            self.refused = error
            _LOG.warning("%s: a buffered observation was refused and is lost: %s", self.agent, error)
            return {}

    def _send(self, operation: str, deadline: float, **more: Any) -> dict[str, Any] | None:
        """Send the first unsent observation, and drop it once it is acknowledged, or refused for good."""
        entry = self._unsent[0]
        if self._step is None:  # the service was away from the start, and only it knows which step this is
            first = self._ask(entry["allowed"], deadline)
            if first is None:
                return None
            self._step = int(first["step"])
        try:
            answer = self._post(operation, {"step": self._step, **entry, **more}, deadline)
        except ServiceError as error:
            pending = error.document.get("pending")
            if pending is not None and entry["allowed"] != pending["allowed"]:
                entry["allowed"] = pending[
                    "allowed"
                ]  # somebody asked for the step with others; this says what was done
                return self._send(operation, deadline, **more)
            if error.status in REFUSED_FOREVER:
                self._unsent.popleft()
                self._step = None  # the service knows which step is due
                self.lost += 1
            raise
        if answer is not None:
            self._unsent.popleft()
            self._step += 1
        return answer

    def _ask(self, allowed: list[Label] | None, deadline: float) -> dict[str, Any] | None:
        """Ask for an action; one that was proposed with other allowed actions, and forgotten, is withdrawn."""
        try:
            return self._post("act", {"allowed": allowed}, deadline)
        except ServiceError as error:
            if "pending" not in error.document:
                raise
            again = {"allowed": allowed, "again": True, "step": error.document["pending"]["step"]}
            return self._post("act", again, deadline)

    def _post(self, operation: str, body: dict[str, Any], deadline: float) -> dict[str, Any] | None:
        present = {key: value for key, value in body.items() if value is not None}
        path = self._path(f"/{operation}")
        answer: dict[str, Any] | None = self._connection.request("POST", path, present, deadline=deadline)
        return answer
