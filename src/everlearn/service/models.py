"""The models of requests; the OpenAPI description is made from them and from those of answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from typing_extensions import TypeAliasType

from everlearn.durable.entry import usual_mode

NAME = r"^[a-z0-9][a-z0-9_-]{0,63}$"
"""Names of agents: nothing that means anything to a file system, a shell, SQL, HTML or Prometheus."""

MOST_INTEGER = 2**53 - 1
"""The greatest integer that every reader of JSON reads exactly."""

MOST_ENTRIES = 50
"""How many parameters, or settings of the drift alarm, there may be."""

_INT = Annotated[int, Field(strict=True, ge=-MOST_INTEGER, le=MOST_INTEGER)]
_STR = Annotated[str, StringConstraints(strict=True, max_length=200)]

Label = TypeAliasType("Label", "_INT | _STR | Annotated[list[Label], Field(max_length=100, fail_fast=True)]")
"""An int, a str, or a list of labels, which stands for a tuple."""

Observation = TypeAliasType(
    "Observation",
    "_INT | _STR | Number | Annotated[list[Observation], Field(max_length=256, fail_fast=True)]"
    " | Annotated[dict[_STR, Observation], Field(max_length=256)]",
)
"""A label, or a point of a box: a list of numbers."""

StepNumber = Annotated[int, Field(strict=True, ge=1, le=MOST_INTEGER)]
Count = Annotated[int, Field(strict=True, ge=0, le=MOST_INTEGER)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
"""A number: neither text that looks like one, nor true or false."""

Ends = Annotated[list[Number], Field(min_length=2, max_length=2)]
"""The ends of a range."""

Scalar = Annotated[bool, Field(strict=True)] | _INT | Number | _STR
Scalars = Annotated[list[Scalar], Field(max_length=100, fail_fast=True)]
Labels = Annotated[list[Label], Field(min_length=1, max_length=100_000, fail_fast=True)]
Coordinates = Annotated[list[Number], Field(min_length=1, max_length=256, fail_fast=True)]
Rows = Annotated[
    list[Annotated[list[Any], Field(min_length=2, max_length=4)]], Field(max_length=1_000_000, fail_fast=True)
]


def _few(given: Any) -> Any:
    """Raise if there are too many entries, before each of them is an error of its own."""
    if isinstance(given, dict) and len(given) > MOST_ENTRIES:
        raise ValueError(f"there are {len(given):,}, and at most {MOST_ENTRIES} are taken")
    return given


class Body(BaseModel):
    """The body or the query of a request; an unknown key is an error, since it is probably misspelt."""

    model_config = ConfigDict(extra="forbid")


class Named(BaseModel):
    """The name of an agent in a path."""

    name: Annotated[str, StringConstraints(pattern=NAME)] = Field(
        description="The name of the agent.", examples=["station"]
    )


class DeleteQuery(Body):
    """The query of a deletion."""

    confirm: Annotated[str, StringConstraints(max_length=64)] = Field(description="The name again.")


Move = Annotated[str, StringConstraints(pattern="^[0-9a-f]{32}$")]


class MoveQuery(Body):
    """The move that is cancelled or refused."""

    move: Move | None = Field(None, description="The number of the move; omit it if the record of the move is lost.")


class MoveIn(Body):
    """Where an agent is to go: to another service, or to another shard of this one."""

    to: (
        Annotated[str, StringConstraints(pattern=r"^(https?://[^\s?#]+|shard-(0|[1-9][0-9]{0,8}))$", max_length=1000)]
        | None
    ) = Field(None, description="The address of the other service.", examples=["http://10.0.0.2:8321"])
    shard: Count | None = Field(None, description="The other shard.")


class MovedIn(Body):
    """A move that has arrived."""

    move: Move = Field(description="The number of the move.")


class JournalQuery(Body):
    """The steps between which the journal is read."""

    first: int = Field(0, ge=0, le=MOST_INTEGER, description="The first step.")
    last: int | None = Field(None, ge=0, le=MOST_INTEGER, description="The last step.")


class PromotionIn(Body):
    """The promotion rule: when an agent in shadow mode takes control.  See docs/shadow.md."""

    gain: Number = Field(0.0, description="What the lower bound of the gain per step must exceed.")
    steps: Count = Field(0, description="For how many steps.")
    hours: Annotated[Number, Field(ge=0, le=1e6)] = Field(0.0, description="For how many hours.")
    every: Annotated[int, Field(strict=True, ge=10, le=10**9)] = Field(1_000, description="Steps between looks.")
    error: Annotated[Number, Field(ge=1e-6, le=0.5)] = Field(0.05, description="Probability of a wrong promotion.")
    to: Literal["learn", "frozen"] = Field("frozen", description="The mode that it changes to.")
    demote: bool = Field(True, strict=True, description="Whether it returns to shadow mode if it earns less.")


class RuleIn(Body):
    """The promotion rule to set; null removes it."""

    rule: PromotionIn | None


class ReportQuery(Body):
    """What a report is about."""

    confidence: float = Field(0.95, gt=0, lt=1, description="How often the interval covers the true gain.")
    first: int | None = Field(None, ge=0, le=MOST_INTEGER, description="The first step.")
    last: int | None = Field(None, ge=0, le=MOST_INTEGER, description="The last step.")


class BoxIn(Body):
    """Observations that are measurements: the least and the greatest value of each coordinate."""

    low: Coordinates
    high: Coordinates


class SetupIn(Body):
    """What an agent is.  All of it is optional but what `task` or its opposite needs: see docs/service.md."""

    task: _STR | None = Field(
        None, description="A task by its name in the registry; it brings everything from `actions` to `raw`."
    )
    actions: Labels | None = Field(None, description="What the agent can do.", examples=[["slow", "fast"]])
    observations: Labels | BoxIn | None = Field(
        None, description="What can be observed: labels, or a box of measurements.", examples=[["idle", "busy"]]
    )
    aleatoric: _STR | Rows | dict[str, Any] = Field(
        "last",
        description="The aleatoric state: last, window:K, window:K+actions, given, or a table of next states.",
    )
    states: Labels | None = Field(None, description="The aleatoric states, where they are given.")
    start: Observation | None = Field(None, description="The aleatoric state at the beginning.")
    reward: _STR | Rows | dict[str, Any] = Field("given", description="given (with each observation), or a table.")
    reward_range: Ends | None = Field(None, description="The least and the greatest reward.", examples=[[0, 1]])
    reward_delay: Annotated[int, Field(strict=True, ge=0, le=10_000)] = Field(
        0, description="Within how many steps a reward that is given may come, by `reward`."
    )
    durations: Ends | None = Field(
        None, description="The least and the greatest duration of a decision; the reward then counts per unit of time."
    )
    cost_range: Ends | None = Field(
        None, description="The least and the greatest cost of a decision, where there is a limit."
    )
    limit: Number | None = Field(
        None, description="The limit of the average cost, per step, or per unit of time with `durations`."
    )
    raw: bool = Field(False, strict=True, description="Learn from rewards as they are, not scaled to [0, 1].")
    agent: _STR | None = Field(None, description="An agent by its name in the registry; by default the default agent.")
    schedule: _STR | None = Field(None, description="A schedule by its name in the registry.")
    parameters: Annotated[
        dict[_STR, Scalar | Scalars | None], Field(max_length=MOST_ENTRIES), BeforeValidator(_few)
    ] = Field(
        default_factory=dict, description="Of agent, schedule and task.", examples=[{"schedule.horizon_scale": 3}]
    )
    explore: Annotated[Number, Field(ge=0, le=1)] = Field(
        0, description="The probability of a random action; the journal then records propensities."
    )
    seed: Count = Field(0, description="Names the random stream.")
    allowed: dict[str, Labels] | Rows | None = Field(None, description="The actions that are allowed, by state.")
    snapshot_every: Annotated[int, Field(strict=True, ge=1, le=10**9)] = Field(10_000, description="In observations.")
    retain: StepNumber | None = Field(None, description="How many steps of the journal are kept; all, unless given.")
    drift: Annotated[dict[_STR, Number], Field(max_length=MOST_ENTRIES), BeforeValidator(_few)] = Field(
        default_factory=dict, description="Settings of the drift alarm: see docs/live.md."
    )
    promotion: PromotionIn | None = Field(None, description="When an agent in shadow mode takes control.")


class CreateIn(Body):
    """A new agent."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"name": "station", "setup": {"task": "service-station", "seed": 1}}]},
    )

    name: Annotated[str, StringConstraints(pattern=NAME)] = Field(description="The name of the new agent.")
    setup: SetupIn


