"""Networks of queues as tasks: queues are unbounded, the reward is minus the holding cost of all jobs.

The agent sees the number of jobs of each class if none has more than ``seen``; these are the aleatoric states *inside*.
*Outside* it sees the cost alone, and a stabilising rule decides whatever the agent chooses, so that queues do not grow
without bound while it explores (as in RL-QN: Liu, Xie and Modiano, 2019).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

from everlearn.aleatoric.reward import Reward
from everlearn.aleatoric.state import AleatoricState
from everlearn.calls import explained
from everlearn.environments.model import Model
from everlearn.environments.network import RULES, Lengths, Network
from everlearn.errors import require
from everlearn.protocol import Label
from everlearn.registry import convert
from everlearn.tasks.portrait import Bars, Portrait
from everlearn.tasks.task import Task

OUTSIDE, STABLE = "outside", "max-pressure"

MOST_INSIDE = 1_000_000
"""The most combinations of queue lengths that the agent sees."""

MOST_OUTSIDE = 1_000_000
"""The most observations outside: an event and a cost each."""

NEGLIGIBLE = 1e-6
"""The largest cost that is counted is at least twice that of a queue length which is exceeded with about this
probability."""

REGIMES = {
    "IL": (0.3, 1.5, 0.670623),
    "BL": (0.3, 1.0, 0.843212),
    "IM": (0.6, 1.5, 2.083550),
    "BM": (0.6, 1.0, 2.828829),
    "IH": (0.9, 1.5, None),
    "BH": (0.9, 1.0, None),
}
"""The regimes of the criss-cross network: both arrival rates, the second server's rate, and the certified optimum."""

SLOW = "It begins empty and fills up, so the average falls at first. No agent is seen to learn it within 20 seconds."
"""The note of networks for which agents need far more steps than fit into that time."""


@explained("el.network_task(network, seen=20)")
def network_task(
    network: Network,
    *,
    seen: int,
    outside: str = STABLE,
    name: str = "network",
    summary: str = "choose which class of jobs each server serves",
    dilemma: str = "",
    note: str = "",
    source: str = "",
    parameters: Mapping[str, Any] | None = None,
    references: Mapping[str, float] | None = None,
) -> Task:
    """Return a network as a task: a server's choice is the action, and minus the holding cost is the reward.

    Parameters
    ----------
    network:
        the network; it must be stable
    seen:
        the agent sees the number of jobs of each class if no class has more than this
    outside:
        the rule that decides instead of the agent if a class has more: ``c-mu``, ``max-weight``, ``max-pressure``,
        ``longest-queue``, ``last-buffer`` or ``fluid``
    name:
        its name
    summary:
        one sentence for lists of tasks
    dilemma:
        what makes it hard, in one sentence for the page
    note:
        a remark for the page
    source:
        where it comes from
    parameters:
        the parameters with which it was made
    references:
        known average rewards, by name

    Examples
    --------
    >>> task = network_task(Network((0.5,), ((1.0,),), (None,), (1,)), seen=2)
    >>> task.states
    ((0,), (1,), (2,), 'outside')
    >>> [(outcome.observation, round(outcome.probability, 3)) for outcome in task.model.outcomes((2,), "1")]
    [(('outside', 0, 3), 0.333), ((1,), 0.667)]

    """
    require(isinstance(network, Network), "network", network, "give an el.Network")
    require(network.load < 1, "load of the network", network.load, "queues grow forever; give lower arrival rates")
    seen = convert(seen, int, "seen")
    require(seen >= 1, "seen", seen, "give a whole number of at least 1")
    size = (seen + 1.0) ** network.classes
    fewer = "give a smaller seen, or a network of fewer classes"
    require(size <= MOST_INSIDE, "seen", seen, f"makes {size:.3g} aleatoric states, at most {MOST_INSIDE:,}; {fewer}")
    require(outside in RULES, "outside", outside, f"give one of {', '.join(RULES)}")
    dynamics = _Dynamics(network, seen, outside)
    inside = tuple(product(range(seen + 1), repeat=network.classes))
    events = range(2 * network.classes + 1)
    count, remedy = len(events) * (dynamics.most + 1), "give lower arrival rates, or smaller holding costs"
    require(count <= MOST_OUTSIDE, "load of the network", network.load, f"makes {count:.3g} observations; {remedy}")
    beyond = tuple((OUTSIDE, *rest) for rest in product(events, range(dynamics.most + 1)))
    empty = (0,) * network.classes
    return Task(
        network.actions,
        inside + beyond,
        AleatoricState(empty, _kept, (*inside, OUTSIDE)),
        Reward(dynamics.reward, -float(dynamics.most), 0.0),
        Model(network.actions, inside + beyond, empty, dynamics),
        name=name,
        summary=summary,
        portrait=Portrait(
            dilemma,
            f"{', '.join(['{}'] * network.classes)} waiting",
            Bars(tuple(f"class {k + 1}" for k in range(network.classes)), seen),
            note=note,
        ),
        source=source,
        parameters=parameters or {},
        references=references or {},
        network=network,
    )


