"""Prices: what an agent learns from if decisions take time, or if a cost has a long-run limit.

A decision earns r, takes d units of time and costs c.  The objective is sum of r / sum of d, the reward per unit of
time, subject to sum of c / sum of d <= l, where d = 1 if no durations are declared.  The design stays what it is: a
learner of average reward per decision.  It is shown another reward instead,

    x = w (r - rho d) / width - (1 - w) (c - l d) / scale,

which is mapped to [0, 1] as in :class:`everlearn.Reward`; ``width`` is that of the range of rewards, and ``scale`` the
greatest |c - l d|.  Two prices adapt on a slower time scale than the learner:

- rho, the price of time, is the recent reward per unit of time.  A policy that is best on average for r - rho d earns
  at least rho per unit of time, and more unless rho is the optimum (Dinkelbach, 1967), so that rho rises to it.
- lambda = (1 - w) / w, the multiplier of the constraint, rises while the cost is above its limit, and falls while it is
  below, down to 0.  With weights instead of lambda itself, x is bounded whatever lambda is.

Both are in the algorithmic state of an agent.  They depend on the stream of (r, d, c) alone, not on the design.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from everlearn.aleatoric.reward import Reward, reward_range
from everlearn.environments.pure import as_number
from everlearn.errors import InputError, SnapshotError, require

RATE_MEMORY, RATE_START = 5.0, 100.0
"""rho averages with the step size RATE_MEMORY / (t + RATE_START): over about the last fifth of the stream.  The paper's
agent averages with the larger step size (1 + w tau) / (N + w tau), where w tau = 48 by default, so that its values can
follow rho."""

WEIGHT_MEMORY, WEIGHT_START = 10.0, 1000.0
"""w is multiplied by 1 - WEIGHT_MEMORY / (t + WEIGHT_START) (c - l d) / scale.  The step size sums to infinity; so if w
converges, the average violation tends to 0, by Kronecker's lemma."""

LEAST_WEIGHT = 1e-6
"""The least w: a limit that cannot be met does not make the reward vanish for ever."""

MEASURES = ("duration", "cost")
"""What may come with an observation beside its reward."""

Measures = dict[str, float]
"""The measures of a step, by name; those that are not declared are left out."""

Range = tuple[float, float]