class ActIn(Body):
    """A request for an action."""

    allowed: Labels | None = Field(None, description="The actions that are allowed at this step, if not all.")
    step: StepNumber | None = Field(None, description="The step that is due, if you know it; another one is refused.")
    again: bool = Field(
        False,
        strict=True,
        description="Withdraw an action that was proposed with other allowed actions; name the step, too.",
    )


class ObserveIn(Body):
    """What happened at a step."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"step": 1, "observation": "arrival", "executed": "fast"}]}
    )

    step: StepNumber = Field(description="The step number that `act` returned.")
    observation: Observation = Field(description="What was observed: a label, or a list of measurements.")
    executed: Label | None = Field(
        None, description="The action that was executed, if not the one that `act` returned."
    )
    reward: Number | None = Field(None, description="What it was worth, where rewards are given.")
    state: Observation | None = Field(None, description="The aleatoric state that follows, where states are given.")
    duration: Number | None = Field(None, description="How long the decision took, where durations are declared.")
    cost: Number | None = Field(None, description="What it cost, where a limit is declared.")
    allowed: Labels | None = Field(None, description="The same as `allowed` of `act` at this step, if it was passed.")


class StepIn(ObserveIn):
    """What happened at a step, and a request for the next action."""

    next_allowed: Labels | None = Field(None, description="The actions that are allowed at the next step, if not all.")


class RewardIn(Body):
    """The reward of a step that was observed without one."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"step": 1, "reward": 0.5}]})

    step: StepNumber = Field(description="The step that it belongs to.")
    reward: Number = Field(description="What the step was worth, in the units of the task.")


