"""The models of answers; the OpenAPI description is made from them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from everlearn.service.models import Label, Observation


class Moved(BaseModel):
    """Where an agent is now, if not here."""

    name: str
    to: str | None


class Arrived(BaseModel):
    """An agent that has come here, and the last step that it has recorded."""

    name: str
    step: int
    new: bool


class Acted(BaseModel):
    """The action for a step; the same until the step is observed."""

    step: int = Field(description="The step that is due; `observe` must carry it.", examples=[1])
    action: Label = Field(examples=["fast"])
    state: Observation = Field(description="The aleatoric state in which it was chosen.", examples=[0])
    mode: str = Field(examples=["learn"])
    allowed: list[Label] | None = Field(
        None, description="The actions among which it was chosen, if not all; `observe` must carry the same."
    )


class Observed(BaseModel):
    """What is recorded of a step, on disk."""

    step: int
    observation: Observation
    executed: Label
    reward: float | None = Field(description="In the units of the task; null if it comes late.")
    state: Observation = Field(description="The aleatoric state that followed.")


class Rewarded(BaseModel):
    """The reward of a step, which is on disk."""

    step: int
    reward: float


class Stepped(Observed):
    """What is recorded of a step, and the action for the next."""

    next: Acted


class Problem(BaseModel):
    """Why a request was refused."""

    error: str = Field(description="One word, for programs.", examples=["input"])
    message: str = Field(description="One line, for people.")
    id: str | None = Field(None, description="Of an internal error: what to look for in the log.")
    argument: str | None = Field(None, description="Of input that cannot be used: what it is called.")
    expected: int | None = Field(None, description="Of a conflict: the step that is due.")
    recorded: dict[str, Any] | None = Field(None, description="Of a conflict: what is recorded of that step.")
    pending: dict[str, Any] | None = Field(
        None, description="Of a conflict: the action that is pending, and the actions that were allowed."
    )
    retry_after: float | None = Field(None, description="Of too many requests: in how many seconds to come again.")
    version: str | None = Field(None, description="Of a precondition that does not hold: the present version.")
    move: str | None = Field(None, description="Of an agent that is being moved: the number of the move.")


class Listed(BaseModel):
    """An agent in the list; step and mode of one that is not loaded are those last recorded."""

    name: str
    step: int | None
    mode: str | None
    quarantined: bool | None = Field(
        description="Whether it does not work because its design failed; null if it is not loaded."
    )
    promoted: bool | None = Field(
        description="Whether its promotion rule has put it in control; null if it is not loaded."
    )


class AgentList(BaseModel):
    """All agents."""

    agents: list[Listed]


class Created(BaseModel):
    """An agent that exists now."""

    name: str
    created: bool = Field(description="False if it existed already with the same setup.")


class Deleted(BaseModel):
    """An agent that was deleted."""

    name: str
    deleted: bool


class Agent(BaseModel):
    """What an agent is, and what it knows."""

    name: str
    version: str = Field(description="Changes with everything that is recorded; it is the ETag, for If-Match.")
    step: int = Field(description="The number of observations it has recorded.")
    t: int = Field(description="Its own time, which stands still while it is frozen.")
    mode: str
    aleatoric_state: Observation
    pending: Label | None = Field(description="The action that was proposed and not yet observed.")
    pending_allowed: list[Label] | None = Field(description="The actions among which it was chosen, if not all.")
    horizon: float | None
    discount: float | None
    optimism: float | None
    values: list[dict[str, Any]] | None = Field(description="Q, by aleatoric state and action.")
    counts: list[dict[str, Any]] | None = Field(description="N, by aleatoric state and action.")
    explanation: str | None = Field(description="What it has learned in words, if its design can say it.")
    average_reward: float | None = Field(description="Per step; per unit of time, if durations are declared.")
    recent_average: float | None
    prices: dict[str, float | None] | None = Field(
        description="The price of time, the multiplier of the limit, the limit and the average cost, where declared."
    )
    drift: dict[str, Any] = Field(description="The drift alarm: see docs/live.md.")
    changed: dict[str, Any] | None = Field(description="The last change of its task that was accepted: step and what.")
    promotion: dict[str, Any] | None = Field(description="The promotion rule, and what it knows: see docs/shadow.md.")
    waiting: int = Field(description="How many steps still wait for their rewards.")
    awaited: list[int] | None = Field(description="These steps; null if there was no room for a large answer.")
    quarantined: str | None = Field(description="Why it neither acts nor learns, if its design has failed.")


class Report(BaseModel):
    """How an agent in shadow mode compares with the controller in charge: see docs/shadow.md."""

    agent: str
    mode: str
    step: int
    first: int = Field(description="The first of the steps that are compared.")
    last: int
    agreement: dict[str, Any] = Field(description="How often what the agent proposed was executed.")
    gain: dict[str, Any] = Field(description="By how much the policy of the agent is better, with its interval.")
    states: list[dict[str, Any]] = Field(description="By state: what the agent would do, and what was done.")
    missing: list[dict[str, Any]] = Field(description="Where the controller hardly ever did what the agent would do.")
    warnings: list[str]
    promotion: dict[str, Any] | None


class Snapshots(BaseModel):
    """The snapshots of an agent, oldest first."""

    snapshots: list[dict[str, Any]]


class Policy(BaseModel):
    """The greedy policy of an agent as a table."""

    name: str
    aleatoric: Any = Field(description="How the aleatoric state follows, as in the setup; `task` where a task says so.")
    step: int
    t: int
    agent: str
    start: Observation
    aleatoric_state: Observation
    everlearn: str
    actions: list[dict[str, Any]] = Field(description="The greedy action, its value and its count, by state.")


class Alive(BaseModel):
    """The state of the service."""

    status: str
    quarantined: int = Field(0, description="How many agents do not work because their designs failed.")
    damaged_notes: int = Field(0, description="How many notes about agents that move are damaged, if any are.")