class Prices:
    """The prices of time and of a cost, and the rewards that a learner is shown with them.

    Parameters
    ----------
    reward:
        the reward, with its range
    durations:
        the least and the greatest duration of a decision; None if every decision takes one step
    cost_range:
        the least and the greatest cost of a decision; None if there is no cost
    limit:
        the limit of the average cost: per unit of time if there are durations, otherwise per step; None if there is no
        cost

    Examples
    --------
    >>> prices = Prices(Reward(lambda s, a, o: 0, 0, 5), durations=(1, 10))
    >>> for reward, duration in [(1, 1), (5, 10)] * 1000:
    ...     shown = prices.learned(reward, duration)
    >>> round(prices.rate, 2)  # 6 in 11 units of time
    0.55

    """

    def __init__(
        self,
        reward: Reward,
        durations: Range | None = None,
        cost_range: Range | None = None,
        limit: float | None = None,
    ) -> None:
        self.durations, self.cost_range, self.limit = durations, cost_range, limit
        self._low, self._high, self._width = reward.low, reward.high, reward.high - reward.low
        self._shortest, self._longest = durations or (1.0, 1.0)
        self._excess, self._scale = self._excesses()
        self.t = 0  # the number of steps so far
        self._reward, self._duration = self._low, self._shortest if self._low < 0 else self._longest  # means of late
        self._rates = [math.inf, -math.inf]  # the least and the greatest r / d so far, between which rho is
        self._weight = 1.0
        self._range = (0.0, 1.0)  # of x, as the rates have it

    def _excesses(self) -> tuple[Range, float]:
        """Return the range of (c - l d) / scale, and scale."""
        if self.cost_range is None or self.limit is None:
            return (0.0, 0.0), 1.0
        corners = [c - self.limit * d for c in self.cost_range for d in (self._shortest, self._longest)]
        scale = max(map(abs, corners))
        return (min(corners) / scale, max(corners) / scale), scale

    @property
    def is_finite(self) -> bool:
        """Whether the scale and the greatest multiplier are finite."""
        return math.isfinite(self._scale) and math.isfinite(self._width / self._scale / LEAST_WEIGHT)

    @property
    def rate(self) -> float:
        """The price of time, rho, in rewards per unit of time."""
        least, greatest = self._rates
        return min(max(self._reward / self._duration, least), greatest) if self.t else 0.0

    @property
    def multiplier(self) -> float:
        """The multiplier of the constraint, in rewards per unit of cost: what one more unit of cost must earn."""
        return (1.0 - self._weight) / self._weight * self._width / self._scale

    def report(self) -> dict[str, float | None]:
        """Return the prices that there are, as a JSON document."""
        timed, limited = self.durations is not None, self.limit is not None
        return {
            "price_of_time": self.rate if timed else None,
            "multiplier": self.multiplier if limited else None,
            "limit": self.limit,
        }

    def learned(self, reward: float, duration: float = 1.0, cost: float = 0.0) -> float:
        """Count a step, and return the reward that the learner is shown, from 0 to 1."""
        self.t += 1
        self._pay(reward, duration)
        x = (reward - self.rate * duration) / self._width
        if self.limit is not None:
            excess = (cost - self.limit * duration) / self._scale
            factor = 1.0 - WEIGHT_MEMORY / (self.t + WEIGHT_START) * excess
            self._weight = min(1.0, max(LEAST_WEIGHT, self._weight * factor))
            x = self._weight * x - (1.0 - self._weight) * excess
        low, high = self._range
        return min(1.0, max(0.0, (x - low) / (high - low)))

    def _pay(self, reward: float, duration: float) -> None:
        """Average the rate; where a step earned more or less per unit of time than any before, widen the range of x."""
        step_size = RATE_MEMORY / (self.t + RATE_START)
        self._reward += step_size * (reward - self._reward)
        self._duration += step_size * (duration - self._duration)
        rate, (least, greatest) = reward / duration, self._rates
        if rate < least or rate > greatest:
            self._rates = [min(least, rate), max(greatest, rate)]
            self._widen()

    def _widen(self) -> None:
        paid = [rate * duration for rate in self._rates for duration in (self._shortest, self._longest)]
        low, high = (self._low - max(paid)) / self._width, (self._high - min(paid)) / self._width
        least, greatest = self._excess
        self._range = min(low, -greatest), max(high, -least)

    def snapshot(self) -> list[Any]:
        """Return everything that changes; JSON preserves the numbers to the last bit."""
        return [self.t, self._reward, self._duration, *(self._rates if self.t else (0.0, 0.0)), self._weight]

    def restore(self, snapshot: object) -> None:
        """Resume from what :meth:`snapshot` returned; raise if no agent could have it, and change nothing."""
        t, reward, duration, least, greatest, weight = _numbers(snapshot)
        lowest, highest = rate_range((self._low, self._high), (self._shortest, self._longest))
        fine = (
            t == int(t) >= 0
            and self._low <= reward <= self._high
            and self._shortest <= duration <= self._longest
            and LEAST_WEIGHT <= weight <= 1.0
            and (t == 0 or lowest <= least <= greatest <= highest)
        )
        if not fine:
            raise SnapshotError("the agent state has prices that no agent has", part="prices")
        self.t, self._reward, self._duration, self._weight = int(t), reward, duration, weight
        self._rates = [least, greatest] if self.t else [math.inf, -math.inf]
        if self.t:
            self._widen()