class ModeIn(Body):
    """The mode in which the agent works."""

    mode: Annotated[Literal["learn", "frozen", "shadow"], BeforeValidator(usual_mode)] = Field(
        description="learn; frozen: act greedily, do not learn; shadow: propose and learn, others decide."
    )


class ForgettingIn(Body):
    """How fast the agent forgets from now on."""

    forgetting: Annotated[Number, Field(ge=0, le=1)] = Field(
        description="The least step size, `schedule.forgetting`; 0: all visits count.", examples=[0.1]
    )


class RollbackIn(Body):
    """The snapshot to roll back to."""

    snapshot: Count = Field(description="The step of the snapshot, as in the list of snapshots.")
    seq: Count | None = Field(
        None, description="Its row, as in the list, where a step has several snapshots; the latest, unless given."
    )


def known_keys(title: str, location: Sequence[int | str]) -> list[str]:
    """Return the keys that are known where an error of pydantic has found another one; none if that is no model here.

    Examples
    --------
    >>> known_keys("CreateIn", ("stup",)), "actions" in known_keys("CreateIn", ("setup", "action"))
    (['name', 'setup'], True)

    """
    kinds: tuple[Any, ...] = (globals().get(title.removeprefix("nullable[").removesuffix("]")),)
    for part in (*location[:-1], None):
        model = next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Body)), None)
        fields = {} if model is None else model.model_fields
        inside = fields[part].annotation if part in fields else None
        kinds = (inside, *get_args(inside))
    return [*fields]
