"""Metrics in the text format of Prometheus, written by hand: a few counters need no library.

The format is that of https://prometheus.io/docs/instrumenting/exposition_formats/, version 0.0.4.
"""

from __future__ import annotations

import math
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Upper ends of the buckets, in seconds."""


class Histogram:
    """Counts values in buckets.

    Examples
    --------
    >>> seconds = Histogram((0.1, 1.0))
    >>> for value in (0.05, 0.1, 0.5, 3.0):
    ...     seconds.add(value)
    >>> [line for line in seconds.lines("s") if "le=" in line]
    ['s_bucket{le="0.1"} 2', 's_bucket{le="1.0"} 3', 's_bucket{le="+Inf"} 4']

    """

    def __init__(self, bounds: tuple[float, ...] = BOUNDS) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def add(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    def lines(self, name: str) -> Iterable[str]:
        """Return the lines of the text format; buckets are cumulative there."""
        total = 0
        for bound, count in zip((*map(str, self.bounds), "+Inf"), self.counts, strict=True):
            total += count
            yield f'{name}_bucket{{le="{bound}"}} {total}'
        yield f"{name}_sum {self.sum}"
        yield f"{name}_count {total}"


class Metrics:
    """All counters.  Each is written by one thread only, and read by any."""

    def __init__(self) -> None:
        self.began = time.time()
        self.requests: Counter[tuple[str, int]] = Counter()
        self.refused = 0
        self.limited = 0
        self.seconds = Histogram()
        self.commits = 0
        self.failed_commits = 0
        self.rows = 0
        self.commit_seconds = Histogram()

    def requested(self, operation: str, status: int, seconds: float) -> None:
        """Count a request; ``operation`` is the path as declared, with no names in it."""
        self.requests[operation, status] += 1
        self.seconds.add(seconds)

    def committed(self, rows: int, seconds: float) -> None:
        """Count a transaction and the rows that it wrote."""
        self.commits += 1
        self.rows += rows
        self.commit_seconds.add(seconds)

    def text(self, gauges: Mapping[str, float], agents: Mapping[str, Mapping[str, float]]) -> str:
        """Return the whole page; ``agents`` has numbers of each agent by its name."""
        lines = [*_family("requests_total", "counter", "Requests by operation and status.")]
        for (operation, status), count in sorted(self.requests.items()):
            lines.append(f'everlearn_requests_total{{operation="{operation}",status="{status}"}} {count}')
        for name, kind, about, value in self._numbers():
            lines += [*_family(name, kind, about), f"everlearn_{name} {value}"]
        for name, about, histogram in self._histograms():
            lines += [*_family(name, "histogram", about), *histogram.lines(f"everlearn_{name}")]
        for name, gauge in gauges.items():
            lines += [*_family(name, "gauge", GAUGES[name]), f"everlearn_{name} {_number(gauge)}"]
        for name, about in AGENT_GAUGES.items():
            lines += _family(f"agent_{name}", "gauge", about)
            for agent, numbers in agents.items():
                if name in numbers:
                    lines.append(f'everlearn_agent_{name}{{agent="{agent}"}} {numbers[name]:.17g}')
        return "\n".join(lines) + "\n"

    def _numbers(self) -> Iterable[tuple[str, str, str, float]]:
        yield "refused_total", "counter", "Requests that were answered with 503, because too many waited.", self.refused
        yield (
            "limited_total",
            "counter",
            "Requests that were answered with 429: the rate limit.",
            self.limited,
        )
        yield "commits_total", "counter", "Transactions, each with one synchronisation of the disk.", self.commits
        yield (
            "failed_commits_total",
            "counter",
            "Transactions that failed; nothing of them was kept.",
            self.failed_commits,
        )
        yield "rows_total", "counter", "Rows of journals that were committed.", self.rows
        yield "start_time_seconds", "gauge", "When the service began, in seconds since 1970.", self.began

    def _histograms(self) -> Iterable[tuple[str, str, Histogram]]:
        yield "request_seconds", "From the head of a request to the end of its answer.", self.seconds
        yield "commit_seconds", "How long transactions took.", self.commit_seconds


GAUGES = {
    "waiting": "Requests that wait for the disk.",
    "waiting_most": "Maximum number of requests that may wait.",
    "agents": "Number of agents.",
    "agents_loaded": "Number of agents that are loaded: each is loaded when it is first asked for.",
    "quarantined": "Agents whose designs have failed.",
    "ready": "1 if the service can record observations.",
    "tokens": "Number of tokens, expired ones included.",
    "token_file_valid": "0 if the token file could not be used when it was last read; the tokens before it remain.",
    "token_expiry_time_seconds": "When the next token expires, in seconds since 1970; +Inf if none will.",
}
AGENT_GAUGES = {
    "step": "Observations that the agent has recorded; the numbers of an agent are here once it is loaded.",
    "t": "The agent's own time, which stands still while it is frozen.",
    "average_reward": "Average reward of all steps; per unit of time, if durations are declared.",
    "recent_average": "Average reward of recent steps; per unit of time, if durations are declared.",
    "price_of_time": "Reward per unit of time that a decision must earn, where durations are declared.",
    "average_cost": "Average cost of all steps, where a limit is declared; per unit of time, if durations are, too.",
    "limit": "The limit of the average cost.",
    "multiplier": "The multiplier of the limit: the reward that one unit of cost must earn.",
    "quarantined": "1 if its design has failed, so that it neither acts nor learns.",
    "drift_alarms": "How often the drift alarm was raised.",
    "shadow": "1 if it is in shadow mode: it proposes, and another controller decides.",
    "promotions": "How often its promotion rule has put it in control.",
    "gain_lower_bound": "Lower bound of its gain over the controller, at the last look of its promotion rule.",
    "drift_statistic": "How far recent rewards have fallen behind earlier ones; the alarm is raised where it is large.",
}


def _family(name: str, kind: str, about: str) -> tuple[str, str]:
    return f"# HELP everlearn_{name} {about}", f"# TYPE everlearn_{name} {kind}"


def _number(value: float) -> str:
    return "+Inf" if value == math.inf else f"{value:.17g}"