@dataclass(frozen=True)
class _Dynamics:
    """The dynamics of a network, of which the agent sees what is inside; its fields identify the task."""

    network: Network
    seen: int
    outside: str

    @cached_property
    def choices(self) -> dict[Label, Any]:
        """What each action means."""
        return dict(zip(self.network.actions, self.network.choices, strict=True))

    @cached_property
    def most(self) -> int:
        """The largest cost that is counted."""
        jobs = math.ceil(math.log(NEGLIGIBLE) / math.log(max(self.network.load, 0.1)))
        return max(2, len(self.network.services)) * max(self.network.holding) * jobs

    def __call__(self, lengths: Lengths, action: str) -> Iterator[tuple[Label, float, Lengths]]:
        """Yield what can happen: an arrival, the end of a service, or nothing."""
        inside = max(lengths) <= self.seen
        choice = self.choices[action] if inside else self.network.choose(self.outside, lengths)
        left = 1.0
        for event, following, rate in self.network.events(lengths, choice):
            probability = rate / self.network.clock
            left -= probability
            yield self.observed(event, following), probability, following
        if left > 1e-12:
            yield self.observed(2 * self.network.classes, lengths), left, lengths

    def observed(self, event: int, lengths: Lengths) -> Label:
        """Return the lengths if they are inside; else the event and the cost."""
        if max(lengths) <= self.seen:
            return lengths
        return (OUTSIDE, event, min(self.network.cost(lengths), self.most))

    def reward(self, _aleatoric_state: Label, _action: Label, observation: Any) -> float:
        """Return minus the holding cost after the step."""
        cost = observation[2] if observation[0] == OUTSIDE else self.network.cost(observation)
        return -float(min(cost, self.most))


def _kept(_aleatoric_state: Label, _action: Label, observation: Any) -> Label:
    return OUTSIDE if observation[0] == OUTSIDE else observation


def criss_cross(*, regime: str = "IL", seen: int = 20, outside: str = STABLE) -> Task:
    """Choose which of two classes of jobs a server serves; jobs of one class then move to a second server.

    Parameters
    ----------
    regime:
        how busy the servers are: ``IL``, ``BL``, ``IM``, ``BM``, ``IH`` or ``BH``, for imbalanced or balanced, and
        light, medium or heavy traffic
    seen:
        the agent sees the number of jobs of each class if no class has more than this
    outside:
        the rule that decides instead of the agent if a class has more: ``c-mu``, ``max-weight``, ``max-pressure``,
        ``longest-queue``, ``last-buffer`` or ``fluid``

    Examples
    --------
    >>> task = criss_cross(regime="IM")
    >>> task.actions, len(task.states), task.references
    (('1-2', '3-2'), 9262, {'optimum': -2.08355})

    """
    require(regime in REGIMES, "regime", regime, f"give one of {', '.join(REGIMES)}")
    arrival, rate, least = REGIMES[regime]
    network = Network((arrival, 0.0, arrival), ((2.0, 0.0, 2.0), (0.0, rate, 0.0)), (1, None, None), (1, 1, 1))
    return network_task(
        network,
        seen=seen,
        outside=outside,
        name="criss-cross",
        summary="serve one of two classes; jobs of one class then move to another server",
        dilemma="Serve the jobs that leave, or those that keep the next server busy?",
        source="Harrison and Wein (1989); regimes of Dai and Gluzman (2021), Table 1",
        parameters={"regime": regime, "seen": seen, "outside": outside},
        references={} if least is None else {"optimum": -least},
    )


def n_model(*, load: float = 0.95, seen: int = 60, outside: str = STABLE) -> Task:
    """Decide when a server helps another: it is slower at those jobs, but they cost more to keep waiting than its own.

    Parameters
    ----------
    load:
        the load; jobs arrive at the rates 1.3 and 0.4 times that
    seen:
        the agent sees the number of jobs of each class if no class has more than this
    outside:
        the rule that decides instead of the agent if a class has more: ``c-mu``, ``max-weight``, ``max-pressure``,
        ``longest-queue``, ``last-buffer`` or ``fluid``

    Examples
    --------
    >>> n_model().actions, n_model().network.load
    (('1-1', '1-2'), 0.95)

    """
    require(0 < load < 1, "load", load, "give a number between 0 and 1")
    network = Network((1.3 * load, 0.4 * load), ((1.0, 0.0), (0.5, 1.0)), (None, None), (3, 1))
    return network_task(
        network,
        seen=seen,
        outside=outside,
        name="n-model",
        summary="let a server help another, at the expense of its own jobs",
        dilemma="Help the other server now, and your own queue grows.",
        source="Harrison (1998); Dai and Gluzman (2021), Section 5.3",
        parameters={"load": load, "seen": seen, "outside": outside},
    )