def make_prices(reward: Reward, durations: object, cost_range: object, limit: object) -> Prices | None:
    """Return the prices that a setup declares, checked; None if it declares neither durations nor a limit.

    Examples
    --------
    >>> make_prices(Reward(lambda s, a, o: 0), None, [0, 1], 0.25).multiplier
    0.0

    """
    if durations is None and cost_range is None and limit is None:
        return None
    times = (1.0, 1.0) if durations is None else reward_range(durations, "durations")
    require(times[0] > 0, "durations", durations, "give a least duration above 0")
    most = max(map(abs, rate_range((reward.low, reward.high), times))) * times[1]
    fine = math.isfinite(4.0 * most / min(1.0, reward.high - reward.low))
    require(fine, "durations", durations, "rewards per unit of time are too large; narrow them")
    if (cost_range is None) != (limit is None):
        missing = "cost_range" if cost_range is None else "limit"
        raise InputError(missing, None, "a limit and the range of the cost go together; give both, or neither")
    if limit is None:
        return Prices(reward, times)
    costs = reward_range(cost_range, "cost_range")
    most_cost = _number(limit)
    if not math.isfinite(most_cost):
        raise InputError("limit", limit, "give a finite number")
    least, greatest = rate_range(costs, times)
    remedy = f"no policy can meet it, since the average cost is at least {least:g}; raise it"
    require(most_cost >= least, "limit", limit, remedy)
    remedy = f"it never matters, since the average cost is at most {greatest:g}; lower it, or leave out both"
    require(most_cost <= greatest, "limit", limit, f"{remedy} limit and cost_range")
    prices = Prices(reward, None if durations is None else times, costs, most_cost)
    require(prices.is_finite, "limit", limit, "costs or the limit are too large or too small to compute; rescale them")
    return prices


def restore_prices(prices: Prices | None, algorithmic: Mapping[str, Any]) -> None:
    """Resume prices from the algorithmic state of an agent; raise if one has prices and the other has none."""
    if (prices is not None) != ("prices" in algorithmic):
        which = "has no prices of time or cost, and this agent has" if prices else "has prices, and this agent has none"
        raise SnapshotError(f"the agent state {which}", part="prices")
    if prices is not None:
        prices.restore(algorithmic["prices"])


def rate_range(amounts: Range, durations: Range) -> Range:
    """Return the range of an amount per unit of time."""
    rates = [amount / duration for amount in amounts for duration in durations]
    return min(rates), max(rates)


def measured(prices: Prices | None, duration: object, cost: object) -> Measures:
    """Return what comes with an observation, by name; raise if something is missing, wrong or not declared."""
    ranges = (None, None) if prices is None else (prices.durations, prices.cost_range)
    measures: Measures = {}
    for name, value, ends in zip(MEASURES, (duration, cost), ranges, strict=True):
        if ends is not None:
            measures[name] = _within(value, ends, name)
        elif value is not None:
            key = "durations" if name == "duration" else "cost_range and limit"
            raise InputError(name, value, f"the setup declares no {name}; leave it out, or create the agent with {key}")
    return measures


def _within(value: object, ends: Range, name: str) -> float:
    """Return a number that comes with an observation; raise if it is none, or outside its range."""
    low, high = ends
    remedy = f"the setup declares a {name}: pass it with each observation, a number from {low:g} to {high:g}"
    number = _number(value)
    require(low <= number <= high, name, value, remedy)
    return number + 0.0  # -0.0 is 0.0


def _number(value: object) -> float:
    """Return a number; NaN if it is none."""
    number = None if isinstance(value, bool) else as_number(value)
    return math.nan if number is None else number


def _numbers(snapshot: object) -> list[float]:
    values = list(snapshot) if isinstance(snapshot, Iterable) and not isinstance(snapshot, str | dict) else []
    fine = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    if len(values) != 6 or not fine or not all(math.isfinite(value) for value in values):
        raise SnapshotError("the agent state has prices that no agent has", part="prices")
    return values
