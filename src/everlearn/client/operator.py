"""What an operator requests of one agent of a service: create, inspect, change, roll back, export, import, delete."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from everlearn.client.connection import Connection, ServiceError, Unreachable
from everlearn.client.wire import as_json, is_number
from everlearn.errors import require

LONGEST = 86_400
"""The most seconds that a request may take."""


class Operator:
    """The requests of an operator.

    Requests that roll back, import, delete, demote or set a promotion rule carry the version that the agent has when
    they are called, so that a repeated request has no second effect.
    """

    def __init__(self, url: str, agent: str, *, token: str | None = None, deadline: float = 1.0) -> None:
        fine = is_number(deadline) and 0 < deadline <= LONGEST
        require(fine, "deadline", deadline, f"give a number of seconds up to {LONGEST:,}")
        require(isinstance(agent, str), "agent", agent, 'give the name of an agent of the service, such as "pump"')
        self.agent, self.deadline = agent, deadline
        self._connection = Connection(url, token)
        self._mode: str | None = None

    def disconnect(self) -> None:
        """Close the connection; the next request opens another."""
        self._connection.close()

    def create(self, setup: Mapping[str, Any]) -> dict[str, Any]:
        """Create the agent; it is no error if it exists already with the same setup."""
        remedy = 'give a dict with the arguments of el.live, such as {"actions": [...], "observations": [...]}'
        require(isinstance(setup, Mapping), "setup", setup, remedy)
        created: dict[str, Any] = self._request("POST", "/v1/agents", {"name": self.agent, "setup": dict(setup)})
        return created

    def names(self) -> list[str]:
        """Return the names of all agents of the service that the token is for."""
        return [str(agent["name"]) for agent in self._request("GET", "/v1/agents")["agents"]]

    def inspect(self) -> dict[str, Any]:
        """Return what the agent knows."""
        return self._hear(self._document("GET"))

    def policy(self) -> dict[str, Any]:
        """Return the greedy policy as a table, which another client can take as its fallback."""
        return self._document("GET", "/policy")

    def explain(self) -> str | None:
        """Return what the agent has learned as text, or None if its design has no ``explain``."""
        text: str | None = self.inspect()["explanation"]
        return text

    @property
    def mode(self) -> str:
        """The mode in the last response of the service: ``learn``, ``frozen`` or ``shadow``.

        If there was no response yet, it is requested.  Every response to ``act`` and ``step`` has the mode.
        """
        return str(self.inspect()["mode"] if self._mode is None else self._mode)

    def learn(self) -> None:
        """Switch to learn mode (the initial mode): the agent chooses actions and learns."""
        self._change_mode("learn")

    def freeze(self) -> None:
        """Switch to frozen mode: the agent acts greedily and does not learn; observations are still recorded."""
        self._change_mode("frozen")

    def shadow(self) -> None:
        """Switch to shadow mode: the agent proposes actions and learns, but another controller decides.

        Pass ``executed`` to every ``observe``.
        """
        self._change_mode("shadow")

    def promotion(self, rule: Mapping[str, Any] | None) -> dict[str, Any]:
        """Set the promotion rule and start it; to restart a rule, set it again.  None removes the rule."""
        return self._change("PUT", "/promotion", {"rule": None if rule is None else dict(rule)})

    def forgetting(self, forgetting: float) -> dict[str, Any]:
        """Change the least step size, ``schedule.forgetting``; with 0, all visits count.  What was learned stays."""
        return self._change("PUT", "/forgetting", {"forgetting": forgetting})

    def demote(self) -> dict[str, Any]:
        """Return to shadow mode after a promotion, and disarm the promotion rule until it is set again."""
        return self._hear(self._change("POST", "/demote", None))

    def report(self, *, confidence: float = 0.95, first: int | None = None, last: int | None = None) -> dict[str, Any]:
        """Return how the agent in shadow mode compares with the controller in charge; set a ``deadline`` of seconds.

        The parameters are those of :func:`everlearn.shadow_report`.
        """
        given = {"confidence": confidence, "first": first, "last": last}
        query = urlencode({name: value for name, value in given.items() if value is not None})
        return self._document("GET", f"/report?{query}")

    def reward(self, step: int, reward: float) -> None:
        """Send the reward of a step that was observed without one; repeating it changes nothing."""
        self._document("POST", "/reward", {"step": step, "reward": reward})

    def snapshots(self) -> list[dict[str, Any]]:
        """Return a description of each snapshot, the oldest first."""
        return list(self._document("GET", "/snapshots")["snapshots"])

    def rollback(self, step: int, *, seq: int | None = None) -> dict[str, Any]:
        """Roll back what the agent knows to the snapshot of a step; ``seq`` says which, if the step has several."""
        return self._change("POST", "/rollback", {"snapshot": step, **({} if seq is None else {"seq": seq})})

    def export_state(self) -> bytes:
        """Return everything that the agent knows, for :meth:`import_state` of an agent with the same setup."""
        return bytes(self._request("GET", self._path("/state")))

    def import_state(self, state: bytes) -> dict[str, Any]:
        """Replace what the agent knows by an exported agent state."""
        return self._change("PUT", "/state", state)

    def move(self, to: str | int, *, token: str | None = None) -> dict[str, Any]:
        """Move the agent to another service by its address, or to another shard by its number.

        If this is interrupted, call it again: it continues.  ``token`` is that of the other service.
        """
        remedy = "give the address of a service, or the number of a shard"
        require(isinstance(to, str) or is_number(to), "to", to, remedy)
        if not isinstance(to, str):
            return self._document("POST", "/move", {"shard": to})
        other = Operator(to, self.agent, token=token, deadline=self.deadline)
        try:
            other._require_entry()
            luggage = bytes(self._request("POST", self._path("/move"), {"to": to}))
        except ServiceError as error:
            other._connection.close()
            if error.document.get("to") == to:
                return {"name": self.agent, "to": to}  # it was moved there before
            raise
        move = json.loads(luggage)["move"]
        try:
            other._document("PUT", "/arrival", luggage)
        except Unreachable:
            raise  # whether it has arrived is unknown, and the same call again will tell
        except ServiceError:
            other._document("DELETE", f"/arrival?move={move}")  # raises if it is there
            self._document("DELETE", f"/move?move={move}")  # it will never arrive there, and stays here
            raise
        finally:
            other._connection.close()
        return self._document("POST", "/moved", {"move": move})

    def _require_entry(self) -> None:
        """Raise if the service cannot take an agent of this name, as for want of a token, before anything is begun."""
        try:
            self._document("PUT", "/arrival", b"")
        except ServiceError as error:
            if error.status != 422:  # it has looked at what was sent, which is nothing
                raise

    def stay(self, to: str, *, token: str | None = None) -> None:
        """Cancel an interrupted move to another service; that service then refuses the move for good."""
        move = json.loads(bytes(self._request("POST", self._path("/move"), {"to": to})))["move"]
        other = Operator(to, self.agent, token=token, deadline=self.deadline)
        try:
            other._document("DELETE", f"/arrival?move={move}")
        finally:
            other._connection.close()
        self._document("DELETE", f"/move?move={move}")

    def delete(self) -> None:
        """Delete the agent and everything that it learned, permanently."""
        try:
            self._change("DELETE", f"?confirm={quote(self.agent, safe='')}", None)
        except ServiceError as error:
            if error.status != 404 or error.attempts == 1:
                raise  # otherwise the answer to the first attempt was lost

    def _change_mode(self, mode: str) -> None:
        self._hear(self._document("PUT", "/mode", {"mode": mode}))

    def _hear(self, document: dict[str, Any]) -> dict[str, Any]:
        """Remember the mode, if an answer names it."""
        self._mode = document.get("mode", self._mode)
        return document

    def _change(self, method: str, rest: str, body: object) -> dict[str, Any]:
        """Request a change of the agent as it is now."""
        return self._document(method, rest, body, {"If-Match": f'"{self.inspect()["version"]}"'})

    def _document(
        self, method: str, rest: str = "", body: object = None, headers: dict[str, str] | None = None
    ) -> dict[str, Any]:
        answer: dict[str, Any] = self._request(method, self._path(rest), body, headers)
        return answer

    def _path(self, rest: str = "") -> str:
        return f"/v1/agents/{quote(self.agent, safe='')}{rest}"

    def _request(self, method: str, path: str, body: object = None, headers: dict[str, str] | None = None) -> Any:
        body = body if isinstance(body, bytes) else as_json(body)
        self._connection.retry_now()
        deadline = time.monotonic() + self.deadline
        answer = self._connection.request(method, path, body, deadline=deadline, headers=headers)
        if answer is None:
            raise self._unanswered()
        return answer

    def _unanswered(self) -> Unreachable:
        """Return the error of a request that was not done within the deadline, with the last reason."""
        problem, who = self._connection.problem, self.agent or self._connection.address
        if problem is None or not problem.status:
            reason = "" if problem is None else f" ({problem})"
            return Unreachable(f"{who}: no answer within {self.deadline:g} seconds{reason}")
        return Unreachable(f"{who}: {problem}", problem.status, problem.document)