def _line(stations: int, routes: list[int | None], entering: tuple[int, ...]) -> Network:
    """Return a network of stations with three classes each and the published rates."""
    rates = (1 / 8, 1 / 2, 1 / 4), (1 / 6, 1 / 7, 1.0)
    services = tuple(
        tuple(rates[s % 2][k % 3] if k // 3 == s else 0.0 for k in range(3 * stations)) for s in range(stations)
    )
    arrivals = tuple(9 / 140 if k in entering else 0.0 for k in range(3 * stations))
    return Network(arrivals, services, tuple(routes), (1,) * (3 * stations))


def reentrant_line(*, stations: int = 2, seen: int = 3, outside: str = "last-buffer") -> Task:
    """Serve jobs that pass through all stations three times.

    Parameters
    ----------
    stations:
        the number of stations, each with three classes
    seen:
        the agent sees the number of jobs of each class if no class has more than this
    outside:
        the rule that decides instead of the agent if a class has more: ``c-mu``, ``max-weight``, ``max-pressure``,
        ``longest-queue``, ``last-buffer`` or ``fluid``

    Examples
    --------
    >>> round(reentrant_line().network.load, 6), reentrant_line().network.routes
    (0.9, (3, 4, 5, 1, 2, None))

    """
    require(2 <= stations <= 6, "stations", stations, "give 2 to 6")
    last = 3 * (stations - 1)
    routes = [k + 3 if k < last else k - last + 1 if k < last + 2 else None for k in range(3 * stations)]
    return network_task(
        _line(stations, routes, (0,)),
        seen=seen,
        outside=outside,
        name="reentrant-line",
        summary="serve jobs that pass through all stations three times",
        dilemma="Every job comes back twice: finish the old ones, or begin the new ones?",
        note=SLOW,
        source="Bertsimas, Nasrabadi and Paschalidis (2015); QGym (2024), Reentrant-2",
        parameters={"stations": stations, "seen": seen, "outside": outside},
    )


def six_class(*, stations: int = 2, seen: int = 3, outside: str = "last-buffer") -> Task:
    """Serve jobs that pass through all stations twice, and others that do so once: the extended six-class network.

    Parameters
    ----------
    stations:
        the number of stations, each with three classes
    seen:
        the agent sees the number of jobs of each class if no class has more than this
    outside:
        the rule that decides instead of the agent if a class has more: ``c-mu``, ``max-weight``, ``max-pressure``,
        ``longest-queue``, ``last-buffer`` or ``fluid``

    Examples
    --------
    >>> round(six_class().network.load, 6), six_class().network.routes
    (0.9, (3, 4, 5, 1, None, None))

    """
    require(2 <= stations <= 6, "stations", stations, "give 2 to 6")
    last = 3 * (stations - 1)
    routes = [k + 3 if k < last else 1 if k == last else None for k in range(3 * stations)]
    return network_task(
        _line(stations, routes, (0, 2)),
        seen=seen,
        outside=outside,
        name="six-class",
        summary="serve two kinds of jobs that pass through all stations, one kind twice",
        dilemma="Two kinds of jobs want the same servers, and one kind comes back.",
        note=SLOW,
        source="Bertsimas, Nasrabadi and Paschalidis (2015); Dai and Gluzman (2021), Section 5.2",
        parameters={"stations": stations, "seen": seen, "outside": outside},
    )


def input_switch(*, seen: int = 3, outside: str = STABLE) -> Task:
    """Forward packets of three flows through three ports, each of which has two queues.

    Parameters
    ----------
    seen:
        the agent sees the number of packets in each queue if no queue has more than this
    outside:
        the rule that decides instead of the agent if a queue has more: ``c-mu``, ``max-weight``, ``max-pressure``,
        ``longest-queue``, ``last-buffer`` or ``fluid``

    Examples
    --------
    >>> input_switch().network.load, len(input_switch().actions)
    (0.8, 8)

    """
    services = tuple(tuple(1.0 if k // 2 == s else 0.0 for k in range(6)) for s in range(3))
    routes = (3, None, None, 4, None, 1)
    network = Network((0.4, 0.0, 0.4, 0.0, 0.4, 0.0), services, routes, (1,) * 6)
    return network_task(
        network,
        seen=seen,
        outside=outside,
        name="input-switch",
        summary="forward packets of three flows through three ports",
        dilemma="Every packet that goes ahead holds up another.",
        source="QGym (Chen et al., 2024), input_switch",
        parameters={"seen": seen, "outside": outside},
    )
